// Tokens: what is accepted, from whom, for how long, how often; and what is not ours
// (R-96 of the hostile cases).
#include "endpoint/token.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/limits.h"
#include "endpoint/seeded_entropy.h"

namespace quasi::endpoint {
namespace {

using Kind = TokenVerdict::Kind;

constexpr Instant kStart = Instant::from_ns(1'000'000'000);

wire::ConnectionId cid(std::initializer_list<std::uint8_t> bytes) {
  const std::vector<std::uint8_t> copy(bytes);
  return *wire::ConnectionId::from(copy);
}

const wire::ConnectionId kOriginal = cid({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
const wire::ConnectionId kRetryScid = cid({0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 1, 2});

SocketAddress client() { return *SocketAddress::parse("192.0.2.1:50000"); }

/// What a server does when everything about the Initial is right.
TokenVerdict redeem(TokenKeeper& keeper, Bytes token, Instant now, const SocketAddress& from,
                    const wire::ConnectionId& dcid) {
  const TokenVerdict verdict = keeper.check(token, now, from, dcid);
  keeper.spend(verdict);
  return verdict;
}

TEST(Token, RetryIsAcceptedAndGivesTheOriginalCid) {
  TokenKeeper keeper(seeded_entropy(1));
  const Token token = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
  ASSERT_GT(token.size, 0u);
  const auto verdict =
      redeem(keeper, token.bytes(), kStart + Duration::seconds(1), client(), kRetryScid);
  EXPECT_EQ(verdict.kind, Kind::retry);
  EXPECT_EQ(verdict.original_dcid, kOriginal);
}

TEST(Token, CidsOfAllLengthsComeBack) {
  TokenKeeper keeper(seeded_entropy(1));
  for (std::size_t length = 0; length <= wire::ConnectionId::kMaxLength; ++length) {
    const std::vector<std::uint8_t> bytes(length, static_cast<std::uint8_t>(0xc0 + length));
    const auto original = *wire::ConnectionId::from(bytes);
    const Token token = keeper.make_retry(kStart, client(), original, kRetryScid);
    const auto verdict = redeem(keeper, token.bytes(), kStart, client(), kRetryScid);
    EXPECT_EQ(verdict.kind, Kind::retry);
    EXPECT_EQ(verdict.original_dcid, original);
  }
}

TEST(Token, RetryIsBoundToAddressPortCidAndTime) {
  TokenKeeper keeper(seeded_entropy(2));
  const Token token = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
  const auto kind = [&](Instant now, const char* address, const wire::ConnectionId& dcid) {
    return redeem(keeper, token.bytes(), now, *SocketAddress::parse(address), dcid).kind;
  };
  EXPECT_EQ(kind(kStart, "192.0.2.2:50000", kRetryScid), Kind::invalid_retry);
  EXPECT_EQ(kind(kStart, "192.0.2.1:50001", kRetryScid), Kind::invalid_retry);
  EXPECT_EQ(kind(kStart, "[c000:201::]:50000", kRetryScid), Kind::invalid_retry);
  EXPECT_EQ(kind(kStart, "192.0.2.1:50000", kOriginal), Kind::invalid_retry);
  EXPECT_EQ(kind(kStart - Duration::nanoseconds(1), "192.0.2.1:50000", kRetryScid),
            Kind::invalid_retry);
  const Duration lifetime = Duration::seconds(limits::kRetryTokenSeconds);
  EXPECT_EQ(kind(kStart + lifetime + Duration::nanoseconds(1), "192.0.2.1:50000", kRetryScid),
            Kind::invalid_retry);
  // None of these used it up.
  EXPECT_EQ(kind(kStart + lifetime, "192.0.2.1:50000", kRetryScid), Kind::retry);
}

TEST(Token, IsAcceptedOnce) {
  TokenKeeper keeper(seeded_entropy(3));
  const Token retry = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
  EXPECT_EQ(redeem(keeper, retry.bytes(), kStart, client(), kRetryScid).kind, Kind::retry);
  EXPECT_EQ(redeem(keeper, retry.bytes(), kStart, client(), kRetryScid).kind, Kind::invalid_retry);
  const Token later = keeper.make_new_token(kStart, client());
  EXPECT_EQ(redeem(keeper, later.bytes(), kStart, client(), kOriginal).kind, Kind::new_token);
  EXPECT_EQ(redeem(keeper, later.bytes(), kStart, client(), kOriginal).kind, Kind::none);
}

TEST(Token, CheckingAloneSpendsNothing) {
  // The Initial was damaged, or forged with a token that somebody saw: the client's
  // next one must still be taken.
  TokenKeeper keeper(seeded_entropy(14));
  const Token token = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(keeper.check(token.bytes(), kStart, client(), kRetryScid).kind, Kind::retry);
  }
  // A verdict that accepted nothing spends nothing.
  keeper.spend(keeper.check(token.bytes(), kStart, client(), kOriginal));
  EXPECT_EQ(redeem(keeper, token.bytes(), kStart, client(), kRetryScid).kind, Kind::retry);
  EXPECT_EQ(keeper.check(token.bytes(), kStart, client(), kRetryScid).kind, Kind::invalid_retry);
}

TEST(Token, ReplaysStayRefusedWhileOthersComeAndGo) {
  // A quarter of what the table remembers: no set of four overflows by chance.
  TokenKeeper keeper(seeded_entropy(4));
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < limits::kRememberedTokens / 4; ++i) {
    tokens.push_back(keeper.make_retry(kStart, client(), kOriginal, kRetryScid));
    EXPECT_EQ(redeem(keeper, tokens.back().bytes(), kStart, client(), kRetryScid).kind,
              Kind::retry);
  }
  std::size_t replayed = 0;
  for (const Token& token : tokens) {
    if (redeem(keeper, token.bytes(), kStart, client(), kRetryScid).kind == Kind::retry) ++replayed;
  }
  EXPECT_LE(replayed, tokens.size() / 100);
  // And honest tokens are never refused because of others, however many there were.
  for (std::size_t i = 0; i < 2 * limits::kRememberedTokens; ++i) {
    const Token token = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
    ASSERT_EQ(redeem(keeper, token.bytes(), kStart, client(), kRetryScid).kind, Kind::retry);
  }
}

TEST(Token, NewTokenServesAnotherPortForHours) {
  TokenKeeper keeper(seeded_entropy(5));
  const Duration lifetime = Duration::seconds(limits::kNewTokenSeconds);
  const auto fresh = [&] { return keeper.make_new_token(kStart, client()); };
  const auto other_port = *SocketAddress::parse("192.0.2.1:9");
  const auto other_host = *SocketAddress::parse("192.0.2.9:50000");
  EXPECT_EQ(redeem(keeper, fresh().bytes(), kStart + lifetime, other_port, kOriginal).kind,
            Kind::new_token);
  EXPECT_EQ(redeem(keeper, fresh().bytes(), kStart, other_host, kOriginal).kind, Kind::none);
  EXPECT_EQ(redeem(keeper, fresh().bytes(), kStart + lifetime + Duration::nanoseconds(1), client(),
                   kOriginal)
                .kind,
            Kind::none);
  // It validates no Retry: no original DCID comes of it.
  EXPECT_TRUE(redeem(keeper, fresh().bytes(), kStart, client(), kOriginal).original_dcid.empty());
}

TEST(Token, OutlivesOneChangeOfKeyButNotTwo) {
  TokenKeeper keeper(seeded_entropy(6));
  const Duration lifetime = Duration::seconds(limits::kNewTokenSeconds);
  const Instant almost = kStart + lifetime - Duration::seconds(1);
  (void)keeper.make_new_token(kStart, client());
  const Token token = keeper.make_new_token(almost, client());
  const Token copy = keeper.make_new_token(almost, client());
  (void)keeper.make_new_token(almost + Duration::seconds(2), client());  // under the next key
  EXPECT_EQ(redeem(keeper, token.bytes(), almost + lifetime, client(), kOriginal).kind,
            Kind::new_token);
  (void)keeper.make_new_token(almost + lifetime + Duration::seconds(2), client());
  EXPECT_EQ(redeem(keeper, copy.bytes(), almost + lifetime, client(), kOriginal).kind, Kind::none);
}

TEST(Token, AreNeverEqual) {
  TokenKeeper keeper(seeded_entropy(7));
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    for (const Token& token : {keeper.make_retry(kStart, client(), kOriginal, kRetryScid),
                               keeper.make_new_token(kStart, client())}) {
      const Bytes bytes = token.bytes();
      EXPECT_TRUE(seen.emplace(bytes.begin(), bytes.end()).second);
    }
  }
}

TEST(Token, EveryChangedBitIsNoticed) {
  TokenKeeper keeper(seeded_entropy(8));
  for (bool retry : {true, false}) {
    const Token token = retry ? keeper.make_retry(kStart, client(), kOriginal, kRetryScid)
                              : keeper.make_new_token(kStart, client());
    for (std::size_t bit = 0; bit < token.size * 8; ++bit) {
      Token changed = token;
      changed.data[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      EXPECT_EQ(redeem(keeper, changed.bytes(), kStart, client(), kRetryScid).kind, Kind::none);
    }
  }
}

TEST(Token, OfAnotherProcessIsNothing) {
  TokenKeeper keeper(seeded_entropy(9));
  TokenKeeper other(seeded_entropy(10));
  const Token token = other.make_retry(kStart, client(), kOriginal, kRetryScid);
  EXPECT_EQ(redeem(keeper, token.bytes(), kStart, client(), kRetryScid).kind, Kind::none);
  (void)keeper.make_new_token(kStart, client());
  EXPECT_EQ(redeem(keeper, token.bytes(), kStart, client(), kRetryScid).kind, Kind::none);
}

TEST(Token, JunkIsNothing) {
  // 0, 1, 5 and 17 bytes, 4 KiB, and every length in between that could matter.
  TokenKeeper keeper(seeded_entropy(11));
  (void)keeper.make_new_token(kStart, client());
  const Entropy junk = seeded_entropy(12);
  std::vector<std::size_t> sizes = {4096};
  for (std::size_t size = 0; size <= 2 * Token::kMaxSize; ++size) sizes.push_back(size);
  for (std::size_t size : sizes) {
    std::vector<std::uint8_t> bytes(size);
    junk(bytes);
    EXPECT_EQ(redeem(keeper, bytes, kStart, client(), kOriginal).kind, Kind::none);
    for (std::uint8_t first : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{0x81}}) {
      if (size == 0) continue;
      bytes[0] = first;
      EXPECT_EQ(redeem(keeper, bytes, kStart, client(), kOriginal).kind, Kind::none);
    }
  }
  const std::vector<std::uint8_t> five = {1, 0, 0, 0, 0};
  EXPECT_EQ(redeem(keeper, five, kStart, client(), kOriginal).kind, Kind::none);
  // Every prefix of a good one, and one byte more.
  const Token token = keeper.make_retry(kStart, client(), kOriginal, kRetryScid);
  for (std::size_t size = 0; size < token.size; ++size) {
    EXPECT_EQ(redeem(keeper, token.bytes().first(size), kStart, client(), kRetryScid).kind,
              Kind::none);
  }
  std::vector<std::uint8_t> longer(token.bytes().begin(), token.bytes().end());
  longer.push_back(0);
  EXPECT_EQ(redeem(keeper, longer, kStart, client(), kRetryScid).kind, Kind::none);
}

TEST(Token, TimesAtTheEdgeOfTheClock) {
  TokenKeeper keeper(seeded_entropy(13));
  for (std::int64_t ns : {INT64_MIN, INT64_MIN + 1, std::int64_t{0}, INT64_MAX - 1}) {
    const Instant now = Instant::from_ns(ns);
    const Token token = keeper.make_retry(now, client(), kOriginal, kRetryScid);
    EXPECT_EQ(redeem(keeper, token.bytes(), now, client(), kRetryScid).kind, Kind::retry);
  }
}

}  // namespace
}  // namespace quasi::endpoint
