"""Child processes: bounded in time, ended by their own ids, measured by wait4."""

import os
import re
import signal
import subprocess
import time


class Problem(Exception):
    """Something failed; the text is one sentence (and maybe a log's end)."""


class Child:
    """A process whose output goes to a file. Leaving the `with` block ends it."""

    def __init__(self, command, log, environment=None):
        self.command = [str(word) for word in command]
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        with open(log, "wb") as file:
            try:
                self._process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    env=dict(os.environ, **(environment or {})))
            except OSError as error:
                raise Problem(f"{self.command[0]} cannot be started: {error.strerror}") from None
        self.code = None
        self.usage = None
        self.seconds = None
        self._peak_kib = 0
        self._next_look = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    @property
    def pid(self):
        return self._process.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def tail(self):
        lines = [line for line in self.output().splitlines() if line.strip()]
        return " | ".join(lines[-3:])[-400:] or "it printed nothing"

    def _look_at_memory(self):
        """ru_maxrss would not do: it begins with this program's own size, before exec."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 0.01
        own = self._process.pid
        try:
            with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:
                pids = [own, *file.read().split()]  # the launcher's child is the runtime
            for pid in pids:
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    found = re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE)
                self._peak_kib = max(self._peak_kib, int(found[1]) if found else 0)
        except OSError:
            pass  # it is over

    def poll(self):
        """Whether it has ended."""
        if self.code is None:
            self._look_at_memory()
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self.seconds = time.monotonic() - self._started
                self.usage = usage
                self.code = self._process.returncode = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds):
        """Its exit code. A Problem when it has not ended by then."""
        end = time.monotonic() + seconds
        while not self.poll():
            if time.monotonic() > end:
                self.end()
                raise Problem(f"not done after {seconds:.0f} s: {self.tail()}")
            time.sleep(0.002)
        return self.code

    def wait_for_line(self, pattern, seconds=20):
        """The match of `pattern` in what it prints."""
        end = time.monotonic() + seconds
        while True:
            ended = self.poll()
            found = re.search(pattern, self.output())
            if found:
                return found
            if ended:
                raise Problem(f"ended with {self.code} before it was ready: {self.tail()}")
            if time.monotonic() > end:
                raise Problem(f"was not ready after {seconds} s: {self.tail()}")
            time.sleep(0.01)

    def end(self):
        """Asks it to end, then insists. Returns its exit code."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.poll():
                break
            self._process.send_signal(number)
            deadline = time.monotonic() + 3
            while not self.poll() and time.monotonic() < deadline:
                time.sleep(0.005)
        return self.code

    @property
    def crashed(self):
        """Whether a signal ended it that nobody here sends."""
        return self.code is not None and self.code < 0 and \
            -self.code not in (signal.SIGTERM, signal.SIGKILL)

    def cpu_seconds(self):
        return self.usage.ru_utime + self.usage.ru_stime

    def peak_mib(self):
        """High-water mark of its resident memory (of its largest child, if that is larger), as
        last seen at most 10 ms before its end."""
        return self._peak_kib / 1024
