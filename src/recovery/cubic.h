// CUBIC, RFC 9438, with HyStart++ (RFC 9406) for the way out of slow start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quasi/time.h"
#include "recovery/congestion_types.h"
#include "recovery/hystart.h"

namespace quasi::recovery {

class Cubic {
 public:
  explicit Cubic(std::size_t max_datagram_size);

  [[nodiscard]] std::uint64_t window() const { return window_; }
  [[nodiscard]] std::uint64_t pacing_rate(const RttEstimator& rtt) const;
  [[nodiscard]] bool in_recovery(Instant time_sent) const {
    return has_episode_ && time_sent <= recovery_start_;
  }
  [[nodiscard]] bool in_slow_start() const { return window_ < ssthresh_; }

  void on_packet_sent(const SendEvent&) {}
  void on_ack(const AckEvent& event);
  bool on_congestion_event(const CongestionEvent& event);
  void on_persistent_congestion(Instant now);
  void on_spurious_congestion();
  void set_max_datagram_size(std::size_t bytes);

 private:
  struct Undo {
    double w_max = 0;
    double k = 0;
    double origin = 0;
    double estimate = 0;
    double cwnd_prior = 0;
    std::uint64_t window = 0;
    std::uint64_t ssthresh = 0;
    Instant epoch_start;
    bool has_epoch = false;
    bool valid = false;
  };
  void grow_in_avoidance(const AckEvent& event);

  std::uint64_t mss_;
  std::uint64_t window_;
  std::uint64_t ssthresh_ = UINT64_MAX;
  double w_max_ = 0;       // bytes, like all windows here
  double k_ = 0;           // seconds until the window is w_max_ again
  double origin_ = 0;      // plateau of the current epoch
  double estimate_ = 0;    // W_est: what Reno would have (RFC 9438 §4.3)
  double cwnd_prior_ = 0;  // window just before the last reduction
  double fraction_ = 0;    // growth below one byte
  Instant epoch_start_;
  Instant recovery_start_;
  Instant idle_since_;  // start of a period that was not limited by the window
  bool idle_ = false;
  bool has_epoch_ = false;
  bool has_episode_ = false;
  HyStart hystart_;
  Undo undo_;
};

}  // namespace quasi::recovery
