// Text forms of addresses: RFC 4291 §2.2 and RFC 3986 §3.2.2 on the way in, RFC 5952
// on the way out. Written here, not taken from the host's resolver, so that every
// platform accepts and prints the same strings.
#include "quasi/socket_address.h"

#include <cstddef>

namespace quasi {
namespace {

/// Reads a decimal number of the whole `text`, at most `max`; no sign, no leading zeros.
std::optional<std::uint32_t> parse_decimal(std::string_view text, std::uint32_t max) {
  if (text.empty() || text.size() > 10 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > max) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

/// Reads one to four hexadecimal digits.
std::optional<std::uint16_t> parse_group(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return static_cast<std::uint16_t>(value);
}

/// Writes the four bytes of a dotted quad to `out`.
bool parse_ipv4(std::string_view text, std::uint8_t* out) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3)) return false;
    const auto byte = parse_decimal(text.substr(0, dot), 255);
    if (!byte) return false;
    out[i] = static_cast<std::uint8_t>(*byte);
    if (i < 3) text.remove_prefix(dot + 1);
  }
  return true;
}

/// Reads "g:g:g" (or nothing) into `out`, whose last group may be a dotted quad when
/// `quad_allowed`. Returns the number of bytes written, or nothing when malformed.
std::optional<std::size_t> parse_groups(std::string_view text, bool quad_allowed,
                                        std::array<std::uint8_t, 16>& out) {
  std::size_t size = 0;
  if (text.empty()) return size;
  for (;;) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    const bool last = colon == std::string_view::npos;
    if (last && quad_allowed && group.find('.') != std::string_view::npos) {
      if (size + 4 > out.size() || !parse_ipv4(group, out.data() + size)) return std::nullopt;
      return size + 4;
    }
    const auto value = parse_group(group);
    if (!value || size + 2 > out.size()) return std::nullopt;
    out[size] = static_cast<std::uint8_t>(*value >> 8);
    out[size + 1] = static_cast<std::uint8_t>(*value & 0xff);
    size += 2;
    if (last) return size;
    text.remove_prefix(colon + 1);
  }
}

bool parse_ipv6(std::string_view text, std::array<std::uint8_t, 16>& out) {
  out.fill(0);
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    const auto size = parse_groups(text, true, out);
    return size == out.size();
  }
  std::array<std::uint8_t, 16> tail{};
  const auto head_size = parse_groups(text.substr(0, gap), false, out);
  const auto tail_size = parse_groups(text.substr(gap + 2), true, tail);
  // The gap stands for at least one group.
  if (!head_size || !tail_size || *head_size + *tail_size > 14) return false;
  for (std::size_t i = *head_size; i < 16; ++i) out[i] = 0;
  for (std::size_t i = 0; i < *tail_size; ++i) out[16 - *tail_size + i] = tail[i];
  return true;
}

void append_ipv4(std::string& text, const std::uint8_t* bytes) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i > 0) text += '.';
    text += std::to_string(bytes[i]);
  }
}

void append_ipv6(std::string& text, const std::array<std::uint8_t, 16>& ip) {
  std::array<std::uint16_t, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) {
    groups[i] = static_cast<std::uint16_t>(ip[2 * i] << 8 | ip[2 * i + 1]);
  }
  // RFC 5952 §4.2: the longest run of zero groups, the first of equals, never a single one.
  std::size_t gap = 8;
  std::size_t gap_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > gap_length) {
      gap = i;
      gap_length = length;
    }
  }
  // RFC 5952 §5: a mapped IPv4 address is written as one.
  if (gap == 0 && gap_length == 5 && groups[5] == 0xffff) {
    text += "::ffff:";
    append_ipv4(text, ip.data() + 12);
    return;
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  bool colon = false;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_length - 1;
      colon = false;
      continue;
    }
    if (colon) text += ':';
    bool leading = true;
    for (int shift = 12; shift >= 0; shift -= 4) {
      const unsigned digit = (static_cast<unsigned>(groups[i]) >> shift) & 0xf;
      if (digit == 0 && leading && shift > 0) continue;
      leading = false;
      text += kDigits[digit];
    }
    colon = true;
  }
}

}  // namespace

std::optional<SocketAddress> SocketAddress::parse_ip(std::string_view text, std::uint16_t port) {
  SocketAddress address;
  address.port = port;
  if (text.find(':') == std::string_view::npos) {
    if (!parse_ipv4(text, address.ip.data())) return std::nullopt;
    address.family = Family::ipv4;
    return address;
  }
  if (text.front() == '[') {
    if (text.back() != ']') return std::nullopt;
    text = text.substr(1, text.size() - 2);
  }
  // A zone by number only: to turn a name into one needs the host (RFC 4007 §11.2).
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    const auto zone = parse_decimal(text.substr(percent + 1), 0xffff'ffff);
    if (!zone) return std::nullopt;
    address.scope_id = *zone;
    text = text.substr(0, percent);
  }
  if (!parse_ipv6(text, address.ip)) return std::nullopt;
  address.family = Family::ipv6;
  return address;
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const auto port = parse_decimal(text.substr(colon + 1), 0xffff);
  if (!port) return std::nullopt;
  // RFC 3986 §3.2.2: brackets tell the colons of an IPv6 address from the port's.
  const bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (!brackets && host.find(':') != std::string_view::npos) return std::nullopt;
  return parse_ip(host, static_cast<std::uint16_t>(*port));
}

std::string SocketAddress::to_string() const {
  std::string text;
  switch (family) {
    case Family::unspecified:
      return "unspecified";
    case Family::ipv4:
      append_ipv4(text, ip.data());
      break;
    case Family::ipv6:
      text += '[';
      append_ipv6(text, ip);
      if (scope_id != 0) {
        text += '%';
        text += std::to_string(scope_id);
      }
      text += ']';
      break;
  }
  text += ':';
  text += std::to_string(port);
  return text;
}

}  // namespace quasi
