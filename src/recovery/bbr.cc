// A compact BBR: see bbr.h.
#include "recovery/bbr.h"

#include <algorithm>

#include "recovery/rtt.h"

namespace quasi::recovery {
namespace {

constexpr double kStartupGain = 2.885;  // 2 / ln 2: doubles the rate each round
constexpr double kDrainGain = 1.0 / kStartupGain;
constexpr double kCruiseWindowGain = 2.0;
constexpr std::array<double, 8> kCycle = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
constexpr Duration kMinRttLifetime = Duration::seconds(10);
constexpr Duration kProbeRttTime = Duration::milliseconds(200);
constexpr std::uint64_t kMinPackets = 4;
// A round that loses more than this says that the path is too full, not merely
// lossy; BBRv3 says 2 %, which a radio link with plain random loss exceeds.
constexpr double kLossThreshold = 0.15;
constexpr double kCeilingBeta = 0.85;
// Startup ends when the rate grew by less than a quarter for three rounds.
constexpr double kFullBandwidthGrowth = 1.25;
constexpr int kFullBandwidthRounds = 3;

}  // namespace

Bbr::Bbr(std::size_t max_datagram_size)
    : mss_(max_datagram_size),
      window_(initial_window(max_datagram_size)),
      pacing_gain_(kStartupGain),
      window_gain_(kStartupGain) {}

double Bbr::bdp(double gain) const {
  if (bandwidth_ <= 0 || min_rtt_ == Duration::infinite()) {
    return gain * static_cast<double>(initial_window(mss_));
  }
  return gain * bandwidth_ * min_rtt_.to_seconds();
}

std::uint64_t Bbr::pacing_rate(const RttEstimator& rtt) const {
  if (bandwidth_ <= 0) return window_pacing_rate(window_, pacing_gain_, rtt);
  // The initial window may always be spread over one round trip.
  const double seconds = std::max(rtt.smoothed(), Duration::microseconds(1)).to_seconds();
  double rate = pacing_gain_ * bandwidth_;
  if (!filled_pipe_) {
    rate = std::max(rate, kStartupGain * static_cast<double>(initial_window(mss_)) / seconds);
  }
  return static_cast<std::uint64_t>(std::min(rate, 1e15)) + 1;
}

void Bbr::on_packet_sent(const SendEvent& event) {
  // First packet after silence: pace at the known rate instead of probing.
  if (event.bytes_in_flight == event.bytes) idle_restart_ = true;
  round_max_in_flight_ = std::max(round_max_in_flight_, event.bytes_in_flight);
}

void Bbr::on_ack(const AckEvent& event) {
  update_bandwidth(event);
  update_loss_ceiling(event);
  update_min_rtt(event);
  advance_state(event);
  update_window(event);
  if (event.rate.interval > Duration()) idle_restart_ = false;
}

void Bbr::update_bandwidth(const AckEvent& event) {
  if (event.round_start) round_pending_ = true;
  if (event.rate.interval <= Duration()) return;
  const double rate = static_cast<double>(event.rate.delivered) / event.rate.interval.to_seconds();
  // What the application limited is a lower bound only.
  if (event.rate.app_limited && rate < bandwidth_) return;
  if (round_pending_) {
    round_pending_ = false;
    round_ = (round_ + 1) % kBandwidthRounds;
    round_bandwidth_[round_] = 0;
  }
  round_bandwidth_[round_] = std::max(round_bandwidth_[round_], rate);
  bandwidth_ = *std::max_element(round_bandwidth_.begin(), round_bandwidth_.end());
}

void Bbr::update_loss_ceiling(const AckEvent& event) {
  round_lost_ += event.lost_bytes;
  round_delivered_ += event.acked_bytes;
  if (!event.round_start) return;
  const double lost = static_cast<double>(round_lost_);
  const double all = static_cast<double>(round_lost_ + round_delivered_);
  if (lost > kLossThreshold * all && round_lost_ >= 4 * mss_) {
    in_flight_ceiling_ =
        std::max(bdp(1.0), kCeilingBeta * static_cast<double>(round_max_in_flight_));
    filled_pipe_ = true;
  }
  round_lost_ = 0;
  round_delivered_ = 0;
  round_max_in_flight_ = event.bytes_in_flight;
}

void Bbr::update_min_rtt(const AckEvent& event) {
  if (!event.rtt_sampled || event.rtt == nullptr) return;
  const bool expired =
      min_rtt_ != Duration::infinite() && event.now - min_rtt_time_ > kMinRttLifetime;
  if (event.rtt->latest() <= min_rtt_ || expired) {
    min_rtt_ = event.rtt->latest();
    min_rtt_time_ = event.now;
  }
  if (expired && state_ != State::probe_rtt && !idle_restart_) {
    state_ = State::probe_rtt;
    pacing_gain_ = 1;
    window_gain_ = 0.5;
    prior_window_ = window_;
    probe_rtt_done_ = Instant::never();
  }
}

void Bbr::enter_probe_bw(Instant now) {
  state_ = State::probe_bw;
  // Anywhere but in the phase that drains, where nothing has been filled yet;
  // derived from the clock so that flows do not march in step.
  cycle_ = static_cast<std::size_t>(now.ns() / 1'000 % 7);
  if (cycle_ == 1) cycle_ = 7;
  cycle_start_ = now;
  pacing_gain_ = kCycle[cycle_];
  window_gain_ = kCruiseWindowGain;
}

void Bbr::advance_state(const AckEvent& event) {
  const double in_flight = static_cast<double>(event.bytes_in_flight);
  if (state_ == State::startup) {
    if (event.round_start && !filled_pipe_ && !event.rate.app_limited && bandwidth_ > 0) {
      if (bandwidth_ >= full_bandwidth_ * kFullBandwidthGrowth) {
        full_bandwidth_ = bandwidth_;
        full_bandwidth_rounds_ = 0;
      } else if (++full_bandwidth_rounds_ >= kFullBandwidthRounds) {
        filled_pipe_ = true;
      }
    }
    if (filled_pipe_) {
      state_ = State::drain;
      pacing_gain_ = kDrainGain;
      window_gain_ = kStartupGain;
    }
  }
  if (state_ == State::drain && in_flight <= bdp(1.0)) enter_probe_bw(event.now);
  if (state_ == State::probe_bw) {
    const bool long_enough = event.now - cycle_start_ > min_rtt_;
    bool next = long_enough;
    if (pacing_gain_ > 1) {
      next = long_enough && (event.lost_bytes > 0 ||
                             static_cast<double>(event.prior_in_flight) >= bdp(pacing_gain_));
    } else if (pacing_gain_ < 1) {
      next = long_enough || in_flight <= bdp(1.0);
    }
    if (next) {
      cycle_ = (cycle_ + 1) % kCycle.size();
      cycle_start_ = event.now;
      pacing_gain_ = kCycle[cycle_];
      // Once a cycle the ceiling is tried; it goes when it no longer binds.
      if (cycle_ == 0 && in_flight_ceiling_ > 0) {
        in_flight_ceiling_ *= 1.25;
        if (in_flight_ceiling_ > bdp(kCruiseWindowGain) * 1.5) in_flight_ceiling_ = 0;
      }
    }
  }
  if (state_ == State::probe_rtt) {
    if (probe_rtt_done_.is_never()) {
      const double floor = std::max(bdp(0.5), static_cast<double>(kMinPackets * mss_));
      if (in_flight <= floor) probe_rtt_done_ = event.now + std::max(kProbeRttTime, min_rtt_);
    } else if (event.now >= probe_rtt_done_) {
      min_rtt_time_ = event.now;
      window_ = std::max(window_, prior_window_);
      if (filled_pipe_) {
        enter_probe_bw(event.now);
      } else {
        state_ = State::startup;
        pacing_gain_ = window_gain_ = kStartupGain;
      }
    }
  }
}

void Bbr::update_window(const AckEvent& event) {
  // ACKs come in clumps (the peer acknowledges many packets at once, a host
  // delivers them in bursts): leave room for one beside what is under way.
  largest_clump_ = std::max(event.acked_bytes, largest_clump_ - largest_clump_ / 64);
  const double clump = static_cast<double>(std::max(largest_clump_, 3 * mss_));
  double target = bdp(window_gain_) + (state_ == State::probe_rtt ? 0.0 : clump);
  if (in_flight_ceiling_ > 0) target = std::min(target, in_flight_ceiling_);
  const std::uint64_t limit = static_cast<std::uint64_t>(std::min(target, 1e15));
  if (filled_pipe_) {
    window_ = std::min(window_ + event.acked_bytes, limit);
  } else if (window_ < limit || event.delivered_total < initial_window(mss_)) {
    window_ += event.acked_bytes;
  }
  window_ = std::max(window_, kMinPackets * mss_);
}

bool Bbr::on_congestion_event(const CongestionEvent& event) {
  if (in_recovery(event.time_sent)) return false;
  has_episode_ = true;
  recovery_start_ = event.now;
  // A congestion mark is no accident of a radio: step back at once.
  if (event.ecn) {
    in_flight_ceiling_ = std::max(
        bdp(1.0), kCeilingBeta * static_cast<double>(std::min(window_, round_max_in_flight_)));
    filled_pipe_ = true;
  }
  return true;
}

void Bbr::on_persistent_congestion(Instant) {
  window_ = kMinPackets * mss_;
  has_episode_ = false;
}

void Bbr::set_max_datagram_size(std::size_t bytes) {
  window_ = rescaled_window(window_, mss_, bytes);
  mss_ = bytes;
}

}  // namespace quasi::recovery
