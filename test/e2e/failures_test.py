"""What goes wrong on a user's machine: each time one sentence that names cause and cure,
the exit code of its kind, and nothing half-written."""

import asyncio
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from program import PROGRAMS, Relay, Server, TestCase, free_port, run, start

WORLDS = ("native", "wasm")


class Failures(TestCase):
    def get(self, world, url, *options, **keywords):
        return run(world, "get", url, "-o", self.out / "got", *options, **keywords)

    def test_wrong_command_lines(self):
        for arguments in ((), ("fetch",), ("get",), ("get", "http://x/"), ("get", "--frob"),
                          ("get", "https://h:99999/"), ("get", "https://h/", "--cipher", "rc4"),
                          ("get", "https://h/", "--pin", "12"), ("get", "https://h/", "-o"),
                          ("get", "https://h/", "--pin", "0" * 64, "--insecure"), ("serve",),
                          ("serve", ".", "--listen", "nowhere"), ("serve", ".", "--cert", "x"),
                          ("get", "https://h/", "--ack-every", "0"), ("cert", "--days", "x"),
                          ("get", "https://h/", "-o", ""), ("get", "https://h/x", "https://i/x"),
                          ("get", "https://h/", "--json", "-o", "/dev/stdout"),
                          ("cert", "--cert", "x", "--key", "x")):
            with self.subTest(arguments=arguments):
                self.assert_fails(run("native", *arguments), 2)

    def test_help_everywhere(self):
        for world in WORLDS:
            for arguments in (("--help",), ("get", "--help"), ("serve", "-h"), ("cert", "--help")):
                code, out, err = run(world, *arguments)
                self.assertEqual((code, err), (0, ""))
                self.assertIn("Usage: quasi", out)

    def test_wrong_certificate(self):
        self.make_file("data", 1000)
        with Server("native", self.site) as s:
            for world in WORLDS:
                self.assert_fails(self.get(world, s.url("data"), "--pin", "00" * 32), 5, "fingerprint")
                self.assert_fails(self.get(world, s.url("data")), 5, "certificate", "trusted")
        self.assert_nothing_kept()

    def test_unknown_alpn(self):
        from aioquic.asyncio import serve
        from aioquic.quic.configuration import QuicConfiguration
        cert, key = self.folder / "c.pem", self.folder / "k.pem"
        self.assertEqual(run("native", "cert", "--cert", cert, "--key", key)[0], 0)
        configuration = QuicConfiguration(is_client=False, alpn_protocols=["other"])
        configuration.load_cert_chain(cert, key)
        loop = asyncio.new_event_loop()
        port = free_port()
        server = loop.run_until_complete(
            serve("127.0.0.1", port, configuration=configuration))
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            for world in WORLDS:
                self.assert_fails(
                    self.get(world, f"https://127.0.0.1:{port}/x", "--insecure"), 5, "ALPN")
        finally:
            loop.call_soon_threadsafe(server.close)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        self.assert_nothing_kept()

    def test_nobody_listens(self):
        for world in WORLDS:
            began = time.monotonic()
            result = self.get(world, f"https://127.0.0.1:{free_port()}/x", "--insecure",
                              "--connect-timeout", "3")
            self.assert_fails(result, 4, "127.0.0.1:")
            self.assertLess(time.monotonic() - began, 20)
        self.assert_nothing_kept()

    def test_silent_and_garbling_servers(self):
        for reply in (None, b"\x00", b"\xc0" + os.urandom(1199), b"\x40" + os.urandom(60)):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", 0))
                s.settimeout(0.1)
                running = True

                def answer():
                    while running:
                        try:
                            _, sender = s.recvfrom(65536)
                            if reply is not None:
                                s.sendto(reply, sender)
                        except OSError:
                            pass

                thread = threading.Thread(target=answer)
                thread.start()
                try:
                    for world in WORLDS:
                        self.assert_fails(
                            self.get(world, f"https://127.0.0.1:{s.getsockname()[1]}/x",
                                     "--insecure", "--connect-timeout", "1"), 4, "No answer")
                finally:
                    running = False
                    thread.join()
        self.assert_nothing_kept()

    def test_unknown_host(self):
        for world in WORLDS:
            self.assert_fails(self.get(world, "https://no-such-host.invalid/x"), 3,
                              "no-such-host.invalid")
        self.assert_nothing_kept()

    def test_files_that_cannot_be_written(self):
        self.make_file("data", 1000)
        with Server("native", self.site) as s:
            for path in (self.folder / "missing" / "x", self.out):
                for world in WORLDS:
                    result = run(world, "get", s.url("data"), "-o", path, "--pin", s.pin)
                    self.assertEqual(result[0], 7, result[2])
        self.assert_nothing_kept()

    def test_urls_that_are_too_long(self):
        for world in WORLDS:
            self.assert_fails(run(world, "get", "https://127.0.0.1/" + "x" * 70_000), 2, "too long")

    def test_fifos_are_written_to_and_stay(self):
        data = self.make_file("data", 1000).read_bytes()
        fifo = self.out / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with Server("native", self.site) as s:
            self.assertEqual(run("native", "get", s.url("data"), "-o", fifo, "--pin", s.pin),
                             (0, "", ""))
        self.assertEqual(os.read(reader, 2000), data)
        self.assertTrue(fifo.is_fifo())

    def test_links_are_written_through(self):
        data = self.make_file("data", 1000).read_bytes()
        (self.out / "file").write_text("old")
        (self.out / "link").symlink_to("file")
        with Server("native", self.site) as s:
            for world in WORLDS:
                self.assertEqual(run(world, "get", s.url("data"), "-o", self.out / "link", "--pin",
                                     s.pin), (0, "", ""))
                self.assertTrue((self.out / "link").is_symlink())
                self.assertEqual((self.out / "file").read_bytes(), data)
                (self.out / "file").write_text("old")

    def test_closed_and_full_standard_output(self):
        self.make_file("data", 100)
        with Server("native", self.site) as s:
            # Without a descriptor 1 of its own the socket must not get the file.
            command = [PROGRAMS["native"], "get", s.url("data"), "-o", "-", "--pin", s.pin]
            done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True,
                                  text=True, timeout=60)
            self.assert_fails((done.returncode, done.stdout, done.stderr), 7, "standard output")
        for arguments in (("--help",), ("--version",), ("get", "--help")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAMS["native"], *arguments], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assert_fails((done.returncode, "", done.stderr), 7, "standard output")

    def test_files_that_cannot_be_read(self):
        self.assert_fails(run("native", "serve", self.folder / "missing"), 7, "missing")
        self.assert_fails(self.get("native", "https://h/", "--ca", "missing.pem"), 7, "missing.pem")
        bad = self.folder / "bad.pem"
        bad.write_text("not a certificate")
        self.assert_fails(run("native", "serve", self.site, "--cert", bad, "--key", bad), 5)

    def test_port_in_use(self):
        with Server("native", self.site) as s:
            for world in WORLDS:
                self.assert_fails(
                    run(world, "serve", self.site, "--listen", f"127.0.0.1:{s.port}"), 9, "in use")

    def test_no_network_granted(self):
        component = os.path.join(os.path.dirname(PROGRAMS["wasm"]), "quasi.wasm")
        root = pathlib.Path(__file__).resolve().parents[2]
        wasmtime = os.environ.get("QUASI_WASMTIME") or root / ".venv/bin/wasmtime"
        done = subprocess.run(
            [wasmtime, "run", "-S", "udp", "-S", "p3", "-W", "component-model-async", component, "get",
             "https://127.0.0.1:9/x", "--insecure", "-o", "-"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("inherit-network", done.stderr)

    def test_paths_that_are_refused(self):
        (self.folder / "secret").write_text("secret")
        (self.site / "link").symlink_to(self.folder / "secret")
        (self.site / "up").symlink_to(self.folder)
        for server in WORLDS:
            with Server(server, self.site) as s:
                for path in ("missing", "../secret", "%2e%2e/secret", "link", "up/secret",
                             "a%00b", "%2fetc%2fpasswd", "bad%zz", ""):
                    with self.subTest(server=server, path=path):
                        self.assert_fails(
                            self.get("native", s.url(path), "--pin", s.pin), 8, "will not give")
        self.assert_nothing_kept()

    def test_a_server_without_descriptors_says_so(self):
        self.make_file("data", 100)
        os.mkdir(self.site / "few")
        with Server("native", self.site) as s:
            resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE, (0, 0))
            self.assert_fails(self.get("native", s.url("data"), "--pin", s.pin), 8, "busy")
            self.assert_fails(self.get("native", s.url("few/x"), "--pin", s.pin), 8, "busy")
        self.assert_nothing_kept()

    def test_unidirectional_requests_open_no_files(self):
        from aioquic.asyncio import QuicConnectionProtocol, connect
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import StopSendingReceived
        self.make_file("data", 100)
        stopped = []

        class Client(QuicConnectionProtocol):
            def quic_event_received(self, event):
                if isinstance(event, StopSendingReceived):
                    stopped.append(event.stream_id)

        async def ask(port, pid):
            configuration = QuicConfiguration(is_client=True, alpn_protocols=["hq-interop"],
                                              verify_mode=ssl.CERT_NONE)
            before = os.listdir(f"/proc/{pid}/fd")
            async with connect("127.0.0.1", port, configuration=configuration,
                               create_protocol=Client) as client:
                stream = client._quic.get_next_available_stream_id(is_unidirectional=True)
                client._quic.send_stream_data(stream, b"GET /data\r\n", False)
                client.transmit()
                for _ in range(100):
                    if stopped:
                        break
                    await asyncio.sleep(0.05)
                self.assertEqual(stopped, [stream])
                self.assertEqual(os.listdir(f"/proc/{pid}/fd"), before)

        with Server("native", self.site) as s:
            asyncio.run(ask(s.port, s.process.pid))

    def test_broken_in_the_middle(self):
        self.make_file("data", 4_000_000)
        for world in WORLDS:
            count = 0

            def cut(datagram, to_client):
                nonlocal count
                count += to_client
                return datagram if count < 400 else None

            with Server("native", self.site) as s, Relay(s.port, cut) as relay:
                self.assert_fails(
                    self.get(world, s.url("data", relay.port), "--pin", s.pin, "--idle-timeout",
                             "1"), 6, "broke")
            self.assert_nothing_kept()

    def test_interrupted_and_killed(self):
        self.make_file("data", 4_000_000)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            reached = threading.Event()
            count = 0

            def cut(datagram, to_client):
                nonlocal count
                count += to_client
                if count >= 400:
                    reached.set()
                    return None
                return datagram

            with Server("native", self.site) as s, Relay(s.port, cut) as relay:
                process = start("native", "get", s.url("data", relay.port), "-o",
                                str(self.out / "got"), "--pin", s.pin)
                self.assertTrue(reached.wait(30))
                process.send_signal(number)
                _, err = process.communicate(timeout=30)
            self.assertFalse((self.out / "got").exists())
            if number != signal.SIGKILL:
                self.assertEqual(process.returncode, 130, err)
                self.assert_nothing_kept()

    def test_server_stops_cleanly(self):
        for world in WORLDS:
            with Server(world, self.site) as s:
                s.process.send_signal(signal.SIGTERM)
                code = s.process.wait(20)
                if world == "native":
                    self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
