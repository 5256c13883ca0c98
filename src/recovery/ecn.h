// ECN validation of one path (RFC 9000 §13.4.2): mark the first packets, watch
// what the peer reports, and stop marking when the counts cannot be true.
#pragma once

#include <cstdint>

#include "recovery/types.h"

namespace quasi::recovery {

class EcnValidator {
 public:
  enum class State : std::uint8_t { off, testing, unknown, capable, failed };

  explicit EcnValidator(bool enabled) : state_(enabled ? State::testing : State::off) {}

  [[nodiscard]] State state() const { return state_; }
  /// Whether the next packet should carry ECT(0).
  [[nodiscard]] bool should_mark() const {
    return state_ == State::testing || state_ == State::capable;
  }
  void on_marked_sent();
  void on_marked_lost();
  /// An ACK that raised the largest acknowledged packet number. `newly_acked_ect`:
  /// packets newly acknowledged that were sent with ECT(0). `counts` null: an ACK
  /// without ECN counts. Returns how much the CE count grew, 0 on failure.
  std::uint64_t on_ack(PacketSpace space, std::uint64_t newly_acked_ect, const EcnCounts* counts);

 private:
  State state_;
  std::uint64_t marked_sent_ = 0;
  std::uint64_t marked_lost_ = 0;
  EcnCounts last_[kPacketSpaces];
};

}  // namespace quasi::recovery
