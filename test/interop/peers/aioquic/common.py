"""What the aioquic server and client share: suites, deterministic content, CPU time."""

import resource
import socket

from aioquic.tls import CipherSuite

ALPN = "hq-interop"
NOT_FOUND = 404  # application error code of a stream whose file does not exist
SOCKET_BUFFER = 8 << 20
SUITES = {
    "aes128gcm": CipherSuite.AES_128_GCM_SHA256,
    "aes256gcm": CipherSuite.AES_256_GCM_SHA384,
    "chacha20": CipherSuite.CHACHA20_POLY1305_SHA256,
}


def pattern():
    """The content of /bytes/N is this block over and over: xorshift64 from the seed below,
    little-endian. Its length is prime, so that displaced data never look right."""
    length, mask = 1_048_573, (1 << 64) - 1
    state = 0x9E3779B97F4A7C15
    block = bytearray()
    while len(block) < length:
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        block += state.to_bytes(8, "little")
    return bytes(block[:length])


def enlarge_buffers(sock):
    """Beyond the system's limit where we may."""
    for plain, forced in ((socket.SO_RCVBUF, 33), (socket.SO_SNDBUF, 32)):
        sock.setsockopt(socket.SOL_SOCKET, plain, SOCKET_BUFFER)
        try:
            sock.setsockopt(socket.SOL_SOCKET, forced, SOCKET_BUFFER)
        except PermissionError:
            pass


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
