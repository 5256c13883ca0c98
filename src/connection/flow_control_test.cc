#include "connection/flow_control.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace quasi::connection {
namespace {

constexpr Duration kRtt = Duration::milliseconds(50);

Instant at_ms(std::int64_t ms) { return Instant::from_ns(ms * 1'000'000); }

TEST(FlowControl, UpdateIsWantedWhenHalfTheWindowIsUsed) {
  ReceiveWindow w;
  w.open(1000, 1000);
  EXPECT_FALSE(w.wants_update());
  w.on_consumed(499);
  EXPECT_FALSE(w.wants_update());
  w.on_consumed(1);
  EXPECT_TRUE(w.wants_update());
  EXPECT_EQ(w.update(at_ms(1000), kRtt), 1500U);
  EXPECT_FALSE(w.wants_update());
  EXPECT_EQ(w.limit(), 1500U);
}

TEST(FlowControl, WindowDoublesWhenItGoesWithinTwoRoundTrips) {
  ReceiveWindow w;
  w.open(1000, 3000);
  w.on_consumed(500);
  EXPECT_EQ(w.update(at_ms(0), kRtt), 1500U);  // the first one says nothing
  w.on_consumed(500);
  EXPECT_EQ(w.update(at_ms(99), kRtt), 3000U);
  EXPECT_EQ(w.window(), 2000U);
  w.on_consumed(1000);
  EXPECT_EQ(w.update(at_ms(150), kRtt), 5000U);  // at the maximum
  EXPECT_EQ(w.window(), 3000U);
  w.on_consumed(1500);
  EXPECT_EQ(w.update(at_ms(400), kRtt), 6500U);  // slow: stays
  EXPECT_EQ(w.window(), 3000U);
}

TEST(FlowControl, UnknownRttNeverGrowsTheWindow) {
  ReceiveWindow w;
  w.open(1000, 8000);
  for (int i = 0; i < 10; ++i) {
    w.on_consumed(500);
    (void)w.update(at_ms(i), Duration());
  }
  EXPECT_EQ(w.window(), 1000U);
}

TEST(FlowControl, OnlyTheLossOfTheNewestUpdateMatters) {
  ReceiveWindow w;
  w.open(1000, 1000);
  w.on_consumed(500);
  const std::uint64_t first = w.update(at_ms(0), kRtt);
  w.on_consumed(500);
  const std::uint64_t second = w.update(at_ms(500), kRtt);
  w.on_update_lost(first);
  EXPECT_FALSE(w.wants_update());
  w.on_update_lost(second);
  EXPECT_TRUE(w.wants_update());
  w.on_consumed(10);
  EXPECT_EQ(w.update(at_ms(501), kRtt), second + 10);  // newest state, not the old frame
  EXPECT_EQ(w.window(), 1000U);                        // and a loss is no reason to grow
  EXPECT_FALSE(w.wants_update());
}

//
TEST(FlowControl, LimitNeverPassesTheLargestVarint) {
  ReceiveWindow w;
  w.open(std::uint64_t{1} << 20, limits::kMaxVarint);
  w.on_consumed(limits::kMaxVarint - 100);
  EXPECT_TRUE(w.wants_update());
  EXPECT_EQ(w.update(at_ms(0), kRtt), limits::kMaxVarint);
  EXPECT_FALSE(w.wants_update());
  w.on_consumed(100);
  EXPECT_FALSE(w.wants_update());
  w.ensure(limits::kMaxVarint);
  EXPECT_LE(w.window(), limits::kMaxReceiveWindow);
  EXPECT_EQ(w.limit(), limits::kMaxVarint);
}

TEST(FlowControl, ConfiguredWindowsAreCut) {
  ReceiveWindow w;
  w.open(limits::kMaxVarint, limits::kMaxVarint);
  EXPECT_EQ(w.limit(), limits::kMaxReceiveWindow);
  w.open(100, 10);  // a maximum below the start
  EXPECT_EQ(w.window(), 100U);
}

TEST(FlowControl, ConnectionRefusesWhatIsAboveItsLimit) {
  ConnectionReceiveWindow w;
  w.open(1000, 1000);
  EXPECT_TRUE(w.on_received(1000, 8).has_value());
  EXPECT_TRUE(w.on_received(0, 8).has_value());
  const Status s = w.on_received(1, 0x0f);
  ASSERT_FALSE(s.has_value());
  EXPECT_EQ(s.error().code, TransportErrorCode::flow_control_error);
  EXPECT_EQ(s.error().frame_type, 0x0fU);
  EXPECT_FALSE(w.on_received(limits::kMaxVarint, 8).has_value());
  EXPECT_EQ(w.received(), 1000U);
}

//
TEST(FlowControl, LowerLimitsAreIgnored) {
  SendWindow w;
  w.open(1000);
  EXPECT_TRUE(w.raise(2000));
  for (std::uint64_t limit = 2000; limit-- > 0;) EXPECT_FALSE(w.raise(limit));
  EXPECT_EQ(w.limit(), 2000U);
}

TEST(FlowControl, BlockedIsSaidOnceALimit) {
  SendWindow w;
  w.open(1000);
  w.use(1000);
  EXPECT_FALSE(w.wants_blocked());
  w.note_blocked();
  EXPECT_TRUE(w.wants_blocked());
  EXPECT_EQ(w.take_blocked(), 1000U);
  w.note_blocked();
  EXPECT_FALSE(w.wants_blocked());
  w.on_blocked_lost(1000);
  EXPECT_TRUE(w.wants_blocked());
  EXPECT_TRUE(w.raise(1500));
  EXPECT_FALSE(w.wants_blocked());
  w.on_blocked_lost(1000);  // of an older limit
  EXPECT_FALSE(w.wants_blocked());
  w.note_blocked();
  EXPECT_TRUE(w.wants_blocked());
}

}  // namespace
}  // namespace quasi::connection
