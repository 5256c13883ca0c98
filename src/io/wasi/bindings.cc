// Addresses to and from the generated bindings (see bindings.h).
#include "io/wasi/bindings.h"

#include <array>
#include <bit>
#include <cstring>

namespace quasi::io {
namespace {

/// IPv6 addresses are eight numbers in WIT, sixteen bytes in network order here.
void store_groups(const wasi_sockets_types_ipv6_address_t& from, std::uint8_t* to) {
  std::array<std::uint16_t, 8> groups{};
  static_assert(sizeof from == sizeof groups);
  std::memcpy(groups.data(), &from, sizeof groups);
  for (std::uint16_t& group : groups) group = std::byteswap(group);
  std::memcpy(to, groups.data(), sizeof groups);
}

wasi_sockets_types_ipv6_address_t load_groups(const std::uint8_t* from) {
  std::array<std::uint16_t, 8> groups{};
  std::memcpy(groups.data(), from, sizeof groups);
  for (std::uint16_t& group : groups) group = std::byteswap(group);
  wasi_sockets_types_ipv6_address_t to;
  std::memcpy(&to, groups.data(), sizeof to);
  return to;
}

}  // namespace

wasi_sockets_types_ip_socket_address_t to_wasi(const SocketAddress& address) {
  wasi_sockets_types_ip_socket_address_t wasi{};
  if (address.family == SocketAddress::Family::ipv6) {
    wasi.tag = WASI_SOCKETS_TYPES_IP_SOCKET_ADDRESS_IPV6;
    wasi.val.ipv6.port = address.port;
    wasi.val.ipv6.scope_id = address.scope_id;
    wasi.val.ipv6.address = load_groups(address.ip.data());
  } else {
    wasi.tag = WASI_SOCKETS_TYPES_IP_SOCKET_ADDRESS_IPV4;
    wasi.val.ipv4.port = address.port;
    std::memcpy(&wasi.val.ipv4.address, address.ip.data(), 4);
  }
  return wasi;
}

void from_wasi(const wasi_sockets_types_ip_socket_address_t& wasi, SocketAddress& address) {
  if (wasi.tag == WASI_SOCKETS_TYPES_IP_SOCKET_ADDRESS_IPV6) {
    address.family = SocketAddress::Family::ipv6;
    address.port = wasi.val.ipv6.port;
    address.scope_id = wasi.val.ipv6.scope_id;
    store_groups(wasi.val.ipv6.address, address.ip.data());
  } else {
    address.family = SocketAddress::Family::ipv4;
    address.port = wasi.val.ipv4.port;
    address.scope_id = 0;
    address.ip.fill(0);
    std::memcpy(address.ip.data(), &wasi.val.ipv4.address, 4);
  }
}

SocketAddress from_wasi(const wasi_sockets_types_ip_address_t& wasi, std::uint16_t port) {
  SocketAddress address;
  address.port = port;
  if (wasi.tag == WASI_SOCKETS_TYPES_IP_ADDRESS_IPV6) {
    address.family = SocketAddress::Family::ipv6;
    store_groups(wasi.val.ipv6, address.ip.data());
  } else {
    address.family = SocketAddress::Family::ipv4;
    std::memcpy(address.ip.data(), &wasi.val.ipv4, 4);
  }
  return address;
}

}  // namespace quasi::io
