// Option parsing and help texts (see options.h).
#include "options.h"

#include <algorithm>
#include <charconv>

namespace quasi::app {
namespace {

constexpr OptionSpec kHelp{"help", 'h', "", "Print this help."};

const OptionSpec* find(const CommandSpec& command, std::string_view name) {
  if (name == kHelp.name) return &kHelp;
  for (const OptionSpec& option : command.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

const OptionSpec* find(const CommandSpec& command, char short_name) {
  if (short_name == kHelp.short_name) return &kHelp;
  for (const OptionSpec& option : command.options) {
    if (option.short_name != 0 && option.short_name == short_name) return &option;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> ParsedOptions::get(std::string_view name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return std::nullopt;
  return it->second.back();
}

std::vector<std::string> ParsedOptions::all(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::vector<std::string>() : it->second;
}

std::expected<std::uint64_t, std::string> ParsedOptions::number(std::string_view name,
                                                                std::uint64_t low,
                                                                std::uint64_t high,
                                                                std::uint64_t fallback) const {
  const auto text = get(name);
  if (!text) return fallback;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high) {
    return std::unexpected("--" + std::string(name) + " takes a whole number from " +
                           std::to_string(low) + " to " + std::to_string(high) + ", not \"" +
                           *text + "\".");
  }
  return value;
}

std::expected<ParsedOptions, std::string> parse_options(const CommandSpec& command,
                                                        std::span<const std::string> arguments) {
  ParsedOptions parsed;
  const std::string hint = " (\"quasi " + std::string(command.name) + " --help\" lists them).";
  bool only_positional = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (only_positional || argument.size() < 2 || argument.front() != '-') {
      parsed.positional_.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      only_positional = true;
      continue;
    }
    const bool is_long = argument.starts_with("--");
    const std::size_t equals = is_long ? argument.find('=') : std::string_view::npos;
    const std::string_view name = is_long ? argument.substr(2, equals - 2) : argument.substr(1, 1);
    const OptionSpec* option = is_long ? find(command, name) : find(command, name.front());
    if (option == nullptr) {
      return std::unexpected("Unknown option " + std::string(argument.substr(0, equals)) + hint);
    }
    const bool attached = is_long ? equals != std::string_view::npos : argument.size() > 2;
    std::string value;
    if (option->value.empty()) {
      if (attached) {
        return std::unexpected("Option --" + std::string(option->name) + " takes no value" + hint);
      }
    } else if (attached) {
      value = is_long ? argument.substr(equals + 1) : argument.substr(2);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return std::unexpected("Option --" + std::string(option->name) +
                             " needs a value: " + std::string(option->value) + hint);
    }
    parsed.values_[std::string(option->name)].push_back(std::move(value));
  }
  return parsed;
}

std::string help_text(const CommandSpec& command) {
  std::string text = "quasi " + std::string(command.name) + ": " + std::string(command.summary) +
                     "\n\nUsage: quasi " + std::string(command.name) + " [options] " +
                     std::string(command.arguments) + "\n\nOptions:\n";
  const auto line = [&](const OptionSpec& option) {
    std::string left = option.short_name != 0 ? std::string("  -") + option.short_name + ", --"
                                              : std::string("      --");
    left += option.name;
    if (!option.value.empty()) left += " " + std::string(option.value);
    left.resize(std::max<std::size_t>(left.size() + 2, 34), ' ');
    text += left + std::string(option.description) + "\n";
  };
  for (const OptionSpec& option : command.options) line(option);
  line(kHelp);
  if (!command.more.empty()) text += "\n" + std::string(command.more);
  return text;
}

}  // namespace quasi::app
