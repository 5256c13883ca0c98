"""Fetches URLs of one server over HTTP/0.9 (ALPN hq-interop) with aioquic, all on one
connection.

  client.py URL... [--output FILE]... (--ca PEM | --insecure) [--cipher SUITE] [--sha256]
            [--key-update-every BYTES] [--negotiate-version] [--late-fin] [--max-seconds S]

Without an --output (one a URL, in order) the content is discarded. Prints a line FILE for
each URL and then RESULT. --negotiate-version first offers a version that nobody speaks;
--late-fin ends each request only when its answer has begun.
"""

import argparse
import asyncio
import hashlib
import ssl
import sys
import time
import urllib.parse

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.packet import QuicProtocolVersion

import common

# RFC 9000 §15: versions of this form are reserved to exercise version negotiation.
RESERVED_VERSION = 0x1A2A3A4A
WINDOW = 2 << 20


class Fetch:
    """One stream: a request, and where its answer goes."""

    def __init__(self, path, output, digest):
        self.path = path
        self.output = output
        self.digest = hashlib.sha256() if digest else None
        self.file = None
        self.bytes = 0

    def write(self, data):
        self.bytes += len(data)
        if self.digest:
            self.digest.update(data)
        if self.output:
            if not self.file:
                self.file = open(self.output, "wb")
            self.file.write(data)

    def finish(self):
        self.write(b"")
        if self.file:
            self.file.close()
        digest = f" sha256={self.digest.hexdigest()}" if self.digest else ""
        print(f"FILE {self.path} bytes={self.bytes}{digest}")


class FileClient(QuicConnectionProtocol):
    def __init__(self, *arguments, key_update_every, late_fin, **named):
        super().__init__(*arguments, **named)
        self._fetches = {}
        self._late_fin = late_fin
        self._key_update_every = key_update_every
        self._bytes = 0
        self._unconfirmed = False
        self._over = self._loop.create_future()
        self.key_updates = 0

    async def fetch(self, fetches):
        for fetch in fetches:
            stream = self._quic.get_next_available_stream_id()
            self._fetches[stream] = fetch
            self._quic.send_stream_data(stream, f"GET {fetch.path}\r\n".encode(),
                                        end_stream=not self._late_fin)
        self.transmit()
        await self._over

    def _fail(self, why):
        if not self._over.done():
            self._over.set_exception(OSError(why))

    def _update_keys(self):
        """aioquic would update at once; RFC 9001 §6.1 wants a packet of the current phase to be
        acknowledged first. The PING below is such a packet."""
        if not self._key_update_every or self._unconfirmed or \
                self._bytes < self._key_update_every * (self.key_updates + 1):
            return
        self.key_updates += 1
        self._unconfirmed = True
        self._quic.request_key_update()
        self._quic.send_ping(self.key_updates)

    def quic_event_received(self, event):
        if isinstance(event, events.ConnectionTerminated):
            self._fail(f"the connection was closed: {event.reason_phrase or event.error_code}")
            return
        if isinstance(event, events.PingAcknowledged):
            self._unconfirmed = False
        fetch = self._fetches.get(getattr(event, "stream_id", None))
        if fetch is None:
            return
        if isinstance(event, events.StreamReset):
            self._fail(f"{fetch.path}: reset by the server, error {event.error_code}")
        elif isinstance(event, events.StreamDataReceived):
            if self._late_fin and fetch.bytes == 0 and event.data:
                self._quic.send_stream_data(event.stream_id, b"", end_stream=True)
            fetch.write(event.data)
            self._bytes += len(event.data)
            self._update_keys()
            if event.end_stream:
                fetch.finish()
                del self._fetches[event.stream_id]
                if not self._fetches and not self._over.done():
                    self._over.set_result(None)


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--output", action="append", default=[])
    parser.add_argument("--ca")
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--cipher", choices=common.SUITES)
    parser.add_argument("--sha256", action="store_true")
    parser.add_argument("--key-update-every", type=int)
    parser.add_argument("--negotiate-version", action="store_true")
    parser.add_argument("--late-fin", action="store_true")
    parser.add_argument("--max-seconds", type=float, default=60)
    return parser.parse_args(arguments)


async def run(options):
    urls = [urllib.parse.urlsplit(url) for url in options.urls]
    configuration = QuicConfiguration(is_client=True, alpn_protocols=[common.ALPN],
                                      idle_timeout=20, max_data=2 * WINDOW, max_stream_data=WINDOW)
    if options.insecure:
        configuration.verify_mode = ssl.CERT_NONE
    else:
        configuration.load_verify_locations(options.ca)
    if options.cipher:
        configuration.cipher_suites = [common.SUITES[options.cipher]]
    if options.negotiate_version:
        configuration.supported_versions = [RESERVED_VERSION, QuicProtocolVersion.VERSION_1]
        configuration.original_version = RESERVED_VERSION
    outputs = options.output + [None] * len(urls)
    fetches = [Fetch(url.path, output, options.sha256) for url, output in zip(urls, outputs)]
    started = time.monotonic()
    async with connect(
            urls[0].hostname, urls[0].port, configuration=configuration,
            create_protocol=lambda *arguments, **named: FileClient(
                *arguments, key_update_every=options.key_update_every,
                late_fin=options.late_fin, **named)) as client:
        common.enlarge_buffers(client._transport.get_extra_info("socket"))
        await client.fetch(fetches)
        seconds = time.monotonic() - started
        version = client._quic._version
        # Close, but do not sit out the draining period (RFC 9000 §10.2).
        client.close()
        client._closed.set()
    total = sum(fetch.bytes for fetch in fetches)
    print(f"RESULT bytes={total} secs={seconds:.4f} mbps={total * 8e-6 / seconds:.1f} "
          f"cpu_ms_per_gib={common.cpu_seconds() * 1e3 / max(total / 2**30, 1e-9):.1f} "
          f"key_updates={client.key_updates} version={version:#x}")


async def main():
    options = parse(sys.argv[1:])
    try:
        await asyncio.wait_for(run(options), options.max_seconds)
    except asyncio.TimeoutError:
        sys.exit(f"aioquic client: not done after {options.max_seconds:g} s")
    except OSError as error:
        sys.exit(f"aioquic client: {error or 'the connection failed'}")


if __name__ == "__main__":
    asyncio.run(main())
