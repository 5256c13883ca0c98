"""Starts the program for end-to-end tests: natively or through the launcher of the
component. Servers choose their own port; every process is ended by its own id."""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

PROGRAMS = {"native": os.environ["QUASI_NATIVE"], "wasm": os.environ["QUASI_WASM"]}
SUITES = ("aes128gcm", "aes256gcm", "chacha20")


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`quasi serve` on loopback, until the `with` block ends."""

    def __init__(self, world, directory, *options):
        self.world, self.directory, self.options = world, directory, options

    def __enter__(self):
        self.process = subprocess.Popen(
            [PROGRAMS[self.world], "serve", str(self.directory), "--listen",
             f"127.0.0.1:{free_port()}", *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        head = "".join(self.process.stdout.readline() for _ in range(3))
        listening = re.search(r"^listening on 127\.0\.0\.1:(\d+)$", head, re.MULTILINE)
        pin = re.search(r"^certificate SHA-256 ([0-9a-f]{64})", head, re.MULTILINE)
        if not listening or not pin:
            self.process.kill()
            raise AssertionError(f"the server did not start: {head}{self.process.stderr.read()}")
        self.port, self.pin = int(listening[1]), pin[1]
        # The log must not fill its pipe.
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr),
                                       daemon=True)
        self.reader.start()
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()

    def url(self, path, port=None):
        return f"https://127.0.0.1:{port or self.port}/{path}"


def start(world, *arguments, **options):
    return subprocess.Popen([PROGRAMS[world], *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(world, *arguments, timeout=60, **options):
    """Exit code, standard output, standard error."""
    process = start(world, *map(str, arguments), **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"no end within {timeout} s: {arguments}")
    return process.returncode, out, err


class Relay:
    """A UDP relay in front of a server. `change(datagram, to_client)` returns what goes
    on, or None to drop it."""

    def __init__(self, port, change):
        self.target, self.change = ("127.0.0.1", port), change
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back.bind(("127.0.0.1", 0))
        for s in (self.front, self.back):
            s.settimeout(0.1)
        self.port = self.front.getsockname()[1]
        self.client, self.running = None, True
        self.threads = [threading.Thread(target=self.to_server), threading.Thread(target=self.to_client)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.running = False
        for thread in self.threads:
            thread.join()
        self.front.close()
        self.back.close()

    def pump(self, source, deliver):
        while self.running:
            try:
                deliver(*source.recvfrom(65536))
            except OSError:
                continue  # a timeout, or an ICMP error about one side

    def to_server(self):
        def deliver(datagram, sender):
            self.client = sender
            changed = self.change(datagram, False)
            if changed is not None:
                self.back.sendto(changed, self.target)
        self.pump(self.front, deliver)

    def to_client(self):
        def deliver(datagram, _):
            changed = self.change(datagram, True)
            if changed is not None and self.client:
                self.front.sendto(changed, self.client)
        self.pump(self.back, deliver)


class TestCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="quasi-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.site = self.folder / "site"
        self.site.mkdir()
        self.out = self.folder / "out"
        self.out.mkdir()

    def make_file(self, name, size):
        path = self.site / name
        path.write_bytes(os.urandom(size))
        return path

    def assert_nothing_kept(self):
        self.assertEqual([p.name for p in self.out.iterdir()], [])

    def assert_fails(self, result, code, *words):
        """One clear sentence on standard error, and the exit code of its kind."""
        returncode, _, err = result
        self.assertEqual(returncode, code, err)
        lines = [line for line in err.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, err)
        self.assertTrue(lines[0].startswith("quasi: "), err)
        for word in words:
            self.assertIn(word, lines[0])
