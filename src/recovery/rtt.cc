// RTT estimation: see rtt.h.
#include "recovery/rtt.h"

namespace quasi::recovery {

void RttEstimator::on_sample(Duration sample, Duration ack_delay, bool handshake_confirmed,
                             Duration max_ack_delay) {
  // A coarse clock or a loopback gives 0; a smallest positive value keeps every
  // later division defined.
  latest_ = std::max(sample, Duration::microseconds(1));
  if (!has_sample_) {  // RFC 9002 §5.2, §5.3
    has_sample_ = true;
    min_ = latest_;
    smoothed_ = latest_;
    variation_ = latest_ / 2;
    return;
  }
  min_ = std::min(min_, latest_);  // ack_delay is not subtracted here
  if (handshake_confirmed) ack_delay = std::min(ack_delay, max_ack_delay);
  Duration adjusted = latest_;
  if (latest_ >= min_ + ack_delay) adjusted = latest_ - ack_delay;
  const Duration difference = smoothed_ > adjusted ? smoothed_ - adjusted : adjusted - smoothed_;
  variation_ = variation_ - variation_ / 4 + difference / 4;
  smoothed_ = smoothed_ - smoothed_ / 8 + adjusted / 8;
}

}  // namespace quasi::recovery
