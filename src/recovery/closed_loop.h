// For tests: one bulk flow in virtual time. A LossRecovery sends as fast as it is
// allowed over a bottleneck (rate, drop-tail queue, delay, random loss, now and
// then reordering) to an AckTracker that answers. Deterministic for a seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <random>
#include <vector>

#include "recovery/ack_tracker.h"
#include "recovery/loss_recovery.h"

namespace quasi::recovery {

struct ClosedLoopConfig {
  CongestionController controller = CongestionController::cubic;
  double bits_per_second = 10e6;
  Duration rtt = Duration::milliseconds(50);
  double loss = 0;
  double reorder = 0;  // share of packets that are delayed by a quarter RTT
  /// Queue at the bottleneck, in bandwidth-delay products, but 10 packets at least.
  double queue_bdp = 1.0;
  std::uint32_t ack_threshold = 2;
  std::uint16_t packet_size = 1200;
  std::uint64_t seed = 1;
  /// The flow that is measured: so many bytes have to be delivered for good.
  std::uint64_t bytes = std::uint64_t{10} << 20;
};

struct ClosedLoopResult {
  bool complete = false;
  Duration duration;
  double utilisation = 0;  // goodput / bottleneck rate
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t spurious = 0;
  std::uint64_t acks = 0;
  std::uint64_t wakeups = 0;
  std::uint64_t queue_drops = 0;
  std::uint64_t final_window = 0;
  Duration max_rtt;
};

class ClosedLoop {
 public:
  explicit ClosedLoop(const ClosedLoopConfig& config)
      : config_(config),
        random_(config.seed),
        recovery_(make_config(config)),
        tracker_(PacketSpace::application) {
    tracker_.set_policy({Duration::milliseconds(25), config.ack_threshold});
    recovery_.on_handshake_confirmed();
    packet_time_ = Duration::nanoseconds(
        static_cast<std::int64_t>(config.packet_size * 8.0 / config.bits_per_second * 1e9));
    const double bdp = config.bits_per_second / 8 * config.rtt.to_seconds();
    queue_limit_ = std::max<std::size_t>(
        10, static_cast<std::size_t>(bdp * config.queue_bdp / config.packet_size));
    blocks_ =
        static_cast<std::size_t>((config.bytes + config.packet_size - 1) / config.packet_size);
    delivered_.assign(blocks_, false);
    acked_.assign(blocks_, false);
  }

  ClosedLoopResult run(Duration limit = Duration::seconds(600)) {
    const Instant end = Instant() + limit;
    send();
    while (blocks_delivered_ < blocks_) {
      Instant next = events_.empty() ? Instant::never() : events_.top().time;
      next = std::min({next, tracker_.next_deadline(), recovery_.next_timeout()});
      if (has_data()) next = std::min(next, recovery_.pacing_deadline(now_));
      if (next > end) break;
      // A transport that asks to be woken again and again without doing anything
      // would never end here: time must move, and the test bounds the wakeups.
      now_ = std::max(next, now_);
      ++result_.wakeups;
      while (!events_.empty() && events_.top().time <= now_) {
        const Event event = events_.top();
        events_.pop();
        if (event.ack) {
          on_ack(event);
        } else {
          if (recovery_.rtt().has_sample()) tracker_.set_rtt(recovery_.rtt().smoothed());
          tracker_.on_received(event.pn, true, Ecn::not_ect, now_);
          receive(event.block);
        }
      }
      if (tracker_.ack_due(now_) && tracker_.has_ranges()) send_ack();
      if (recovery_.next_timeout() <= now_) on_timeout();
      send();
    }
    result_.complete = blocks_delivered_ == blocks_;
    result_.duration = now_ - Instant();
    result_.utilisation = static_cast<double>(blocks_delivered_) * config_.packet_size * 8.0 /
                          std::max(result_.duration.to_seconds(), 1e-9) / config_.bits_per_second;
    result_.packets_lost = recovery_.packets_lost();
    result_.spurious = recovery_.packets_spuriously_lost();
    result_.final_window = recovery_.congestion_window();
    return result_;
  }

  [[nodiscard]] const LossRecovery& recovery() const { return recovery_; }

  // The Sink.
  void on_acked(PacketSpace, const SentRecord& record) {
    acked_[static_cast<std::size_t>(record.offset)] = true;
  }
  void on_lost(PacketSpace, const SentRecord& record) {
    const auto block = static_cast<std::size_t>(record.offset);
    if (!acked_[block]) lost_.push_back(block);
  }

 private:
  struct Event {
    Instant time;
    std::uint64_t order = 0;
    bool ack = false;
    std::uint64_t pn = 0;
    std::size_t block = 0;
    std::vector<AckRange> ranges;
    Duration ack_delay;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  static RecoveryConfig make_config(const ClosedLoopConfig& config) {
    RecoveryConfig c;
    c.side = Side::server;
    c.congestion_controller = config.controller;
    c.max_datagram_size = config.packet_size;
    c.skip_seed = config.seed;
    return c;
  }
  [[nodiscard]] bool has_data() const { return next_block_ < blocks_ || !lost_.empty(); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  void receive(std::size_t block) {
    if (block >= blocks_ || delivered_[block]) return;
    delivered_[block] = true;
    ++blocks_delivered_;
  }
  void transmit(std::size_t block) {
    recovery_.add_record(PacketSpace::application,
                         {RecordKind::stream, false, 0, config_.packet_size, 0, block});
    const std::uint64_t pn = recovery_.next_packet_number(PacketSpace::application);
    (void)recovery_.on_packet_sent(PacketSpace::application,
                                   {config_.packet_size, true, true, false, false, false}, now_);
    ++result_.packets_sent;
    // The bottleneck: a queue that empties at a constant rate.
    const Instant start = std::max(link_free_, now_);
    const std::int64_t waiting = (start - now_).ns() / std::max<std::int64_t>(packet_time_.ns(), 1);
    if (static_cast<std::size_t>(waiting) >= queue_limit_) {
      ++result_.queue_drops;
      return;
    }
    link_free_ = start + packet_time_;
    if (chance(config_.loss)) return;
    Event event;
    event.time = link_free_ + config_.rtt / 2;
    if (chance(config_.reorder)) event.time = event.time + config_.rtt / 4;
    event.order = order_++;
    event.pn = pn;
    event.block = block;
    events_.push(event);
  }
  void send() {
    while (has_data() && recovery_.can_send(config_.packet_size, now_)) {
      std::size_t block = 0;
      if (!lost_.empty()) {
        block = lost_.back();
        lost_.pop_back();
        if (acked_[block]) continue;  // a late ACK saved us the retransmission
      } else {
        block = next_block_++;
      }
      transmit(block);
    }
    if (!has_data()) recovery_.on_application_limited();
  }
  void send_ack() {
    Event event;
    event.time = now_ + config_.rtt / 2;
    event.order = order_++;
    event.ack = true;
    event.ack_delay = tracker_.ack_delay(now_);
    const IntervalSet& ranges = tracker_.ranges();
    for (std::size_t i = ranges.size(); i-- > 0;) {
      event.ranges.push_back({ranges[i].begin, ranges[i].end - 1});
    }
    tracker_.on_ack_sent(now_);
    // Every other ACK is itself acknowledged, as if it rode on data.
    if (++result_.acks % 2 == 0) tracker_.on_ack_acked(last_ack_largest_);
    last_ack_largest_ = event.ranges.front().largest;
    if (chance(config_.loss)) return;
    events_.push(event);
  }
  void on_ack(const Event& event) {
    const auto result = recovery_.on_ack_received(PacketSpace::application, event.ranges,
                                                  event.ack_delay, nullptr, now_, *this);
    if (!result) std::abort();
    result_.max_rtt = std::max(result_.max_rtt, recovery_.rtt().latest());
  }
  void on_timeout() {
    const auto result = recovery_.on_timeout(now_, *this);
    if (result.probes == 0) return;
    (void)recovery_.collect_probe_records(result.probe_space, result.probes, *this);
    for (unsigned i = 0; i < result.probes; ++i) {
      if (lost_.empty()) break;
      const std::size_t block = lost_.back();
      lost_.pop_back();
      transmit(block);
    }
  }

  ClosedLoopConfig config_;
  std::mt19937_64 random_;
  LossRecovery recovery_;
  AckTracker tracker_;
  std::priority_queue<Event> events_;
  Instant now_;
  Instant link_free_;
  Duration packet_time_;
  std::size_t queue_limit_ = 0;
  std::size_t blocks_ = 0;
  std::uint64_t blocks_delivered_ = 0;
  std::size_t next_block_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t last_ack_largest_ = 0;
  std::vector<bool> delivered_;
  std::vector<bool> acked_;
  std::vector<std::size_t> lost_;
  ClosedLoopResult result_;
};

}  // namespace quasi::recovery
