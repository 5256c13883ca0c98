// CUBIC against RFC 9438, with hand-made ACKs.
#include "recovery/cubic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "recovery/controller_events.h"

namespace quasi::recovery {
namespace {

// Brings a controller to a known window in congestion avoidance.
Cubic cubic_after_loss(std::uint64_t packets, const RttEstimator& rtt) {
  Cubic cubic(kMss);
  AckEvent event = ack(at_ms(0), packets * kMss - 12'000, rtt);
  event.rtt_sampled = false;
  cubic.on_ack(event);
  EXPECT_EQ(cubic.window(), packets * kMss);
  EXPECT_TRUE(cubic.on_congestion_event(loss(at_ms(1), at_ms(0))));
  return cubic;
}

// One round trip after the other, each acknowledging a whole window.
void run_rounds(Cubic& cubic, Instant& now, const RttEstimator& rtt, Duration until) {
  const Instant end = now + until;
  while (now < end) {
    now = now + rtt.smoothed();
    cubic.on_ack(ack(now, cubic.window(), rtt));
  }
}
TEST(Cubic, ShrinksBySevenTenths) {  // RFC 9438 §4.6
  const RttEstimator rtt = rtt_of(100);
  const Cubic cubic = cubic_after_loss(1000, rtt);
  EXPECT_EQ(cubic.window(), 700 * kMss);
  EXPECT_FALSE(cubic.in_slow_start());
}

TEST(Cubic, ReturnsToThePlateauAfterK) {  // RFC 9438 §4.2
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(1000, rtt);
  const double k = std::cbrt(300.0 / 0.4);  // 9.09 s
  Instant now = at_ms(1);
  run_rounds(cubic, now, rtt, Duration::milliseconds(static_cast<std::int64_t>(k * 1000)));
  EXPECT_NEAR(static_cast<double>(cubic.window()) / kMss, 1000, 20);
  // Concave up to there, convex after: as much later as before, as much above.
  run_rounds(cubic, now, rtt, Duration::milliseconds(static_cast<std::int64_t>(k * 1000)));
  EXPECT_NEAR(static_cast<double>(cubic.window()) / kMss, 1300, 30);
}

TEST(Cubic, TheCurveIsOfTimeNotOfRoundTrips) {  // RFC 9438 §3.2
  const RttEstimator fast = rtt_of(20);
  const RttEstimator slow = rtt_of(100);
  Cubic a = cubic_after_loss(2000, fast);
  Cubic b = cubic_after_loss(2000, slow);
  Instant now_a = at_ms(1);
  Instant now_b = at_ms(1);
  run_rounds(a, now_a, fast, Duration::seconds(8));
  run_rounds(b, now_b, slow, Duration::seconds(8));
  EXPECT_NEAR(static_cast<double>(a.window()), static_cast<double>(b.window()),
              0.05 * static_cast<double>(b.window()));
}

TEST(Cubic, IsRenoFriendlyOnShortPaths) {  // RFC 9438 §4.3
  const RttEstimator rtt = rtt_of(10);
  Cubic cubic = cubic_after_loss(40, rtt);
  EXPECT_EQ(cubic.window(), 28 * kMss);
  Instant now = at_ms(1);
  run_rounds(cubic, now, rtt, Duration::milliseconds(100));
  // Ten round trips at 0.53 packets each; the cubic curve alone would still be flat.
  EXPECT_NEAR(static_cast<double>(cubic.window()) / kMss, 33.3, 0.6);
  // Past the old window it grows by a packet a round trip, as Reno does.
  run_rounds(cubic, now, rtt, Duration::milliseconds(130));
  const std::uint64_t before = cubic.window();
  EXPECT_GE(before, 40 * kMss);
  run_rounds(cubic, now, rtt, Duration::milliseconds(100));
  EXPECT_NEAR(static_cast<double>(cubic.window() - before) / kMss, 10, 1.1);
}

TEST(Cubic, FastConvergenceGivesUpRoom) {  // RFC 9438 §4.7
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(1000, rtt);
  EXPECT_TRUE(cubic.on_congestion_event(loss(at_ms(100), at_ms(50))));  // at 700 < 1000
  EXPECT_EQ(cubic.window(), 490 * kMss);
  // The plateau is 700 * 0.85 = 595 now, not 700.
  Instant now = at_ms(100);
  const double k = std::cbrt((595.0 - 490.0) / 0.4);
  run_rounds(cubic, now, rtt, Duration::milliseconds(static_cast<std::int64_t>(k * 1000)));
  EXPECT_NEAR(static_cast<double>(cubic.window()) / kMss, 595, 12);
}

TEST(Cubic, TheCurveWaitsWhileTheApplicationIsTheLimit) {  // RFC 9438 §4.2
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(1000, rtt);
  Instant now = at_ms(1);
  run_rounds(cubic, now, rtt, Duration::seconds(2));
  const std::uint64_t before = cubic.window();
  for (int i = 0; i < 600; ++i) {  // a minute of trickling
    now = now + Duration::milliseconds(100);
    AckEvent event = ack(now, kMss, rtt);
    event.window_limited = false;
    cubic.on_ack(event);
  }
  EXPECT_EQ(cubic.window(), before);
  run_rounds(cubic, now, rtt, Duration::milliseconds(200));
  EXPECT_LT(static_cast<double>(cubic.window()), 1.1 * static_cast<double>(before));
}

TEST(Cubic, NeverGrowsByMoreThanHalfARound) {  // RFC 9438 §4.2: target <= 1.5 cwnd
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(20, rtt);
  Instant now = at_ms(1);
  run_rounds(cubic, now, rtt, Duration::milliseconds(100));
  now = now + Duration::seconds(100'000);  // the curve is far above by then
  const std::uint64_t before = cubic.window();
  cubic.on_ack(ack(now, before, rtt));
  EXPECT_LE(cubic.window(), before + before / 2 + 1);
}

TEST(Cubic, UndoesASpuriousEpisode) {  // RFC 9438 §4.9
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(100, rtt);
  cubic.on_spurious_congestion();
  EXPECT_EQ(cubic.window(), 100 * kMss);
  EXPECT_TRUE(cubic.in_slow_start());
}

TEST(Cubic, PersistentCongestionStartsAgain) {
  const RttEstimator rtt = rtt_of(100);
  Cubic cubic = cubic_after_loss(100, rtt);
  cubic.on_persistent_congestion(at_ms(10));
  EXPECT_EQ(cubic.window(), 2 * kMss);
  EXPECT_TRUE(cubic.in_slow_start());
  cubic.on_spurious_congestion();
  EXPECT_EQ(cubic.window(), 2 * kMss);
  cubic.on_ack(ack(at_ms(20), 1'000'000, rtt));
  EXPECT_EQ(cubic.window(), 70 * kMss);  // up to ssthresh, not beyond
}

}  // namespace
}  // namespace quasi::recovery
