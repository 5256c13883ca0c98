// The progress line of a download: bytes, rate, and time left when the size is
// known. Drawn only on a terminal, at most ten times a second; silent otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quasi/time.h"

namespace quasi::app {

class Progress {
 public:
  /// `enabled`: whether to draw at all. `label` names what is fetched.
  Progress(bool enabled, std::string label);
  void update(std::uint64_t bytes, std::optional<std::uint64_t> total, Instant now);
  /// Draws the last state and ends the line.
  void finish(Instant now);
  /// Takes the line away, so that an error message stands alone.
  void clear();

 private:
  void draw(Instant now);

  bool enabled_;
  bool drawn_ = false;
  std::string label_;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> total_;
  std::optional<Instant> start_;
  Instant last_draw_;
};

/// Whether standard error is a terminal.
[[nodiscard]] bool is_terminal();
/// "1.5 MiB" and the like.
[[nodiscard]] std::string human_bytes(double bytes);

}  // namespace quasi::app
