// A cap on answers to packets that belong to no connection (Version Negotiation, Retry,
// stateless resets, refusals): one bucket for the whole endpoint. Whatever loop or
// reflection an attacker finds, it stays this slow.
#pragma once

#include <cstdint>

#include "base/limits.h"
#include "quasi/time.h"

namespace quasi::endpoint {

class ReplyLimiter {
 public:
  /// At most `per_second` replies a second, `burst` of them at once. Both at least 1.
  explicit ReplyLimiter(std::uint32_t per_second = limits::kStatelessRepliesPerSecond,
                        std::uint32_t burst = limits::kStatelessReplyBurst)
      : interval_(Duration::seconds(1) / per_second),
        allowance_(interval_ * (std::int64_t{burst} - 1)) {}

  /// Whether one more reply may be sent now; counts it if so.
  [[nodiscard]] bool allow(Instant now) {
    // `due_` is when the bucket would be full but for the replies sent: each puts it
    // off by an interval, and it may be ahead of now by the allowance.
    if (due_ < now) due_ = now;
    if (due_ - now > allowance_) return false;
    due_ = due_ + interval_;
    return true;
  }

 private:
  Duration interval_;
  Duration allowance_;
  Instant due_ = Instant::from_ns(INT64_MIN);
};

}  // namespace quasi::endpoint
