// Opening: RFC 9001 appendix A, groups of good and bad packets, flipped bits.
#include "protect/packet_opener.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "protect/packet_sealer.h"
#include "protect/test_support.h"

namespace quasi::protect {
namespace {

using testing::Built;
using testing::Example;
using testing::RawKeys;
using testing::received;
using testing::to_hex;

constexpr std::size_t kNumberOffset = 5;  // of build_short()

TEST(PacketOpener, Rfc9001Examples) {
  const auto opener = std::make_unique<PacketOpener>();
  for (const Example& example :
       {testing::client_initial(), testing::server_initial(), testing::chacha_short()}) {
    ProtectionKeys keys;
    ASSERT_TRUE(keys.install(example.keys.material()).has_value());
    std::vector<std::uint8_t> bytes = example.packet;
    RxPacket packet = received(bytes, example.packet_number_offset);
    opener->unmask(std::span(&packet, 1), keys.header, example.packet_number);
    EXPECT_EQ(packet.verdict, Verdict::pending);
    EXPECT_EQ(packet.packet_number, example.packet_number);
    ASSERT_EQ(packet.header_size(), example.header.size());
    EXPECT_EQ(to_hex(Bytes(bytes).first(packet.header_size())), to_hex(example.header));
    ASSERT_TRUE(opener->open(std::span(&packet, 1), keys.packet).has_value());
    EXPECT_EQ(packet.verdict, Verdict::opened);
    EXPECT_EQ(to_hex(packet.payload()), to_hex(example.payload));
  }
}

/// `count` sealed packets with numbers from `first` on.
std::vector<Built> sealed_packets(const ProtectionKeys& keys, std::uint64_t first,
                                  std::size_t count, testing::Random& random) {
  const auto sealer = std::make_unique<PacketSealer>();
  std::vector<Built> group;
  for (std::size_t i = 0; i < count; ++i) {
    group.push_back(testing::build_short(first + i, 2 + random.below(3), false,
                                         random.bytes(2 + random.below(1300))));
    Built& built = group.back();
    built.tx.data = built.bytes.data();
    EXPECT_TRUE(sealer->seal(std::span(&built.tx, 1), keys.packet, keys.header).has_value());
  }
  return group;
}

TEST(PacketOpener, GroupsOfGoodAndBadPackets) {
  constexpr std::uint64_t kSeed = 20260105;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const auto opener = std::make_unique<PacketOpener>();
  testing::Random random(kSeed);
  for (const aead::Algorithm algorithm : testing::kAlgorithms) {
    ProtectionKeys keys;
    ASSERT_TRUE(keys.install(RawKeys::random(algorithm, 1).material()).has_value());
    const std::size_t count = 2 * PacketOpener::kMaxGroup + 17;
    std::vector<Built> group = sealed_packets(keys, 70'000, count, random);
    std::vector<RxPacket> packets;
    std::vector<Verdict> expected;
    for (Built& built : group) {
      switch (random.below(5)) {
        case 0: {  // a byte of ciphertext or tag changed
          const std::size_t start = kNumberOffset + 4;
          built.bytes[start + random.below(built.bytes.size() - start)] ^= 0x40;
          expected.push_back(Verdict::forged);
          break;
        }
        case 1:  // too short to be sampled
          built.bytes.resize(random.below(kNumberOffset + 4 + 16));
          expected.push_back(Verdict::too_short);
          break;
        case 2:
          expected.push_back(Verdict::duplicate);
          break;
        default:
          expected.push_back(Verdict::opened);
          break;
      }
      packets.push_back(received(built.bytes, kNumberOffset));
    }
    opener->unmask(packets, keys.header, 70'010);
    std::vector<std::vector<std::uint8_t>> unmasked;
    for (std::size_t i = 0; i < count; ++i) {
      unmasked.push_back(group[i].bytes);
      if (expected[i] == Verdict::too_short) {
        ASSERT_EQ(packets[i].verdict, Verdict::too_short);
        continue;
      }
      ASSERT_EQ(packets[i].verdict, Verdict::pending);
      if (expected[i] != Verdict::forged) {
        ASSERT_EQ(packets[i].packet_number, 70'000 + i);
      }
      if (expected[i] == Verdict::duplicate) packets[i].verdict = Verdict::duplicate;
    }
    ASSERT_TRUE(opener->open(packets, keys.packet).has_value());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(packets[i].verdict, expected[i]) << i;
      if (expected[i] == Verdict::duplicate) {
        ASSERT_EQ(group[i].bytes, unmasked[i]);
      }
      if (expected[i] == Verdict::forged) {
        // Nothing of it is released, and its tail is still there: it may be the
        // token of a stateless reset.
        for (const std::uint8_t byte : packets[i].payload()) ASSERT_EQ(byte, 0);
        ASSERT_EQ(to_hex(Bytes(group[i].bytes).last(16)), to_hex(Bytes(unmasked[i]).last(16)));
      }
    }
    // Each opened packet has the payload that was sealed, which sealing it again shows.
    const auto sealer = std::make_unique<PacketSealer>();
    testing::Random again(kSeed);
    for (std::size_t i = 0; i < count; ++i) {
      if (expected[i] != Verdict::opened) continue;
      Built copy = group[i];
      copy.tx.data = copy.bytes.data();
      std::vector<std::uint8_t> changed = copy.bytes;
      ASSERT_TRUE(sealer->seal(std::span(&copy.tx, 1), keys.packet, keys.header).has_value());
      RxPacket packet = received(copy.bytes, kNumberOffset);
      opener->unmask(std::span(&packet, 1), keys.header, 70'010);
      ASSERT_TRUE(opener->open(std::span(&packet, 1), keys.packet).has_value());
      ASSERT_EQ(packet.verdict, Verdict::opened);
      ASSERT_EQ(copy.bytes, changed);
    }
  }
}

TEST(PacketOpener, PlaintextElsewhere) {
  const auto opener = std::make_unique<PacketOpener>();
  testing::Random random(6);
  ProtectionKeys keys;
  ASSERT_TRUE(
      keys.install(RawKeys::random(aead::Algorithm::chacha20_poly1305, 3).material()).has_value());
  std::vector<Built> group = sealed_packets(keys, 0, 2, random);
  std::vector<Built> copies = group;
  RxPacket in_place = received(group[1].bytes, kNumberOffset);
  RxPacket elsewhere = received(copies[1].bytes, kNumberOffset);
  std::vector<std::uint8_t> out(copies[1].bytes.size(), 0xaa);
  elsewhere.plaintext = out.data();
  RxPacket both[] = {in_place, elsewhere};
  opener->unmask(both, keys.header, 0);
  const std::vector<std::uint8_t> unmasked = copies[1].bytes;
  ASSERT_TRUE(opener->open(both, keys.packet).has_value());
  EXPECT_EQ(both[1].verdict, Verdict::opened);
  EXPECT_EQ(to_hex(both[0].payload()), to_hex(both[1].payload()));
  EXPECT_EQ(both[1].payload().data(), out.data());
  EXPECT_EQ(out[both[1].payload().size()], 0xaa);
  EXPECT_EQ(copies[1].bytes, unmasked);
}

// each bit of a packet flipped.
TEST(PacketOpener, FlippedBits) {
  const auto opener = std::make_unique<PacketOpener>();
  for (const Example& example : {testing::server_initial(), testing::chacha_short()}) {
    ProtectionKeys keys;
    ASSERT_TRUE(keys.install(example.keys.material()).has_value());
    for (std::size_t bit = 0; bit < 8 * example.packet.size(); ++bit) {
      std::vector<std::uint8_t> bytes = example.packet;
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << bit % 8));
      RxPacket packet = received(bytes, example.packet_number_offset);
      opener->unmask(std::span(&packet, 1), keys.header, example.packet_number);
      ASSERT_TRUE(opener->open(std::span(&packet, 1), keys.packet).has_value()) << bit;
      ASSERT_EQ(packet.verdict, Verdict::forged) << bit;
    }
  }
}

TEST(PacketOpener, TruncatedPackets) {
  const auto opener = std::make_unique<PacketOpener>();
  const Example example = testing::server_initial();
  ProtectionKeys keys;
  ASSERT_TRUE(keys.install(example.keys.material()).has_value());
  for (std::size_t size = 0; size < example.packet.size(); ++size) {
    std::vector<std::uint8_t> bytes(example.packet.begin(),
                                    example.packet.begin() + static_cast<std::ptrdiff_t>(size));
    RxPacket packet = received(bytes, example.packet_number_offset);
    opener->unmask(std::span(&packet, 1), keys.header, 0);
    ASSERT_TRUE(opener->open(std::span(&packet, 1), keys.packet).has_value());
    ASSERT_EQ(packet.verdict, size < 18 + 4 + 16 ? Verdict::too_short : Verdict::forged);
  }
}

// RFC 9000 §17.2: reserved bits matter only once the packet is known to be authentic.
TEST(PacketOpener, ReservedBits) {
  const auto opener = std::make_unique<PacketOpener>();
  const auto sealer = std::make_unique<PacketSealer>();
  ProtectionKeys keys;
  ASSERT_TRUE(
      keys.install(RawKeys::random(aead::Algorithm::aes_128_gcm, 4).material()).has_value());
  for (const unsigned bit : {0x08U, 0x10U}) {
    for (const bool forged : {false, true}) {
      Built built = testing::build_short(7, 2, false, {1, 1, 1, 1});
      built.bytes[0] = static_cast<std::uint8_t>(built.bytes[0] | bit);
      built.tx.data = built.bytes.data();
      ASSERT_TRUE(sealer->seal(std::span(&built.tx, 1), keys.packet, keys.header).has_value());
      if (forged) built.bytes.back() ^= 1;
      RxPacket packet = received(built.bytes, kNumberOffset);
      opener->unmask(std::span(&packet, 1), keys.header, 0);
      const auto status = opener->open(std::span(&packet, 1), keys.packet);
      EXPECT_EQ(status.has_value(), forged);
      if (!forged) {
        EXPECT_EQ(status.error().code, TransportErrorCode::protocol_violation);
      }
    }
  }
}

TEST(PacketOpener, NothingToDo) {
  const auto opener = std::make_unique<PacketOpener>();
  ProtectionKeys keys;
  ASSERT_TRUE(
      keys.install(RawKeys::random(aead::Algorithm::aes_128_gcm, 4).material()).has_value());
  opener->unmask({}, keys.header, 0);
  EXPECT_TRUE(opener->open({}, keys.packet).has_value());
}

}  // namespace
}  // namespace quasi::protect
