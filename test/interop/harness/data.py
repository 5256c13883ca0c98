"""The files that are served, the content of /bytes/N, and their digests."""

import functools
import hashlib
import importlib.util

from . import ROOT


@functools.cache
def pattern():
    """The block that /bytes/N repeats; each peer has its own copy of this definition."""
    path = ROOT / "test" / "interop" / "peers" / "aioquic" / "common.py"
    spec = importlib.util.spec_from_file_location("aioquic_peer_common", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pattern()


def parts(length):
    block = pattern()
    while length > 0:
        part = block if length >= len(block) else block[:length]
        yield part
        length -= len(part)


@functools.cache
def digest(length):
    """SHA-256 of /bytes/LENGTH, in hexadecimal."""
    sha256 = hashlib.sha256()
    for part in parts(length):
        sha256.update(part)
    return sha256.hexdigest()


def digest_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path, length):
    """A file with the content of /bytes/LENGTH."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for part in parts(length):
            file.write(part)
