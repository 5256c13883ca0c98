#!/usr/bin/env python3
"""Tests of the launcher quasi-wasm with a Wasmtime that only tells how it was called.

  launcher_test.py LAUNCHER
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LAUNCHER = pathlib.Path(sys.argv.pop(1)).resolve()

FAKE = """#!/usr/bin/env python3
import os, signal, sys, time
if sys.argv[1:] == ["--version"]:
    print("wasmtime {version} (0000000 2026-01-01)")
    sys.exit(0)
with open("call", "w") as f:
    f.write("\\n".join(sys.argv[1:]))
if os.environ.get("FAKE_SLEEPS"):
    open("out.0badcafe.part", "w").close()
    open("other.0badcafe.part", "w").close()  # of a download beside it
    open("started", "w").close()
    time.sleep(60)
if os.environ.get("FAKE_WRITES"):
    os.write(1, b"x")
sys.exit(int(os.environ.get("FAKE_EXIT", "0")))
"""


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        self.component = self.home / "quasi.wasm"
        self.component.touch()
        self.fake("49.0.4")

    def fake(self, version):
        path = self.home / "wasmtime"
        path.write_text(FAKE.replace("{version}", version))
        path.chmod(0o755)

    def environment(self, **extra):
        base = {"PATH": os.environ["PATH"], "HOME": str(self.home),
                "QUASI_WASMTIME": str(self.home / "wasmtime"),
                "QUASI_COMPONENT": str(self.component)}
        base.update(extra)
        return base

    def start(self, *arguments, **extra):
        return subprocess.run([sys.executable, str(LAUNCHER), *arguments], cwd=self.home,
                              env=self.environment(**extra), capture_output=True, text=True,
                              timeout=60)

    def call(self):
        words = (self.home / "call").read_text().split("\n")
        at = words.index(str(self.component))
        grants = [words[i + 1] for i in range(at) if words[i] == "--dir"]
        return words[:at], grants, words[at + 1:]

    def test_passes_arguments_and_exit_code_on(self):
        done = self.start("get", "--json", "https://h/a b", "-o", "x", FAKE_EXIT="5")
        self.assertEqual(done.returncode, 5, done.stderr)
        flags, _, arguments = self.call()
        self.assertEqual(arguments, ["get", "--json", "https://h/a b", "-o", "x"])
        self.assertIn("inherit-network", flags)
        self.assertIn("component-model-async", flags)

    def test_grants_the_folders_of_named_files_and_no_others(self):
        for name in ("in", "out", "log", "site", "keys"):
            (self.home / name).mkdir()
        self.start("get", "--ca=in/ca.pem", "-o", "out/x", "https://h/x")
        self.assertEqual(set(self.call()[1]), {"in::in", "out::out"})
        self.start("get", "https://h/x")
        self.assertEqual(self.call()[1], [".::."])
        self.start("get", "-o", "-", "https://h/x")
        self.assertEqual(self.call()[1], [])
        self.start("get", "-o/dev/null", "https://h/x", "https://h/y")
        self.assertEqual(self.call()[1], ["/dev::/dev", ".::."])
        self.start("serve", "--listen", "127.0.0.1:1", "site", "--key", "keys/k.pem",
                   SSLKEYLOGFILE="log/keys")
        self.assertEqual(set(self.call()[1]), {"site::site", "keys::keys", "log::log"})
        self.assertIn("SSLKEYLOGFILE", self.call()[0])
        self.start("serve", "nowhere")
        self.assertEqual(self.call()[1], [])

    def test_follows_links(self):
        (self.home / "live").mkdir()
        (self.home / "archive").mkdir()
        real = pathlib.Path(os.path.realpath(self.home)) / "archive/cert1.pem"
        real.touch()
        (self.home / "live/cert.pem").symlink_to("../archive/cert1.pem")
        for option in (["--cert", "live/cert.pem"], ["--cert=live/cert.pem"]):
            self.start("serve", ".", *option)
            _, grants, arguments = self.call()
            self.assertEqual(grants, [f"{real.parent}::{real.parent}", ".::."])
            self.assertEqual("=".join(arguments[2:]), f"--cert={real}")
        self.start("get", "https://h/x", "-olive/cert.pem")
        self.assertEqual(self.call()[2], ["get", "https://h/x", f"-o{real}"])

    def test_a_closed_standard_output_fails(self):
        done = subprocess.run(
            ["sh", "-c", '"$@" >&-', "sh", sys.executable, str(LAUNCHER), "get", "https://h/x"],
            cwd=self.home, env=self.environment(FAKE_WRITES="1"), stderr=subprocess.PIPE,
            text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("BrokenPipe", done.stderr)

    def test_keys_are_of_their_owner_only(self):
        for command, mode in (("get", 0o644), ("cert", 0o600)):
            (self.home / "call").unlink(missing_ok=True)
            umask = os.umask(0o022)
            self.start(command)
            os.umask(umask)
            self.assertEqual((self.home / "call").stat().st_mode & 0o777, mode)

    def test_says_when_wasmtime_is_missing_old_or_broken(self):
        for setting, words in (({"QUASI_WASMTIME": "/nowhere/wasmtime"}, "is no program"),
                               ({"QUASI_WASMTIME": "/bin/true"}, "does not tell its version"),
                               ({"QUASI_COMPONENT": "/nowhere/quasi.wasm"}, "is missing")):
            done = self.start("get", "https://h/", **setting)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.fake("31.0.0")
        done = self.start("get", "https://h/")
        self.assertEqual(done.returncode, 1)
        self.assertIn("too old", done.stderr)

    def test_goes_without_a_cache_where_none_can_be_kept(self):
        self.start("get", "https://h/", HOME="/proc/none")
        self.assertIn("cache=n", self.call()[0])
        self.start("get", "https://h/")
        self.assertNotIn("cache=n", self.call()[0])

    def interrupt(self, number):
        (self.home / "out.11111111.part").touch()  # of somebody else
        process = subprocess.Popen([sys.executable, str(LAUNCHER), "get", "https://h/out"],
                                   cwd=self.home, env=self.environment(FAKE_SLEEPS="1"),
                                   stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 30
        while not (self.home / "started").exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
        return process.returncode, errors

    def test_an_interrupted_download_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            code, errors = self.interrupt(number)
            self.assertEqual(code, 130)
            self.assertIn("nothing incomplete", errors)
            self.assertEqual({p.name for p in self.home.glob("*.part")},
                             {"out.11111111.part", "other.0badcafe.part"})
            (self.home / "other.0badcafe.part").unlink()
            (self.home / "started").unlink()


if __name__ == "__main__":
    unittest.main()
