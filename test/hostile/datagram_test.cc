// Datagrams that begin, follow or name no connection: coalesced garbage, small Initials,
// amplification, stateless resets, loops of answers, tokens, Version Negotiation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "endpoint/version_negotiation.h"
#include "hostile/heap.h"
#include "hostile/hostile.h"
#include "protect/retry.h"

namespace quasi::hostile {
namespace {

using wire::PacketType;

constexpr std::array<std::uint8_t, 1> kPing = {0x01};

/// The length of the first packet of a datagram.
std::size_t first_packet_size(Bytes datagram) {
  ByteVector copy(datagram.begin(), datagram.end());
  wire::DatagramReader reader(copy, limits::kLocalCidLength);
  wire::PacketView view;
  return reader.next(view) == wire::ParseOutcome::packet ? view.bytes.size() : 0;
}

/// A server whose certificate makes a flight of more than 8 KiB.
Hostile::Options long_certificate() {
  tls::CertificateOptions certificate;
  certificate.names = {"localhost"};
  for (int i = 0; i < 200; ++i) {
    certificate.names.push_back("a-rather-long-name-number-" + std::to_string(i) + ".example.com");
  }
  certificate.not_before = tls::testing::kNow - tls::testing::kDay;
  const auto made = tls::make_certificate(certificate);
  Hostile::Options options;
  options.session.server_tls.certificate_pem = made->certificate_pem;
  options.session.server_tls.key_pem = made->key_pem;
  options.session.client_tls.ca_pem = made->certificate_pem;
  return options;
}

// CVE-2025-54939: what follows a valid Initial is dropped, and freed.
TEST(Datagrams, R71TrailingPartsOfInitials) {
  Hostile hostile({});
  hostile.mute = true;
  hostile.begin();
  hostile.run(Duration::milliseconds(50));
  const std::uint64_t heap = live_bytes();
  for (int i = 0; i < 20'000; ++i) {
    ByteVector datagram = hostile.raw.packet(PacketType::initial, kPing);
    for (std::uint8_t k = 0; k < 12; ++k) {
      // A Handshake packet for another ID; one in three claims more bytes than there are.
      const std::uint8_t length = k % 3 == 2 ? 0x7f : 30;
      const std::array<std::uint8_t, 24> header = {0xe0, 0, 0, 0, 1, 8, k, 2, 3, 4, 5, 6,
                                                   7,    8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0};
      datagram.insert(datagram.end(), header.begin(), header.end() - 1);
      if (length == 0x7f) datagram.push_back(0x7f);
      datagram.push_back(length);
      datagram.resize(datagram.size() + 30, 0xab);
    }
    datagram.resize(std::max<std::size_t>(datagram.size(), limits::kMinDatagramSize));
    hostile.inject(datagram);
    if (i % 32 == 0) hostile.run(Duration::microseconds(50));
  }
  hostile.run(Duration::milliseconds(5));
  EXPECT_GE(hostile.session.server->stats().datagrams_received, 20'000U);
  EXPECT_EQ(hostile.session.server->connection_count(), 1U);
  if (hostile.victim() != nullptr) {
    EXPECT_LE(hostile.core().early_count, limits::kMaxEarlyPackets);
  }
  EXPECT_LE(live_bytes(), heap + 1'500'000);
  hostile.expect_alive();
}

TEST(Datagrams, R72HandshakeBeforeInitialInOneDatagram) {
  Hostile::Options options;
  options.victim = Side::client;
  Hostile hostile(options);
  hostile.on_first = [&](Bytes first) {
    hostile.holds = true;
    hostile.raw_accept(first);
    hostile.holds = false;
    std::vector<ByteVector> flight = std::move(hostile.held);
    ASSERT_GE(flight.size(), 2U);
    ByteVector coalesced = flight[1];
    const std::size_t initial = first_packet_size(flight[0]);
    coalesced.insert(coalesced.end(), flight[0].begin(),
                     flight[0].begin() + static_cast<long>(initial));
    hostile.inject(coalesced);
    for (std::size_t i = 2; i < flight.size(); ++i) hostile.inject(flight[i]);
  };
  EXPECT_TRUE(hostile.handshake());
  hostile.expect_alive();
}

TEST(Datagrams, R75SmallInitialLeavesNoState) {
  Hostile hostile({});
  hostile.holds = true;
  hostile.begin();
  hostile.holds = false;
  ASSERT_FALSE(hostile.held.empty());
  for (ByteVector datagram : std::move(hostile.held)) {
    ASSERT_LE(first_packet_size(datagram), 1199U);
    datagram.resize(1199);
    hostile.inject(datagram);
  }
  hostile.run(Duration::milliseconds(100));
  EXPECT_EQ(hostile.session.server->connection_count(), 0U);
  EXPECT_EQ(hostile.session.server->stats().datagrams_sent, 0U);
  hostile.expect_alive();
}

TEST(Datagrams, R77ManyHandshakesAreAskedForTokens) {
  Hostile::Options options;
  options.session.server.max_connections = 8;
  Hostile hostile(options);
  hostile.mute = true;
  const auto tls = *tls::ClientConfig::create(options.session.client_tls);
  std::vector<std::unique_ptr<RawPeer>> others;
  for (std::uint8_t name = 10; name < 30; ++name) {
    RawPeer::Options raw;
    raw.name = name;
    others.push_back(std::make_unique<RawPeer>(Side::client, raw,
                                               [&](Bytes datagram) { hostile.inject(datagram); }));
    others.back()->connect(*tls);
  }
  hostile.run(Duration::milliseconds(50));
  EXPECT_EQ(hostile.session.server->connection_count(), 4U);
  EXPECT_EQ(hostile.session.server->stats().retries_sent, 16U);
  hostile.expect_alive();  // an honest client answers the Retry
}

// RFC 9000 §8.1: never more than three times what came; and no timer that spins.
TEST(Datagrams, R78AmplificationStopsAtThreeTimes) {
  Hostile hostile(long_certificate());
  hostile.mute = true;
  hostile.holds = true;
  hostile.begin();
  hostile.holds = false;
  std::uint64_t received = 0;
  for (const ByteVector& datagram : hostile.held) {
    hostile.inject(datagram);
    received += datagram.size();
  }
  // Turns of the event loop: each one has to be for something.
  const auto turns = [&](Duration duration) {
    std::size_t count = 0;
    (void)hostile.session.pair.run([&] { return ++count > 10'000; }, duration);
    return count;
  };
  ASSERT_LE(turns(Duration::seconds(2)), 100U);
  EXPECT_GT(hostile.captured_bytes, 3'000U);
  EXPECT_LE(hostile.captured_bytes, 3 * received);
  // A second datagram of which nothing can be decrypted counts whole.
  ByteVector junk = hostile.raw.packet(PacketType::initial, kPing);
  junk.back() ^= 1;
  junk.resize(1200, 0x5a);
  hostile.inject(junk);
  received += junk.size();
  ASSERT_LE(turns(Duration::seconds(3)), 100U);
  EXPECT_LE(hostile.captured_bytes, 3 * received);
  hostile.expect_alive();
}

TEST(Datagrams, R38LongFlightWhoseFirstDatagramIsLost) {
  Hostile::Options options = long_certificate();
  sim::Session session(options.session);
  int to_client = 0;
  session.pair.filter = [&](bool to_server, std::vector<std::uint8_t>&) {
    return to_server || ++to_client != 1;
  };
  session.fetch(1'000);
  session.connect();
  EXPECT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(10)));
}

TEST(Datagrams, R80ResetsAreSmallerThanTheirTriggers) {
  Hostile hostile({});
  std::vector<std::size_t> answers;
  hostile.tap = [&](bool to_server, Bytes datagram) {
    if (!to_server) answers.push_back(datagram.size());
  };
  for (std::size_t size = 100; size > 0; --size) {
    ByteVector junk(size, 0x41);
    answers.clear();
    hostile.inject(junk);
    hostile.run(Duration::milliseconds(1));
    ASSERT_LE(answers.size(), 1U);
    if (size < 22) {
      EXPECT_TRUE(answers.empty()) << size;
    }
    if (!answers.empty()) {
      EXPECT_LT(answers[0], size);
      EXPECT_GE(answers[0], 21U);
    }
  }
  EXPECT_GT(hostile.session.server->stats().resets_sent, 50U);
  hostile.expect_alive();
}

TEST(Datagrams, R81NothingAnswersItsOwnKind) {
  Hostile hostile({});
  std::size_t answers = 0;
  hostile.tap = [&](bool to_server, Bytes) { answers += to_server ? 0 : 1; };
  // Version Negotiation, Retry and Initials of a server, long enough to be answered.
  for (const std::uint32_t version : {0U, 1U}) {
    for (const std::uint8_t first : std::array<std::uint8_t, 4>{0xf0, 0xc0, 0xd0, 0xe0}) {
      ByteVector bait(1300, 0x11);
      bait[0] = first;
      store_be(bait.data() + 1, version);
      bait[5] = bait[14] = 8;
      if (version == 1 && first == 0xc0) continue;  // an Initial may be answered
      hostile.inject(bait);
    }
  }
  hostile.run(Duration::milliseconds(20));
  EXPECT_EQ(answers, 0U);
  // Our own address and port as the source.
  hostile.raw_address = hostile.session.pair.server_address();
  ByteVector unknown_version(1300, 0x11);
  unknown_version[0] = 0xc0;
  unknown_version[5] = unknown_version[14] = 8;
  hostile.inject(unknown_version);
  hostile.inject(ByteVector(500, 0x41));
  hostile.run(Duration::milliseconds(20));
  EXPECT_EQ(answers, 0U);
  // A flood of baits is answered at a capped rate.
  hostile.raw_address = *SocketAddress::parse("203.0.113.66:6666");
  for (int i = 0; i < 20'000; ++i) {
    hostile.inject(ByteVector(500, 0x41));
    if (i % 100 == 0) hostile.run(Duration::microseconds(500));
  }
  hostile.run(Duration::milliseconds(20));
  EXPECT_LE(answers, limits::kStatelessReplyBurst + limits::kStatelessRepliesPerSecond / 5);
  EXPECT_GT(answers, 100U);
  hostile.tap = {};
  hostile.expect_alive();
}

/// A datagram that looks like a 1-RTT packet for `cid` and ends with the token.
ByteVector reset(const wire::ConnectionId& cid, const wire::ResetToken& token, std::size_t size,
                 std::mt19937& random) {
  ByteVector out(size);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(random());
  out[0] = static_cast<std::uint8_t>(0x40 | (out[0] & 0x3f));
  std::copy(cid.bytes().begin(), cid.bytes().end(), out.begin() + 1);
  std::copy(token.begin(), token.end(), out.end() - static_cast<long>(token.size()));
  return out;
}

TEST(Datagrams, R83OnlyTheTokenOfTheIdInUseResets) {
  std::mt19937 random(83);
  Hostile::Options options;
  options.victim = Side::client;
  options.raw.parameters = [](wire::TransportParameters& p) {
    p.stateless_reset_token.emplace().fill(0xa0);
  };
  Hostile hostile(options);
  ASSERT_TRUE(hostile.handshake());
  // Sequence 1 replaces 0; sequence 2 is a spare.
  for (const std::uint8_t sequence : std::array<std::uint8_t, 2>{1, 2}) {
    ByteVector frame = {0x18, sequence, 1, 8};
    frame.insert(frame.end(), kRawCidPrefix.begin(), kRawCidPrefix.end());
    frame.insert(frame.end(), {9, 9, 9, sequence});
    frame.resize(frame.size() + 16, static_cast<std::uint8_t>(0xa0 + sequence));
    hostile.send(frame);
  }
  hostile.run(Duration::milliseconds(50));
  ASSERT_EQ(hostile.core().remote_cids.current_sequence(), 1U);
  wire::ConnectionId unknown = *wire::ConnectionId::from(std::array<std::uint8_t, 8>{1, 2, 3});
  for (const std::uint8_t fill : std::array<std::uint8_t, 3>{0xa0, 0xa2, 0x55}) {
    wire::ResetToken token;
    token.fill(fill);
    hostile.inject(reset(hostile.raw.dcid(), token, 60, random));
    hostile.inject(reset(unknown, token, 60, random));
  }
  hostile.run(Duration::milliseconds(50));
  ASSERT_FALSE(hostile.closed());
  wire::ResetToken token;
  token.fill(0xa1);
  hostile.inject(reset(unknown, token, 21, random));
  hostile.run(Duration::milliseconds(50));
  ASSERT_TRUE(hostile.closed());
  EXPECT_EQ(hostile.victim()->close_reason().kind, CloseReason::Kind::stateless_reset);
  hostile.expect_alive();
}

// Whatever the random bytes look like: a known packet number, a long header behind, ...
TEST(Datagrams, R84EveryResetIsNoticed) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    Hostile::Options options;
    options.victim = Side::client;
    options.raw.parameters = [](wire::TransportParameters& p) {
      p.stateless_reset_token.emplace().fill(0xa0);
    };
    Hostile hostile(options);
    ASSERT_TRUE(hostile.handshake());
    for (int i = 0; i < 100; ++i) {
      hostile.send(kPing);  // numbers for the reset to look like
      if (i % 50 == 0) hostile.run(Duration::milliseconds(1));
    }
    hostile.run(Duration::milliseconds(5));
    wire::ResetToken token;
    token.fill(0xa0);
    ByteVector datagram = reset(hostile.raw.dcid(), token, 21 + seed, random);
    if (seed % 4 == 0 && datagram.size() > 32) datagram[9] = 0xc3;
    hostile.inject(datagram);
    hostile.run(Duration::milliseconds(5));
    EXPECT_TRUE(hostile.closed()) << "seed " << seed;
  }
}

TEST(Datagrams, R24ClientsWithoutConnectionIds) {
  Hostile::Options options;
  options.raw.scid = wire::ConnectionId();
  Hostile hostile(options);
  hostile.begin();
  RawPeer::Options second = options.raw;
  second.name = 2;
  RawPeer other(Side::client, second, [&](Bytes datagram) { hostile.inject(datagram); });
  const auto tls = *tls::ClientConfig::create(options.session.client_tls);
  other.connect(*tls);
  hostile.run(Duration::milliseconds(500));
  EXPECT_EQ(hostile.session.server->connection_count(), 2U);
  hostile.expect_alive();
}

TEST(Datagrams, R96TokensOfNobody) {
  std::mt19937 random(96);
  for (const bool always_retry : {false, true}) {
    for (const std::size_t size : std::array<std::size_t, 6>{0, 1, 5, 17, 60, 900}) {
      Hostile::Options options;
      options.session.server.always_retry = always_retry;
      options.raw.token.resize(size);
      for (auto& byte : options.raw.token) byte = static_cast<std::uint8_t>(random());
      if (size == 5) options.raw.token = {1, 0, 0, 0, 0};
      Hostile hostile(options);
      hostile.begin();
      hostile.run(Duration::milliseconds(300));
      // The raw client ignores Retry packets, so it gets no further with one.
      EXPECT_EQ(hostile.raw.complete(), !always_retry) << size;
      EXPECT_EQ(hostile.session.server->stats().retries_sent > 0, always_retry);
      hostile.expect_alive();
    }
  }
}

/// A client whose first Initial gets `answer` (made from client's destination and source
/// IDs) before the real server's answer.
template <class MakeAnswer>
void answer_first(Hostile& hostile, MakeAnswer make) {
  hostile.on_first = [&hostile, make](Bytes first) {
    const auto header = wire::parse_invariants(first, limits::kLocalCidLength);
    ASSERT_TRUE(header);
    hostile.inject(make(*header));
    hostile.raw_accept(first);
  };
}

ByteVector version_negotiation(Bytes dcid, Bytes scid, std::vector<std::uint32_t> versions) {
  ByteVector out(256);
  wire::Writer<wire::Forward> writer(out);
  EXPECT_TRUE(wire::write_version_negotiation(writer, dcid, scid, versions, 0x33));
  out.resize(writer.written());
  return out;
}

Hostile::Options client_victim() {
  Hostile::Options options;
  options.victim = Side::client;
  return options;
}

TEST(Datagrams, R97RetryFromTheSameId) {
  Hostile hostile(client_victim());
  answer_first(hostile, [](const wire::InvariantHeader& header) {
    const protect::RetryIntegrity integrity(*wire::find_version(wire::kVersion1));
    ByteVector out(256);
    wire::Writer<wire::Forward> writer(out);
    const auto dcid = *wire::ConnectionId::from(header.dcid);
    const std::array<std::uint8_t, 3> token = {1, 2, 3};
    EXPECT_TRUE(
        integrity.write(writer, dcid, *wire::ConnectionId::from(header.scid), dcid, token, 0));
    out.resize(writer.written());
    return out;
  });
  EXPECT_TRUE(hostile.handshake());
  EXPECT_FALSE(hostile.core().retry_scid);
  hostile.expect_alive();
}

TEST(Datagrams, R103ForgedVersionNegotiation) {
  {
    Hostile hostile(client_victim());
    answer_first(hostile, [](const wire::InvariantHeader& header) {
      // It lists the version in use.
      return version_negotiation(header.scid, header.dcid, {0x1a2a3a4a, wire::kVersion1});
    });
    EXPECT_TRUE(hostile.handshake());
    hostile.expect_alive();
  }
  {
    Hostile hostile(client_victim());
    answer_first(hostile, [](const wire::InvariantHeader& header) {
      // It answers another Initial.
      const std::array<std::uint8_t, 8> other = {1, 2, 3};
      return version_negotiation(header.scid, other, {0x1a2a3a4a});
    });
    EXPECT_TRUE(hostile.handshake());
  }
  {
    // After a packet of the server it comes too late.
    Hostile hostile(client_victim());
    ASSERT_TRUE(hostile.handshake());
    hostile.inject(version_negotiation(hostile.raw.dcid().bytes(),
                                       hostile.raw.original_dcid().bytes(), {0x1a2a3a4a}));
    hostile.run(Duration::milliseconds(20));
    EXPECT_FALSE(hostile.closed());
  }
  {
    // This one is believed, there being nothing to check it by (RFC 9000 §6.2).
    Hostile hostile(client_victim());
    answer_first(hostile, [](const wire::InvariantHeader& header) {
      return version_negotiation(header.scid, header.dcid, {0x1a2a3a4a});
    });
    EXPECT_FALSE(hostile.handshake());
    EXPECT_EQ(hostile.victim()->close_reason().kind, CloseReason::Kind::version_negotiation);
    hostile.expect_alive();
  }
}

}  // namespace
}  // namespace quasi::hostile
