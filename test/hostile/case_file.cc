// Reading hostile inputs (see case_file.h).
#include "hostile/case_file.h"

#include <charconv>

namespace quasi::hostile {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

template <class T>
std::optional<T> number(std::string_view text, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (;;) {
    text = trim(text);
    if (text.empty()) return out;
    // Parentheses are words of their own.
    const bool bracket = text.front() == '(' || text.front() == ')';
    const auto end = bracket ? 1 : std::min(text.find_first_of(" \t()"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text) {
  std::vector<std::uint8_t> out;
  std::size_t token = 0;             // where the last token or group begins
  std::optional<std::size_t> group;  // where the open group begins
  for (const std::string_view word : words(text)) {
    if (word == "(") {
      group = out.size();
    } else if (word == ")") {
      if (!group) return std::nullopt;
      token = *group;
      group.reset();
    } else if (word.front() == 'x') {
      const auto count = number<std::size_t>(word.substr(1), 10);
      if (!count || *count == 0 || *count > 100'000) return std::nullopt;
      const std::vector<std::uint8_t> unit(out.begin() + static_cast<long>(token), out.end());
      for (std::size_t i = 1; i < *count; ++i) out.insert(out.end(), unit.begin(), unit.end());
    } else {
      if (word.size() % 2 != 0) return std::nullopt;
      token = out.size();
      for (std::size_t i = 0; i < word.size(); i += 2) {
        const auto byte = number<std::uint8_t>(word.substr(i, 2), 16);
        if (!byte) return std::nullopt;
        out.push_back(*byte);
      }
    }
  }
  if (group) return std::nullopt;
  return out;
}

std::optional<Case> parse_case(std::string_view name, std::string_view text, std::string& error) {
  Case result;
  result.name = name;
  wire::PacketType type = wire::PacketType::one_rtt;
  bool expected = false;
  std::size_t line_number = 0;
  const auto wrong = [&](const char* why) {
    error = std::string(name) + ", line " + std::to_string(line_number) + ": " + why;
    return std::nullopt;
  };
  while (!text.empty()) {
    ++line_number;
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return wrong("not of the form key: value");
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "victim") {
      if (value != "server" && value != "client") return wrong("unknown victim");
      result.victim = value == "server" ? Side::server : Side::client;
    } else if (key == "stage") {
      if (value != "connected" && value != "handshake") return wrong("unknown stage");
      result.during_handshake = value == "handshake";
    } else if (key == "packet") {
      if (value == "1rtt") {
        type = wire::PacketType::one_rtt;
      } else if (value == "handshake") {
        type = wire::PacketType::handshake;
      } else if (value == "initial") {
        type = wire::PacketType::initial;
      } else {
        return wrong("unknown packet type");
      }
    } else if (key == "payload") {
      const auto payload = parse_hex(value);
      if (!payload) return wrong("not hexadecimal");
      result.packets.push_back({type, *payload});
    } else if (key == "parameters") {
      const auto parameters = parse_hex(value);
      if (!parameters || parameters->empty()) return wrong("not hexadecimal");
      result.parameters = *parameters;
    } else if (key == "expect") {
      expected = true;
      if (value == "alive") continue;
      for (const std::string_view word : words(value)) {
        const auto code = number<std::uint64_t>(word, 16);
        if (!code) return wrong("not a close code");
        result.codes.push_back(*code);
      }
    } else if (key == "frame") {
      result.frame_type = number<std::uint64_t>(value, 16);
      if (!result.frame_type) return wrong("not a frame type");
    } else {
      return wrong("unknown key");
    }
  }
  if (!expected) return wrong("nothing is expected");
  if (result.packets.empty() && result.parameters.empty()) return wrong("nothing is sent");
  return result;
}

}  // namespace quasi::hostile
