// NewReno: see new_reno.h.
#include "recovery/new_reno.h"

#include <algorithm>

namespace quasi::recovery {

NewReno::NewReno(std::size_t max_datagram_size)
    : mss_(max_datagram_size), window_(initial_window(max_datagram_size)) {}

std::uint64_t NewReno::pacing_rate(const RttEstimator& rtt) const {
  return window_pacing_rate(window_, in_slow_start() ? kSlowStartPacingGain : kAvoidancePacingGain,
                            rtt);
}

void NewReno::on_ack(const AckEvent& event) {
  if (!event.window_limited) return;  // RFC 9002 §7.8
  if (in_slow_start()) {
    window_ += event.growth_bytes;  // RFC 9002 §7.3.1
    return;
  }
  acked_in_avoidance_ += event.growth_bytes;  // RFC 9002 §7.3.3
  while (acked_in_avoidance_ >= window_) {
    acked_in_avoidance_ -= window_;
    window_ += mss_;
  }
}

bool NewReno::on_congestion_event(const CongestionEvent& event) {
  if (in_recovery(event.time_sent)) return false;
  undo_window_ = window_;
  undo_ssthresh_ = ssthresh_;
  has_episode_ = true;
  recovery_start_ = event.now;
  ssthresh_ = window_ / 2;  // RFC 9002 §7.3.2
  window_ = std::max(ssthresh_, minimum_window(mss_));
  acked_in_avoidance_ = 0;
  return true;
}

void NewReno::on_persistent_congestion(Instant) {
  window_ = minimum_window(mss_);  // RFC 9002 §7.6.2
  has_episode_ = false;
  undo_window_ = 0;
}

void NewReno::on_spurious_congestion() {
  if (undo_window_ == 0) return;
  window_ = std::max(window_, undo_window_);
  ssthresh_ = undo_ssthresh_;
  undo_window_ = 0;
}

void NewReno::set_max_datagram_size(std::size_t bytes) {
  window_ = rescaled_window(window_, mss_, bytes);
  mss_ = bytes;
}

}  // namespace quasi::recovery
