// The generated bindings, and conversions between their addresses and ours.
#pragma once

#include <cstdint>

#include "io/wasi/generated/quasi.h"
#include "quasi/socket_address.h"

namespace quasi::io {

[[nodiscard]] wasi_sockets_types_ip_socket_address_t to_wasi(const SocketAddress& address);
/// Overwrites all of `address`.
void from_wasi(const wasi_sockets_types_ip_socket_address_t& wasi, SocketAddress& address);
[[nodiscard]] SocketAddress from_wasi(const wasi_sockets_types_ip_address_t& wasi,
                                      std::uint16_t port);

}  // namespace quasi::io
