// RTT estimation, RFC 9002 §5.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quasi/time.h"

namespace quasi::recovery {

/// RFC 9002 §6.1.2: timers are not set finer than this.
inline constexpr Duration kGranularity = Duration::milliseconds(1);
/// RFC 9002 §6.2.2.
inline constexpr Duration kInitialRtt = Duration::milliseconds(333);

/// The ACK Delay field in units of 2^exponent microseconds, without overflow.
[[nodiscard]] constexpr Duration decode_ack_delay(std::uint64_t field, std::uint64_t exponent) {
  constexpr std::uint64_t kMaxUs = static_cast<std::uint64_t>(INT64_MAX) / 1'000;
  if (exponent > 20) exponent = 20;  // RFC 9000 §18.2
  if (field > (kMaxUs >> exponent)) return Duration::infinite();
  return Duration::microseconds(static_cast<std::int64_t>(field << exponent));
}
[[nodiscard]] constexpr std::uint64_t encode_ack_delay(Duration delay, std::uint64_t exponent) {
  return delay.ns() <= 0 ? 0 : static_cast<std::uint64_t>(delay.us()) >> exponent;
}

class RttEstimator {
 public:
  explicit RttEstimator(Duration initial_rtt = kInitialRtt)
      : smoothed_(initial_rtt), variation_(initial_rtt / 2), latest_(initial_rtt) {}

  /// `sample`: send of the largest newly acknowledged packet to its ACK.
  /// `ack_delay`: what the peer says it waited; 0 for Initial. `max_ack_delay`
  /// bounds it once the handshake is confirmed.
  void on_sample(Duration sample, Duration ack_delay, bool handshake_confirmed,
                 Duration max_ack_delay);
  /// RFC 9002 §5.2: the minimum is found anew, from the latest sample.
  void restart_min() { min_ = latest_; }

  [[nodiscard]] bool has_sample() const { return has_sample_; }
  [[nodiscard]] Duration smoothed() const { return smoothed_; }
  [[nodiscard]] Duration variation() const { return variation_; }
  [[nodiscard]] Duration latest() const { return latest_; }
  /// infinite() before the first sample.
  [[nodiscard]] Duration min() const { return min_; }
  /// RFC 9002 §6.2.1 without max_ack_delay and backoff.
  [[nodiscard]] Duration pto() const { return smoothed_ + std::max(variation_ * 4, kGranularity); }

 private:
  Duration smoothed_;
  Duration variation_;
  Duration latest_;
  Duration min_ = Duration::infinite();
  bool has_sample_ = false;
};

}  // namespace quasi::recovery
