// Connection IDs as values, and their hash against SipHash-1-3 computed elsewhere.
#include "wire/connection_id.h"

#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::from_hex;

TEST(ConnectionId, Values) {
  EXPECT_TRUE(ConnectionId().empty());
  EXPECT_FALSE(ConnectionId::from(std::vector<std::uint8_t>(21)).has_value());
  const auto longest = ConnectionId::from(std::vector<std::uint8_t>(20, 0xee));
  ASSERT_TRUE(longest.has_value());
  EXPECT_EQ(longest->size(), 20U);
  const auto a = *ConnectionId::from(from_hex("8394c8f03e515708"));
  EXPECT_EQ(a.to_hex(), "8394c8f03e515708");
  EXPECT_TRUE(a.equals(from_hex("8394c8f03e515708")));
  EXPECT_FALSE(a.equals(from_hex("8394c8f03e515709")));
  EXPECT_FALSE(a.equals(from_hex("8394c8f03e5157")));
  EXPECT_TRUE(ConnectionId().equals({}));
}

TEST(ConnectionId, TrailingZerosCount) {
  const auto a = *ConnectionId::from(from_hex("00"));
  const auto b = *ConnectionId::from(from_hex("0000"));
  EXPECT_NE(a, b);
  EXPECT_NE(a, ConnectionId());
  EXPECT_TRUE(a < b || b < a);
}

// Key 00..0f and messages 00, 00 01, ...: the key and inputs of SipHash's own test
// vectors, with one compression and three finalization rounds.
TEST(ConnectionId, HashIsSipHash13) {
  const ConnectionIdHash hash(0x0706050403020100U, 0x0f0e0d0c0b0a0908U);
  std::vector<std::uint8_t> message;
  const struct {
    std::size_t length;
    std::uint64_t value;
  } expected[] = {{0, 0xabac0158050fc4dcU}, {1, 0xc9f49bf37d57ca93U},  {7, 0xd3927d989bb11140U},
                  {8, 0x369095118d299a8eU}, {15, 0xd320d86d2a519956U}, {16, 0xcc4fdd1a7d908b66U},
                  {20, 0xc0dc2f46a6cce040U}};
  for (const auto& e : expected) {
    message.resize(e.length);
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::uint8_t>(i);
    EXPECT_EQ(hash.hash(message), e.value) << e.length;
  }
}

TEST(ConnectionId, HashesInATable) {
  std::unordered_set<ConnectionId, ConnectionIdHash> table(16, ConnectionIdHash(1, 2));
  for (std::uint8_t i = 0; i < 200; ++i) {
    EXPECT_TRUE(table.insert(*ConnectionId::from(std::vector<std::uint8_t>{i, 7})).second);
  }
  EXPECT_TRUE(table.contains(*ConnectionId::from(std::vector<std::uint8_t>{5, 7})));
  EXPECT_FALSE(table.contains(*ConnectionId::from(std::vector<std::uint8_t>{5, 8})));
}

}  // namespace
}  // namespace quasi::wire
