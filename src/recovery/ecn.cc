// ECN validation: see ecn.h.
#include "recovery/ecn.h"

namespace quasi::recovery {
namespace {

// RFC 9000 A.4: packets marked before the first verdict.
constexpr std::uint64_t kTestPackets = 10;

}  // namespace

void EcnValidator::on_marked_sent() {
  ++marked_sent_;
  if (state_ == State::testing && marked_sent_ >= kTestPackets) state_ = State::unknown;
}

void EcnValidator::on_marked_lost() {
  ++marked_lost_;
  // RFC 9000 §13.4.2: a path that drops every marked packet does not take ECN.
  if ((state_ == State::testing || state_ == State::unknown) && marked_sent_ >= kTestPackets &&
      marked_lost_ >= marked_sent_) {
    state_ = State::failed;
  }
}

std::uint64_t EcnValidator::on_ack(PacketSpace space, std::uint64_t newly_acked_ect,
                                   const EcnCounts* counts) {
  if (state_ == State::off || state_ == State::failed) return 0;
  if (counts == nullptr) {
    // RFC 9000 §13.4.2.1: marked packets acknowledged without counts.
    if (newly_acked_ect > 0) state_ = State::failed;
    return 0;
  }
  EcnCounts& last = last_[index_of(space)];
  const bool shrank = counts->ect0 < last.ect0 || counts->ect1 < last.ect1 || counts->ce < last.ce;
  // No ECT(1) was ever sent, and no more ECT(0) than we counted.
  const bool impossible =
      counts->ect1 > 0 || counts->ect0 > marked_sent_ || counts->ce > marked_sent_;
  if (shrank || impossible ||
      (counts->ect0 - last.ect0) + (counts->ce - last.ce) < newly_acked_ect) {
    state_ = State::failed;
    return 0;
  }
  const std::uint64_t new_ce = counts->ce - last.ce;
  last = *counts;
  if (newly_acked_ect > 0) state_ = State::capable;
  return new_ce;
}

}  // namespace quasi::recovery
