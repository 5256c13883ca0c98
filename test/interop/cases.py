"""What one interop test does, by feature: each function downloads from a running server with
one client and raises a Problem when anything is not as it has to be."""

import contextlib
import dataclasses
import pathlib

from harness import data
from harness.network import Namespace, Relay, negotiate
from harness.processes import Child, Problem

MIB = 1 << 20
# Served by every server: name and length. Each test fetches some of them.
FILES = {"empty": 0, "one": 1, "small": 1200, "64k": 65536, "1m": 10**6, "10m": 10**7}
MANY = ["empty", "one", "small", "64k", "1m"]


@dataclasses.dataclass
class Case:
    server: object
    client: object
    suite: str
    feature: str
    length: int = 0  # of the file, for downloads

    @property
    def name(self):
        return f"{self.server.name}-{self.client.name}-{self.suite}-{self.label}"

    @property
    def label(self):
        if self.feature != "download":
            return self.feature
        return f"{self.length >> 30}g" if self.length >= 1 << 30 else f"{self.length // 10**6}m"


@dataclasses.dataclass
class Place:
    """Where a run keeps its files."""
    work: pathlib.Path
    logs: pathlib.Path
    www: pathlib.Path
    certificates: pathlib.Path


class Session:
    """A running server for one case, and downloads from it."""

    def __init__(self, place, case, seconds, namespace=None, **server_options):
        self.place, self.case, self.seconds, self.namespace = place, case, seconds, namespace
        self.host = server_options.pop("host", "127.0.0.1")
        listen = f"[{self.host}]:0" if ":" in self.host else f"{self.host}:0"
        command = case.server.server(listen, place.www, place.certificates, suite=case.suite,
                                     seconds=int(seconds * 2 + 30), **server_options)
        self.child = Child(self._enter(command), place.logs / f"{case.name}.server.log")
        self.downloads = 0
        try:
            found = self.child.wait_for_line(r"listening on \S+:(\d+)")
        except Problem as problem:
            self.child.end()
            raise Problem(f"server: {problem}") from None
        self.port = int(found[1])

    def _enter(self, command):
        command = [str(word) for word in command]
        return self.namespace.enter(command) if self.namespace else command

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        before = self.child.poll()
        self.child.end()
        if kind is None and (before or self.child.crashed):
            raise Problem(f"the server ended by itself with {self.child.code}: "
                          f"{self.child.tail()}")

    def run_client(self, paths, port=None, **options):
        """Runs the client; returns its exit code, what it tells, its files and the process."""
        self.downloads += 1
        case = self.case
        host = f"[{self.host}]" if ":" in self.host else self.host
        urls = [f"https://{host}:{port or self.port}{path}" for path in paths]
        outputs = [self.place.work / f"out-{index}" for index in range(len(paths))]
        for output in outputs:
            output.unlink(missing_ok=True)
        command = case.client.client(urls, outputs, self.place.certificates, suite=case.suite,
                                     seconds=int(self.seconds), **options)
        log = self.place.logs / f"{case.name}.client-{self.downloads}.log"
        with Child(self._enter(command), log) as child:
            child.wait(self.seconds + 5)
        if child.crashed:
            raise Problem(f"the client crashed with {child.code}: {child.tail()}")
        return child.code, case.client.result(child.output()), outputs, child

    def fetch(self, files, port=None, **options):
        """Downloads files given by name (a key of FILES) or by length; checks every byte."""
        paths, lengths = [], []
        for file in files:
            if file in FILES:
                paths.append(f"/{file}")
                lengths.append(FILES[file])
            else:
                served = self.place.www / f"{file}.bin"
                paths.append(f"/{file}.bin" if served.exists() else f"/bytes/{file}")
                lengths.append(file)
        code, result, outputs, child = self.run_client(paths, port, **options)
        if code != 0:
            raise Problem(f"the client ended with {code}: {child.tail()}")
        for path, length, output in zip(paths, lengths, outputs):
            if not output.exists():
                raise Problem(f"{path}: the client says it is done, but there is no file")
            size = output.stat().st_size
            if size != length:
                raise Problem(f"{path}: {size} bytes instead of {length}")
            if data.digest_of_file(output) != data.digest(length):
                raise Problem(f"{path}: the SHA-256 is wrong")
            output.unlink()
        told = result.get("cipher", self.case.suite)
        if told != self.case.suite:
            raise Problem(f"the client used {told} instead of {self.case.suite}")
        return result, child


def download(place, case):
    # Slow peers on a busy machine: a base, and 1 MB/s (20 MB/s beyond 200 MB).
    seconds = 30 + min(case.length, 2 * 10**8) / 10**6 + case.length / (2 * 10**7)
    file = {length: name for name, length in FILES.items()}.get(case.length, case.length)
    with Session(place, case, seconds) as session:
        result, child = session.fetch([file])
    return f"{child.seconds:.1f} s, peak {child.peak_mib():.0f} MiB"


def files(place, case):
    with Session(place, case, 40) as session:
        session.fetch(MANY + ["1m", "64k", "one"] * 4)
        session.fetch(["small"])
    return f"{len(MANY) + 12} files at once"


def retry(place, case):
    with Session(place, case, 30, retry=True) as session, Relay(session.port) as relay:
        session.fetch(["1m"], relay.port)
        if not relay.retries or not relay.tokens:
            raise Problem(f"there was no Retry ({relay.retries}) or no token ({relay.tokens})")
    return "Retry seen, token returned"


def key_update(place, case):
    """By the client, then by the server, whichever can: not both at once, because aioquic does
    not wait for the acknowledgement that RFC 9001 §6.1 asks for before a second update."""
    remarks = []
    if "key-update" in case.client.client_features:
        with Session(place, case, 40) as session:
            result, _ = session.fetch(["10m"], key_update=True)
        updates = int(result.get("key_updates", 0))
        # After a server's own update the client has to wait, maybe to the end (RFC 9001 §6.5).
        if updates == 0 and not case.server.updates_keys_by_itself:
            raise Problem("the client says that the keys were never updated")
        remarks.append(f"{updates} by the client")
    if "key-update" in case.server.server_features:
        with Session(place, case, 40, key_update=True) as session:
            session.fetch(["10m"])
        remarks.append("some by the server")
    return ", ".join(remarks)


def version_negotiation(place, case):
    with Session(place, case, 30) as session:
        versions = negotiate(session.host, session.port)
        if 1 not in versions or 0x1A2A3A4A in versions:
            raise Problem(f"the server offers {[hex(version) for version in versions]}")
        text = "server names version 1"
        if "negotiate-version" in case.client.client_features:
            with Relay(session.port) as relay:
                session.fetch(["1m"], relay.port, negotiate_version=True)
                if not relay.negotiations:
                    raise Problem("there was no Version Negotiation packet")
                text += ", the client came back with it"
        else:
            session.fetch(["64k"])
    return text


def small_mtu(place, case):
    """The loopback of a namespace carries 1,280 bytes: more is refused or lost."""
    with Namespace("mtu", mtu=1280) as namespace:
        with Session(place, case, 40, namespace) as session:
            session.fetch(["1m"])
    return "MTU 1280"


def small_packets(place, case):
    """The peer takes no datagram beyond 1,200 bytes (max_udp_payload_size where it has it)."""
    with Session(place, case, 40, small_packets=True) as session:
        session.fetch(["1m"], small_packets=True)
    return "1,200 bytes at most"


def unknown_path(place, case):
    with Session(place, case, 30) as session:
        code, _, outputs, child = session.run_client(["/there/is/no/such/file"])
        if code == 0:
            raise Problem("the client says that all went well")
        left = [path.name for path in place.work.iterdir() if path.name.startswith("out-")]
        if left:
            raise Problem(f"the client left {left[0]} although there was nothing to write")
        said = child.tail()
        session.fetch(["small"])  # the server goes on
    return said[-60:]


def wrong_authority(place, case):
    with Session(place, case, 30) as session:
        code, _, outputs, child = session.run_client(["/small"], ca="other_ca.pem")
        if code == 0 or outputs[0].exists():
            raise Problem("the client trusts a certificate that its authority did not sign")
        said = child.tail()
        session.fetch(["small"])
    return said[-60:]


def late_fin(place, case):
    """The end of a request comes when its answer has begun, and maybe is all written."""
    with Session(place, case, 30) as session:
        session.fetch(["small", "64k", "1m"], late_fin=True)
    return "the request's end came later"


def ipv6(place, case):
    with Session(place, case, 30, host="::1") as session:
        session.fetch(["1m"])
    return "::1"


def lossy(place, case):
    with Session(place, case, 60) as session, \
            Relay(session.port, loss=0.02, seed=20261) as relay:
        session.fetch(["1m", "64k"], relay.port)
        if not relay.dropped:
            raise Problem("the relay lost nothing")
    return f"{relay.dropped} datagrams lost"


def rebinding(place, case):
    with Session(place, case, 40) as session, Relay(session.port, rebind_after=40) as relay:
        session.fetch(["10m"], relay.port)
        if not relay.rebound:
            raise Problem("the client sent too little for a rebinding")
    return "the client's port changed"


FEATURES = {function.__name__.replace("_", "-"): function for function in (
    download, files, retry, key_update, version_negotiation, small_mtu, small_packets,
    unknown_path, wrong_authority, late_fin, ipv6, lossy, rebinding)}


def applies(case):
    """Whether the two stacks can do that feature together."""
    server, client = case.server, case.client
    if case.feature == "key-update":
        return "key-update" in server.server_features or "key-update" in client.client_features
    if case.feature == "late-fin":
        # Quinn's and quic-go's servers here wait for the end before they answer.
        return "late-fin" in client.client_features and "late-fin" in server.server_features
    if case.feature == "small-packets":
        return "small-packets" in server.server_features | client.client_features
    if case.feature == "download" and case.length > 10**8:
        return server.has_bytes  # no file of that size is written
    return True


def run(place, case):
    """Runs a case; returns a remark. Raises Problem."""
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [path.unlink() for path in place.work.iterdir()])
        return FEATURES[case.feature](place, case)
