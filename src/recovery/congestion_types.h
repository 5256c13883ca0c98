// What LossRecovery tells a congestion controller, and the constants all share
// (RFC 9002 §7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quasi/time.h"

namespace quasi::recovery {

class RttEstimator;

/// RFC 9002 §7.2.
[[nodiscard]] constexpr std::uint64_t initial_window(std::uint64_t max_datagram_size) {
  return std::min<std::uint64_t>(10 * max_datagram_size,
                                 std::max<std::uint64_t>(2 * max_datagram_size, 14'720));
}
[[nodiscard]] constexpr std::uint64_t minimum_window(std::uint64_t max_datagram_size) {
  return 2 * max_datagram_size;
}

/// RFC 9002 §7.7: `gain` windows a round trip, in bytes per second; 0 (no limit)
/// before the first RTT sample. Slow start needs 2; later 1.25 keeps small
/// variations of the RTT from leaving the window unused.
[[nodiscard]] std::uint64_t window_pacing_rate(std::uint64_t window, double gain,
                                               const RttEstimator& rtt);
inline constexpr double kSlowStartPacingGain = 2.0;
inline constexpr double kAvoidancePacingGain = 1.25;

/// The window after the datagram size changed.
[[nodiscard]] std::uint64_t rescaled_window(std::uint64_t window, std::uint64_t old_size,
                                            std::uint64_t new_size);

struct SendEvent {
  Instant now;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_in_flight = 0;  // with this packet
};

/// How fast the path delivered, measured over one flight. `interval` is 0 when
/// the ACK gave no usable sample.
struct RateSample {
  std::uint64_t delivered = 0;        // bytes delivered during `interval`
  std::uint64_t prior_delivered = 0;  // delivered in total when the packet left
  Duration interval;
  bool app_limited = false;
};

/// One ACK frame that acknowledged packets in flight.
struct AckEvent {
  Instant now;
  std::uint64_t acked_bytes = 0;
  /// Those of acked_bytes that were sent after the last congestion event began.
  std::uint64_t growth_bytes = 0;
  std::uint64_t lost_bytes = 0;
  std::uint64_t prior_in_flight = 0;  // before this ACK
  std::uint64_t bytes_in_flight = 0;  // after it
  std::uint64_t delivered_total = 0;  // bytes acknowledged since the connection began
  /// A round trip ended: a packet sent after the last round began is acknowledged.
  bool round_start = false;
  /// The window, not the application, limited what was in flight (RFC 9002 §7.8).
  bool window_limited = false;
  bool rtt_sampled = false;
  const RttEstimator* rtt = nullptr;
  RateSample rate;
};

struct CongestionEvent {
  Instant now;
  Instant time_sent;  // of the largest packet that was lost or marked
  std::uint64_t lost_bytes = 0;
  std::uint64_t bytes_in_flight = 0;
  bool ecn = false;
};

}  // namespace quasi::recovery
