// HyStart++: see hystart.h.
#include "recovery/hystart.h"

namespace quasi::recovery {

HyStart::Verdict HyStart::on_rtt_sample(Duration rtt, bool round_start) {
  if (round_start) {
    last_round_min_ = round_min_;
    round_min_ = Duration::infinite();
    samples_ = 0;
    if (conservative_ && ++conservative_rounds_ >= kConservativeRounds) return Verdict::leave;
  }
  round_min_ = std::min(round_min_, rtt);
  ++samples_;
  if (samples_ < kSamples) return conservative_ ? Verdict::conservative : Verdict::slow_start;

  if (conservative_) {  // RFC 9406 §4.2: the growth was a false alarm
    if (round_min_ < baseline_) {
      conservative_ = false;
      conservative_rounds_ = 0;
      baseline_ = Duration::infinite();
    }
  } else if (last_round_min_ != Duration::infinite()) {
    const Duration threshold =
        std::clamp(last_round_min_ / 8, Duration::milliseconds(4), Duration::milliseconds(16));
    if (round_min_ >= last_round_min_ + threshold) {
      conservative_ = true;
      conservative_rounds_ = 0;
      baseline_ = round_min_;
    }
  }
  return conservative_ ? Verdict::conservative : Verdict::slow_start;
}

}  // namespace quasi::recovery
