// The sent half of one packet number space: a ring of sent packets keyed by
// packet number, and a ring of what they carried. Every operation is O(1)
// amortised, whatever ranges a peer acknowledges: acknowledged packets are
// skipped over by links that are compressed as they are followed. Rings double
// and never shrink; in a steady state nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/interval_set.h"
#include "base/limits.h"
#include "quasi/time.h"
#include "recovery/types.h"

namespace quasi::recovery {

struct SentPacket {
  enum class State : std::uint8_t {
    outstanding,  // sent, nothing heard
    lost,         // declared lost; kept for a while to notice a late ACK
    acked,
    skipped,  // never sent, on purpose (RFC 9000 §21.4)
  };
  Instant time_sent;
  // Delivery rate sampling: the connection's state when this packet was sent.
  std::uint64_t delivered = 0;
  Instant delivered_time;
  Instant first_sent_time;
  std::uint32_t first_record = 0;  // index that wraps with 2^32
  std::uint32_t skip = 0;          // once acknowledged: how far ahead to look
  std::uint16_t record_count = 0;
  std::uint16_t size = 0;
  State state = State::outstanding;
  bool ack_eliciting : 1 = false;
  bool in_flight : 1 = false;  // counted in bytes_in_flight of the path `path_epoch`
  bool ect : 1 = false;
  bool mtu_probe : 1 = false;
  bool app_limited : 1 = false;
  bool had_rtt_sample : 1 = false;
  bool requeued : 1 = false;  // "lost" only because it was to be sent again
  std::uint8_t path_epoch = 0;
  std::uint8_t episode = 0;  // of congestion, in which it was declared lost
};
static_assert(sizeof(SentPacket) == 48);

class SentPackets {
 public:
  /// The number that the next commit() gets.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  /// Leaves out one number: a peer that acknowledges it has not seen what it
  /// acknowledges.
  void skip_number();

  /// Adds to what the next committed packet carries.
  void push_record(const SentRecord& record);
  [[nodiscard]] std::size_t open_records() const { return record_tail_ - open_; }
  /// Forgets the records since the last commit: the packet is not sent after all.
  void drop_open_records() { record_tail_ = open_; }
  /// Appends packet number next(), with the open records, and returns it.
  SentPacket& commit(const SentPacket& packet);
  /// Whether another packet may be sent. False only when the peer leaves too much
  /// unacknowledged (limits.h).
  [[nodiscard]] bool has_room() const;

  /// The packet if it is still known, else null.
  [[nodiscard]] SentPacket* find(std::uint64_t pn) {
    return pn < base_ || pn >= next_ ? nullptr : &slot(pn);
  }
  [[nodiscard]] const SentPacket* find(std::uint64_t pn) const {
    return pn < base_ || pn >= next_ ? nullptr : &slot(pn);
  }
  /// Whether all of [smallest, largest] was really sent: O(log skipped).
  [[nodiscard]] bool all_sent(std::uint64_t smallest, std::uint64_t largest) const;

  /// The first packet number >= `from` that can still be acknowledged (outstanding
  /// or lost); next() if there is none.
  [[nodiscard]] std::uint64_t first_unacked(std::uint64_t from);
  void mark_acked(SentPacket& packet);
  void mark_lost(SentPacket& packet);

  /// Calls fn(const SentRecord&) for what the packet carried.
  template <class Fn>
  void for_each_record(const SentPacket& packet, Fn&& fn) const {
    for (std::uint32_t i = 0; i < packet.record_count; ++i) fn(record(packet.first_record + i));
  }
  [[nodiscard]] const SentRecord& record(std::uint32_t index) const {
    return records_[index & (records_.size() - 1)];
  }

  /// Forgets, from the oldest on, packets that nothing more can be learnt about:
  /// acknowledged, skipped, or lost and sent before `horizon`.
  void trim(Instant horizon);

  [[nodiscard]] std::uint64_t base() const { return base_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(next_ - base_); }
  /// Outstanding packets that are ack-eliciting and in flight.
  [[nodiscard]] std::size_t eliciting_outstanding() const { return eliciting_outstanding_; }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  /// Everything below is acknowledged, lost or skipped: loss detection starts here.
  std::uint64_t loss_cursor = 0;

 private:
  [[nodiscard]] SentPacket& slot(std::uint64_t pn) {
    return packets_[static_cast<std::size_t>(pn) & (packets_.size() - 1)];
  }
  [[nodiscard]] const SentPacket& slot(std::uint64_t pn) const {
    return packets_[static_cast<std::size_t>(pn) & (packets_.size() - 1)];
  }
  void grow_packets();
  void grow_records();
  void pop_front();

  std::vector<SentPacket> packets_;  // slot of pn: pn modulo a power of two
  std::vector<SentRecord> records_;
  std::uint64_t base_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t record_head_ = 0;
  std::uint32_t record_tail_ = 0;
  std::uint32_t open_ = 0;
  std::size_t outstanding_ = 0;
  std::size_t eliciting_outstanding_ = 0;
  IntervalSet skipped_{limits::kMaxSkippedPacketNumbers};
};

}  // namespace quasi::recovery
