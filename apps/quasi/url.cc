// Parsing of https URLs (see url.h).
#include "url.h"

#include <algorithm>
#include <charconv>

namespace quasi::app {

std::string Url::file_name() const {
  const std::string_view whole = std::string_view(path).substr(0, path.find('?'));
  const std::string_view name = whole.substr(whole.rfind('/') + 1);
  return name.empty() || name == "." || name == ".." ? "index.html" : std::string(name);
}

std::string Url::authority() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::expected<Url, std::string> parse_url(std::string_view text) {
  const auto wrong = [&](const char* what) {
    return std::unexpected("\"" + std::string(text) + "\" is not a URL that can be fetched: " +
                           what + " (expected https://host[:port]/path).");
  };
  constexpr std::string_view kScheme = "https://";
  constexpr std::size_t kLongest = 8000;  // requests are read up to 8 KiB
  if (text.size() > kLongest) {
    return std::unexpected("A URL of " + std::to_string(text.size()) + " bytes is too long; " +
                           std::to_string(kLongest) + " are possible.");
  }
  if (!text.starts_with(kScheme)) return wrong("it does not begin with https://");
  std::string_view rest = text.substr(kScheme.size());
  rest = rest.substr(0, rest.find('#'));
  const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  Url url;
  if (slash < rest.size()) url.path = rest.substr(slash);
  if (url.path.front() == '?') url.path.insert(0, "/");
  const bool printable =
      std::all_of(url.path.begin(), url.path.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!printable) return wrong("the path has blanks or bytes outside ASCII; percent-encode them");
  if (authority.find('@') != std::string_view::npos) return wrong("user names are not supported");

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return wrong("the bracket is not closed");
    url.host = authority.substr(1, bracket - 1);
    const std::string_view after = authority.substr(bracket + 1);
    if (!after.empty() && after.front() != ':') return wrong("rubbish after the bracket");
    port = after.empty() ? after : after.substr(1);
  } else {
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    if (colon != std::string_view::npos && port.empty()) return wrong("the port is missing");
  }
  if (url.host.empty()) return wrong("the host is missing");
  if (!port.empty()) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
    if (error != std::errc() || end != port.data() + port.size() || value == 0 || value > 65535) {
      return wrong("the port is not a number from 1 to 65535");
    }
    url.port = static_cast<std::uint16_t>(value);
  }
  return url;
}

}  // namespace quasi::app
