// Receiving with recvfrom, and printing results (see plain_receiver.h).
#include "floor/plain_receiver.h"

#include <cstdio>

#if !QUASI_WASM
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "io/linux/sockaddr.h"
#include "quasi/bytes.h"
#endif

namespace quasi::bench {

void print_result(std::uint64_t bytes, std::uint64_t datagrams, Duration wall, CpuTime cpu,
                  std::uint64_t calls) {
  const double seconds = wall.to_seconds();
  const double gib = static_cast<double>(bytes) / (1U << 30);
  std::printf("RESULT bytes=%llu dgrams=%llu secs=%.4f mbps=%.1f",
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(datagrams),
              seconds, seconds > 0 ? static_cast<double>(bytes) * 8e-6 / seconds : 0);
  if (cpu.ns() > 0 && gib > 0) std::printf(" cpu_ms_per_gib=%.1f", cpu.to_seconds() * 1e3 / gib);
  std::printf(" calls=%llu\n", static_cast<unsigned long long>(calls));
  std::fflush(stdout);
}

#if QUASI_WASM

CpuTime cpu_time() { return {}; }

int receive_plainly(const SocketAddress&, std::uint64_t, std::uint64_t) {
  std::fprintf(stderr, "udp-floor: a component has no --mode plain; leave it out.\n");
  return 2;
}

#else

CpuTime cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto duration = [](const timeval& t) {
    return Duration::seconds(t.tv_sec) + Duration::microseconds(t.tv_usec);
  };
  return duration(usage.ru_utime) + duration(usage.ru_stime);
}

int receive_plainly(const SocketAddress& address, std::uint64_t datagrams,
                    std::uint64_t ack_every) {
  using Clock = std::chrono::steady_clock;
  io::KernelAddress local{};
  const socklen_t length = io::to_kernel(address, local);
  const int fd = socket(local.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int buffer = 8 << 20;
  const timeval patience{10, 0};
  if (fd < 0 || bind(fd, &local.any, length) != 0) {
    std::fprintf(stderr, "udp-floor: cannot listen there: %s.\n", std::strerror(errno));
    return 1;
  }
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<std::uint8_t, 2048> bytes_in;
  std::uint64_t count = 0, acknowledged = 0, bytes = 0;
  Clock::time_point start;
  CpuTime cpu_start;
  while (count < datagrams) {
    io::KernelAddress remote{};
    socklen_t remote_length = sizeof remote;
    const ssize_t got =
        recvfrom(fd, bytes_in.data(), bytes_in.size(), 0, &remote.any, &remote_length);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::fprintf(stderr, "udp-floor: nothing arrives any more: %s.\n", std::strerror(errno));
      close(fd);
      return 1;
    }
    if (count == 0) {
      start = Clock::now();
      cpu_start = cpu_time();
    }
    ++count;
    bytes += static_cast<std::uint64_t>(got);
    if (count - acknowledged >= ack_every || count == datagrams) {
      acknowledged = count;
      std::array<std::uint8_t, 8> ack;
      store_be<std::uint64_t>(ack.data(), count);
      (void)sendto(fd, ack.data(), ack.size(), 0, &remote.any, remote_length);
    }
  }
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  print_result(bytes, count, Duration::nanoseconds(wall.count()), cpu_time() - cpu_start, count);
  close(fd);
  return 0;
}

#endif

}  // namespace quasi::bench
