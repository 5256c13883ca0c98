// NewReno as RFC 9002 §7.3 and appendix B describe it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quasi/time.h"
#include "recovery/congestion_types.h"

namespace quasi::recovery {

class NewReno {
 public:
  explicit NewReno(std::size_t max_datagram_size);

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
  std::uint64_t mss_;
  std::uint64_t window_;
  std::uint64_t ssthresh_ = UINT64_MAX;
  std::uint64_t acked_in_avoidance_ = 0;
  std::uint64_t undo_window_ = 0;
  std::uint64_t undo_ssthresh_ = 0;
  Instant recovery_start_;
  bool has_episode_ = false;
};

}  // namespace quasi::recovery
