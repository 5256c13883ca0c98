"""The QUIC stacks by name: how each is built, and how its server and client are called."""

import json
import os
import re
import subprocess
import sys

from . import BUILD, FOLDER, ROOT
from .processes import Problem

PEERS = ROOT / "test" / "interop" / "peers"


def _build(command, what, folder, environment=None, seconds=900):
    FOLDER.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, **(environment or {}))
    cargo_home = os.path.join(os.path.expanduser("~"), ".cargo", "bin")
    environment["PATH"] = cargo_home + os.pathsep + environment.get("PATH", "")
    try:
        done = subprocess.run(command, cwd=folder, env=environment, timeout=seconds,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError:
        raise Problem(f"{what} cannot be built: {command[0]} is missing") from None
    except subprocess.TimeoutExpired:
        raise Problem(f"{what} was not built within {seconds} s") from None
    if done.returncode != 0:
        raise Problem(f"{what} does not build: {done.stderr.strip()[-1500:]}")


class Stack:
    """A stack; `features` are those tests of run.py that need something special of it."""

    name = ""
    is_ours = False
    has_bytes = True  # serves /bytes/N
    updates_keys_by_itself = False
    server_features = frozenset()
    client_features = frozenset()

    def prepare(self):
        """Builds it; a Problem when that is impossible."""

    def server(self, listen, folder, certificates, suite=None, retry=False, seconds=60, **options):
        raise NotImplementedError

    def client(self, urls, outputs, certificates, suite=None, ca="ca.pem", seconds=60, **options):
        raise NotImplementedError

    def result(self, output):
        """What a client printed about itself, as a dictionary."""
        found = re.search(r"^RESULT (.*)$", output, re.MULTILINE)
        return dict(pair.split("=", 1) for pair in found[1].split()) if found else {}


class Peer(Stack):
    """The peers take the same options."""

    chooses_suite = True
    server_words = client_words = ()

    def server(self, listen, folder, certificates, suite=None, retry=False, seconds=60, **options):
        words = [*self.server_words, "--listen", listen, "--cert", certificates / "cert.pem",
                 "--key", certificates / "key.pem", "--dir", folder, "--max-seconds", seconds]
        if suite and self.chooses_suite:
            words += ["--cipher", suite]
        small = options.get("small_packets") and "small-packets" in self.server_features
        return words + (["--retry"] if retry else []) + (["--small-mtu"] if small else [])

    def client(self, urls, outputs, certificates, suite=None, ca="ca.pem", seconds=60, **options):
        words = [*self.client_words, *urls, "--ca", certificates / ca, "--max-seconds", seconds]
        for output in outputs:
            words += ["--output", output]
        if suite and self.chooses_suite:
            words += ["--cipher", suite]
        if options.get("key_update"):
            words += ["--key-update-every", 200_000]
        if options.get("negotiate_version"):
            words += ["--negotiate-version"]
        if options.get("late_fin"):
            words += ["--late-fin"]
        small = options.get("small_packets") and "small-packets" in self.client_features
        return words + (["--small-mtu"] if small else [])


class Quinn(Peer):
    name = "quinn"
    updates_keys_by_itself = True  # after a random number of packets first
    server_features = frozenset({"small-packets"})
    client_features = frozenset({"key-update", "small-packets"})
    folder = FOLDER / "quinn"
    server_words = (folder / "release" / "quinn-server",)
    client_words = (folder / "release" / "quinn-client",)

    def prepare(self):
        _build(["cargo", "build", "--release", "--locked", "--quiet"], "the Quinn peer",
               PEERS / "quinn", {"CARGO_TARGET_DIR": str(self.folder)})


class Aioquic(Peer):
    name = "aioquic"
    server_features = frozenset({"late-fin"})
    client_features = frozenset({"key-update", "negotiate-version", "late-fin"})
    server_words = (sys.executable, PEERS / "aioquic" / "server.py")
    client_words = (sys.executable, PEERS / "aioquic" / "client.py")

    def prepare(self):
        _build([sys.executable, "-c", "import aioquic"], "aioquic (run scripts/setup.sh)", ROOT)


class QuicGo(Peer):
    name = "quic-go"
    chooses_suite = False  # Go's TLS leaves that to the other side
    updates_keys_by_itself = True  # after 100 packets first
    client_features = frozenset({"small-packets"})
    server_features = frozenset({"key-update", "small-packets"})
    program = FOLDER / "quicgo-peer"
    server_words = (program, "server")
    client_words = (program, "client")

    def prepare(self):
        _build(["go", "build", "-o", str(self.program), "."], "the quic-go peer", PEERS / "quicgo",
               {"GOTOOLCHAIN": "local"})


class Quasi(Stack):
    name = "quasi"
    is_ours = True
    has_bytes = False
    preset, candidates = "native", ("bin/quasi", "apps/quasi/quasi")
    server_features = frozenset({"key-update", "late-fin"})
    client_features = frozenset({"key-update"})

    def program(self):
        for candidate in self.candidates:
            path = BUILD / self.preset / candidate
            if os.access(path, os.X_OK):
                return path
        raise Problem(f"{self.name} is not built: scripts/build.sh {self.preset} makes "
                      f"build/{self.preset}/{self.candidates[0]}")

    def prepare(self):
        self.program()

    def server(self, listen, folder, certificates, suite=None, retry=False, seconds=60, **options):
        words = [self.program(), "serve", folder, "--listen", listen,
                 "--cert", certificates / "cert.pem", "--key", certificates / "key.pem"]
        words += ["--cipher", suite] if suite else []
        words += ["--key-update", 100] if options.get("key_update") else []
        return words + (["--retry"] if retry else [])

    def client(self, urls, outputs, certificates, suite=None, ca="ca.pem", seconds=60, **options):
        words = [self.program(), "get", *urls, "--ca", certificates / ca, "--json"]
        for output in outputs:
            words += ["-o", output]
        # It counts packets sent, and a client sends little but acknowledgements.
        words += ["--key-update", 20] if options.get("key_update") else []
        return words + (["--cipher", suite] if suite else [])

    def result(self, output):
        found = re.search(r"^\{.*\}$", output, re.MULTILINE)
        result = json.loads(found[0]) if found else {}
        # AES-128-GCM and so on: as the options spell it.
        cipher = re.sub(r"[^a-z0-9]", "", result.get("cipher", "").lower())
        return dict(result, cipher="chacha20" if cipher.startswith("chacha20") else cipher)


class QuasiWasm(Quasi):
    name = "quasi-wasm"
    preset, candidates = "wasm-relaxed", ("bin/quasi-wasm", "apps/quasi/quasi-wasm")


STACKS = {stack.name: stack for stack in (Quinn(), Aioquic(), QuicGo(), Quasi(), QuasiWasm())}
