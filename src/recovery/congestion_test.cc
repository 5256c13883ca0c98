// NewReno, CUBIC, HyStart++ and BBR, each driven by hand-made ACKs; and that the
// one class which holds them passes on what it is told.
#include "recovery/congestion.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quasi::recovery {
namespace {

constexpr std::uint64_t kMss = 1200;
Instant at_ms(std::int64_t n) { return Instant() + Duration::milliseconds(n); }

AckEvent ack(Instant now, std::uint64_t bytes, const RttEstimator& rtt) {
  AckEvent event;
  event.now = now;
  event.acked_bytes = event.growth_bytes = bytes;
  event.window_limited = true;
  event.rtt_sampled = true;
  event.rtt = &rtt;
  return event;
}
RttEstimator rtt_of(std::int64_t n) {
  RttEstimator rtt;
  rtt.on_sample(Duration::milliseconds(n), {}, true, {});
  return rtt;
}
CongestionEvent loss(Instant now, Instant sent) { return {now, sent, kMss, 0, false}; }

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
