// RTT estimation, RFC 9002 §5, and the awkward samples.
#include "recovery/rtt.h"

#include <gtest/gtest.h>

namespace quasi::recovery {
namespace {

Duration ms(std::int64_t n) { return Duration::milliseconds(n); }

TEST(Rtt, FirstSampleSetsEverything) {  // RFC 9002 §5.2, §5.3
  RttEstimator rtt;
  EXPECT_FALSE(rtt.has_sample());
  EXPECT_EQ(rtt.smoothed(), ms(333));
  EXPECT_EQ(rtt.variation(), Duration::microseconds(166'500));
  EXPECT_EQ(rtt.pto(), ms(999));
  rtt.on_sample(ms(100), ms(40), false, ms(25));
  EXPECT_TRUE(rtt.has_sample());
  EXPECT_EQ(rtt.min(), ms(100));
  EXPECT_EQ(rtt.smoothed(), ms(100));
  EXPECT_EQ(rtt.variation(), ms(50));
  EXPECT_EQ(rtt.pto(), ms(300));
}

TEST(Rtt, LaterSamplesAreSmoothed) {  // RFC 9002 §5.3
  RttEstimator rtt;
  rtt.on_sample(ms(100), {}, true, ms(25));
  rtt.on_sample(ms(180), ms(20), true, ms(25));
  // adjusted 160: variation 3/4 * 50 + 1/4 * 60, smoothed 7/8 * 100 + 1/8 * 160.
  EXPECT_EQ(rtt.latest(), ms(180));
  EXPECT_EQ(rtt.variation(), Duration::microseconds(52'500));
  EXPECT_EQ(rtt.smoothed(), Duration::microseconds(107'500));
  EXPECT_EQ(rtt.min(), ms(100));
}

TEST(Rtt, AckDelayIsClampedOnceConfirmed) {
  RttEstimator before;
  RttEstimator after;
  for (RttEstimator* rtt : {&before, &after}) rtt->on_sample(ms(100), {}, false, ms(25));
  before.on_sample(ms(200), ms(80), false, ms(25));
  after.on_sample(ms(200), ms(80), true, ms(25));
  EXPECT_EQ(before.smoothed(), Duration::microseconds(102'500));  // 120 ms adjusted
  EXPECT_EQ(after.smoothed(), Duration::microseconds(109'375));   // 175 ms adjusted
}

TEST(Rtt, AckDelayNeverPushesBelowTheMinimum) {  // RFC 9002 §5.3
  RttEstimator rtt;
  rtt.on_sample(ms(100), {}, true, ms(25));
  rtt.on_sample(ms(110), ms(20), true, ms(25));  // 90 would be below min_rtt: taken whole
  EXPECT_EQ(rtt.smoothed(), Duration::microseconds(101'250));
  rtt.on_sample(ms(50), Duration::infinite(), false, ms(25));
  EXPECT_EQ(rtt.min(), ms(50));
  EXPECT_GT(rtt.smoothed(), Duration());
}

TEST(Rtt, ZeroAndNegativeSamplesStayPositive) {
  RttEstimator rtt;
  rtt.on_sample(Duration(), {}, true, ms(25));
  EXPECT_EQ(rtt.smoothed(), Duration::microseconds(1));
  EXPECT_EQ(rtt.min(), Duration::microseconds(1));
  for (int i = 0; i < 100; ++i) rtt.on_sample(ms(-5), ms(25), true, ms(25));
  EXPECT_GT(rtt.smoothed(), Duration());
  EXPECT_EQ(rtt.pto(), rtt.smoothed() + kGranularity);
}

TEST(Rtt, DecodesAckDelayWithoutOverflow) {
  EXPECT_EQ(decode_ack_delay(100, 3), Duration::microseconds(800));
  EXPECT_EQ(decode_ack_delay(0, 20), Duration());
  constexpr std::uint64_t kMax = (std::uint64_t{1} << 62) - 1;
  for (std::uint64_t exponent = 0; exponent <= 20; ++exponent) {
    EXPECT_GT(decode_ack_delay(kMax, exponent), Duration::seconds(1000)) << exponent;
    EXPECT_GT(decode_ack_delay(kMax >> exponent, exponent), Duration::seconds(1000)) << exponent;
  }
  EXPECT_EQ(decode_ack_delay(kMax, UINT64_MAX), Duration::infinite());
  EXPECT_EQ(encode_ack_delay(Duration::microseconds(800), 3), 100u);
  EXPECT_EQ(encode_ack_delay(ms(-1), 3), 0u);
}

TEST(Rtt, MinimumCanBeStartedAnew) {  // RFC 9002 §5.2
  RttEstimator rtt;
  rtt.on_sample(ms(10), {}, true, ms(25));
  rtt.on_sample(ms(90), {}, true, ms(25));
  rtt.restart_min();
  EXPECT_EQ(rtt.min(), ms(90));
}

}  // namespace
}  // namespace quasi::recovery
