// A compact BBR (after draft-cardwell-iccrg-bbr-congestion-control, version 1,
// with a loss ceiling as in later versions): paces at the measured delivery rate
// instead of shrinking a window for every lost packet, and so keeps a path busy
// whose losses are not congestion. Not a complete BBRv3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quasi/time.h"
#include "recovery/congestion_types.h"

namespace quasi::recovery {

class Bbr {
 public:
  enum class State : std::uint8_t { startup, drain, probe_bw, probe_rtt };

  explicit Bbr(std::size_t max_datagram_size);

  [[nodiscard]] std::uint64_t window() const { return window_; }
  [[nodiscard]] std::uint64_t pacing_rate(const RttEstimator& rtt) const;
  [[nodiscard]] bool in_recovery(Instant time_sent) const {
    return has_episode_ && time_sent <= recovery_start_;
  }
  [[nodiscard]] bool in_slow_start() const { return state_ == State::startup; }
  [[nodiscard]] State state() const { return state_; }
  /// Bytes per second: the largest delivery rate of the last ten rounds.
  [[nodiscard]] double bandwidth() const { return bandwidth_; }

  void on_packet_sent(const SendEvent& event);
  void on_ack(const AckEvent& event);
  bool on_congestion_event(const CongestionEvent& event);
  void on_persistent_congestion(Instant now);
  void on_spurious_congestion() {}
  void set_max_datagram_size(std::size_t bytes);

 private:
  static constexpr std::size_t kBandwidthRounds = 10;

  void update_bandwidth(const AckEvent& event);
  void update_loss_ceiling(const AckEvent& event);
  void update_min_rtt(const AckEvent& event);
  void advance_state(const AckEvent& event);
  void enter_probe_bw(Instant now);
  [[nodiscard]] double bdp(double gain) const;
  void update_window(const AckEvent& event);

  std::uint64_t mss_;
  std::uint64_t window_;
  std::array<double, kBandwidthRounds> round_bandwidth_{};
  std::size_t round_ = 0;
  double bandwidth_ = 0;
  double full_bandwidth_ = 0;
  int full_bandwidth_rounds_ = 0;
  Duration min_rtt_ = Duration::infinite();
  Instant min_rtt_time_;
  Instant probe_rtt_done_ = Instant::never();
  Instant cycle_start_;
  std::size_t cycle_ = 0;
  double pacing_gain_;
  double window_gain_;
  // Losses of the current round, and what they say about the room on the path.
  std::uint64_t round_lost_ = 0;
  std::uint64_t round_delivered_ = 0;
  std::uint64_t round_max_in_flight_ = 0;
  double in_flight_ceiling_ = 0;  // 0: none
  std::uint64_t prior_window_ = 0;
  std::uint64_t largest_clump_ = 0;  // bytes that one ACK acknowledged
  Instant recovery_start_;
  bool has_episode_ = false;
  bool filled_pipe_ = false;
  bool idle_restart_ = false;
  bool round_pending_ = false;
  State state_ = State::startup;
};

}  // namespace quasi::recovery
