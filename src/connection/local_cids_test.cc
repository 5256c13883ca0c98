// Our own connection IDs: issue, loss, retirement, and how fast they are replaced.
#include "connection/local_cids.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>

namespace quasi::connection {
namespace {

wire::ConnectionId cid(std::uint8_t n) {
  return *wire::ConnectionId::from(std::array<std::uint8_t, 8>{n, 1, 2, 3, 4, 5, 6, 7});
}

constexpr Duration kInterval = Duration::milliseconds(100);

/// Issues as many as are wanted; returns how many that were.
std::size_t issue_all(LocalCids& cids, Instant now, std::uint8_t& next) {
  std::size_t count = 0;
  while (cids.wants_new_cid(now)) {
    cids.issue(cid(next++), {}, now, kInterval);
    ++count;
  }
  return count;
}

TEST(LocalCids, IssuesUpToThePeersLimitAndOurOwn) {
  const Instant now;
  for (const std::uint64_t limit : std::array<std::uint64_t, 4>{2, 3, 4, limits::kMaxVarint}) {
    LocalCids cids;
    std::uint8_t next = 1;
    cids.set_initial(cid(0));
    EXPECT_FALSE(cids.wants_new_cid(now));  // before the limit is known
    cids.set_peer_limit(limit);
    EXPECT_EQ(issue_all(cids, now, next),
              std::min<std::uint64_t>(limit, LocalCids::kMaxActive) - 1);
  }
}

TEST(LocalCids, FramesAreWantedOnceAndAgainWhenLost) {
  LocalCids cids;
  std::uint8_t next = 1;
  cids.set_initial(cid(0));
  cids.set_peer_limit(3);
  EXPECT_FALSE(cids.has_wanted());
  (void)issue_all(cids, Instant(), next);
  std::set<std::uint64_t> sequences;
  while (LocalCids::Entry* entry = cids.next_wanted()) {
    sequences.insert(entry->sequence);
    entry->wants_frame = false;
  }
  EXPECT_EQ(sequences, (std::set<std::uint64_t>{1, 2}));
  cids.on_frame_lost(0);  // the handshake's has no frame
  EXPECT_FALSE(cids.has_wanted());
  cids.on_frame_lost(2);
  ASSERT_TRUE(cids.has_wanted());
  EXPECT_EQ(cids.next_wanted()->sequence, 2U);
  // Retired meanwhile: not wanted any more.
  ASSERT_TRUE(cids.on_retire(2, cid(0)));
  EXPECT_FALSE(cids.has_wanted());
  cids.on_frame_lost(2);
  EXPECT_FALSE(cids.has_wanted());
}

TEST(LocalCids, RetirementIsChecked) {
  LocalCids cids;
  std::uint8_t next = 1;
  cids.set_initial(cid(0));
  cids.set_peer_limit(3);
  (void)issue_all(cids, Instant(), next);
  // never issued; its own packet's.
  const auto never = cids.on_retire(3, cid(0));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, TransportErrorCode::protocol_violation);
  const auto own = cids.on_retire(1, cid(1));
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, TransportErrorCode::protocol_violation);
  const auto retired = cids.on_retire(1, cid(2));
  ASSERT_TRUE(retired);
  EXPECT_EQ(*retired, std::optional(cid(1)));
  // A retransmission retires nothing.
  const auto again = cids.on_retire(1, cid(2));
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);
}

// a peer that retires each ID at once gets some, and then one an interval.
TEST(LocalCids, ReplacementsAreSlow) {
  LocalCids cids;
  std::uint8_t next = 1;
  cids.set_initial(cid(0));
  cids.set_peer_limit(2);
  Instant now;
  std::size_t issued = 0;
  std::uint64_t sequence = 1;
  for (int i = 0; i < 1'000; ++i) {
    const std::size_t count = issue_all(cids, now, next);
    issued += count;
    if (count > 0) {
      ASSERT_TRUE(cids.on_retire(sequence++, cid(0)));
    }
    now = now + Duration::milliseconds(1);
  }
  EXPECT_GE(issued, 16U);
  EXPECT_LE(issued, 16U + 10U + 1U);
  EXPECT_FALSE(cids.next_issue_time().is_never());
  EXPECT_LE(cids.next_issue_time(), now + kInterval);
}

}  // namespace
}  // namespace quasi::connection
