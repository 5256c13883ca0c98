// Durations and instants: units, and arithmetic that saturates.
#include "quasi/time.h"

#include <gtest/gtest.h>

namespace quasi {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Time, ConvertsUnits) {
  EXPECT_EQ(Duration::microseconds(3).ns(), 3'000);
  EXPECT_EQ(Duration::milliseconds(3).us(), 3'000);
  EXPECT_EQ(Duration::seconds(3).ms(), 3'000);
  EXPECT_EQ(Duration::nanoseconds(1'999'999).ms(), 1);
  EXPECT_DOUBLE_EQ(Duration::milliseconds(1'500).to_seconds(), 1.5);
  EXPECT_EQ(Duration().ns(), 0);
}

TEST(Time, UnitsSaturate) {
  // RFC 9000 §18.2: max_idle_timeout may say 2^62-1 ms.
  const std::int64_t largest_varint = (std::int64_t{1} << 62) - 1;
  EXPECT_EQ(Duration::milliseconds(largest_varint), Duration::infinite());
  EXPECT_EQ(Duration::seconds(-largest_varint).ns(), kMin);
}

TEST(Time, DurationArithmeticSaturates) {
  const Duration largest = Duration::nanoseconds(kMax);
  const Duration smallest = Duration::nanoseconds(kMin);
  const Duration one = Duration::nanoseconds(1);
  EXPECT_EQ(largest + one, largest);
  EXPECT_EQ(smallest + Duration::nanoseconds(-1), smallest);
  EXPECT_EQ(smallest - one, smallest);
  EXPECT_EQ(largest - Duration::nanoseconds(-1), largest);
  EXPECT_EQ(largest * 2, largest);
  EXPECT_EQ(largest * -2, smallest);
  EXPECT_EQ(smallest * 2, smallest);
  EXPECT_EQ(smallest * -1, largest);
  EXPECT_EQ(one * 5 - one, Duration::nanoseconds(4));
  EXPECT_EQ(Duration::nanoseconds(9) / 2, Duration::nanoseconds(4));
  Duration sum = one;
  sum += Duration::nanoseconds(2);
  EXPECT_EQ(sum.ns(), 3);
}

TEST(Time, InstantArithmeticSaturates) {
  const Instant t = Instant::from_ns(1'000);
  EXPECT_EQ((t + Duration::nanoseconds(5)) - t, Duration::nanoseconds(5));
  EXPECT_EQ(t - Duration::nanoseconds(5), Instant::from_ns(995));
  EXPECT_EQ(t + Duration::infinite(), Instant::never());
  EXPECT_TRUE((Instant::never() + Duration::seconds(1)).is_never());
  EXPECT_EQ(Instant::from_ns(kMin) - Duration::nanoseconds(1), Instant::from_ns(kMin));
  EXPECT_EQ(Instant::never() - Instant::from_ns(-1), Duration::infinite());
}

TEST(Time, Orders) {
  EXPECT_LT(Duration::milliseconds(1), Duration::seconds(1));
  EXPECT_LT(Instant::from_ns(1), Instant::from_ns(2));
  EXPECT_LT(Instant::from_ns(2), Instant::never());
  EXPECT_FALSE(Instant::from_ns(2).is_never());
}

}  // namespace
}  // namespace quasi
