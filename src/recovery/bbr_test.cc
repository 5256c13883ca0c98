// BBR: its states, its gains, and what losses do to it.
#include "recovery/bbr.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "recovery/controller_events.h"

namespace quasi::recovery {
namespace {

AckEvent rate(Instant now, double bytes_per_second, std::int64_t rtt_ms, const RttEstimator& rtt,
              std::uint64_t in_flight) {
  AckEvent event = ack(
      now, static_cast<std::uint64_t>(bytes_per_second * 1e-3 * static_cast<double>(rtt_ms)), rtt);
  event.round_start = true;
  event.rate.interval = Duration::milliseconds(rtt_ms);
  event.rate.delivered = event.acked_bytes;
  event.prior_in_flight = in_flight + event.acked_bytes;
  event.bytes_in_flight = in_flight;
  event.delivered_total = 1'000'000;
  return event;
}
TEST(Bbr, FindsTheBandwidthAndHoldsTwoBdp) {
  Bbr bbr(kMss);
  const RttEstimator rtt = rtt_of(50);
  Instant now = at_ms(0);
  double bandwidth = 100e3;
  for (int i = 0; i < 6; ++i) {  // doubles until the path is full at 3.2 MB/s
    now = now + Duration::milliseconds(50);
    bbr.on_ack(rate(now, bandwidth, 50, rtt, 100'000));
    EXPECT_EQ(bbr.state(), Bbr::State::startup);
    EXPECT_GE(static_cast<double>(bbr.pacing_rate(rtt)), 2.8 * bandwidth);
    bandwidth = std::min(2 * bandwidth, 3.2e6);
  }
  for (int i = 0; i < 3; ++i) {
    now = now + Duration::milliseconds(50);
    bbr.on_ack(rate(now, 3.2e6, 50, rtt, 400'000));
  }
  EXPECT_EQ(bbr.state(), Bbr::State::drain);
  EXPECT_LT(static_cast<double>(bbr.pacing_rate(rtt)), 1.2e6);
  now = now + Duration::milliseconds(50);
  bbr.on_ack(rate(now, 3.2e6, 50, rtt, 150'000));  // below the BDP of 160,000
  EXPECT_EQ(bbr.state(), Bbr::State::probe_bw);
  EXPECT_NEAR(bbr.bandwidth(), 3.2e6, 1);
  double fastest = 0;
  double slowest = 1e9;
  for (int i = 0; i < 40; ++i) {
    now = now + Duration::milliseconds(51);
    bbr.on_ack(rate(now, 3.2e6, 50, rtt, 200'000));
    fastest = std::max(fastest, static_cast<double>(bbr.pacing_rate(rtt)));
    slowest = std::min(slowest, static_cast<double>(bbr.pacing_rate(rtt)));
  }
  EXPECT_NEAR(fastest, 4.0e6, 1e4);
  EXPECT_NEAR(slowest, 2.4e6, 1e4);
  EXPECT_GE(bbr.window(), 320'000u);  // 2 BDP and room for clumps
}

TEST(Bbr, SingleLossesDoNotShrinkIt) {
  Bbr bbr(kMss);
  const RttEstimator rtt = rtt_of(50);
  Instant now = at_ms(0);
  for (int i = 0; i < 30; ++i) {
    now = now + Duration::milliseconds(50);
    bbr.on_ack(rate(now, 2e6, 50, rtt, 90'000));
  }
  const std::uint64_t before = bbr.window();
  for (int i = 0; i < 30; ++i) {
    now = now + Duration::milliseconds(50);
    (void)bbr.on_congestion_event(loss(now, now - Duration::milliseconds(1)));
    AckEvent event = rate(now, 2e6, 50, rtt, 90'000);
    event.lost_bytes = event.acked_bytes / 20;  // 5 %
    bbr.on_ack(event);
  }
  EXPECT_GE(bbr.window(), before);
  // But a third of a round lost is no accident.
  for (int i = 0; i < 3; ++i) {
    now = now + Duration::milliseconds(50);
    AckEvent event = rate(now, 2e6, 50, rtt, 90'000);
    event.lost_bytes = event.acked_bytes / 2;
    bbr.on_ack(event);
  }
  EXPECT_LT(bbr.window(), before);
  EXPECT_GE(bbr.window(), 100'000u);  // the BDP
}

TEST(Bbr, LooksForTheMinimumRttEveryTenSeconds) {
  Bbr bbr(kMss);
  const RttEstimator rtt = rtt_of(50);
  RttEstimator queued = rtt_of(80);
  Instant now = at_ms(0);
  for (int i = 0; i < 30; ++i) {
    now = now + Duration::milliseconds(50);
    bbr.on_ack(rate(now, 2e6, 50, rtt, 90'000));
  }
  bool probed = false;
  int rounds = 0;
  for (; rounds < 400; ++rounds) {
    now = now + Duration::milliseconds(80);
    bbr.on_ack(rate(now, 2e6, 80, queued, probed ? 20'000 : 150'000));
    if (bbr.state() == Bbr::State::probe_rtt) {
      probed = true;
      EXPECT_LE(bbr.window(), 100'000u);
    } else if (probed) {
      break;
    }
  }
  EXPECT_TRUE(probed);
  EXPECT_EQ(bbr.state(), Bbr::State::probe_bw);
  EXPECT_LT(rounds, 200);
}

}  // namespace
}  // namespace quasi::recovery
