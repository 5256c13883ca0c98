// NewReno against RFC 9002 §7.3, with hand-made ACKs.
#include "recovery/new_reno.h"

#include <gtest/gtest.h>

#include "recovery/controller_events.h"

namespace quasi::recovery {
namespace {

TEST(NewReno, SlowStartThenHalvingThenOnePacketARound) {
  NewReno reno(kMss);
  const RttEstimator rtt = rtt_of(100);
  reno.on_ack(ack(at_ms(100), 12'000, rtt));
  EXPECT_EQ(reno.window(), 24'000u);
  EXPECT_TRUE(reno.on_congestion_event(loss(at_ms(200), at_ms(150))));
  EXPECT_EQ(reno.window(), 12'000u);
  EXPECT_FALSE(reno.in_slow_start());
  // The same episode: packets sent before it began.
  EXPECT_FALSE(reno.on_congestion_event(loss(at_ms(210), at_ms(199))));
  EXPECT_EQ(reno.window(), 12'000u);
  for (int i = 0; i < 10; ++i) reno.on_ack(ack(at_ms(300), 1200, rtt));
  EXPECT_EQ(reno.window(), 13'200u);
  EXPECT_TRUE(reno.on_congestion_event(loss(at_ms(400), at_ms(201))));
  EXPECT_EQ(reno.window(), 6'600u);
}

TEST(NewReno, DoesNotGrowWhenTheApplicationIsTheLimit) {  // RFC 9002 §7.8
  NewReno reno(kMss);
  const RttEstimator rtt = rtt_of(100);
  AckEvent event = ack(at_ms(100), 12'000, rtt);
  event.window_limited = false;
  reno.on_ack(event);
  EXPECT_EQ(reno.window(), 12'000u);
}

TEST(NewReno, MinimumWindowAndPersistentCongestion) {  // RFC 9002 §7.2, §7.6.2
  NewReno reno(kMss);
  for (int i = 1; i < 20; ++i)
    (void)reno.on_congestion_event(loss(at_ms(i * 10), at_ms(i * 10 - 1)));
  EXPECT_EQ(reno.window(), 2 * kMss);
  reno = NewReno(kMss);
  reno.on_persistent_congestion(at_ms(5));
  EXPECT_EQ(reno.window(), 2 * kMss);
  EXPECT_FALSE(reno.in_recovery(at_ms(1)));
}

TEST(NewReno, UndoesASpuriousEpisode) {
  NewReno reno(kMss);
  (void)reno.on_congestion_event(loss(at_ms(200), at_ms(150)));
  reno.on_spurious_congestion();
  EXPECT_EQ(reno.window(), 12'000u);
  EXPECT_TRUE(reno.in_slow_start());
  reno.on_spurious_congestion();  // once only
  EXPECT_EQ(reno.window(), 12'000u);
}

}  // namespace
}  // namespace quasi::recovery
