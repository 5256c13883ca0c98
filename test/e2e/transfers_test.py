"""Whole downloads over loopback: every pair of worlds, every suite, and what users do
with them."""

import json
import unittest

from program import SUITES, Relay, Server, TestCase, run, sha256

WORLDS = ("native", "wasm")


class Transfers(TestCase):
    def check(self, server, client, *options, size=3_000_000, server_options=()):
        source = self.make_file("data.bin", size)
        with Server(server, self.site, *server_options) as s:
            code, out, err = run(client, "get", s.url("data.bin"), "-o", self.out / "got",
                                 "--pin", s.pin, *options)
            self.assertEqual(code, 0, err + "".join(s.log))
        self.assertEqual(sha256(self.out / "got"), sha256(source))
        return out

    def test_every_pair_of_worlds_with_every_suite(self):
        for server in WORLDS:
            for client in WORLDS:
                for suite in SUITES:
                    with self.subTest(server=server, client=client, suite=suite):
                        self.check(server, client, "--cipher", suite)

    def test_server_chooses_the_suite(self):
        out = self.check("native", "native", "--json", server_options=("--cipher", "chacha20"))
        self.assertEqual(json.loads(out)["cipher"], "ChaCha20-Poly1305")

    def test_empty_and_tiny_files(self):
        for size in (0, 1, 1200):
            self.check("native", "wasm", size=size)

    def test_several_files_share_a_connection(self):
        files = [self.make_file(f"f{i}", 1000 * i) for i in range(12)]
        with Server("native", self.site) as s:
            urls = [s.url(f.name) for f in files]
            code, out, err = run("native", "get", *urls, "--pin", s.pin, "--json", cwd=self.out)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(json.loads(out)["files"]), 12)
        for f in files:
            self.assertEqual(sha256(self.out / f.name), sha256(f))

    def test_more_files_than_descriptors(self):
        # A component has 128 descriptors.
        file = self.make_file("f", 3000)
        names = [f"g{i}" for i in range(200)]
        with Server("native", self.site) as s:
            for client in WORLDS:
                outputs = [word for name in names for word in ("-o", name)]
                self.assertEqual(run(client, "get", *[s.url("f")] * 200, *outputs, "--pin", s.pin,
                                     cwd=self.out), (0, "", ""))
                for name in names:
                    self.assertEqual(sha256(self.out / name), sha256(file))
                    (self.out / name).unlink()
                self.assert_nothing_kept()

    def test_standard_output(self):
        (self.site / "text").write_text("quasi\n")
        with Server("native", self.site) as s:
            for client in WORLDS:
                code, out, err = run(client, "get", s.url("text"), "-o", "-", "--pin", s.pin)
                self.assertEqual((code, out, err), (0, "quasi\n", ""))

    def test_retry_and_key_updates(self):
        out = self.check("native", "native", "--key-update", "100", "--json", size=20_000_000,
                         server_options=("--retry", "--key-update", "100"))
        self.assertGreater(json.loads(out)["bytes"], 0)

    def test_made_certificate_is_trusted_by_its_authority(self):
        cert, key = self.folder / "c.pem", self.folder / "k.pem"
        for world in WORLDS:
            code, out, err = run(world, "cert", "localhost", "127.0.0.1", "--cert", cert, "--key",
                                 key)
            self.assertEqual(code, 0, err)
            source = self.make_file("data.bin", 5000)
            with Server("native", self.site, "--cert", str(cert), "--key", str(key)) as s:
                code, _, err = run(world, "get", s.url("data.bin"), "-o", self.out / "got", "--ca",
                                   cert)
            self.assertEqual(code, 0, err)
            self.assertEqual(sha256(self.out / "got"), sha256(source))

    def test_damaged_and_doubled_datagrams_do_no_harm(self):
        source = self.make_file("data.bin", 2_000_000)
        count = 0

        def damage(datagram, to_client):
            nonlocal count
            count += 1
            if count > 10 and count % 20 == 0:
                middle = len(datagram) // 2
                return datagram[:middle] + bytes([datagram[middle] ^ 0x40]) + datagram[middle + 1:]
            if count > 10 and count % 33 == 0:
                return datagram[:len(datagram) // 2]
            return datagram

        with Server("native", self.site) as s, Relay(s.port, damage) as relay:
            code, _, err = run("native", "get", s.url("data.bin", relay.port), "-o",
                               self.out / "got", "--pin", s.pin)
        self.assertEqual(code, 0, err)
        self.assertEqual(sha256(self.out / "got"), sha256(source))


if __name__ == "__main__":
    unittest.main()
