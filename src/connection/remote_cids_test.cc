// The peer's connection IDs: contradictions, limits, retirement, reset tokens.
#include "connection/remote_cids.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace quasi::connection {
namespace {

wire::ConnectionId cid(std::uint8_t n) {
  return *wire::ConnectionId::from(std::array<std::uint8_t, 8>{n, 1, 2, 3, 4, 5, 6, 7});
}

ResetToken token(std::uint8_t n) {
  ResetToken result;
  result.fill(n);
  return result;
}

TransportErrorCode code(const Status& status) {
  return status ? TransportErrorCode::no_error : status.error().code;
}

/// NEW_CONNECTION_ID with the ID and token that belong to the sequence number.
Status give(RemoteCids& cids, std::uint8_t sequence, std::uint64_t retire_prior_to = 0) {
  return cids.on_new_connection_id(sequence, retire_prior_to, cid(sequence), token(sequence));
}

RemoteCids started() {
  RemoteCids cids;
  cids.set_initial(cid(0));
  cids.set_initial_token(token(0));
  return cids;
}

std::vector<std::uint64_t> take_retirements(RemoteCids& cids) {
  std::vector<std::uint64_t> sequences;
  while (RemoteCids::Retiring* retiring = cids.next_wanted()) {
    sequences.push_back(retiring->sequence);
    retiring->wants_frame = false;
  }
  return sequences;
}

TEST(RemoteCids, SparesUpToTheLimit) {
  RemoteCids cids = started();
  EXPECT_FALSE(cids.has_spare());
  EXPECT_TRUE(give(cids, 1));
  EXPECT_TRUE(give(cids, 2));
  EXPECT_TRUE(give(cids, 3));
  EXPECT_EQ(code(give(cids, 4)), TransportErrorCode::connection_id_limit_error);
}

TEST(RemoteCids, RetirePriorToMakesRoom) {
  RemoteCids cids = started();
  for (std::uint8_t i = 1; i < 4; ++i) ASSERT_TRUE(give(cids, i));
  ASSERT_TRUE(give(cids, 4, 3));
  EXPECT_EQ(cids.current(), cid(3));
  EXPECT_EQ(take_retirements(cids), (std::vector<std::uint64_t>{1, 2, 0}));
}

TEST(RemoteCids, ContradictionsAreViolations) {
  RemoteCids cids = started();
  ASSERT_TRUE(give(cids, 1));
  EXPECT_TRUE(give(cids, 1));  // a retransmission
  const auto violation = TransportErrorCode::protocol_violation;
  EXPECT_EQ(code(cids.on_new_connection_id(1, 0, cid(9), token(1))), violation);
  EXPECT_EQ(code(cids.on_new_connection_id(1, 0, cid(1), token(9))), violation);
  EXPECT_EQ(code(cids.on_new_connection_id(2, 0, cid(1), token(2))), violation);
  EXPECT_EQ(code(cids.on_new_connection_id(2, 0, cid(0), token(2))), violation);
  EXPECT_EQ(code(cids.on_new_connection_id(0, 0, cid(2), token(0))), violation);
}

TEST(RemoteCids, PeersWithoutIdsGiveNone) {
  RemoteCids cids;
  cids.set_initial(wire::ConnectionId());
  EXPECT_EQ(code(give(cids, 1)), TransportErrorCode::protocol_violation);
}

TEST(RemoteCids, LateIdsAreRetiredAtOnce) {
  RemoteCids cids = started();
  ASSERT_TRUE(give(cids, 3, 2));
  EXPECT_EQ(cids.current(), cid(3));
  EXPECT_EQ(take_retirements(cids), (std::vector<std::uint64_t>{0}));
  ASSERT_TRUE(give(cids, 1));
  EXPECT_EQ(take_retirements(cids), (std::vector<std::uint64_t>{1}));
  EXPECT_FALSE(cids.has_spare());
  // The frame that has to be repeated is one, however often the ID comes.
  ASSERT_TRUE(give(cids, 1));
  EXPECT_FALSE(cids.has_wanted());
}

TEST(RemoteCids, RetirementsAreRepeatedUntilAcknowledged) {
  RemoteCids cids = started();
  ASSERT_TRUE(give(cids, 1));
  ASSERT_TRUE(cids.switch_to_spare());
  EXPECT_EQ(take_retirements(cids), (std::vector<std::uint64_t>{0}));
  cids.on_retire_lost(0);
  EXPECT_EQ(take_retirements(cids), (std::vector<std::uint64_t>{0}));
  cids.on_retire_acked(0);
  cids.on_retire_lost(0);  // an older copy of the frame
  EXPECT_FALSE(cids.has_wanted());
  EXPECT_FALSE(cids.switch_to_spare());
}

// CVE-2024-22189.
TEST(RemoteCids, UnacknowledgedRetirementsAreBounded) {
  RemoteCids cids = started();
  std::uint8_t sequence = 1;
  Status status;
  for (; sequence < 100; ++sequence) {
    status = give(cids, sequence, sequence);
    if (!status) break;
  }
  EXPECT_EQ(code(status), TransportErrorCode::connection_id_limit_error);
  EXPECT_LE(sequence, RemoteCids::kMaxRetiring + 2);
  // Acknowledged in time, they go on for ever.
  RemoteCids honest = started();
  for (sequence = 1; sequence < 200; ++sequence) {
    ASSERT_TRUE(give(honest, sequence, sequence));
    for (const std::uint64_t retired : take_retirements(honest)) honest.on_retire_acked(retired);
  }
}

// tokens of spare and of retired IDs are not looked at.
TEST(RemoteCids, OnlyTheTokenInUseCounts) {
  RemoteCids cids = started();
  ASSERT_TRUE(give(cids, 1));
  EXPECT_TRUE(cids.is_reset_token(token(0)));
  EXPECT_FALSE(cids.is_reset_token(token(1)));
  ASSERT_TRUE(cids.switch_to_spare());
  EXPECT_FALSE(cids.is_reset_token(token(0)));
  EXPECT_TRUE(cids.is_reset_token(token(1)));
  EXPECT_EQ(cids.current_token(), std::optional(token(1)));
  RemoteCids client;
  client.set_initial(cid(0));
  EXPECT_FALSE(client.is_reset_token(token(0)));  // clients give no token for theirs
  EXPECT_FALSE(client.current_token());
}

TEST(RemoteCids, PreferredAddressIsSequenceOne) {
  RemoteCids cids = started();
  ASSERT_TRUE(cids.add_preferred_address(cid(1), token(1)));
  EXPECT_TRUE(cids.has_spare());
  EXPECT_EQ(code(cids.on_new_connection_id(1, 0, cid(2), token(1))),
            TransportErrorCode::protocol_violation);
}

}  // namespace
}  // namespace quasi::connection
