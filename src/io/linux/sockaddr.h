// SocketAddress to and from the kernel's sockaddr.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cstring>

#include "quasi/socket_address.h"

namespace quasi::io {

/// Room for either family.
union KernelAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

[[nodiscard]] inline std::uint16_t swap_port(std::uint16_t port) {
  return std::endian::native == std::endian::little ? std::byteswap(port) : port;
}

/// Returns the length that the kernel wants beside it.
inline socklen_t to_kernel(const SocketAddress& from, KernelAddress& to) {
  if (from.family == SocketAddress::Family::ipv4) {
    to.v4 = sockaddr_in{};
    to.v4.sin_family = AF_INET;
    to.v4.sin_port = swap_port(from.port);
    std::memcpy(&to.v4.sin_addr, from.ip.data(), 4);
    return sizeof to.v4;
  }
  to.v6 = sockaddr_in6{};
  to.v6.sin6_family = AF_INET6;
  to.v6.sin6_port = swap_port(from.port);
  to.v6.sin6_scope_id = from.scope_id;
  std::memcpy(&to.v6.sin6_addr, from.ip.data(), 16);
  return sizeof to.v6;
}

/// Overwrites all of `to`.
inline void from_kernel(const KernelAddress& from, SocketAddress& to) {
  if (from.any.sa_family == AF_INET) {
    to.family = SocketAddress::Family::ipv4;
    to.port = swap_port(from.v4.sin_port);
    to.scope_id = 0;
    to.ip.fill(0);
    std::memcpy(to.ip.data(), &from.v4.sin_addr, 4);
  } else if (from.any.sa_family == AF_INET6) {
    to.family = SocketAddress::Family::ipv6;
    to.port = swap_port(from.v6.sin6_port);
    to.scope_id = from.v6.sin6_scope_id;
    std::memcpy(to.ip.data(), &from.v6.sin6_addr, 16);
  } else {
    to = SocketAddress{};
  }
}

}  // namespace quasi::io
