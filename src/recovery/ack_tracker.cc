// Received packet numbers and when to acknowledge them: see ack_tracker.h.
#include "recovery/ack_tracker.h"

#include <algorithm>

namespace quasi::recovery {
namespace {

// Where the adaptive threshold starts and never goes below (RFC 9000 §13.2.2).
constexpr std::uint32_t kLowestThreshold = 2;
constexpr std::uint32_t kSlowestGrowth = 16;
constexpr Duration kShortestDelay = Duration::milliseconds(1);

}  // namespace

AckTracker::AckTracker(PacketSpace space) : delays_(space == PacketSpace::application) {
  set_policy(policy_);
}

void AckTracker::set_policy(const AckPolicy& policy) {
  policy_ = policy;
  delay_ = policy.max_ack_delay;
  quick_acks_ = 0;
  growth_step_ = 1;
  // RFC 9000 §13.2.1: Initial and Handshake packets are acknowledged at once.
  threshold_ = delays_ ? std::min(policy_.eliciting_threshold, kLowestThreshold) : 1;
}

void AckTracker::set_rtt(Duration smoothed) {
  delay_ = std::min(std::max(smoothed / 2, kShortestDelay), policy_.max_ack_delay);
}

void AckTracker::on_received(std::uint64_t packet_number, bool ack_eliciting, Ecn ecn,
                             Instant now) {
  if (is_duplicate(packet_number)) return;
  const std::uint64_t forgotten =
      received_.insert_dropping_lowest(packet_number, packet_number + 1);
  floor_ = std::max(floor_, forgotten);
  (void)reported_.insert_dropping_lowest(packet_number, packet_number + 1);
  lowest_unreported_ = std::min(lowest_unreported_, packet_number);
  if (packet_number >= next_expected_) {
    next_expected_ = packet_number + 1;
    largest_time_ = now;
  }
  switch (ecn) {
    case Ecn::not_ect:
      break;
    case Ecn::ect0:
      ++ecn_.ect0;
      break;
    case Ecn::ect1:
      ++ecn_.ect1;
      break;
    case Ecn::ce:
      ++ecn_.ce;
      break;
  }
  if (!ack_eliciting) return;

  if (unacked_eliciting_ == 0) {
    first_unacked_time_ = now;
    deadline_ = delays_ ? now + delay_ : now;
  }
  ++unacked_eliciting_;
  // RFC 9000 §13.2.1: at once when a packet arrives out of order, or opens a gap,
  // or carries a congestion mark.
  if (packet_number < next_expected_eliciting_) {
    immediate_ = true;
  } else {
    if (packet_number > next_expected_eliciting_ &&
        !received_.contains(next_expected_eliciting_, packet_number)) {
      immediate_ = true;
    }
    next_expected_eliciting_ = packet_number + 1;
  }
  if (ecn == Ecn::ce) immediate_ = true;
}

Duration AckTracker::ack_delay(Instant now) const {
  if (!delays_ || next_expected_ == 0) return {};
  return std::max(now - largest_time_, Duration());
}

void AckTracker::on_ack_sent(Instant now) {
  if (delays_ && unacked_eliciting_ > 0) {
    // Let the packets decide how many of them share an ACK. If they filled the
    // threshold in a fraction of max_ack_delay, a few more may; if the timer had
    // to fire, the sender was probably waiting for us.
    if (unacked_eliciting_ >= threshold_) {
      if (now - first_unacked_time_ > delay_ / 4) {
        quick_acks_ = 0;
      } else if (threshold_ >= policy_.eliciting_threshold) {
        growth_step_ = 1;
      } else if (++quick_acks_ >= growth_step_) {
        quick_acks_ = 0;
        ++threshold_;
      }
    } else if (now >= deadline_) {
      // The next attempts take longer: a window that is smaller than the threshold
      // stays so for a while.
      growth_step_ = std::min(growth_step_ * 2, kSlowestGrowth);
      quick_acks_ = 0;
      threshold_ = std::max(std::min(threshold_, unacked_eliciting_) / 2,
                            std::min(policy_.eliciting_threshold, kLowestThreshold));
    }
  }
  unacked_eliciting_ = 0;
  immediate_ = false;
  deadline_ = Instant::never();
  lowest_unreported_ = UINT64_MAX;
}

void AckTracker::on_ack_acked(std::uint64_t largest) {
  // A packet that arrived late, after that ACK was sent, is still to be reported.
  const std::uint64_t bound = largest == UINT64_MAX ? largest : largest + 1;
  reported_.erase_below(std::min(bound, lowest_unreported_));
}

}  // namespace quasi::recovery
