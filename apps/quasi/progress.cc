// The progress line (see progress.h).
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace quasi::app {

bool is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text.data();
}

Progress::Progress(bool enabled, std::string label) : enabled_(enabled), label_(std::move(label)) {}

void Progress::update(std::uint64_t bytes, std::optional<std::uint64_t> total, Instant now) {
  if (!enabled_) return;
  if (!start_) start_ = now;
  bytes_ = bytes;
  total_ = total;
  if (drawn_ && now - last_draw_ < Duration::milliseconds(100)) return;
  draw(now);
}

void Progress::draw(Instant now) {
  drawn_ = true;
  last_draw_ = now;
  const double seconds = (now - start_.value_or(now)).to_seconds();
  const double rate = seconds > 0 ? static_cast<double>(bytes_) / seconds : 0;
  std::string line = label_ + "  " + human_bytes(static_cast<double>(bytes_));
  if (total_ && *total_ > 0) {
    constexpr std::size_t kWidth = 24;
    const double share = std::min(1.0, static_cast<double>(bytes_) / static_cast<double>(*total_));
    const auto full = static_cast<std::size_t>(share * kWidth);
    line += " of " + human_bytes(static_cast<double>(*total_)) + " [" + std::string(full, '#') +
            std::string(kWidth - full, '.') + "]";
  }
  line += "  " + human_bytes(rate) + "/s";
  if (total_ && rate > 0 && *total_ > bytes_) {
    const auto left = static_cast<std::uint64_t>(static_cast<double>(*total_ - bytes_) / rate);
    line += "  " + std::to_string(left / 60) + ":" + (left % 60 < 10 ? "0" : "") +
            std::to_string(left % 60) + " left";
  }
  std::fprintf(stderr, "\r\x1b[2K%s", line.c_str());
}

void Progress::finish(Instant now) {
  if (!enabled_ || !start_) return;
  draw(now);
  std::fputc('\n', stderr);
  enabled_ = false;
}

void Progress::clear() {
  if (enabled_ && drawn_) std::fputs("\r\x1b[2K", stderr);
  enabled_ = false;
}

}  // namespace quasi::app
