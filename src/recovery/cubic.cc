// CUBIC: see cubic.h. Windows are in bytes, K and t in seconds; RFC 9438 counts
// segments, so C and the slopes are scaled by the datagram size.
#include "recovery/cubic.h"

#include <algorithm>
#include <cmath>

#include "recovery/rtt.h"

namespace quasi::recovery {
namespace {

constexpr double kC = 0.4;     // RFC 9438 §5.1
constexpr double kBeta = 0.7;  // RFC 9438 §4.6
// RFC 9438 §4.3: a Reno that shrinks by kBeta only gets the same share with this.
constexpr double kRenoSlope = 3.0 * (1.0 - kBeta) / (1.0 + kBeta);

}  // namespace

Cubic::Cubic(std::size_t max_datagram_size)
    : mss_(max_datagram_size), window_(initial_window(max_datagram_size)) {}

std::uint64_t Cubic::pacing_rate(const RttEstimator& rtt) const {
  return window_pacing_rate(window_, in_slow_start() ? kSlowStartPacingGain : kAvoidancePacingGain,
                            rtt);
}

void Cubic::on_ack(const AckEvent& event) {
  if (in_slow_start()) {
    HyStart::Verdict verdict = HyStart::Verdict::slow_start;
    // RFC 9406 §4.1: after the first loss slow start has a threshold of its own.
    if (event.rtt_sampled && event.rtt != nullptr && ssthresh_ == UINT64_MAX) {
      verdict = hystart_.on_rtt_sample(event.rtt->latest(), event.round_start);
    }
    if (!event.window_limited) return;
    window_ += event.growth_bytes / hystart_.divisor();
    if (ssthresh_ != UINT64_MAX) window_ = std::min(window_, ssthresh_);
    if (verdict == HyStart::Verdict::leave) ssthresh_ = window_;
    return;
  }
  if (!event.window_limited) {
    // RFC 9438 §4.2: the curve stands still while the window is not what limits.
    if (!idle_) idle_since_ = event.now;
    idle_ = true;
    return;
  }
  if (idle_) {
    epoch_start_ = epoch_start_ + (event.now - idle_since_);
    idle_ = false;
  }
  if (event.growth_bytes > 0) grow_in_avoidance(event);
}

void Cubic::grow_in_avoidance(const AckEvent& event) {
  const double window = static_cast<double>(window_);
  const double mss = static_cast<double>(mss_);
  if (!has_epoch_) {
    has_epoch_ = true;
    epoch_start_ = event.now;
    estimate_ = window;
    fraction_ = 0;
    if (window < w_max_) {  // RFC 9438 §4.2, figure 2
      k_ = std::cbrt((w_max_ - window) / mss / kC);
      origin_ = w_max_;
    } else {
      k_ = 0;
      origin_ = window;
    }
  }
  const double acked = static_cast<double>(event.growth_bytes);
  // Figure 4: once the estimate is where the window was before the last
  // reduction, it grows like Reno.
  const double slope = estimate_ >= cwnd_prior_ ? 1.0 : kRenoSlope;
  estimate_ += slope * acked / window * mss;

  const auto cubic = [&](double t) {
    const double d = t - k_;
    return kC * d * d * d * mss + origin_;
  };
  const double t = (event.now - epoch_start_).to_seconds();
  const double rtt = event.rtt == nullptr ? 0.0 : event.rtt->smoothed().to_seconds();
  double next = window;
  if (cubic(t) < estimate_) {
    next = std::max(window, estimate_);  // RFC 9438 §4.3, the Reno-friendly region
  } else {
    // RFC 9438 §4.4, §4.5: reach the value of the curve one RTT ahead.
    const double target = std::clamp(cubic(t + rtt), window, 1.5 * window);
    next = window + (target - window) * std::min(acked / window, 1.0);
  }
  fraction_ += next - window;
  const double whole = std::floor(fraction_);
  fraction_ -= whole;
  window_ += static_cast<std::uint64_t>(whole);
}

bool Cubic::on_congestion_event(const CongestionEvent& event) {
  if (in_recovery(event.time_sent)) return false;
  undo_ = {w_max_,  k_,        origin_,      estimate_,  cwnd_prior_,
           window_, ssthresh_, epoch_start_, has_epoch_, true};
  has_episode_ = true;
  recovery_start_ = event.now;
  has_epoch_ = false;
  idle_ = false;
  const double window = static_cast<double>(window_);
  cwnd_prior_ = window;
  // RFC 9438 §4.7, fast convergence: a shrinking share is given up sooner.
  w_max_ = window < w_max_ ? window * (1.0 + kBeta) / 2.0 : window;
  ssthresh_ = std::max(static_cast<std::uint64_t>(window * kBeta), minimum_window(mss_));
  window_ = ssthresh_;
  return true;
}

void Cubic::on_persistent_congestion(Instant) {
  // RFC 9438 §4.8 and RFC 9002 §7.6.2.
  const double window = static_cast<double>(window_);
  w_max_ = std::max(w_max_, window);
  cwnd_prior_ = w_max_;
  window_ = minimum_window(mss_);
  has_episode_ = false;
  has_epoch_ = false;
  undo_.valid = false;
}

void Cubic::on_spurious_congestion() {  // RFC 9438 §4.9
  if (!undo_.valid || undo_.window <= window_) return;
  w_max_ = undo_.w_max;
  k_ = undo_.k;
  origin_ = undo_.origin;
  estimate_ = undo_.estimate;
  cwnd_prior_ = undo_.cwnd_prior;
  window_ = undo_.window;
  ssthresh_ = undo_.ssthresh;
  epoch_start_ = undo_.epoch_start;
  has_epoch_ = undo_.has_epoch;
  undo_.valid = false;
}

void Cubic::set_max_datagram_size(std::size_t bytes) {
  window_ = rescaled_window(window_, mss_, bytes);
  mss_ = bytes;
}

}  // namespace quasi::recovery
