// When an ACK is due, what it says, and that duplicates are known for what they are.
#include "recovery/ack_tracker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace quasi::recovery {
namespace {

Instant ms(std::int64_t n) { return Instant() + Duration::milliseconds(1000 + n); }

TEST(AckTracker, InitialAndHandshakeAreAcknowledgedAtOnce) {  // RFC 9000 §13.2.1
  for (const PacketSpace space : {PacketSpace::initial, PacketSpace::handshake}) {
    AckTracker tracker(space);
    EXPECT_FALSE(tracker.ack_due(ms(0)));
    tracker.on_received(0, true, Ecn::not_ect, ms(0));
    EXPECT_TRUE(tracker.ack_due(ms(0)));
    EXPECT_EQ(tracker.ack_delay(ms(100)), Duration());
    tracker.on_ack_sent(ms(0));
    EXPECT_FALSE(tracker.ack_due(ms(1000)));
    EXPECT_TRUE(tracker.next_deadline().is_never());
  }
}

TEST(AckTracker, SecondPacketOrTimerInTheApplicationSpace) {  // RFC 9000 §13.2.1, §13.2.2
  AckTracker tracker(PacketSpace::application);
  tracker.on_received(0, true, Ecn::not_ect, ms(0));
  EXPECT_TRUE(tracker.ack_wanted());
  EXPECT_FALSE(tracker.ack_due(ms(24)));
  EXPECT_EQ(tracker.next_deadline(), ms(25));
  EXPECT_TRUE(tracker.ack_due(ms(25)));
  EXPECT_EQ(tracker.ack_delay(ms(25)), Duration::milliseconds(25));
  tracker.on_ack_sent(ms(25));
  tracker.on_received(1, true, Ecn::not_ect, ms(30));
  EXPECT_FALSE(tracker.ack_due(ms(30)));
  tracker.on_received(2, true, Ecn::not_ect, ms(31));
  EXPECT_TRUE(tracker.ack_due(ms(31)));
  EXPECT_EQ(tracker.largest(), 2u);
}

TEST(AckTracker, NeverAnswersAcksWithAcks) {  // RFC 9000 §13.2.1
  AckTracker tracker(PacketSpace::application);
  for (std::uint64_t pn = 0; pn < 100; ++pn) tracker.on_received(pn, false, Ecn::not_ect, ms(0));
  EXPECT_FALSE(tracker.ack_due(ms(100000)));
  EXPECT_FALSE(tracker.ack_wanted());
  EXPECT_TRUE(tracker.next_deadline().is_never());
  EXPECT_TRUE(tracker.has_ranges());
}

TEST(AckTracker, GapsReorderingAndMarksAreReportedAtOnce) {  // RFC 9000 §13.2.1
  AckTracker tracker(PacketSpace::application);
  tracker.set_policy({Duration::milliseconds(25), 100});
  tracker.on_received(0, true, Ecn::not_ect, ms(0));
  tracker.on_ack_sent(ms(0));
  tracker.on_received(3, true, Ecn::not_ect, ms(1));  // opens a gap
  EXPECT_TRUE(tracker.ack_due(ms(1)));
  tracker.on_ack_sent(ms(1));
  tracker.on_received(4, true, Ecn::not_ect, ms(2));  // the gap is old news
  EXPECT_FALSE(tracker.ack_due(ms(2)));
  tracker.on_ack_sent(ms(2));
  tracker.on_received(1, true, Ecn::not_ect, ms(3));  // late
  EXPECT_TRUE(tracker.ack_due(ms(3)));
  tracker.on_ack_sent(ms(3));
  tracker.on_received(5, false, Ecn::not_ect, ms(4));
  tracker.on_received(6, true, Ecn::not_ect, ms(4));  // 5 was received, so no gap
  EXPECT_FALSE(tracker.ack_due(ms(4)));
  tracker.on_received(7, true, Ecn::ce, ms(5));
  EXPECT_TRUE(tracker.ack_due(ms(5)));
}

TEST(AckTracker, CountsEcnMarks) {  // RFC 9000 §13.4.1
  AckTracker tracker(PacketSpace::application);
  tracker.on_received(0, true, Ecn::ect0, ms(0));
  tracker.on_received(1, true, Ecn::ect1, ms(0));
  tracker.on_received(2, true, Ecn::ce, ms(0));
  tracker.on_received(3, true, Ecn::not_ect, ms(0));
  tracker.on_received(3, true, Ecn::ce, ms(0));  // a duplicate counts for nothing
  EXPECT_EQ(tracker.ecn_counts(), (EcnCounts{1, 1, 1}));
}

TEST(AckTracker, KnowsDuplicatesBeforeAndAfterAcksWereAcknowledged) {
  AckTracker tracker(PacketSpace::application);
  for (const std::uint64_t pn : {0u, 1u, 2u, 5u, 6u, 9u}) {
    EXPECT_FALSE(tracker.is_duplicate(pn));
    tracker.on_received(pn, true, Ecn::not_ect, ms(0));
  }
  tracker.on_ack_sent(ms(0));
  tracker.on_ack_acked(6);
  EXPECT_EQ(tracker.ranges().size(), 1u);  // only 9 is still to be told
  EXPECT_EQ(tracker.ranges().front(), (Interval{9, 10}));
  for (const std::uint64_t pn : {0u, 1u, 2u, 5u, 6u, 9u}) EXPECT_TRUE(tracker.is_duplicate(pn));
  for (const std::uint64_t pn : {3u, 4u, 7u, 8u, 10u}) EXPECT_FALSE(tracker.is_duplicate(pn));
  tracker.on_ack_acked(9);
  EXPECT_FALSE(tracker.has_ranges());
  EXPECT_TRUE(tracker.is_duplicate(9));
}

TEST(AckTracker, ALatePacketIsReportedAlthoughANewerAckArrived) {
  AckTracker tracker(PacketSpace::application);
  tracker.on_received(0, true, Ecn::not_ect, ms(0));
  tracker.on_received(2, true, Ecn::not_ect, ms(0));
  tracker.on_ack_sent(ms(0));
  tracker.on_received(1, true, Ecn::not_ect, ms(1));
  tracker.on_ack_acked(2);  // that ACK did not speak of 1
  EXPECT_TRUE(tracker.ack_due(ms(1)));
  ASSERT_TRUE(tracker.has_ranges());
  EXPECT_TRUE(tracker.ranges().contains(1));
}

TEST(AckTracker, RetainedRangesAreBounded) {
  AckTracker tracker(PacketSpace::application);
  for (std::uint64_t pn = 0; pn < 20'000; pn += 2) {
    ASSERT_FALSE(tracker.is_duplicate(pn));
    tracker.on_received(pn, true, Ecn::not_ect, ms(0));
    ASSERT_LE(tracker.ranges().size(), limits::kMaxAckRanges);
    if (pn % 64 == 0) tracker.on_ack_sent(ms(0));
  }
  EXPECT_EQ(tracker.ranges().size(), limits::kMaxAckRanges);
  EXPECT_EQ(tracker.largest(), 19'998u);
  // Below what is retained everything counts as received (RFC 9000 §13.2.3).
  EXPECT_TRUE(tracker.is_duplicate(1));
  EXPECT_TRUE(tracker.is_duplicate(10'001));
  EXPECT_FALSE(tracker.is_duplicate(19'997));
}

// The duplicate check may call an old packet a duplicate that is none, never the
// other way round.
TEST(AckTracker, NeverAcceptsAPacketTwice) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    AckTracker tracker(PacketSpace::application);
    std::set<std::uint64_t> seen;
    std::uint64_t newest = 0;
    for (int i = 0; i < 20'000; ++i) {
      newest += random() % 3;
      const std::uint64_t back = random() % 8 == 0 ? random() % 300 : random() % 4;
      const std::uint64_t pn = newest > back ? newest - back : 0;
      const bool duplicate = tracker.is_duplicate(pn);
      if (seen.contains(pn)) {
        ASSERT_TRUE(duplicate) << pn;
      }
      if (!duplicate) {
        seen.insert(pn);
        tracker.on_received(pn, random() % 4 != 0, Ecn::not_ect, ms(i));
        ASSERT_TRUE(tracker.ranges().contains(pn) || tracker.is_duplicate(pn));
      }
      if (tracker.ack_due(ms(i)) && tracker.has_ranges()) {
        for (const Interval& r : tracker.ranges()) {
          for (std::uint64_t n = r.begin; n < r.end; ++n) ASSERT_TRUE(seen.contains(n));
        }
        const std::uint64_t largest = tracker.largest();
        tracker.on_ack_sent(ms(i));
        if (random() % 4 == 0) tracker.on_ack_acked(largest);
      }
    }
  }
}

// Feeds `window` packets, then waits for an ACK, as a sender with that window does
// on a path of `rtt`. Returns {ACKs, ACKs that only the timer brought}.
std::pair<int, int> closed_window(AckTracker& tracker, std::uint64_t window, Duration rtt,
                                  std::uint64_t packets, std::uint64_t first) {
  Instant now = ms(0);
  std::uint64_t pn = first;
  std::uint64_t allowed = window;
  int acks = 0;
  int timers = 0;
  std::uint64_t unacked = 0;
  while (pn - first < packets) {
    bool timer = false;
    if (allowed == 0) {
      now = tracker.next_deadline();
      timer = true;
    } else {
      --allowed;
      ++unacked;
      now = now + Duration::microseconds(10);
      tracker.on_received(pn++, true, Ecn::not_ect, now);
    }
    if (!tracker.ack_due(now)) continue;
    ++acks;
    timers += timer;
    tracker.on_ack_sent(now);
    now = now + rtt;
    allowed += unacked;
    unacked = 0;
  }
  return {acks, timers};
}

TEST(AckTracker, ABulkReceiverFindsItsThreshold) {
  AckTracker tracker(PacketSpace::application);
  tracker.set_policy({Duration::milliseconds(25), 32});
  const auto [warm_up, ignored] =
      closed_window(tracker, 256, Duration::microseconds(100), 2'000, 0);
  EXPECT_LT(warm_up, 120);
  const auto [acks, timers] =
      closed_window(tracker, 256, Duration::microseconds(100), 3'200, 2'000);
  EXPECT_LE(acks, 101);
  EXPECT_EQ(timers, 0);
}

TEST(AckTracker, ASmallWindowHardlyEverWaitsForTheTimer) {
  AckTracker tracker(PacketSpace::application);
  tracker.set_policy({Duration::milliseconds(25), 32});
  (void)closed_window(tracker, 7, Duration::microseconds(100), 1'000, 0);
  const auto [acks, timers] = closed_window(tracker, 7, Duration::microseconds(100), 10'000, 1'000);
  EXPECT_LT(acks, 5'000);
  EXPECT_LT(timers, 60);  // not one in a hundred packets
}

TEST(AckTracker, AThresholdOfOneAcknowledgesEveryPacket) {
  AckTracker tracker(PacketSpace::application);
  tracker.set_policy({Duration::milliseconds(25), 1});
  for (std::uint64_t pn = 0; pn < 10; ++pn) {
    tracker.on_received(pn, true, Ecn::not_ect, ms(0));
    EXPECT_TRUE(tracker.ack_due(ms(0)));
    tracker.on_ack_sent(ms(0));
  }
}

TEST(AckTracker, AShortPathShortensTheDelay) {
  AckTracker tracker(PacketSpace::application);
  tracker.set_rtt(Duration::microseconds(80));
  tracker.on_received(0, true, Ecn::not_ect, ms(0));
  EXPECT_EQ(tracker.next_deadline(), ms(1));
  tracker.on_ack_sent(ms(1));
  tracker.set_rtt(Duration::seconds(3));
  tracker.on_received(1, true, Ecn::not_ect, ms(2));
  EXPECT_EQ(tracker.next_deadline(), ms(27));
}

TEST(AckTracker, TakesTheLargestPacketNumber) {
  AckTracker tracker(PacketSpace::application);
  tracker.on_received(limits::kMaxVarint, true, Ecn::not_ect, ms(0));
  EXPECT_TRUE(tracker.is_duplicate(limits::kMaxVarint));
  EXPECT_EQ(tracker.largest(), limits::kMaxVarint);
  tracker.on_ack_sent(ms(0));
  tracker.on_ack_acked(UINT64_MAX);
  EXPECT_FALSE(tracker.has_ranges());
}

}  // namespace
}  // namespace quasi::recovery
