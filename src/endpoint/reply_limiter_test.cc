// The cap holds over bursts, long times and clocks at their ends.
#include "endpoint/reply_limiter.h"

#include <gtest/gtest.h>

namespace quasi::endpoint {
namespace {

int allowed(ReplyLimiter& limiter, Instant now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += limiter.allow(now) ? 1 : 0;
  return count;
}

TEST(ReplyLimiter, BurstThenRate) {
  ReplyLimiter limiter(10, 5);
  Instant now = Instant::from_ns(12'345);
  EXPECT_EQ(allowed(limiter, now, 100), 5);
  now = now + Duration::milliseconds(100);
  EXPECT_EQ(allowed(limiter, now, 100), 1);
  now = now + Duration::milliseconds(99);
  EXPECT_EQ(allowed(limiter, now, 100), 0);
  now = now + Duration::milliseconds(201);
  EXPECT_EQ(allowed(limiter, now, 100), 3);
  now = now + Duration::seconds(3600);
  EXPECT_EQ(allowed(limiter, now, 100), 5);  // saved up no further than the burst
}

TEST(ReplyLimiter, OverTenSecondsOfFlood) {
  ReplyLimiter limiter;
  Instant now = Instant::from_ns(0);
  std::uint64_t sent = 0;
  for (int i = 0; i < 100'000; ++i, now = now + Duration::microseconds(100)) {
    if (limiter.allow(now)) ++sent;
  }
  const std::uint64_t most =
      std::uint64_t{10} * limits::kStatelessRepliesPerSecond + limits::kStatelessReplyBurst;
  EXPECT_LE(sent, most);
  EXPECT_GE(sent, most - 2);
}

TEST(ReplyLimiter, ClockAtItsEnds) {
  ReplyLimiter early(10, 5);
  EXPECT_EQ(allowed(early, Instant::from_ns(INT64_MIN), 100), 5);
  ReplyLimiter zero(10, 5);
  EXPECT_EQ(allowed(zero, Instant(), 100), 5);
  // A clock that stepped back to zero is a clock that stands still until it is back.
  ReplyLimiter back(10, 5);
  EXPECT_EQ(allowed(back, Instant::from_ns(5'000'000'000), 100), 5);
  EXPECT_EQ(allowed(back, Instant(), 100), 0);
}

}  // namespace
}  // namespace quasi::endpoint
