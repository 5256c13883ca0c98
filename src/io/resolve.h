// Host names to addresses: getaddrinfo natively, wasi:sockets in a component.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "quasi/socket_address.h"

namespace quasi::io {

/// The addresses of `host` (a DNS name, "localhost", or an IP address, which needs no
/// network), in the order in which they should be tried, each with `port`. Blocks. At
/// least one address, or one sentence that says why there is none.
[[nodiscard]] std::expected<std::vector<SocketAddress>, std::string> resolve(
    const std::string& host, std::uint16_t port);

}  // namespace quasi::io
