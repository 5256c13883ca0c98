// An IPv4 or IPv6 address with a port: where datagrams come from and go to.
// Values only; nothing here resolves names or opens sockets.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quasi {

struct SocketAddress {
  enum class Family : std::uint8_t { unspecified, ipv4, ipv6 };

  Family family = Family::unspecified;
  std::uint16_t port = 0;             // host byte order
  std::uint32_t scope_id = 0;         // IPv6 zone; 0 when there is none
  std::array<std::uint8_t, 16> ip{};  // IPv4 uses the first four bytes

  [[nodiscard]] bool is_valid() const { return family != Family::unspecified; }
  friend auto operator<=>(const SocketAddress&, const SocketAddress&) = default;

  /// Reads "192.0.2.1:443" or "[2001:db8::1]:443". Names are not resolved.
  [[nodiscard]] static std::optional<SocketAddress> parse(std::string_view text);
  /// Reads an address without a port, brackets optional for IPv6.
  [[nodiscard]] static std::optional<SocketAddress> parse_ip(std::string_view text,
                                                             std::uint16_t port);
  /// "192.0.2.1:443", "[2001:db8::1]:443", or "unspecified".
  [[nodiscard]] std::string to_string() const;
};

}  // namespace quasi
