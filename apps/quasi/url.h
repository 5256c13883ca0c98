// https URLs as `quasi get` takes them: host, port and path, nothing else.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace quasi::app {

struct Url {
  std::string host;  // a DNS name or an IP address, without brackets
  std::uint16_t port = 443;
  std::string path = "/";  // as sent: with the query, without the fragment

  /// The last segment of the path, for naming a file; "index.html" when empty.
  [[nodiscard]] std::string file_name() const;
  /// host:port, with brackets around IPv6 addresses.
  [[nodiscard]] std::string authority() const;
};

/// The URL, or one sentence that says what is wrong with it.
[[nodiscard]] std::expected<Url, std::string> parse_url(std::string_view text);

}  // namespace quasi::app
