"""The receivers of bench/run.py: how each is called, and how one run is measured."""

import json
import os
import pathlib
import re
import socket
import time

from harness import BUILD, FOLDER, ROOT
from harness.processes import Child, Problem
from harness.stacks import Quinn

RECEIVERS = {
    "floor-wasm": "datagrams discarded, WASI 0.3",
    "wasm-relaxed": "quasi.wasm, relaxed SIMD",
    "wasm-simd": "quasi.wasm, portable SIMD",
    "wasm-base": "quasi.wasm, no SIMD",
    "floor-native": "datagrams discarded, native",
    "native": "quasi, native",
    "quinn": "Quinn + ring, native",
}
GIB = 1 << 30
LOGS = FOLDER / "bench-logs"
# As large as those that Quinn sends at MTU 1500.
DATAGRAM = 1452
WASMTIME = ROOT / ".venv" / "bin" / "wasmtime"
# The launcher's flags and environment (apps/quasi), without its own start-up.
WASM_FLAGS = ["run", "-S", "inherit-network", "-S", "udp", "-S", "allow-ip-name-lookup", "-S",
              "p3", "-W", "component-model-async"]
WASM_ENVIRONMENT = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_TOP_PAD_": str(16 << 20)}


def _program(name):
    return {
        "floor-wasm": BUILD / "wasm-relaxed" / "bin" / "udp_floor.wasm",
        "floor-native": BUILD / "native" / "bin" / "udp_floor",
        "native": BUILD / "native" / "bin" / "quasi",
        "quinn": Quinn.client_words[0],
    }.get(name, BUILD / name / "bin" / "quasi.wasm")


def is_built(name):
    return _program(name).exists()


def how_to_build(name):
    preset = _program(name).relative_to(BUILD).parts[0]
    return f"scripts/build.sh {preset} makes build/{_program(name).relative_to(BUILD)}"


class Bench:
    """Where runs take place: between two namespaces (`pair`), or on loopback."""

    def __init__(self, certificates, pair):
        self.certificates, self.pair = certificates, pair
        self.server_address, self.client_address = pair.addresses if pair else ["127.0.0.1"] * 2
        # A cache of this run's own: at the 256th use of an entry Wasmtime compresses it anew, in
        # the background, which takes 200 MiB and CPU time.
        (certificates / "cache").mkdir()
        self.wasm_environment = WASM_ENVIRONMENT | {"XDG_CACHE_HOME": str(certificates / "cache")}
        self.pins = ["1", "0"] if (os.cpu_count() or 1) > 1 else [None, None]

    def _start(self, side, command, log, environment=None):
        """Side 0 sends, side 1 receives: each in its namespace and on its CPU."""
        command = [str(word) for word in command]
        if self.pins[side]:
            command = ["taskset", "-c", self.pins[side], *command]
        if self.pair:
            command = (self.pair.left, self.pair.right)[side].enter(command)
        return Child(command, LOGS / log, environment)

    def run(self, name, suite, size):
        run = self._floor if name.startswith("floor") else self._download
        sample, child = run(name, suite, size)
        return sample | {"cpu_ms_per_gib": child.cpu_seconds() * 1e3 / (sample["bytes"] / GIB),
                         "peak_mib": child.peak_mib(), "seconds": child.seconds}

    @staticmethod
    def _limit(size):
        return 30 + size / (4 << 20)

    def _download(self, name, suite, size):
        limit = self._limit(size)
        words = [*Quinn.server_words, "--listen", f"{self.server_address}:0", "--cert",
                 self.certificates / "cert.pem", "--key", self.certificates / "key.pem",
                 "--cipher", suite, "--max-connections", 1, "--max-seconds", int(limit) + 10]
        with self._start(0, words, f"{name}-{suite}.sender.log") as server:
            port = server.wait_for_line(r"listening on \S+:(\d+)")[1]
            url = f"https://{self.server_address}:{port}/bytes/{size}"
            ca = self.certificates / "ca.pem"
            environment = None
            if name == "quinn":
                words = [_program(name), url, "--ca", ca, "--cipher", suite, "--max-seconds",
                         int(limit)]
            else:
                words = [_program(name), "get", url, "--ca", ca, "--cipher", suite, "--json", "-o",
                         "/dev/null"]
            if name.startswith("wasm"):
                words = [WASMTIME, *WASM_FLAGS, "--dir", f"{self.certificates}", *words]
                environment = self.wasm_environment
            client = self._start(1, words, f"{name}-{suite}.log", environment)
            with client:
                code = client.wait(limit)
            output = client.output()
            if code != 0:
                raise Problem(f"{name} with {suite} ended with {code}: {client.tail()}")
            told = self._told(output)
            if told["bytes"] != size:
                raise Problem(f"{name} with {suite} received {told['bytes']} bytes of {size}")
            server.wait(15)
            sent = re.search(r"sent=(\d+) lost=(\d+) mtu=(\d+)", server.output())
            if sent:
                told |= {"packets": int(sent[1]), "lost": int(sent[2]), "mtu": int(sent[3])}
        return told, client

    @staticmethod
    def _told(output):
        found = re.search(r"^RESULT (.*)$", output, re.MULTILINE)
        if found:
            pairs = dict(pair.split("=", 1) for pair in found[1].split())
            return {"bytes": int(pairs["bytes"]), "mbps": float(pairs["mbps"])}
        found = re.search(r"^\{.*\}$", output, re.MULTILINE)
        if not found:
            raise Problem(f"a receiver printed no result: {output[-300:]}")
        result = json.loads(found[0])
        return {"bytes": result["bytes"], "mbps": result["mbit_per_second"],
                "acks_sent": result.get("acks_sent")}

    def _floor(self, name, _, size):
        datagrams = max(size // DATAGRAM, 1)
        port = 6000 if self.pair else self._free_port()
        address = f"{self.client_address}:{port}"
        words = [_program(name), "recv", address, "--dgrams", datagrams]
        environment = None
        if name == "floor-wasm":
            words = [WASMTIME, *WASM_FLAGS, *words]
            environment = self.wasm_environment
        else:
            words += ["--mode", "port"]
        sender = [_program("floor-native"), "send", address, "--dgrams", datagrams, "--size",
                  DATAGRAM]
        receiver = self._start(1, words, f"{name}.log", environment)
        with receiver:
            self._wait_for_socket(receiver, port)
            with self._start(0, sender, f"{name}.sender.log") as sending:
                if receiver.wait(self._limit(size)) != 0:
                    raise Problem(f"{name} ended with {receiver.code}: {receiver.tail()}")
                sending.wait(15)
        return self._told(receiver.output()), receiver

    @staticmethod
    def _free_port():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]

    @staticmethod
    def _wait_for_socket(child, port):
        """Until the process's namespace has a UDP socket on that port."""
        wanted = f":{port:04X} "
        end = time.monotonic() + 20
        while time.monotonic() < end and not child.poll():
            try:
                table = pathlib.Path(f"/proc/{child.pid}/net/udp").read_text(encoding="ascii")
            except OSError:
                table = ""
            if any(wanted in line.split("rem_address")[0][:40] for line in table.splitlines()):
                return
            time.sleep(0.01)
        raise Problem(f"a receiver of bare datagrams never listened: {child.tail()}")
