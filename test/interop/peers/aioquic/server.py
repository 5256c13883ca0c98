"""Serves files over HTTP/0.9 (ALPN hq-interop) with aioquic, and /bytes/N, N deterministic
bytes.

  server.py --listen ADDR:PORT --cert PEM --key PEM [--dir DIR] [--cipher SUITE] [--retry]
            [--max-connections N] [--max-seconds S]

Prints `listening on ADDR:PORT`. Ends after so many connections or seconds.
"""

import argparse
import asyncio
import pathlib
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration

import common

# A stream's data are handed to aioquic in parts, and no more than so many bytes of them
# wait there for their acknowledgement.
PART = 256 << 10
BACKLOG = 4 << 20
MAX_REQUEST = 8192


def synthetic(length, block):
    """`length` deterministic bytes, in parts."""
    at = 0
    while length > 0:
        part = block[at:at + min(PART, length)]
        yield part
        length -= len(part)
        at = (at + len(part)) % len(block)


def file_parts(path):
    with open(path, "rb") as file:
        while part := file.read(PART):
            yield part


class FileServer(QuicConnectionProtocol):
    def __init__(self, *arguments, content, on_end, **named):
        super().__init__(*arguments, **named)
        self._content = content
        self._on_end = on_end
        self._requests = {}
        self._answers = {}

    def datagram_received(self, data, addr):
        super().datagram_received(data, addr)
        # What was acknowledged made room for more.
        if self._answers:
            self._feed()
            self.transmit()

    def quic_event_received(self, event):
        if isinstance(event, events.StreamDataReceived):
            request = self._requests.setdefault(event.stream_id, bytearray())
            request += event.data
            if event.end_stream or request.endswith(b"\r\n") or len(request) > MAX_REQUEST:
                self._answer(event.stream_id, bytes(self._requests.pop(event.stream_id)))
        elif isinstance(event, (events.StreamReset, events.StopSendingReceived)):
            self._answers.pop(event.stream_id, None)
        elif isinstance(event, events.ConnectionTerminated):
            self._answers.clear()
            self._on_end()

    def _answer(self, stream, request):
        if stream in self._answers or not request:
            return
        parts = self._content(request)
        if parts is None:
            self._quic.reset_stream(stream, common.NOT_FOUND)
        else:
            self._answers[stream] = parts
            self._feed()

    def _feed(self):
        for stream, parts in list(self._answers.items()):
            state = self._quic._streams.get(stream)
            while state is None or len(state.sender._buffer) < BACKLOG:
                part = next(parts, None)
                self._quic.send_stream_data(stream, part or b"", end_stream=part is None)
                if part is None:
                    del self._answers[stream]
                    break
                state = self._quic._streams[stream]


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--cipher", choices=common.SUITES)
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--max-connections", type=int)
    parser.add_argument("--max-seconds", type=float, default=60)
    return parser.parse_args(arguments)


async def run(options):
    block = common.pattern()
    ended = asyncio.Event()
    connections = 0

    def content(request):
        """The parts of what was asked for; None if there is no such thing."""
        if not request.startswith(b"GET /"):
            return None
        path = request[4:].decode(errors="replace").rstrip("\r\n")
        if path.startswith("/bytes/") and path[7:].isdigit():
            return synthetic(int(path[7:]), block)
        if options.dir is None or ".." in path.split("/"):
            return None
        file = options.dir / path[1:]
        return file_parts(file) if file.is_file() else None

    def on_end():
        nonlocal connections
        connections += 1
        if connections == options.max_connections:
            ended.set()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=[common.ALPN],
                                      idle_timeout=20)
    configuration.load_cert_chain(options.cert, options.key)
    if options.cipher:
        configuration.cipher_suites = [common.SUITES[options.cipher]]
    host, _, port = options.listen.rpartition(":")
    server = await serve(
        host.strip("[]"), int(port), configuration=configuration, retry=options.retry,
        create_protocol=lambda *arguments, **named: FileServer(
            *arguments, content=content, on_end=on_end, **named))
    sock = server._transport.get_extra_info("socket")
    common.enlarge_buffers(sock)
    address = sock.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    print(f"listening on {shown}:{address[1]}", flush=True)
    try:
        await asyncio.wait_for(ended.wait(), options.max_seconds)
    except asyncio.TimeoutError:
        sys.exit(f"aioquic server: not done after {options.max_seconds:g} s")
    server.close()


if __name__ == "__main__":
    asyncio.run(run(parse(sys.argv[1:])))
