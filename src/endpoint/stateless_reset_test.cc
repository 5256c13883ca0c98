// Stateless resets: sizes that shrink, tokens that only the key makes, and the
// look of a short header.
#include "endpoint/stateless_reset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "endpoint/seeded_entropy.h"

namespace quasi::endpoint {
namespace {

const std::vector<std::uint8_t> kKey = {1, 2, 3};

wire::ConnectionId cid(std::uint8_t value) {
  const std::vector<std::uint8_t> bytes(8, value);
  return *wire::ConnectionId::from(bytes);
}

TEST(StatelessReset, TokensBelongToKeyAndCid) {
  const StatelessReset a(kKey, seeded_entropy(1));
  const StatelessReset again(kKey, seeded_entropy(2));
  const std::vector<std::uint8_t> other_key = {1, 2, 4};
  const StatelessReset other(other_key, seeded_entropy(1));
  EXPECT_EQ(a.token(cid(1)), again.token(cid(1)));  // a later run of the program
  EXPECT_NE(a.token(cid(1)), a.token(cid(2)));
  EXPECT_NE(a.token(cid(1)), other.token(cid(1)));
  EXPECT_NE(a.token(wire::ConnectionId()), a.token(cid(0)));
  // No key given: random, and different each time.
  const StatelessReset random1({}, seeded_entropy(3));
  const StatelessReset random2({}, seeded_entropy(4));
  EXPECT_NE(random1.token(cid(1)), random2.token(cid(1)));
}

TEST(StatelessReset, AlwaysSmallerThanItsTriggerAndSilentBelow22) {
  const StatelessReset reset(kKey, seeded_entropy(1));
  const Entropy entropy = seeded_entropy(5);
  std::vector<std::uint8_t> out(1500);
  for (std::size_t trigger = 0; trigger <= 1500; ++trigger) {
    const std::size_t size = reset.write(out, trigger, cid(1), entropy);
    if (trigger < 22) {
      EXPECT_EQ(size, 0u) << trigger;
      continue;
    }
    EXPECT_GE(size, kMinResetSize);
    EXPECT_LT(size, trigger);
    EXPECT_LT(size, 64u);
    if (trigger <= 43) {
      EXPECT_EQ(size, trigger - 1);  // RFC 9000 §10.3.3
    } else {
      EXPECT_GE(size, 42u);
    }
  }
}

TEST(StatelessReset, TwoEndpointsThatResetEachOtherFallSilent) {
  const StatelessReset a(kKey, seeded_entropy(1));
  const StatelessReset b({}, seeded_entropy(2));
  const Entropy entropy = seeded_entropy(6);
  std::vector<std::uint8_t> out(1500);
  std::size_t size = 1200;
  int replies = 0;
  for (; size != 0; ++replies) {
    ASSERT_LT(replies, 64);
    size = (replies % 2 == 0 ? a : b).write(out, size, cid(1), entropy);
  }
  EXPECT_LE(replies, 40);
}

TEST(StatelessReset, LooksLikeAShortHeaderAndEndsWithTheToken) {
  const StatelessReset reset(kKey, seeded_entropy(1));
  const Entropy entropy = seeded_entropy(7);
  std::vector<std::uint8_t> out(100);
  std::set<std::uint8_t> first_bytes;
  for (int i = 0; i < 200; ++i) {
    const std::size_t size = reset.write(out, 1200, cid(7), entropy);
    ASSERT_GE(size, kMinResetSize);
    EXPECT_EQ(out[0] & 0xc0, 0x40);
    first_bytes.insert(out[0]);
    const Bytes tail = reset_candidate(Bytes(out).first(size));
    const auto token = reset.token(cid(7));
    EXPECT_TRUE(std::ranges::equal(tail, token));
  }
  EXPECT_GT(first_bytes.size(), 32u);  // the six bits below are random
}

TEST(StatelessReset, NothingIsWrittenWithoutRoom) {
  const StatelessReset reset(kKey, seeded_entropy(1));
  std::vector<std::uint8_t> out(30, 0xee);
  EXPECT_EQ(reset.write(out, 40, cid(1), seeded_entropy(8)), 0u);
  EXPECT_EQ(reset.write({}, 1200, cid(1), seeded_entropy(8)), 0u);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](std::uint8_t b) { return b == 0xee; }));
}

TEST(StatelessReset, CandidatesAreTheLast16BytesWhateverTheFirstOnes) {
  // the random bytes may look like a long header.
  std::vector<std::uint8_t> datagram(21, 0xff);
  EXPECT_EQ(reset_candidate(datagram).size(), 16u);
  EXPECT_EQ(reset_candidate(datagram).data(), datagram.data() + 5);
  datagram.resize(20);
  EXPECT_TRUE(reset_candidate(datagram).empty());
  EXPECT_TRUE(reset_candidate({}).empty());
}

}  // namespace
}  // namespace quasi::endpoint
