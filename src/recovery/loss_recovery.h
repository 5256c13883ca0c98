// Loss detection and congestion control of a connection (RFC 9002): the three
// packet number spaces on one path, RTT, loss and probe timers, pacing, ECN.
// Sans-I/O: time is an argument, what happened comes back as return values and
// as calls to a Sink while the call runs:
//
//   struct Sink {
//     // `record` arrived. May come for a record that was reported lost before
//     // (a late ACK): then its retransmission is no longer needed.
//     void on_acked(PacketSpace space, const SentRecord& record);
//     // `record` is probably lost: look at the object again, send what is newest.
//     void on_lost(PacketSpace space, const SentRecord& record);
//   };
//
// A Sink must not call back into LossRecovery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "quasi/connection.h"
#include "quasi/result.h"
#include "quasi/time.h"
#include "recovery/congestion.h"
#include "recovery/ecn.h"
#include "recovery/pacer.h"
#include "recovery/rtt.h"
#include "recovery/sent_packets.h"
#include "recovery/types.h"

namespace quasi::recovery {

struct RecoveryConfig {
  Side side = Side::client;
  CongestionController congestion_controller = CongestionController::cubic;
  std::size_t max_datagram_size = 1200;
  Duration initial_rtt = kInitialRtt;
  bool ecn = false;
  /// Unpredictable to the peer: decides which packet numbers are skipped.
  /// 0 skips none.
  std::uint64_t skip_seed = 0;
};

class LossRecovery {
 public:
  explicit LossRecovery(const RecoveryConfig& config);

  // --- Handshake progress -------------------------------------------------
  /// Peer's max_ack_delay transport parameter (RFC 9000 §18.2).
  void set_peer_max_ack_delay(Duration d) { peer_max_ack_delay_ = d; }
  void on_handshake_keys_available() { has_handshake_keys_ = true; }
  /// RFC 9001 §4.1.2: the application space gets its probe timer.
  void on_handshake_confirmed() { handshake_confirmed_ = true; }
  /// Client only: an ACK of a Handshake packet arrived, or the handshake is
  /// confirmed: the server has validated our address (RFC 9002 §6.2.2.1).
  /// Handshake ACKs are noticed without this call.
  void on_peer_validated_address() { peer_validated_address_ = true; }
  /// Server only: three times what was received is used up. While this holds no
  /// probe timer runs.
  void set_amplification_blocked(bool blocked) { amplification_blocked_ = blocked; }

  // --- Sending --------------------------------------------------------------
  /// The number of the next packet in `space`; stays the same until it is sent.
  [[nodiscard]] std::uint64_t next_packet_number(PacketSpace space);
  /// For the length of the encoded packet number (RFC 9000 A.2).
  [[nodiscard]] std::optional<std::uint64_t> largest_acked(PacketSpace space) const {
    return spaces_[index_of(space)].largest_acked;
  }
  /// Notes what the packet under construction carries. May be called while the
  /// packet is written; drop_records() undoes it when it is not sent after all.
  void add_record(PacketSpace space, const SentRecord& record) {
    spaces_[index_of(space)].sent.push_record(record);
  }
  void drop_records(PacketSpace space) { spaces_[index_of(space)].sent.drop_open_records(); }
  /// Packet next_packet_number(space) was handed to the network, with all records
  /// added since the last one. Returns its packet number.
  std::uint64_t on_packet_sent(PacketSpace space, const SentInfo& info, Instant now);
  /// The transmit loop ended for want of data, not of window: rate samples of what
  /// is in flight say nothing about the path's capacity.
  void on_application_limited();

  /// Bytes that congestion window and pacer allow to be sent now. Probes, ACK-only
  /// packets and CONNECTION_CLOSE do not ask.
  [[nodiscard]] std::uint64_t send_budget(Instant now) const;
  /// Whether a packet of `bytes` fits.
  [[nodiscard]] bool can_send(std::uint64_t bytes, Instant now) const {
    return send_budget(now) >= bytes;
  }
  /// If the window has room and only the pacer holds back: when it stops doing so.
  /// Otherwise never(). Ask it when there is data that could not be sent.
  [[nodiscard]] Instant pacing_deadline(Instant now) const;
  /// Whether any packet, even an ACK, may be sent in `space`. False only for peers
  /// that leave thousands of packets unacknowledged.
  [[nodiscard]] bool has_room(PacketSpace space) const {
    return spaces_[index_of(space)].sent.has_room();
  }
  /// Many packets in a row were not ack-eliciting: a PING now lets the peer
  /// acknowledge our ACKs (RFC 9000 §13.2.4).
  [[nodiscard]] bool wants_ping(PacketSpace space) const {
    return spaces_[index_of(space)].non_eliciting_run >= kPingAfter;
  }
  [[nodiscard]] bool should_mark_ect() const { return ecn_.should_mark(); }

  // --- Receiving ------------------------------------------------------------
  struct AckResult {
    std::uint64_t newly_acked = 0;  // packets
    std::uint64_t lost = 0;         // packets declared lost now
    std::uint64_t spurious = 0;     // packets that had been declared lost wrongly
    /// Largest packet number newly acknowledged by this frame, if any.
    std::optional<std::uint64_t> largest_newly_acked;
    bool persistent_congestion = false;
  };
  /// An ACK frame. `ranges` can be iterated more than once and yields, in any
  /// order, disjoint ranges with members `smallest` and `largest` (inclusive).
  /// `ack_delay` as decoded by decode_ack_delay(); `ecn` null without counts.
  /// A packet number that was never sent is a PROTOCOL_VIOLATION with frame type
  /// 2, and nothing changes (RFC 9000 §13.1).
  template <class Ranges, class Sink>
  [[nodiscard]] Result<AckResult> on_ack_received(PacketSpace space, const Ranges& ranges,
                                                  Duration ack_delay, const EcnCounts* ecn,
                                                  Instant now, Sink& sink);

  // --- Timers ---------------------------------------------------------------
  /// When on_timeout() has to be called; never() if no timer runs. Pacing and ACK
  /// delays are separate (pacing_deadline, AckTracker::next_deadline).
  [[nodiscard]] Instant next_timeout() const;
  struct TimeoutResult {
    std::uint64_t lost = 0;  // packets declared lost now
    /// Send so many ack-eliciting packets in `probe_space` although the window may
    /// be full: new data, or what collect_probe_records() gives, or PING. A client
    /// pads them when they are Initial (RFC 9002 §6.2.4).
    unsigned probes = 0;
    PacketSpace probe_space = PacketSpace::initial;
  };
  template <class Sink>
  TimeoutResult on_timeout(Instant now, Sink& sink);
  /// Calls sink.on_lost() for the records of the oldest `packets` outstanding
  /// ack-eliciting packets of `space`, without declaring them lost: what a probe
  /// best carries. Returns for how many packets that was.
  template <class Sink>
  unsigned collect_probe_records(PacketSpace space, unsigned packets, Sink& sink);
  /// Consecutive probe timeouts without an answer.
  [[nodiscard]] std::uint32_t pto_count() const { return pto_count_; }
  /// RFC 9002 §6.2.1 for `space`, without backoff: also the unit of the closing and
  /// draining periods and of path validation.
  [[nodiscard]] Duration pto(PacketSpace space) const;

  // --- Changes --------------------------------------------------------------
  /// Keys of `space` are gone (RFC 9002 §6.4). No records are reported.
  void discard_space(PacketSpace space, Instant now);
  /// Reports everything outstanding in `space` as lost, without a congestion
  /// response: after Retry (Initial, 0-RTT), or when 0-RTT was rejected.
  template <class Sink>
  void requeue_all(PacketSpace space, Sink& sink);
  /// The connection moved to another path (RFC 9000 §9.4). `same_host`: only the
  /// port changed, so RTT and window stay.
  void on_path_changed(Instant now, bool same_host);
  void set_max_datagram_size(std::size_t bytes);

  // --- Figures --------------------------------------------------------------
  [[nodiscard]] const RttEstimator& rtt() const { return rtt_; }
  [[nodiscard]] const Congestion& congestion() const { return congestion_; }
  [[nodiscard]] std::uint64_t congestion_window() const { return congestion_.window(); }
  [[nodiscard]] std::uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  [[nodiscard]] std::uint64_t packets_lost() const { return packets_lost_; }
  [[nodiscard]] std::uint64_t packets_spuriously_lost() const { return packets_spurious_; }
  [[nodiscard]] const EcnValidator& ecn() const { return ecn_; }
  [[nodiscard]] bool has_ack_eliciting_in_flight() const;
  [[nodiscard]] bool has_ack_eliciting_in_flight(PacketSpace space) const {
    return spaces_[index_of(space)].sent.eliciting_outstanding() > 0;
  }

 private:
  static constexpr std::uint32_t kPingAfter = 64;

  struct Space {
    SentPackets sent;
    std::optional<std::uint64_t> largest_acked;
    Instant last_eliciting_sent;
    Instant loss_time = Instant::never();
    Instant lost_run_start;  // first of an unbroken run of lost packets
    std::uint64_t skip_at = UINT64_MAX;
    std::uint32_t non_eliciting_run = 0;
    bool has_lost_run = false;
  };
  /// What one ACK frame adds up to while its packets are walked.
  struct AckSum {
    AckResult result;
    AckEvent event;
    std::uint64_t ect_acked = 0;
    Instant largest_time_sent;
    bool any_eliciting = false;
    bool largest_is_new = false;
    bool largest_on_path = false;
    bool any_in_flight = false;
    // The packet that gives the delivery rate sample: the one sent last.
    std::uint64_t rate_prior_delivered = 0;
    Instant rate_prior_time, rate_first_sent, rate_sent;
    bool rate_app_limited = false;
    bool has_rate = false;
  };
  struct LossSum {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t new_episode = 0;  // packets whose loss begins a new episode
    std::uint64_t old_episode = 0;  // packets of the episode under way
    Instant largest_time_sent;
    bool congestion = false;
    bool persistent = false;
  };

  [[nodiscard]] Space& at(PacketSpace space) { return spaces_[index_of(space)]; }
  [[nodiscard]] const Space& at(PacketSpace space) const { return spaces_[index_of(space)]; }

  // The parts of the templates that do not need the sink.
  [[nodiscard]] Status check_range(const Space& s, std::uint64_t smallest,
                                   std::uint64_t largest) const;
  void begin_ack(AckSum& sum, Instant now);
  void ack_packet(Space& s, std::uint64_t pn, SentPacket& packet, AckSum& sum);
  void after_acks(PacketSpace space, std::uint64_t largest_in_frame, Duration ack_delay,
                  const EcnCounts* ecn, Instant now, AckSum& sum);
  void finish_ack(PacketSpace space, Instant now, AckSum& sum, const LossSum& losses);
  [[nodiscard]] Duration loss_delay() const;
  /// The next packet of `s` that must be declared lost, or null; sets loss_time.
  [[nodiscard]] SentPacket* next_lost(Space& s, Instant now);
  void lose_packet(Space& s, SentPacket& packet, LossSum& sum);
  void answer_losses(const LossSum& sum, Instant now);
  void adapt_to_spurious_loss(std::uint64_t distance);
  void forget_reordering();
  void remove_from_flight(SentPacket& packet);
  [[nodiscard]] Duration retention() const;

  struct PtoTimer {
    Instant time = Instant::never();
    PacketSpace space = PacketSpace::initial;
  };
  [[nodiscard]] PtoTimer pto_timer() const;
  [[nodiscard]] std::optional<PacketSpace> earliest_loss_space() const;
  [[nodiscard]] bool peer_completed_address_validation() const {
    return side_ == Side::server || peer_validated_address_ || handshake_confirmed_;
  }
  template <class Sink>
  LossSum detect_losses(PacketSpace space, Instant now, Sink& sink);

  std::array<Space, kPacketSpaces> spaces_;
  RttEstimator rtt_;
  Congestion congestion_;
  Pacer pacer_;
  EcnValidator ecn_;
  Duration initial_rtt_;
  Duration peer_max_ack_delay_ = Duration::milliseconds(25);
  // Client without anything in flight: since when it waits; never() before it sent.
  Instant probe_base_ = Instant::never();
  std::uint64_t skip_state_;
  std::uint64_t skip_period_;
  std::size_t max_datagram_size_;
  CongestionController algorithm_;
  Side side_;
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t packets_lost_ = 0;
  std::uint64_t packets_spurious_ = 0;
  // Losses of the current congestion episode, and how many of them were none.
  std::uint64_t episode_lost_ = 0;
  std::uint64_t episode_spurious_ = 0;
  // Delivery rate sampling.
  std::uint64_t delivered_ = 0;
  Instant delivered_time_;
  Instant first_sent_time_;
  std::uint64_t app_limited_until_ = 0;  // delivered_ at which the bubble has left; 0: none
  std::uint64_t round_end_ = 0;          // delivered_ that ends the current round
  std::uint64_t packet_threshold_;
  std::uint32_t time_threshold_eighths_ = 9;
  std::uint32_t episodes_without_reordering_ = 0;
  std::uint32_t pto_count_ = 0;
  // Window-limited sending is remembered for a round, because ACKs that come in
  // bursts find the window half empty although it was full (RFC 9002 §7.8).
  std::uint64_t rounds_ = 1;
  std::uint64_t window_limited_round_ = 0;
  std::uint8_t path_epoch_ = 0;
  std::uint8_t episode_ = 0;
  bool episode_undoable_ = false;
  bool has_handshake_keys_ = false;
  bool handshake_confirmed_ = false;
  bool peer_validated_address_ = false;
  bool amplification_blocked_ = false;
};

template <class Ranges, class Sink>
Result<LossRecovery::AckResult> LossRecovery::on_ack_received(PacketSpace space,
                                                              const Ranges& ranges,
                                                              Duration ack_delay,
                                                              const EcnCounts* ecn, Instant now,
                                                              Sink& sink) {
  Space& s = at(space);
  std::uint64_t largest_in_frame = 0;
  for (const auto& range : ranges) {
    QUASI_TRY(check_range(s, range.smallest, range.largest));
    if (range.largest > largest_in_frame) largest_in_frame = range.largest;
  }
  AckSum sum;
  begin_ack(sum, now);
  for (const auto& range : ranges) {
    std::uint64_t pn = s.sent.first_unacked(range.smallest);
    while (pn <= range.largest && pn < s.sent.next()) {
      SentPacket& packet = *s.sent.find(pn);
      s.sent.for_each_record(packet,
                             [&](const SentRecord& record) { sink.on_acked(space, record); });
      ack_packet(s, pn, packet, sum);
      pn = s.sent.first_unacked(pn + 1);
    }
  }
  if (sum.result.newly_acked == 0) return sum.result;
  after_acks(space, largest_in_frame, ack_delay, ecn, now, sum);
  const LossSum losses = detect_losses(space, now, sink);
  finish_ack(space, now, sum, losses);
  return sum.result;
}

template <class Sink>
LossRecovery::LossSum LossRecovery::detect_losses(PacketSpace space, Instant now, Sink& sink) {
  Space& s = at(space);
  LossSum sum;
  while (SentPacket* packet = next_lost(s, now)) {
    lose_packet(s, *packet, sum);
    s.sent.for_each_record(*packet, [&](const SentRecord& record) { sink.on_lost(space, record); });
  }
  return sum;
}

template <class Sink>
LossRecovery::TimeoutResult LossRecovery::on_timeout(Instant now, Sink& sink) {
  TimeoutResult result;
  if (const auto space = earliest_loss_space()) {
    if (at(*space).loss_time > now) return result;
    const LossSum losses = detect_losses(*space, now, sink);
    answer_losses(losses, now);
    at(*space).sent.trim(now - retention());
    result.lost = losses.packets;
    return result;
  }
  const PtoTimer timer = pto_timer();
  if (timer.time > now) return result;
  // RFC 9002 §6.2.4: two probes when something is in flight, so that the loss of
  // one does not cost another timeout; one for the anti-deadlock probe of a client.
  result.probe_space = timer.space;
  result.probes = has_ack_eliciting_in_flight(timer.space) ? 2 : 1;
  // The next timeout counts from here, even if no probe can be sent.
  probe_base_ = now;
  at(timer.space).last_eliciting_sent = now;
  if (pto_count_ < limits::kMaxPtoExponent) ++pto_count_;
  return result;
}

template <class Sink>
unsigned LossRecovery::collect_probe_records(PacketSpace space, unsigned packets, Sink& sink) {
  Space& s = at(space);
  unsigned found = 0;
  for (std::uint64_t pn = s.sent.first_unacked(s.sent.loss_cursor);
       found < packets && pn < s.sent.next(); pn = s.sent.first_unacked(pn + 1)) {
    const SentPacket& packet = *s.sent.find(pn);
    if (packet.state != SentPacket::State::outstanding || !packet.ack_eliciting) continue;
    s.sent.for_each_record(packet, [&](const SentRecord& record) { sink.on_lost(space, record); });
    ++found;
  }
  return found;
}

template <class Sink>
void LossRecovery::requeue_all(PacketSpace space, Sink& sink) {
  Space& s = at(space);
  for (std::uint64_t pn = s.sent.first_unacked(s.sent.loss_cursor); pn < s.sent.next();
       pn = s.sent.first_unacked(pn + 1)) {
    SentPacket& packet = *s.sent.find(pn);
    if (packet.state != SentPacket::State::outstanding) continue;
    remove_from_flight(packet);
    s.sent.mark_lost(packet);
    packet.requeued = true;
    s.sent.for_each_record(packet, [&](const SentRecord& record) { sink.on_lost(space, record); });
  }
  s.loss_time = Instant::never();
  pto_count_ = 0;  // RFC 9002 §6.3: a Retry starts over
}

}  // namespace quasi::recovery
