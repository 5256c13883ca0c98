// The receiving half of one packet number space: which packet numbers arrived,
// so that duplicates are dropped before they are decrypted, what the next ACK
// frame says, and when it is due (RFC 9000 §13.2). The decision is meant to be
// asked once per received burst: on_received() for each packet, then ack_due().
#pragma once

#include <cstdint>

#include "base/interval_set.h"
#include "base/limits.h"
#include "quasi/port.h"
#include "quasi/time.h"
#include "recovery/types.h"

namespace quasi::recovery {

/// When ACKs of the application space are sent. The others acknowledge at once.
struct AckPolicy {
  /// RFC 9000 §18.2, our own max_ack_delay as announced to the peer.
  Duration max_ack_delay = Duration::milliseconds(25);
  /// An ACK is due when that many ack-eliciting packets wait for one. Above 2 it
  /// is a maximum: the tracker starts at 2 and finds its way there while the
  /// packets come fast enough to reach it well within the delay, and goes back
  /// when the timer has to fire, so that a small window hardly ever stalls.
  std::uint32_t eliciting_threshold = 2;
};

class AckTracker {
 public:
  explicit AckTracker(PacketSpace space);

  void set_policy(const AckPolicy& policy);
  /// Tells the smoothed RTT, which shortens the delay to half of it, between 1 ms
  /// and max_ack_delay: on a short path nobody should wait 25 ms for an ACK.
  void set_rtt(Duration smoothed);
  [[nodiscard]] const AckPolicy& policy() const { return policy_; }

  /// Whether a packet has to be dropped before it is decrypted: received already,
  /// or so old that nobody remembers (RFC 9000 §12.3). Costs O(1) for new packets.
  [[nodiscard]] bool is_duplicate(std::uint64_t packet_number) const {
    if (packet_number >= next_expected_) return false;
    return packet_number < floor_ || received_.contains(packet_number);
  }

  /// Takes note of a packet that was authenticated and whose frames were valid.
  /// Duplicates change nothing.
  void on_received(std::uint64_t packet_number, bool ack_eliciting, Ecn ecn, Instant now);

  /// Whether an ACK should be sent now, even if nothing else is to be sent.
  [[nodiscard]] bool ack_due(Instant now) const {
    return immediate_ || unacked_eliciting_ >= threshold_ || now >= deadline_;
  }
  /// Whether an ACK should ride on a packet that is sent anyway.
  [[nodiscard]] bool ack_wanted() const { return unacked_eliciting_ > 0; }
  /// Whether there is anything that an ACK frame could say.
  [[nodiscard]] bool has_ranges() const { return !reported_.empty(); }
  /// When ack_due() becomes true by itself; never() if nothing waits.
  [[nodiscard]] Instant next_deadline() const { return deadline_; }

  /// What the ACK frame says: ranges of packet numbers, ascending, half-open.
  /// Write them from the last to the first; leaving out the lowest is fine.
  [[nodiscard]] const IntervalSet& ranges() const { return reported_; }
  /// Requires has_ranges().
  [[nodiscard]] std::uint64_t largest() const { return reported_.back().end - 1; }
  /// Largest packet number ever received + 1, the base of RFC 9000 A.3; 0 at first.
  [[nodiscard]] std::uint64_t next_expected() const { return next_expected_; }
  /// Time since the largest packet arrived (RFC 9000 §13.2.5); 0 for Initial and Handshake.
  [[nodiscard]] Duration ack_delay(Instant now) const;
  [[nodiscard]] const EcnCounts& ecn_counts() const { return ecn_; }

  /// An ACK frame with ranges() was put into a packet. Remember largest() in that
  /// packet's SentRecord{ack} and give it to on_ack_acked() when it is acknowledged.
  void on_ack_sent(Instant now);
  /// The peer has seen an ACK up to `largest`: nothing below needs to be repeated
  /// (RFC 9000 §13.2.4). Duplicate detection forgets nothing.
  void on_ack_acked(std::uint64_t largest);

 private:
  AckPolicy policy_;
  IntervalSet received_{limits::kMaxAckRanges};  // for duplicates
  IntervalSet reported_{limits::kMaxAckRanges};  // for ACK frames
  std::uint64_t floor_ = 0;                      // everything below counts as received
  std::uint64_t next_expected_ = 0;
  std::uint64_t next_expected_eliciting_ = 0;
  std::uint64_t lowest_unreported_ = UINT64_MAX;  // received since the last ACK
  Instant largest_time_;
  Instant first_unacked_time_;
  Instant deadline_ = Instant::never();
  EcnCounts ecn_;
  std::uint32_t unacked_eliciting_ = 0;
  std::uint32_t threshold_ = 1;
  std::uint32_t quick_acks_ = 0;   // in a row that filled the threshold in no time
  std::uint32_t growth_step_ = 1;  // how many of those raise it
  Duration delay_;
  bool immediate_ = false;
  bool delays_;  // application space
};

}  // namespace quasi::recovery
