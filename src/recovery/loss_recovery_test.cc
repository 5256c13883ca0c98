// Loss detection, probe timers, congestion response and hostile ACKs, through the
// interface that the connection uses.
#include "recovery/loss_recovery.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "recovery/recovery_path.h"

namespace quasi::recovery {
namespace {

TEST(LossRecovery, AcknowledgesAndTakesAnRttSample) {
  Path path;
  for (int i = 0; i < 3; ++i) path.send(ms(i));
  EXPECT_EQ(path.r.bytes_in_flight(), 3600u);
  EXPECT_EQ(path.r.largest_acked(kApp), std::nullopt);
  const auto result = path.ack(ms(52), {{0, 2}});
  EXPECT_EQ(result.newly_acked, 3u);
  EXPECT_EQ(result.largest_newly_acked, 2u);
  EXPECT_EQ(path.sink.acked, (Numbers{0, 1, 2}));
  EXPECT_EQ(path.r.rtt().latest(), Duration::milliseconds(50));
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_EQ(path.r.largest_acked(kApp), 2u);
  EXPECT_TRUE(path.r.next_timeout().is_never());
}

TEST(LossRecovery, AckOfWhatWasNeverSentIsAViolation) {
  Path path;
  for (int i = 0; i < 3; ++i) path.send(ms(i));
  const std::uint64_t window = path.r.congestion_window();
  for (const std::vector<AckRange>& ranges :
       {std::vector<AckRange>{{63, 63}}, std::vector<AckRange>{{0, 3}},
        std::vector<AckRange>{{0, limits::kMaxVarint}},
        std::vector<AckRange>{{0, 1}, {limits::kMaxVarint, limits::kMaxVarint}},
        std::vector<AckRange>{{2, 1}}}) {
    const auto result = path.r.on_ack_received(kApp, ranges, {}, nullptr, ms(50), path.sink);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, TransportErrorCode::protocol_violation);
    EXPECT_EQ(result.error().frame_type, 2u);
  }
  EXPECT_TRUE(path.sink.acked.empty());
  EXPECT_FALSE(path.r.rtt().has_sample());
  EXPECT_EQ(path.r.congestion_window(), window);
  EXPECT_EQ(path.r.bytes_in_flight(), 3600u);
  EXPECT_EQ(path.r.largest_acked(kApp), std::nullopt);
  // An ACK in a space where nothing was sent.
  const std::vector<AckRange> zero = {{0, 0}};
  EXPECT_FALSE(path.r.on_ack_received(kHandshake, zero, {}, nullptr, ms(50), path.sink));
}

TEST(LossRecovery, SkippedNumbersAreNeverForgotten) {
  RecoveryConfig config = Path::server();
  config.skip_seed = 42;
  Path path(config);
  std::set<std::uint64_t> sent;
  std::int64_t t = 0;
  while (path.r.next_packet_number(kApp) < 3'000) {
    ASSERT_EQ(path.r.next_packet_number(kApp), path.r.next_packet_number(kApp));
    sent.insert(path.send(ms(t)));
    path.ack(ms(t + 20), {{*sent.rbegin(), *sent.rbegin()}});
    t += 30;
  }
  std::vector<std::uint64_t> skipped;
  for (std::uint64_t pn = 0; pn < *sent.rbegin(); ++pn) {
    if (!sent.contains(pn)) skipped.push_back(pn);
  }
  ASSERT_GE(skipped.size(), 3u);
  EXPECT_LE(skipped.size(), 8u);
  for (const std::uint64_t pn : skipped) {  // the first of them long after the others
    const std::vector<AckRange> one = {{pn, pn}};
    EXPECT_FALSE(path.r.on_ack_received(kApp, one, {}, nullptr, ms(t), path.sink)) << pn;
    const std::vector<AckRange> around = {{pn - 1, pn + 1}};
    EXPECT_FALSE(path.r.on_ack_received(kApp, around, {}, nullptr, ms(t), path.sink)) << pn;
  }
}

TEST(LossRecovery, NoSampleFromOldOrUnelicitedAcks) {  // R-9, RFC 9002 §5.1
  Path path;
  path.send(ms(0));
  path.send(ms(1));
  path.ack(ms(50), {{1, 1}});
  const Duration first = path.r.rtt().latest();
  path.ack(ms(500), {{0, 1}});  // the largest was acknowledged before
  EXPECT_EQ(path.r.rtt().latest(), first);
  path.ack(ms(900), {{0, 1}});  // nothing new at all
  EXPECT_EQ(path.r.rtt().latest(), first);
  path.send(ms(1000), kApp, Path::ack_only());
  path.ack(ms(2000), {{0, 2}});  // only an ACK was acknowledged
  EXPECT_EQ(path.r.rtt().latest(), first);
  EXPECT_TRUE(path.r.rtt().has_sample());
}

TEST(LossRecovery, PacketThreshold) {  // RFC 9002 §6.1.1
  Path path;
  for (int i = 0; i < 6; ++i) path.send(ms(i));
  auto result = path.ack(ms(50), {{2, 2}});
  EXPECT_EQ(result.lost, 0u);
  result = path.ack(ms(51), {{2, 3}});
  EXPECT_EQ(result.lost, 1u);
  EXPECT_EQ(path.sink.lost, (Numbers{0}));
  result = path.ack(ms(52), {{2, 5}});
  EXPECT_EQ(path.sink.lost, (Numbers{0, 1}));
  EXPECT_EQ(path.r.packets_lost(), 2u);
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
}

TEST(LossRecovery, TimeThreshold) {  // RFC 9002 §6.1.2
  Path path;
  path.send(ms(0));
  path.send(ms(1));
  path.ack(ms(81), {{1, 1}});  // RTT 80: 0 is lost 90 ms after it was sent
  EXPECT_TRUE(path.sink.lost.empty());
  EXPECT_EQ(path.r.next_timeout(), ms(90));
  auto result = path.r.on_timeout(ms(89), path.sink);
  EXPECT_EQ(result.lost + result.probes, 0u);
  result = path.r.on_timeout(ms(90), path.sink);
  EXPECT_EQ(result.lost, 1u);
  EXPECT_EQ(result.probes, 0u);
  EXPECT_EQ(path.sink.lost, (Numbers{0}));
  EXPECT_TRUE(path.r.next_timeout().is_never());
}

TEST(LossRecovery, NothingAfterTheLargestAcknowledgedIsLost) {  // RFC 9002 §6.1
  Path path;
  for (int i = 0; i < 10; ++i) path.send(ms(i));
  path.ack(ms(10'000), {{0, 0}});
  EXPECT_TRUE(path.sink.lost.empty());
}

TEST(LossRecovery, OneReductionAnEpisode) {  // RFC 9002 §7.3.2
  Path path;
  for (int i = 0; i < 10; ++i) path.send(ms(i));
  path.ack(ms(50), {{9, 9}});
  EXPECT_EQ(path.sink.lost.size(), 7u);
  EXPECT_EQ(path.r.congestion_window(), 6'000u);
  while (!path.r.next_timeout().is_never()) {  // the last two, by time
    path.r.on_timeout(path.r.next_timeout(), path.sink);
  }
  EXPECT_EQ(path.sink.lost.size(), 9u);
  EXPECT_EQ(path.r.congestion_window(), 6'000u);
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
}

TEST(LossRecovery, LateAcksUndoAndTeach) {
  Path path;
  for (int i = 0; i < 8; ++i) path.send(ms(i));
  path.ack(ms(50), {{5, 7}});
  EXPECT_EQ(path.sink.lost, (Numbers{0, 1, 2, 3, 4}));
  EXPECT_LT(path.r.congestion_window(), 12'000u);
  path.sink.clear();
  const auto result = path.ack(ms(55), {{0, 7}});
  EXPECT_EQ(result.spurious, 5u);
  EXPECT_EQ(path.sink.acked, (Numbers{0, 1, 2, 3, 4}));  // no need to send them again
  EXPECT_GE(path.r.congestion_window(), 12'000u);
  // The same disorder again is no loss any more.
  path.sink.clear();
  for (int i = 0; i < 8; ++i) path.send(ms(100 + i));
  path.ack(ms(150), {{13, 15}});
  EXPECT_TRUE(path.sink.lost.empty());
}

TEST(LossRecovery, HalfSpuriousIsStillCongestion) {
  Path path;
  for (int i = 0; i < 8; ++i) path.send(ms(i));
  path.ack(ms(50), {{5, 7}});
  const std::uint64_t reduced = path.r.congestion_window();
  path.ack(ms(55), {{0, 3}, {5, 7}});
  EXPECT_EQ(path.r.congestion_window(), reduced);
}

TEST(LossRecovery, LostPacketsAreForgottenAfterAWhile) {
  Path path;
  for (int i = 0; i < 8; ++i) path.send(ms(i));
  path.ack(ms(50), {{5, 7}});
  path.send(ms(5'000));
  path.ack(ms(5'050), {{8, 8}});
  path.sink.clear();
  const auto result = path.ack(ms(5'060), {{0, 8}});
  EXPECT_EQ(result.newly_acked, 0u);
  EXPECT_TRUE(path.sink.acked.empty());
}

TEST(LossRecovery, ProbeTimeout) {  // RFC 9002 §6.2
  Path path;
  path.send(ms(0));
  path.ack(ms(100), {{0, 0}});  // smoothed 100, variation 50
  path.send(ms(200));
  path.send(ms(210));
  // 100 + 4 * 50 + 25 after the last ack-eliciting packet.
  EXPECT_EQ(path.r.next_timeout(), ms(535));
  auto result = path.r.on_timeout(ms(534), path.sink);
  EXPECT_EQ(result.probes, 0u);
  result = path.r.on_timeout(ms(535), path.sink);
  EXPECT_EQ(result.probes, 2u);
  EXPECT_EQ(result.probe_space, kApp);
  EXPECT_EQ(result.lost, 0u);  // RFC 9002 §6.2: a timeout does not mean loss
  EXPECT_EQ(path.r.bytes_in_flight(), 2400u);
  EXPECT_EQ(path.r.collect_probe_records(kApp, 1, path.sink), 1u);
  EXPECT_EQ(path.sink.lost, (Numbers{1}));
  EXPECT_EQ(path.r.collect_probe_records(kApp, 5, path.sink), 2u);
  path.send(ms(535));
  EXPECT_EQ(path.r.next_timeout(), ms(535 + 650));  // doubled
  path.ack(ms(600), {{3, 3}});
  EXPECT_EQ(path.r.pto_count(), 0u);
}

TEST(LossRecovery, BackoffHasAnEnd) {
  Path path;
  path.send(ms(0));
  Instant last = ms(0);
  for (int i = 0; i < 70; ++i) {
    const Instant next = path.r.next_timeout();
    ASSERT_GT(next, last);
    ASSERT_FALSE(next.is_never());
    ASSERT_LT(next - last, Duration::seconds(2'000));
    last = next;
    ASSERT_GT(path.r.on_timeout(next, path.sink).probes, 0u);
    if (i % 2 == 0) path.send(next);  // sometimes the probe cannot be sent
  }
  EXPECT_EQ(path.r.pto_count(), limits::kMaxPtoExponent);
  path.r.on_path_changed(last, false);
  EXPECT_LT(path.r.next_timeout() - last, Duration::seconds(10));
}

TEST(LossRecovery, AbsurdRttsSaturate) {
  RecoveryConfig config = Path::server();
  config.initial_rtt = Duration::infinite();
  Path path(config);
  path.send(ms(0));
  for (int i = 0; i < 20; ++i) {
    (void)path.r.on_timeout(Instant::never(), path.sink);
    (void)path.r.next_timeout();
  }
  path.ack(Instant::never(), {{0, 0}}, kApp, Duration::infinite());
  path.send(ms(0));
  (void)path.r.next_timeout();
  (void)path.r.send_budget(Instant::never());
  (void)path.r.pacing_deadline(ms(0));
  SUCCEED();
}

TEST(LossRecovery, ApplicationProbesWaitForConfirmation) {  // RFC 9002 §6.2.1
  Path path(Path::server(), false);
  path.send(ms(0), kApp);
  EXPECT_TRUE(path.r.next_timeout().is_never());
  path.send(ms(10), kHandshake);
  EXPECT_EQ(path.r.next_timeout(), ms(10 + 999));
  path.r.on_handshake_confirmed();
  path.r.discard_space(kHandshake, ms(20));
  EXPECT_EQ(path.r.next_timeout(), ms(999 + 25));
  EXPECT_EQ(path.r.bytes_in_flight(), 1200u);
}

TEST(LossRecovery, AClientNeverFallsSilent) {  // RFC 9002 §6.2.2.1
  Path path(Path::client(), false);
  EXPECT_TRUE(path.r.next_timeout().is_never());  // it has not begun yet
  path.send(ms(0), kInitial);
  path.ack(ms(40), {{0, 0}}, kInitial);
  // Nothing is in flight, but the server may be blocked by the amplification limit.
  EXPECT_EQ(path.r.next_timeout(), ms(40 + 40 + 80));
  auto result = path.r.on_timeout(ms(160), path.sink);
  EXPECT_EQ(result.probes, 1u);
  EXPECT_EQ(result.probe_space, kInitial);
  EXPECT_GT(path.r.next_timeout(), ms(160));
  path.r.on_handshake_keys_available();
  result = path.r.on_timeout(path.r.next_timeout(), path.sink);
  EXPECT_EQ(result.probe_space, kHandshake);
  // An acknowledged Handshake packet ends it, and the backoff with it.
  path.send(ms(1000), kHandshake);
  path.ack(ms(1040), {{0, 0}}, kHandshake);
  EXPECT_TRUE(path.r.next_timeout().is_never());
  EXPECT_EQ(path.r.pto_count(), 0u);
}

TEST(LossRecovery, AClientWithOnly0RttInFlightProbesToo) {
  Path path(Path::client(), false);
  path.send(ms(0), kInitial);
  path.send(ms(1), kApp);
  path.ack(ms(40), {{0, 0}}, kInitial);
  EXPECT_FALSE(path.r.next_timeout().is_never());
  const auto result = path.r.on_timeout(path.r.next_timeout(), path.sink);
  EXPECT_EQ(result.probes, 1u);
  EXPECT_EQ(result.probe_space, kInitial);
}

TEST(LossRecovery, InitialAcksDoNotEndAClientsBackoff) {  // RFC 9002 §6.2.1
  Path path(Path::client(), false);
  path.send(ms(0), kInitial);
  (void)path.r.on_timeout(path.r.next_timeout(), path.sink);
  path.send(ms(1'000), kInitial);
  EXPECT_EQ(path.r.pto_count(), 1u);
  path.ack(ms(1'040), {{1, 1}}, kInitial);
  EXPECT_EQ(path.r.pto_count(), 1u);
}

TEST(LossRecovery, ABlockedServerHasNoTimer) {  // RFC 9002 §6.2.2.1
  Path path(Path::server(), false);
  path.send(ms(0), kInitial);
  EXPECT_FALSE(path.r.next_timeout().is_never());
  path.r.set_amplification_blocked(true);
  EXPECT_TRUE(path.r.next_timeout().is_never());
  path.r.set_amplification_blocked(false);
  EXPECT_EQ(path.r.next_timeout(), ms(999));
}

TEST(LossRecovery, TheEarliestSpaceProbes) {
  Path path(Path::server(), false);
  path.send(ms(0), kInitial);
  path.send(ms(5), kHandshake);
  const auto result = path.r.on_timeout(path.r.next_timeout(), path.sink);
  EXPECT_EQ(result.probe_space, kInitial);
  EXPECT_EQ(result.probes, 2u);
}

TEST(LossRecovery, SpacesDoNotMeddle) {
  Path path(Path::server(), false);
  for (int i = 0; i < 5; ++i) path.send(ms(i), kInitial);
  for (int i = 0; i < 5; ++i) path.send(ms(i), kHandshake);
  path.ack(ms(40), {{4, 4}}, kHandshake);
  EXPECT_EQ(path.sink.lost, (Numbers{0, 1}));  // of Handshake only
  EXPECT_TRUE(path.r.has_ack_eliciting_in_flight(kInitial));
  path.r.discard_space(kInitial, ms(41));
  EXPECT_FALSE(path.r.has_ack_eliciting_in_flight(kInitial));
  EXPECT_EQ(path.r.bytes_in_flight(), 2400u);
  path.r.discard_space(kHandshake, ms(41));
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_TRUE(path.r.next_timeout().is_never());
}

TEST(LossRecovery, AckDelayCountsInTheApplicationSpaceOnly) {  // RFC 9002 §5.3
  Path path(Path::server(), false);
  path.send(ms(0), kInitial);
  path.ack(ms(50), {{0, 0}}, kInitial);
  path.send(ms(100), kInitial);
  path.ack(ms(180), {{1, 1}}, kInitial, Duration::milliseconds(30));
  EXPECT_EQ(path.r.rtt().smoothed(), Duration::microseconds(53'750));
}

TEST(LossRecovery, PersistentCongestion) {  // RFC 9002 §7.6
  Path path;
  path.send(ms(0));
  path.ack(ms(100), {{0, 0}});  // smoothed 100, variation 50: 3 * (300 + 25) = 975
  path.send(ms(200));
  path.send(ms(700));
  path.send(ms(1200));
  path.send(ms(1210));
  path.send(ms(1220));
  path.send(ms(1230));
  auto result = path.ack(ms(1330), {{6, 6}});
  EXPECT_TRUE(result.persistent_congestion);
  // The minimum, and slow start from there: packet 6 was acknowledged.
  EXPECT_EQ(path.r.congestion_window(), 3600u);
  EXPECT_EQ(path.r.rtt().min(), Duration::milliseconds(100));
}

TEST(LossRecovery, AnAckInBetweenIsNoPersistentCongestion) {  // RFC 9002 §7.6.2
  Path path;
  path.send(ms(0));
  path.ack(ms(100), {{0, 0}});
  path.send(ms(200));
  path.send(ms(700));  // this one arrives
  path.send(ms(1200));
  for (int i = 0; i < 3; ++i) path.send(ms(1210 + i));
  const auto result = path.ack(ms(1330), {{2, 2}, {6, 6}});
  EXPECT_GE(result.lost, 2u);
  EXPECT_FALSE(result.persistent_congestion);
  EXPECT_GT(path.r.congestion_window(), 2400u);
}

TEST(LossRecovery, NoPersistentCongestionBeforeTheFirstSample) {  // RFC 9002 §7.6.2
  Path path;
  for (int i = 0; i < 6; ++i) path.send(ms(i * 2'000));
  const auto result = path.ack(ms(10'100), {{5, 5}});
  EXPECT_EQ(result.lost, 5u);
  EXPECT_FALSE(result.persistent_congestion);
}

TEST(LossRecovery, MtuProbesAreNotCongestion) {  // RFC 9000 §14.4
  Path path;
  path.send(ms(0));
  SentInfo probe = Path::eliciting();
  probe.size = 1452;
  probe.mtu_probe = true;
  path.send(ms(1), kApp, probe);
  for (int i = 0; i < 4; ++i) path.send(ms(2 + i));
  const std::uint64_t window = path.r.congestion_window();
  const auto result = path.ack(ms(50), {{0, 0}, {2, 5}});
  EXPECT_EQ(result.lost, 1u);
  EXPECT_EQ(path.sink.lost, (Numbers{1}));
  EXPECT_GE(path.r.congestion_window(), window);
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
}

TEST(LossRecovery, CongestionMarksShrinkTheWindowOnce) {  // RFC 9002 §7.1
  RecoveryConfig config = Path::server();
  config.ecn = true;
  Path path(config);
  SentInfo marked = Path::eliciting();
  marked.ect = true;
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(path.r.should_mark_ect());
    path.send(ms(i), kApp, marked);
  }
  EcnCounts counts{3, 0, 1};
  path.ack(ms(50), {{0, 3}}, kApp, {}, &counts);
  EXPECT_EQ(path.r.ecn().state(), EcnValidator::State::capable);
  const std::uint64_t window = path.r.congestion_window();
  EXPECT_LT(window, 12'000u);
  counts = {4, 0, 3};  // of the same flight
  path.ack(ms(51), {{0, 6}}, kApp, {}, &counts);
  EXPECT_EQ(path.r.congestion_window(), window);
  counts = {3, 0, 4};  // nonsense: marking ends, the connection goes on
  path.ack(ms(52), {{0, 7}}, kApp, {}, &counts);
  EXPECT_EQ(path.r.ecn().state(), EcnValidator::State::failed);
  EXPECT_FALSE(path.r.should_mark_ect());
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
}

TEST(LossRecovery, WindowAndPacerGiveTheBudget) {
  Path path;
  EXPECT_EQ(path.r.send_budget(ms(0)), 12'000u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(path.r.can_send(1200, ms(0)));
    path.send(ms(0));
  }
  EXPECT_FALSE(path.r.can_send(1, ms(0)));
  EXPECT_TRUE(path.r.pacing_deadline(ms(0)).is_never());  // the window, not the pacer
  path.ack(ms(100), {{0, 9}});
  EXPECT_EQ(path.r.congestion_window(), 24'000u);
  Instant now = ms(100);
  int burst = 0;
  while (path.r.can_send(1200, now)) {
    path.send(now);
    ++burst;
  }
  EXPECT_LE(burst, 10);
  const Instant next = path.r.pacing_deadline(now);
  EXPECT_GT(next, now);
  EXPECT_LT(next, now + Duration::milliseconds(10));
  EXPECT_TRUE(path.r.can_send(1200, next));
}

TEST(LossRecovery, ZeroRttNeverSpins) {  // loopback and a coarse clock
  for (const auto algorithm :
       {CongestionController::cubic, CongestionController::new_reno, CongestionController::bbr}) {
    RecoveryConfig config = Path::server();
    config.congestion_controller = algorithm;
    Path path(config);
    std::uint64_t pn = 0;
    Instant now = ms(0);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t first = pn;
      while (path.r.can_send(1200, now) && pn - first < 64) pn = path.send(now) + 1;
      ASSERT_GT(pn, first);
      path.ack(now, {{0, pn - 1}});
      const Instant next = path.r.pacing_deadline(now);
      ASSERT_FALSE(next.is_never());
      ASSERT_TRUE(next > now || path.r.can_send(1200, now));
      now = next;
    }
    EXPECT_LT(now, ms(10));
    EXPECT_GT(path.r.pto(kApp), Duration());
  }
}

TEST(LossRecovery, AnIdleApplicationDoesNotGrowTheWindow) {  // RFC 9002 §7.8
  Path path;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t pn = path.send(ms(i * 100));
    path.r.on_application_limited();
    path.ack(ms(i * 100 + 50), {{pn, pn}});
  }
  EXPECT_EQ(path.r.congestion_window(), 12'000u);
}

TEST(LossRecovery, RequeueReportsEverythingAndPunishesNothing) {  // Retry, rejected 0-RTT
  Path path(Path::client(), false);
  for (int i = 0; i < 3; ++i) path.send(ms(i), kInitial);
  const std::uint64_t window = path.r.congestion_window();
  path.r.requeue_all(kInitial, path.sink);
  EXPECT_EQ(path.sink.lost, (Numbers{0, 1, 2}));
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_EQ(path.r.congestion_window(), window);
  EXPECT_EQ(path.r.packets_lost(), 0u);
  EXPECT_EQ(path.r.next_packet_number(kInitial), 3u);  // RFC 9000 §17.2.5.3
  path.r.requeue_all(kInitial, path.sink);
  EXPECT_EQ(path.sink.lost.size(), 3u);
  path.send(ms(10), kInitial);
  const auto result = path.ack(ms(50), {{0, 3}}, kInitial);
  EXPECT_EQ(result.spurious, 0u);
  EXPECT_EQ(path.sink.acked.size(), 4u);
}

TEST(LossRecovery, ANewPathStartsAfresh) {  // RFC 9000 §9.4
  Path path;
  path.send(ms(0));
  path.ack(ms(100), {{0, 0}});
  for (int i = 0; i < 6; ++i) path.send(ms(200 + i));
  path.r.on_path_changed(ms(210), false);
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_FALSE(path.r.rtt().has_sample());
  EXPECT_EQ(path.r.congestion_window(), 12'000u);
  for (int i = 0; i < 4; ++i) path.send(ms(220 + i));
  EXPECT_EQ(path.r.bytes_in_flight(), 4800u);
  // ACK and loss of old packets touch neither RTT, window nor flight of the new path.
  const auto result = path.ack(ms(300), {{6, 6}});
  EXPECT_GT(result.lost, 0u);
  EXPECT_FALSE(path.r.rtt().has_sample());
  EXPECT_EQ(path.r.congestion_window(), 12'000u);
  EXPECT_EQ(path.r.bytes_in_flight(), 4800u);
  path.ack(ms(320), {{6, 10}});
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_EQ(path.r.rtt().latest(), Duration::milliseconds(97));
}

TEST(LossRecovery, ANewPortKeepsWhatIsKnown) {
  Path path;
  path.send(ms(0));
  path.ack(ms(100), {{0, 0}});
  path.send(ms(200));
  path.r.on_path_changed(ms(210), true);
  EXPECT_TRUE(path.r.rtt().has_sample());
  EXPECT_EQ(path.r.bytes_in_flight(), 1200u);
}

TEST(LossRecovery, ProbesOfOtherPathsCountForNothing) {
  Path path;
  SentInfo probe = Path::eliciting();
  probe.off_path = true;
  path.send(ms(0), kApp, probe);
  EXPECT_EQ(path.r.bytes_in_flight(), 0u);
  EXPECT_TRUE(path.r.next_timeout().is_never());
  for (int i = 0; i < 4; ++i) path.send(ms(1 + i));
  const std::uint64_t window = path.r.congestion_window();
  path.ack(ms(50), {{4, 4}});
  EXPECT_EQ(path.sink.lost, (Numbers{0, 1}));     // reported all the same
  EXPECT_LT(path.r.congestion_window(), window);  // for packet 1
  EXPECT_EQ(path.r.packets_lost(), 1u);
}

TEST(LossRecovery, RecordsOfUnsentPacketsVanish) {  // repacked before it was sent
  Path path;
  path.r.add_record(kApp, {RecordKind::stream, false, 0, 1000, 0, 77});
  path.r.drop_records(kApp);
  path.send(ms(0));
  path.ack(ms(50), {{0, 0}});
  EXPECT_EQ(path.sink.acked, (Numbers{0}));
}

TEST(LossRecovery, APeerThatNeverAcknowledgesOurAcksGetsAPing) {  // RFC 9000 §13.2.4
  Path path;
  for (int i = 0; i < 63; ++i) path.send(ms(i), kApp, Path::ack_only());
  EXPECT_FALSE(path.r.wants_ping(kApp));
  path.send(ms(63), kApp, Path::ack_only());
  EXPECT_TRUE(path.r.wants_ping(kApp));
  path.send(ms(64));
  EXPECT_FALSE(path.r.wants_ping(kApp));
}

}  // namespace
}  // namespace quasi::recovery
