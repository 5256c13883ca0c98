"""What the interop tests and the benchmarks share: processes, stacks, networks, data."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / "build"
"""Peers, logs and results go below build/interop; nothing is written beside the sources."""
FOLDER = BUILD / "interop"
SUITES = ("aes128gcm", "aes256gcm", "chacha20")
