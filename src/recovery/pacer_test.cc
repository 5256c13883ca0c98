// The pacer keeps its rate, its burst, and never asks to be woken in vain.
#include "recovery/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quasi::recovery {
namespace {

constexpr std::uint64_t kMss = 1200;
constexpr std::uint64_t kWindow = std::uint64_t{1} << 40;
Instant at(Duration d) { return Instant::from_ns(1'000'000'000) + d; }

TEST(Pacer, WithoutARateNothingHoldsBack) {
  Pacer pacer(kMss);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(pacer.budget(at({})), kMss);
    EXPECT_EQ(pacer.next_send_time(at({})), at({}));
    pacer.on_sent(kMss, at({}));
  }
}

TEST(Pacer, AWindowOfTwoMillisecondsIsNotPaced) {
  Pacer pacer(kMss);
  pacer.set_rate(50'000'000, 100'000, kMss, at({}));
  EXPECT_EQ(pacer.budget(at({})), UINT64_MAX);
  pacer.set_rate(50'000'000, 100'001, kMss, at({}));
  EXPECT_LE(pacer.budget(at({})), pacer.burst());
}

struct Outcome {
  std::uint64_t sent = 0;
  std::uint64_t wakeups = 0;
  std::uint64_t largest_burst = 0;
};

// Sends whenever allowed, sleeps exactly until told.
Outcome drive(Pacer& pacer, Duration time) {
  Outcome outcome;
  Instant now = at({});
  const Instant end = at(time);
  while (now < end) {
    std::uint64_t burst = 0;
    while (pacer.budget(now) >= kMss) {
      pacer.on_sent(kMss, now);
      burst += kMss;
    }
    outcome.sent += burst;
    outcome.largest_burst = std::max(outcome.largest_burst, burst);
    ++outcome.wakeups;
    const Instant next = pacer.next_send_time(now);
    EXPECT_GT(next, now);
    if (next <= now) break;
    now = next;
    EXPECT_GE(pacer.budget(now), kMss) << "woken in vain";
  }
  return outcome;
}

TEST(Pacer, KeepsRatesFromSlowToFast) {
  for (const std::uint64_t rate : {std::uint64_t{2'000}, std::uint64_t{125'000},
                                   std::uint64_t{12'500'000}, std::uint64_t{1'250'000'000}}) {
    Pacer pacer(kMss);
    pacer.set_rate(rate, kWindow, kMss, at({}));
    const Outcome outcome = drive(pacer, Duration::seconds(10));
    const double wanted = static_cast<double>(rate) * 10;
    const double burst = static_cast<double>(pacer.burst());
    EXPECT_GE(static_cast<double>(outcome.sent) + burst, wanted * 0.99) << rate;
    EXPECT_LE(static_cast<double>(outcome.sent), wanted * 1.01 + 2 * burst) << rate;
    EXPECT_LE(outcome.largest_burst, pacer.burst());
    // About a millisecond between wakeups, or a packet, or the largest burst.
    const double by_burst = wanted / static_cast<double>(pacer.burst() / 2) + 10;
    EXPECT_LE(static_cast<double>(outcome.wakeups), std::max(11'000.0, by_burst)) << rate;
  }
}

TEST(Pacer, IdleTimeGathersOneBurstOnly) {
  Pacer pacer(kMss);
  pacer.set_rate(125'000, kWindow, kMss, at({}));
  EXPECT_EQ(pacer.budget(at(Duration::seconds(1000))), pacer.burst());
  EXPECT_EQ(pacer.budget(Instant::never()), pacer.burst());
}

TEST(Pacer, DebtIsBounded) {
  Pacer pacer(kMss);
  pacer.set_rate(125'000, kWindow, kMss, at({}));
  for (int i = 0; i < 10'000; ++i) pacer.on_sent(kMss, at({}));  // probes do not ask
  EXPECT_EQ(pacer.budget(at({})), 0u);
  EXPECT_LE(pacer.next_send_time(at({})), at(Duration::milliseconds(120)));
}

TEST(Pacer, AClockThatStandsOrGoesBackDoesNoHarm) {
  Pacer pacer(kMss);
  pacer.set_rate(1'000'000'000'000'000, kWindow, kMss, at({}));
  pacer.on_sent(kMss, at(Duration::seconds(1)));
  EXPECT_GT(pacer.budget(at({})), 0u);
  pacer.on_sent(kMss, at({}));
  while (pacer.budget(at({})) >= kMss) pacer.on_sent(kMss, at({}));
  EXPECT_GT(pacer.next_send_time(at({})), at({}));
}

TEST(Pacer, ANewRateKeepsWhatWasSaved) {
  Pacer pacer(kMss);
  pacer.set_rate(1'200'000, kWindow, kMss, at({}));
  while (pacer.budget(at({})) >= kMss) pacer.on_sent(kMss, at({}));
  pacer.set_rate(120'000, kWindow, kMss,
                 at(Duration::milliseconds(5)));  // 5 packets by the old rate
  EXPECT_NEAR(static_cast<double>(pacer.budget(at(Duration::milliseconds(5)))), 5.0 * kMss, kMss);
}

}  // namespace
}  // namespace quasi::recovery
