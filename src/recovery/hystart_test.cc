// HyStart++ against RFC 9406.
#include "recovery/hystart.h"

#include <gtest/gtest.h>

namespace quasi::recovery {
namespace {

TEST(HyStart, LeavesWhenRoundTripsGrow) {  // RFC 9406 §4.2
  HyStart hystart;
  const auto round = [&](std::int64_t rtt_ms) {
    HyStart::Verdict verdict{};
    for (int i = 0; i < 10; ++i) {
      verdict = hystart.on_rtt_sample(Duration::milliseconds(rtt_ms), i == 0);
    }
    return verdict;
  };
  EXPECT_EQ(round(50), HyStart::Verdict::slow_start);
  EXPECT_EQ(round(52), HyStart::Verdict::slow_start);
  EXPECT_EQ(round(60), HyStart::Verdict::conservative);  // 52 + max(52/8, 4) = 58.5
  EXPECT_EQ(hystart.divisor(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(round(65), HyStart::Verdict::conservative) << i;
  EXPECT_EQ(hystart.on_rtt_sample(Duration::milliseconds(65), true), HyStart::Verdict::leave);
}

TEST(HyStart, ComesBackFromAFalseAlarm) {
  HyStart hystart;
  const auto round = [&](std::int64_t rtt_ms) {
    HyStart::Verdict verdict{};
    for (int i = 0; i < 10; ++i) {
      verdict = hystart.on_rtt_sample(Duration::milliseconds(rtt_ms), i == 0);
    }
    return verdict;
  };
  (void)round(50);
  EXPECT_EQ(round(70), HyStart::Verdict::conservative);
  EXPECT_EQ(round(51), HyStart::Verdict::slow_start);
  EXPECT_EQ(hystart.divisor(), 1u);
}

TEST(HyStart, NeedsEightSamplesARound) {
  HyStart hystart;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(hystart.on_rtt_sample(Duration::milliseconds(50 + 50 * round), i == 0),
                HyStart::Verdict::slow_start);
    }
  }
}

}  // namespace
}  // namespace quasi::recovery
