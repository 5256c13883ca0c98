// Command-line options: long names with values ("--name value" or "--name=value"),
// flags, a few short names, and positional arguments. Each command lists its
// options once; that list makes the help text too.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quasi::app {

struct OptionSpec {
  std::string_view name;         // without dashes
  char short_name = 0;           // 0: none
  std::string_view value;        // what the value is, such as "FILE"; empty: a flag
  std::string_view description;  // one line
};

struct CommandSpec {
  std::string_view name;
  std::string_view arguments;  // such as "URL..."
  std::string_view summary;
  std::span<const OptionSpec> options;
  std::string_view more;  // printed after the options
};

class ParsedOptions {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  /// The last value given.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
  /// All values given, in order.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& positional() const { return positional_; }
  /// The value as a number within [low, high]; `fallback` when absent; a sentence otherwise.
  [[nodiscard]] std::expected<std::uint64_t, std::string> number(std::string_view name,
                                                                 std::uint64_t low,
                                                                 std::uint64_t high,
                                                                 std::uint64_t fallback) const;

 private:
  friend std::expected<ParsedOptions, std::string> parse_options(
      const CommandSpec& command, std::span<const std::string> arguments);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positional_;
};

/// The options, or one sentence. "--" ends options. "help" is always accepted.
[[nodiscard]] std::expected<ParsedOptions, std::string> parse_options(
    const CommandSpec& command, std::span<const std::string> arguments);

/// The help text of a command.
[[nodiscard]] std::string help_text(const CommandSpec& command);

}  // namespace quasi::app
