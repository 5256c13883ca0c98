// Sealing: RFC 9001 appendix A byte for byte, groups against single packets, limits.
#include "protect/packet_sealer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "protect/test_support.h"

namespace quasi::protect {
namespace {

using testing::Built;
using testing::Example;
using testing::RawKeys;
using testing::to_hex;

TEST(PacketSealer, Rfc9001Examples) {
  const auto sealer = std::make_unique<PacketSealer>();
  for (const Example& example :
       {testing::client_initial(), testing::server_initial(), testing::chacha_short()}) {
    ProtectionKeys keys;
    ASSERT_TRUE(keys.install(example.keys.material()).has_value());
    std::vector<std::uint8_t> packet = example.header;
    packet.insert(packet.end(), example.payload.begin(), example.payload.end());
    packet.resize(packet.size() + aead::kTagSize);
    const TxPacket tx{
        packet.data(), static_cast<std::uint32_t>(packet.size()),
        static_cast<std::uint32_t>(example.packet_number_offset),
        static_cast<std::uint32_t>(example.header.size() - example.packet_number_offset),
        example.packet_number};
    ASSERT_TRUE(sealer->seal(std::span(&tx, 1), keys.packet, keys.header).has_value());
    EXPECT_EQ(to_hex(packet), to_hex(example.packet));
  }
}

TEST(PacketSealer, GroupsAreLikeSinglePackets) {
  const auto sealer = std::make_unique<PacketSealer>();
  testing::Random random(5);
  for (const aead::Algorithm algorithm : testing::kAlgorithms) {
    ProtectionKeys keys;
    ASSERT_TRUE(keys.install(RawKeys::random(algorithm, 1).material()).has_value());
    std::vector<Built> group;
    for (std::uint64_t number = 0; number < 3 * PacketSealer::kMaxGroup / 2; ++number) {
      group.push_back(testing::build_short(number << 16, 1 + random.below(4), false,
                                           random.bytes(3 + random.below(1300))));
    }
    std::vector<Built> single = group;
    std::vector<TxPacket> packets;
    packets.reserve(group.size());
    for (Built& built : group) {
      built.tx.data = built.bytes.data();
      packets.push_back(built.tx);
    }
    ASSERT_TRUE(sealer->seal(packets, keys.packet, keys.header).has_value());
    for (std::size_t i = 0; i < group.size(); ++i) {
      single[i].tx.data = single[i].bytes.data();
      ASSERT_TRUE(sealer->seal(std::span(&single[i].tx, 1), keys.packet, keys.header).has_value());
      ASSERT_EQ(to_hex(group[i].bytes), to_hex(single[i].bytes)) << i;
    }
  }
}

TEST(PacketSealer, PacketsThatCannotBeSealed) {
  const auto sealer = std::make_unique<PacketSealer>();
  ProtectionKeys keys;
  Built built = testing::build_short(1, 1, false, {1, 2, 3});
  built.tx.data = built.bytes.data();
  const auto no_key = sealer->seal(std::span(&built.tx, 1), keys.packet, keys.header);
  ASSERT_FALSE(no_key.has_value());
  EXPECT_EQ(no_key.error().code, TransportErrorCode::internal_error);

  ASSERT_TRUE(
      keys.install(RawKeys::random(aead::Algorithm::aes_128_gcm, 1).material()).has_value());
  EXPECT_TRUE(sealer->seal(std::span(&built.tx, 1), keys.packet, keys.header).has_value());
  Built small = testing::build_short(1, 1, false, {1, 2});  // one byte too few to be sampled
  small.tx.data = small.bytes.data();
  const auto too_short = sealer->seal(std::span(&small.tx, 1), keys.packet, keys.header);
  ASSERT_FALSE(too_short.has_value());
  EXPECT_EQ(too_short.error().code, TransportErrorCode::internal_error);
  EXPECT_TRUE(sealer->seal({}, keys.packet, keys.header).has_value());
}

TEST(PacketSealer, StopsAtTheConfidentialityLimit) {
  const auto sealer = std::make_unique<PacketSealer>();
  const RawKeys raw = RawKeys::random(aead::Algorithm::aes_256_gcm, 2);
  KeyPhases phases;
  ASSERT_TRUE(phases.install(raw.material(), raw.material()).has_value());
  EXPECT_EQ(phases.packets_left(), std::uint64_t{1} << 23);
  phases.on_sealed(0, (1U << 23) - 1);
  Built one = testing::build_short(9, 1, false, {1, 2, 3, 4});
  Built two = testing::build_short(10, 1, false, {1, 2, 3, 4});
  one.tx.data = one.bytes.data();
  two.tx.data = two.bytes.data();
  const std::vector<std::uint8_t> before = one.bytes;
  const TxPacket both[] = {one.tx, two.tx};
  const auto refused = sealer->seal(both, phases);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, TransportErrorCode::aead_limit_reached);
  EXPECT_EQ(one.bytes, before);
  EXPECT_TRUE(sealer->seal(std::span(both).first(1), phases).has_value());
  EXPECT_EQ(phases.packets_left(), 0U);
}

}  // namespace
}  // namespace quasi::protect
