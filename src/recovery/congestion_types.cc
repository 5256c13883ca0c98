// What all congestion controllers share: see congestion_types.h.
#include "recovery/congestion_types.h"

#include "recovery/rtt.h"

namespace quasi::recovery {

std::uint64_t window_pacing_rate(std::uint64_t window, double gain, const RttEstimator& rtt) {
  // Nothing is known before the first sample: the initial window may go at once.
  if (!rtt.has_sample()) return 0;
  const double seconds = std::max(rtt.smoothed(), Duration::microseconds(1)).to_seconds();
  return static_cast<std::uint64_t>(std::min(static_cast<double>(window) * gain / seconds, 1e15)) +
         1;
}

std::uint64_t rescaled_window(std::uint64_t window, std::uint64_t old_size,
                              std::uint64_t new_size) {
  // RFC 9002 §7.2: the initial window follows the datagram size; a smaller size
  // makes the window shrink with it.
  if (window == initial_window(old_size) || new_size < old_size) {
    window = std::min(window, initial_window(new_size));
    if (new_size > old_size) window = initial_window(new_size);
  }
  return std::max(window, minimum_window(new_size));
}

}  // namespace quasi::recovery
