// ECN validation: RFC 9000 §13.4.2, R-12.
#include "recovery/ecn.h"

#include <gtest/gtest.h>

namespace quasi::recovery {
namespace {

using State = EcnValidator::State;
constexpr PacketSpace kSpace = PacketSpace::application;

EcnValidator with_marked(int count) {
  EcnValidator ecn(true);
  for (int i = 0; i < count; ++i) ecn.on_marked_sent();
  return ecn;
}

TEST(EcnValidator, OffNeverMarks) {
  EcnValidator ecn(false);
  EXPECT_FALSE(ecn.should_mark());
  const EcnCounts counts{5, 0, 5};
  EXPECT_EQ(ecn.on_ack(kSpace, 0, &counts), 0u);
  EXPECT_EQ(ecn.state(), State::off);
}

TEST(EcnValidator, TestsTenPacketsThenWaits) {  // RFC 9000 A.4
  EcnValidator ecn(true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(ecn.should_mark()) << i;
    ecn.on_marked_sent();
  }
  EXPECT_EQ(ecn.state(), State::unknown);
  EXPECT_FALSE(ecn.should_mark());
  const EcnCounts counts{2, 0, 0};
  EXPECT_EQ(ecn.on_ack(kSpace, 2, &counts), 0u);
  EXPECT_EQ(ecn.state(), State::capable);
  EXPECT_TRUE(ecn.should_mark());
}

TEST(EcnValidator, ReportsNewCongestionMarks) {
  EcnValidator ecn = with_marked(10);
  EcnCounts counts{2, 0, 1};
  EXPECT_EQ(ecn.on_ack(kSpace, 3, &counts), 1u);
  EXPECT_EQ(ecn.on_ack(kSpace, 0, &counts), 0u);
  counts.ce = 4;
  EXPECT_EQ(ecn.on_ack(kSpace, 3, &counts), 3u);
  EXPECT_EQ(ecn.state(), State::capable);
}

TEST(EcnValidator, CountsThatCannotBeTrueEndIt) {
  {
    EcnValidator ecn = with_marked(10);
    EcnCounts counts{5, 0, 0};
    (void)ecn.on_ack(kSpace, 5, &counts);
    counts.ect0 = 4;  // goes down
    EXPECT_EQ(ecn.on_ack(kSpace, 0, &counts), 0u);
    EXPECT_EQ(ecn.state(), State::failed);
    EXPECT_FALSE(ecn.should_mark());
    ecn.on_marked_sent();
    EXPECT_EQ(ecn.state(), State::failed);
  }
  {
    EcnValidator ecn = with_marked(10);
    const EcnCounts counts{1, 0, 1};  // fewer than were newly acknowledged
    EXPECT_EQ(ecn.on_ack(kSpace, 3, &counts), 0u);
    EXPECT_EQ(ecn.state(), State::failed);
  }
  {
    EcnValidator ecn = with_marked(3);
    const EcnCounts counts{4, 0, 0};  // more than were ever sent
    (void)ecn.on_ack(kSpace, 3, &counts);
    EXPECT_EQ(ecn.state(), State::failed);
  }
  {
    EcnValidator ecn = with_marked(3);
    const EcnCounts counts{2, 1, 0};  // ECT(1) was never sent
    (void)ecn.on_ack(kSpace, 2, &counts);
    EXPECT_EQ(ecn.state(), State::failed);
  }
  {
    EcnValidator ecn = with_marked(3);
    (void)ecn.on_ack(kSpace, 1, nullptr);  // ACK without counts
    EXPECT_EQ(ecn.state(), State::failed);
  }
  {
    EcnValidator ecn = with_marked(3);
    const EcnCounts counts{UINT64_MAX, UINT64_MAX, UINT64_MAX};
    (void)ecn.on_ack(kSpace, 1, &counts);
    EXPECT_EQ(ecn.state(), State::failed);
  }
}

TEST(EcnValidator, UnmarkedAcksProveNothing) {
  EcnValidator ecn = with_marked(10);
  (void)ecn.on_ack(kSpace, 0, nullptr);
  EXPECT_EQ(ecn.state(), State::unknown);
}

TEST(EcnValidator, APathThatDropsMarkedPacketsFails) {
  EcnValidator ecn = with_marked(10);
  for (int i = 0; i < 9; ++i) ecn.on_marked_lost();
  EXPECT_EQ(ecn.state(), State::unknown);
  ecn.on_marked_lost();
  EXPECT_EQ(ecn.state(), State::failed);
}

TEST(EcnValidator, SpacesCountForThemselves) {
  EcnValidator ecn = with_marked(10);
  const EcnCounts initial{3, 0, 0};
  const EcnCounts application{1, 0, 0};
  (void)ecn.on_ack(PacketSpace::initial, 3, &initial);
  (void)ecn.on_ack(PacketSpace::application, 1, &application);
  EXPECT_EQ(ecn.state(), State::capable);
}

}  // namespace
}  // namespace quasi::recovery
