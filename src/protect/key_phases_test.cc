// Key updates between two sides, in order and out of it, early, late and forged.
#include "protect/key_phases.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/limits.h"
#include "protect/packet_opener.h"
#include "protect/packet_sealer.h"
#include "protect/test_support.h"

namespace quasi::protect {
namespace {

using testing::Built;
using testing::RawKeys;
using testing::received;

constexpr Duration kPto = Duration::milliseconds(100);
constexpr auto kAlgorithm = aead::Algorithm::aes_128_gcm;

Instant at_ms(std::int64_t ms) { return Instant::from_ns(ms * 1'000'000); }

/// What TLS would derive: keys of one direction (0: client, 1: server) and generation.
/// Header keys stay, so they do not depend on the generation.
RawKeys keys_of(unsigned direction, std::uint64_t generation,
                aead::Algorithm algorithm = kAlgorithm) {
  RawKeys keys = RawKeys::random(algorithm, 100 * generation + direction);
  keys.header_key = RawKeys::random(algorithm, direction).header_key;
  return keys;
}

using Packet = std::vector<std::uint8_t>;

/// One side with its keys, packet numbers, and a TLS that always has the next keys.
class Side {
 public:
  explicit Side(unsigned direction) : direction_(direction) {
    EXPECT_TRUE(
        phases.install(keys_of(direction, 0).material(), keys_of(1 - direction, 0).material())
            .has_value());
    give_next();
  }
  void give_next() {
    ASSERT_TRUE(phases.wants_next());
    const std::uint64_t next = phases.receive_generation() + 1;
    ASSERT_TRUE(phases
                    .set_next(keys_of(direction_, next).material(),
                              keys_of(1 - direction_, next).material())
                    .has_value());
    ASSERT_FALSE(phases.wants_next());
  }

  Packet send() {
    Built built = testing::build_short(next_number_, 4, phases.send_phase_bit(), {1, 1, 1, 1});
    built.tx.data = built.bytes.data();
    EXPECT_TRUE(sealer_->seal(std::span(&built.tx, 1), phases).has_value());
    ++next_number_;
    return built.bytes;
  }

  /// Opens packets as one group; verdicts are kept.
  Status receive(std::vector<Packet> packets, Instant now = at_ms(0), bool with_next = true) {
    std::vector<RxPacket> group;
    group.reserve(packets.size());
    for (Packet& packet : packets) group.push_back(received(packet, 5));
    opener_->unmask(group, phases.receive_header_key(), expected_);
    const Status status = opener_->open(group, phases, now, kPto);
    verdicts.clear();
    generations.clear();
    for (const RxPacket& packet : group) {
      verdicts.push_back(packet.verdict);
      generations.push_back(packet.key_generation);
      if (packet.verdict == Verdict::opened) {
        expected_ = std::max(expected_, packet.packet_number + 1);
      }
    }
    if (phases.wants_next() && with_next) give_next();
    return status;
  }

  KeyPhases phases;
  std::vector<Verdict> verdicts;
  std::vector<std::uint64_t> generations;
  std::uint64_t next_number_ = 0;

 private:
  unsigned direction_;
  std::uint64_t expected_ = 0;
  std::unique_ptr<PacketSealer> sealer_ = std::make_unique<PacketSealer>();
  std::unique_ptr<PacketOpener> opener_ = std::make_unique<PacketOpener>();
};

using Verdicts = std::vector<Verdict>;

/// A packet as a misbehaving peer makes it: any number under any keys.
Packet forge(unsigned direction, std::uint64_t number, std::uint64_t generation) {
  ProtectionKeys keys;
  EXPECT_TRUE(keys.install(keys_of(direction, generation).material()).has_value());
  const auto sealer = std::make_unique<PacketSealer>();
  Built built = testing::build_short(number, 4, (generation & 1) != 0, {1, 1, 1, 1});
  built.tx.data = built.bytes.data();
  EXPECT_TRUE(sealer->seal(std::span(&built.tx, 1), keys.packet, keys.header).has_value());
  return built.bytes;
}

TEST(KeyPhases, AnUpdateIsAnswered) {
  Side client(0);
  Side server(1);
  ASSERT_TRUE(server.receive({client.send(), client.send()}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts(2, Verdict::opened));
  EXPECT_FALSE(client.phases.start_update(at_ms(0)));  // not confirmed: RFC 9001 §6.1
  client.phases.on_handshake_confirmed();
  const Packet late = client.send();
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  EXPECT_TRUE(client.phases.send_phase_bit());
  EXPECT_FALSE(client.phases.start_update(at_ms(0)));  // unanswered

  // The server moves both directions, and keeps opening what is late.
  ASSERT_TRUE(server.receive({client.send(), client.send()}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts(2, Verdict::opened));
  EXPECT_EQ(server.generations, (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(server.phases.receive_generation(), 1U);
  EXPECT_EQ(server.phases.send_generation(), 1U);
  ASSERT_TRUE(server.receive({late}, at_ms(299)).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::opened});
  EXPECT_EQ(server.generations, std::vector<std::uint64_t>{0});

  // The client's receiving side follows with the answer.
  EXPECT_EQ(client.phases.receive_generation(), 0U);
  ASSERT_TRUE(client.receive({server.send()}).has_value());
  EXPECT_EQ(client.verdicts, Verdicts{Verdict::opened});
  EXPECT_EQ(client.phases.receive_generation(), 1U);
  EXPECT_EQ(client.phases.send_generation(), 1U);

  // Packets go on in both directions.
  ASSERT_TRUE(client.receive({server.send()}).has_value());
  ASSERT_TRUE(server.receive({client.send()}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::opened});
}

TEST(KeyPhases, OldKeysGoAfterThreeProbeTimeouts) {
  Side client(0);
  Side server(1);
  client.phases.on_handshake_confirmed();
  const Packet first = client.send();
  const Packet late = client.send();
  ASSERT_TRUE(server.receive({first}).has_value());
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  ASSERT_TRUE(server.receive({client.send()}, at_ms(1000)).has_value());
  EXPECT_EQ(server.phases.receive_generation(), 1U);
  ASSERT_TRUE(server.receive({late}, at_ms(1300)).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::no_key});
  EXPECT_EQ(server.phases.receive_generation(), 1U);
}

// Everything around an update in one group, shuffled.
TEST(KeyPhases, UpdateWithinAGroup) {
  Side client(0);
  Side server(1);
  client.phases.on_handshake_confirmed();
  const Packet a = client.send();
  const Packet b = client.send();
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  const Packet c = client.send();
  const Packet d = client.send();
  ASSERT_TRUE(server.receive({d, b, c, a}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts(4, Verdict::opened));
  EXPECT_EQ(server.generations, (std::vector<std::uint64_t>{1, 0, 1, 0}));
  EXPECT_EQ(server.phases.receive_generation(), 1U);
  // And its reordered rest.
  const Packet e = client.send();
  const Packet f = client.send();
  ASSERT_TRUE(server.receive({f}).has_value());
  ASSERT_TRUE(server.receive({e}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::opened});
}

// a second copy of the first packet of a phase is a duplicate, not an update.
TEST(KeyPhases, FirstPacketOfAPhaseTwice) {
  Side client(0);
  Side server(1);
  client.phases.on_handshake_confirmed();
  const Packet old = client.send();
  ASSERT_TRUE(server.receive({old}).has_value());
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  const Packet first = client.send();
  ASSERT_TRUE(server.receive({first, first}, at_ms(0)).has_value());
  EXPECT_EQ(server.phases.receive_generation(), 1U);
  for (const std::int64_t ms : {100, 299, 300, 5000}) {
    ASSERT_TRUE(server.receive({first}, at_ms(ms)).has_value()) << ms;
    EXPECT_EQ(server.generations, std::vector<std::uint64_t>{1});
    EXPECT_EQ(server.phases.receive_generation(), 1U);
  }
  // Old packets again: by the old keys while they are there, then by none.
  ASSERT_TRUE(server.receive({old}, at_ms(6000)).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::no_key});
  EXPECT_EQ(server.phases.receive_generation(), 1U);
}

// R-106, RFC 9001 §6.2: a second update before we acknowledged the first.
TEST(KeyPhases, SecondUpdateTooEarly) {
  for (const bool acknowledged : {false, true}) {
    Side server(1);
    ASSERT_TRUE(server.receive({forge(0, 0, 0)}).has_value());
    server.phases.on_ack_sent(0);
    ASSERT_TRUE(server.receive({forge(0, 1, 1)}).has_value());
    server.phases.on_ack_sent(0);  // of the old phase: does not count
    if (acknowledged) server.phases.on_ack_sent(1);
    const Status status = server.receive({forge(0, 2, 2)}, at_ms(1000), false);
    EXPECT_EQ(status.has_value(), acknowledged);
    if (!acknowledged) {
      EXPECT_EQ(status.error().code, TransportErrorCode::key_update_error);
    }
  }
}

// RFC 9001 §6.4: newer keys have higher packet numbers.
TEST(KeyPhases, NumbersThatContradictTheOrder) {
  {
    Side server(1);
    ASSERT_TRUE(server.receive({forge(0, 10, 0)}).has_value());
    const Status status = server.receive({forge(0, 9, 1)}, at_ms(0), false);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, TransportErrorCode::key_update_error);
  }
  {
    Side server(1);
    ASSERT_TRUE(server.receive({forge(0, 10, 1)}).has_value());
    ASSERT_TRUE(server.receive({forge(0, 8, 0)}).has_value());
    const Status status = server.receive({forge(0, 7, 1)}, at_ms(0), false);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, TransportErrorCode::key_update_error);
  }
  {
    // Old keys for a higher number, in the very group that brings the update.
    Side server(1);
    const Status status = server.receive({forge(0, 10, 1), forge(0, 11, 0)}, at_ms(0), false);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, TransportErrorCode::key_update_error);
  }
  {
    // Later they are not even tried.
    Side server(1);
    ASSERT_TRUE(server.receive({forge(0, 10, 1)}).has_value());
    ASSERT_TRUE(server.receive({forge(0, 11, 0)}).has_value());
    EXPECT_EQ(server.verdicts, Verdicts{Verdict::forged});
  }
}

TEST(KeyPhases, ForgeriesUpdateNothing) {
  Side server(1);
  ASSERT_TRUE(server.receive({forge(0, 0, 0)}).has_value());
  Packet forged = forge(0, 1, 1);
  forged.back() ^= 1;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(server.receive({forged}).has_value());
    EXPECT_EQ(server.verdicts, Verdicts{Verdict::forged});
  }
  // The key phase bit of an old packet flipped on its way.
  Packet flipped = forge(0, 2, 0);
  flipped[0] ^= 0x04;
  ASSERT_TRUE(server.receive({flipped}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::forged});
  EXPECT_EQ(server.phases.receive_generation(), 0U);
  EXPECT_EQ(server.phases.send_generation(), 0U);
  ASSERT_TRUE(server.receive({forge(0, 3, 0)}).has_value());
  EXPECT_EQ(server.verdicts, Verdicts{Verdict::opened});
}

TEST(KeyPhases, WithoutNextKeysNothingIsTried) {
  KeyPhases phases;
  ASSERT_TRUE(phases.install(keys_of(1, 0).material(), keys_of(0, 0).material()).has_value());
  EXPECT_EQ(phases.choose(true, 5), KeyPhases::Choice::none);
  EXPECT_EQ(phases.choose(false, 5), KeyPhases::Choice::current);
  phases.on_handshake_confirmed();
  EXPECT_FALSE(phases.start_update(at_ms(0)));
}

// RFC 9001 §6.1, §6.5: when we may update again.
TEST(KeyPhases, OwnUpdatesWaitForAcknowledgementAndQuiet) {
  Side client(0);
  Side server(1);
  client.phases.on_handshake_confirmed();
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  const std::uint64_t number = client.next_number_;
  ASSERT_TRUE(server.receive({client.send()}, at_ms(0)).has_value());
  ASSERT_TRUE(client.receive({server.send()}, at_ms(10)).has_value());
  EXPECT_EQ(client.phases.receive_generation(), 1U);
  EXPECT_FALSE(client.phases.may_update(at_ms(1000)));  // nothing acknowledged
  ASSERT_TRUE(client.phases.on_ack_received(number, 1).has_value());
  EXPECT_TRUE(client.phases.may_update(at_ms(1000)));

  Side again(0);
  again.phases.on_handshake_confirmed();
  ASSERT_TRUE(again.phases.start_update(at_ms(0)));
  static_cast<void>(again.send());
  ASSERT_TRUE(again.receive({forge(1, 0, 1)}, at_ms(10)).has_value());
  ASSERT_TRUE(again.phases.on_ack_received(0, 1).has_value());
  EXPECT_FALSE(again.phases.may_update(at_ms(309)));  // old keys are still there
  EXPECT_TRUE(again.phases.may_update(at_ms(310)));
  EXPECT_TRUE(again.phases.start_update(at_ms(310)));
  EXPECT_EQ(again.phases.send_generation(), 2U);
}

// RFC 9001 §6.2: whoever acknowledges new keys has to use them.
TEST(KeyPhases, AcknowledgementUnderOldKeys) {
  Side client(0);
  client.phases.on_handshake_confirmed();
  static_cast<void>(client.send());
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  static_cast<void>(client.send());
  EXPECT_TRUE(client.phases.on_ack_received(0, 0).has_value());
  const Status status = client.phases.on_ack_received(1, 0);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, TransportErrorCode::key_update_error);
}

TEST(KeyPhases, UpdatesBeforeTheConfidentialityLimit) {
  Side client(0);
  client.phases.on_handshake_confirmed();
  client.phases.on_sealed(0, (1U << 22) - 1);
  EXPECT_FALSE(client.phases.should_update(at_ms(0)));
  client.phases.on_sealed(1U << 22, 1);
  EXPECT_TRUE(client.phases.should_update(at_ms(0)));
  ASSERT_TRUE(client.phases.start_update(at_ms(0)));
  EXPECT_FALSE(client.phases.should_update(at_ms(0)));
  EXPECT_EQ(client.phases.packets_left(), 1U << 23);

  Side often(0);
  often.phases.on_handshake_confirmed();
  often.phases.set_update_interval(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(often.phases.should_update(at_ms(0)));
    static_cast<void>(often.send());
  }
  EXPECT_TRUE(often.phases.should_update(at_ms(0)));
}

// RFC 9001 §6.6.
TEST(KeyPhases, IntegrityLimits) {
  for (const aead::Algorithm algorithm : testing::kAlgorithms) {
    const std::uint64_t limit = std::uint64_t{1}
                                << (algorithm == aead::Algorithm::chacha20_poly1305 ? 36 : 52);
    KeyPhases phases;
    ASSERT_TRUE(
        phases.install(keys_of(0, 0, algorithm).material(), keys_of(1, 0, algorithm).material())
            .has_value());
    EXPECT_TRUE(phases.on_forged(limit - 1).has_value());
    const Status status = phases.on_forged(1);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, TransportErrorCode::aead_limit_reached);
    EXPECT_FALSE(phases.on_forged(limits::kMaxVarint).has_value());  // saturates
  }
}

TEST(KeyPhases, ChaChaHasNoConfidentialityLimit) {
  const auto chacha = aead::Algorithm::chacha20_poly1305;
  KeyPhases phases;
  ASSERT_TRUE(phases.install(keys_of(0, 0, chacha).material(), keys_of(1, 0, chacha).material())
                  .has_value());
  phases.on_sealed(0, std::uint64_t{1} << 40);
  EXPECT_GT(phases.packets_left(), std::uint64_t{1} << 60);
}

TEST(KeyPhases, KeysOfTheWrongSize) {
  KeyPhases phases;
  RawKeys bad = keys_of(0, 0);
  bad.key.pop_back();
  EXPECT_FALSE(phases.install(bad.material(), keys_of(1, 0).material()).has_value());
  EXPECT_FALSE(phases.install(keys_of(0, 0).material(), bad.material()).has_value());
  EXPECT_FALSE(phases.installed());
  ASSERT_TRUE(phases.install(keys_of(0, 0).material(), keys_of(1, 0).material()).has_value());
  EXPECT_FALSE(phases.set_next(bad.material(), keys_of(1, 1).material()).has_value());
  EXPECT_TRUE(phases.wants_next());
  bad = keys_of(0, 0);
  bad.iv.push_back(0);
  PacketKey key;
  EXPECT_FALSE(key.install(bad.material()).has_value());
}

}  // namespace
}  // namespace quasi::protect
