// For tests: hand-made ACKs and losses for congestion controllers.
#pragma once

#include <cstdint>

#include "recovery/congestion_types.h"
#include "recovery/rtt.h"

namespace quasi::recovery {

inline constexpr std::uint64_t kMss = 1200;

inline Instant at_ms(std::int64_t n) { return Instant() + Duration::milliseconds(n); }

inline AckEvent ack(Instant now, std::uint64_t bytes, const RttEstimator& rtt) {
  AckEvent event;
  event.now = now;
  event.acked_bytes = event.growth_bytes = bytes;
  event.window_limited = true;
  event.rtt_sampled = true;
  event.rtt = &rtt;
  return event;
}

inline RttEstimator rtt_of(std::int64_t n) {
  RttEstimator rtt;
  rtt.on_sample(Duration::milliseconds(n), {}, true, {});
  return rtt;
}

inline CongestionEvent loss(Instant now, Instant sent) { return {now, sent, kMss, 0, false}; }

}  // namespace quasi::recovery
