// What all controllers have in common, and that the one class which holds them
// passes on what it is told.
#include "recovery/congestion.h"

#include <gtest/gtest.h>

#include "recovery/controller_events.h"

namespace quasi::recovery {
namespace {

TEST(Congestion, InitialWindows) {  // RFC 9002 §7.2
  EXPECT_EQ(initial_window(1200), 12'000u);
  EXPECT_EQ(initial_window(1472), 14'720u);
  EXPECT_EQ(initial_window(9000), 18'000u);
  for (const auto algorithm :
       {CongestionController::cubic, CongestionController::new_reno, CongestionController::bbr}) {
    EXPECT_EQ(Congestion(algorithm, 1200).window(), 12'000u);
    EXPECT_TRUE(Congestion(algorithm, 1200).in_slow_start());
    EXPECT_EQ(Congestion(algorithm, 1200).pacing_rate(RttEstimator()), 0u);
  }
}

TEST(Congestion, WindowFollowsTheDatagramSize) {  // RFC 9002 §7.2
  for (const auto algorithm :
       {CongestionController::cubic, CongestionController::new_reno, CongestionController::bbr}) {
    Congestion c(algorithm, 1200);
    c.set_max_datagram_size(1452);
    EXPECT_EQ(c.window(), 14'520u);
    c.set_max_datagram_size(1200);
    EXPECT_EQ(c.window(), 12'000u);
  }
}

TEST(Congestion, NothingDividesByZero) {
  RttEstimator zero;
  zero.on_sample({}, {}, true, {});
  for (const auto algorithm :
       {CongestionController::cubic, CongestionController::new_reno, CongestionController::bbr}) {
    Congestion c(algorithm, 1200);
    AckEvent event = ack(at_ms(0), 1200, zero);
    event.rate.delivered = 1200;
    c.on_ack(event);
    event.rate.interval = Duration::nanoseconds(1);
    c.on_ack(event);
    (void)c.on_congestion_event(loss(at_ms(0), at_ms(0)));
    event.growth_bytes = 0;
    c.on_ack(event);
    c.on_ack(ack(at_ms(0), UINT32_MAX, zero));
    c.on_persistent_congestion(at_ms(0));
    EXPECT_GE(c.window(), 2400u);
    EXPECT_GT(c.pacing_rate(zero), 0u);
  }
}

}  // namespace
}  // namespace quasi::recovery
