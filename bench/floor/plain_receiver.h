// The simplest receiver there is, and how udp-floor prints what it measured.
#pragma once

#include <cstdint>

#include "quasi/socket_address.h"
#include "quasi/time.h"

namespace quasi::bench {

/// CPU time of this process, user and system; WASI does not tell, then it is zero.
using CpuTime = Duration;
[[nodiscard]] CpuTime cpu_time();

/// RESULT bytes=... dgrams=... secs=... mbps=... cpu_ms_per_gib=... calls=...
/// Without a CPU clock cpu_ms_per_gib is left out: whoever runs the host measures it.
void print_result(std::uint64_t bytes, std::uint64_t datagrams, Duration wall, CpuTime cpu,
                  std::uint64_t calls);

/// One recvfrom a datagram, blocking. Returns the program's exit code.
[[nodiscard]] int receive_plainly(const SocketAddress& address, std::uint64_t datagrams,
                                  std::uint64_t ack_every);

}  // namespace quasi::bench
