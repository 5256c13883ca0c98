"""Network namespaces of a run's own, with unique names, removed at its end; and a relay that
watches, loses or redirects datagrams between a client and a server."""

import os
import random
import select
import shutil
import socket
import subprocess
import threading
import time

from .processes import Problem


def _ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"`ip {' '.join(words)}` fails: {done.stderr.strip()}")


def may_make_namespaces():
    """None, or why not."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if not shutil.which("ip"):
        return "the program ip (package iproute2) is missing"
    name = f"quasi-try-{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "delete", name)
    except Problem as problem:
        return str(problem)
    return None


class Namespace:
    """A namespace whose loopback has the given MTU."""

    def __init__(self, suffix, mtu=65536):
        self.name = f"quasi-{os.getpid()}-{suffix}"
        _ip("netns", "add", self.name)
        try:
            _ip("-n", self.name, "link", "set", "lo", "mtu", str(mtu), "up")
        except Problem:
            self.remove()
            raise

    def enter(self, command):
        return ["ip", "netns", "exec", self.name, *command]

    def remove(self):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class Pair:
    """Two namespaces joined by veth: `left` is 10.77.0.1, `right` is 10.77.0.2."""

    addresses = ("10.77.0.1", "10.77.0.2")

    def __init__(self, mtu=1500):
        self.left = Namespace("a")
        try:
            self.right = Namespace("b")
        except Problem:
            self.left.remove()
            raise
        try:
            _ip("link", "add", "veth-a", "netns", self.left.name, "type", "veth",
                "peer", "name", "veth-b", "netns", self.right.name)
            for side, device, address in ((self.left, "veth-a", self.addresses[0]),
                                          (self.right, "veth-b", self.addresses[1])):
                _ip("-n", side.name, "addr", "add", f"{address}/24", "dev", device)
                _ip("-n", side.name, "link", "set", device, "mtu", str(mtu), "up")
        except Problem:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.left.remove()
        self.right.remove()


class Relay:
    """Passes datagrams between one client and a server on 127.0.0.1, in a thread.

    `loss` is the fraction it drops each way, drawn from `seed`. After `rebind_after` datagrams
    of the client it goes on from another port, as a NAT does. It notes what long headers show.
    """

    def __init__(self, server_port, loss=0.0, seed=1, rebind_after=None):
        self._server = ("127.0.0.1", server_port)
        self._loss, self._random = loss, random.Random(seed)
        self._rebind_after = rebind_after
        self._front = self._socket()
        self._backs = [self._socket()]
        self.port = self._front.getsockname()[1]
        self.retries = self.negotiations = self.tokens = self.dropped = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @staticmethod
    def _socket():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        return made

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(5)
        for made in (self._front, *self._backs):
            made.close()

    @property
    def rebound(self):
        return len(self._backs) > 1

    def _note(self, data, from_server):
        if len(data) < 7 or not data[0] & 0x80:
            return
        version = int.from_bytes(data[1:5], "big")
        kind = data[0] >> 4 & 3
        if from_server and version == 0:
            self.negotiations += 1
        elif from_server and version == 1 and kind == 3:
            self.retries += 1
        elif not from_server and version == 1 and kind == 0:
            at = 6 + data[5]
            at += 1 + data[at]
            self.tokens += data[at] != 0

    def _run(self):
        client, count = None, 0
        while not self._stop.is_set():
            ready, _, _ = select.select([self._front, *self._backs], [], [], 0.05)
            for source in ready:
                for _ in range(64):
                    try:
                        data, sender = source.recvfrom(65536)
                    except (BlockingIOError, ConnectionRefusedError):
                        break
                    self._note(data, source is not self._front)
                    if self._loss and self._random.random() < self._loss:
                        self.dropped += 1
                        continue
                    if source is not self._front:
                        # What still comes to an abandoned port is lost, as behind a NAT.
                        if source is self._backs[-1] and client:
                            self._send(self._front, data, client)
                        continue
                    client, count = sender, count + 1
                    if count == self._rebind_after:
                        self._backs.append(self._socket())
                    self._send(self._backs[-1], data, self._server)

    @staticmethod
    def _send(out, data, to):
        try:
            out.sendto(data, to)
        except OSError:
            pass  # a full buffer or a closed port: UDP loses datagrams


def negotiate(host, port):
    """Sends a long header of a version nobody speaks; returns the versions the server names."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    destination, source = os.urandom(8), os.urandom(5)
    probe = bytes([0xC0]) + bytes.fromhex("1a2a3a4a") + bytes([8]) + destination + \
        bytes([5]) + source
    probe += bytes(1200 - len(probe))
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            sock.sendto(probe, (host, port))
            try:
                data = sock.recv(2048)
            except socket.timeout:
                continue
            # RFC 9000 §17.2.1: the connection IDs come back with their roles exchanged.
            head = bytes(4) + bytes([5]) + source + bytes([8]) + destination
            if not data[0] & 0x80 or not data[1:].startswith(head):
                raise Problem(f"no Version Negotiation packet but {data[:24].hex()}")
            rest = data[1 + len(head):]
            if not rest or len(rest) % 4:
                raise Problem("the list of versions is malformed")
            return [int.from_bytes(rest[i:i + 4], "big") for i in range(0, len(rest), 4)]
    raise Problem("no answer to an unknown version within 5 s")
