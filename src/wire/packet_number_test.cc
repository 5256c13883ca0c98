// Truncated packet numbers: RFC 9000's examples, and both directions together.
#include "wire/packet_number.h"

#include <gtest/gtest.h>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

// RFC 9000 A.2.
TEST(PacketNumber, LengthExamples) {
  EXPECT_EQ(packet_number_length(0xac5c02, 0xabe8b3), 2U);
  EXPECT_EQ(packet_number_length(0xace8fe, 0xabe8b3), 3U);
  EXPECT_EQ(packet_number_length(0, std::nullopt), 1U);
  EXPECT_EQ(packet_number_length(127, std::nullopt), 1U);
  EXPECT_EQ(packet_number_length(128, std::nullopt), 2U);
  EXPECT_EQ(packet_number_length(kMaxVarint, std::nullopt), 4U);
}

// RFC 9000 A.3.
TEST(PacketNumber, DecodeExample) {
  EXPECT_EQ(decode_truncated(0xa82f30ea + 1, 0x9b32, 16), 0xa82f9b32U);
}

TEST(PacketNumber, DecodesAtTheEnds) {
  EXPECT_EQ(decode_truncated(0, 0, 8), 0U);
  EXPECT_EQ(decode_truncated(0, 0xff, 8), 0xffU);  // nothing lies below zero
  EXPECT_EQ(decode_truncated(1, 0xff, 8), 0xffU);
  EXPECT_EQ(decode_truncated(0x100, 0xff, 8), 0xffU);
  EXPECT_EQ(decode_truncated(0x80, 0x00, 8), 0x100U);
  EXPECT_EQ(decode_truncated(0x7f, 0x00, 8), 0x00U);
  EXPECT_EQ(decode_truncated(kMaxVarint, 0xff, 8), kMaxVarint);
  EXPECT_EQ(decode_truncated(kMaxVarint, 0x00, 8), kMaxVarint - 0xff);  // nothing above 2^62
}

// Whatever is in flight, a receiver that has seen anything from the acknowledged
// packet up to the one before this decodes it. Also with VReverso's two bits fewer.
TEST(PacketNumber, RoundTrips) {
  testing::Random random(3);
  for (int round = 0; round < 200'000; ++round) {
    const std::size_t spare = random.below(2) * 2;
    const std::uint64_t acked = random.next() >> (2 + random.below(60));
    const std::uint64_t distance =
        1 + (random.next() & ((std::uint64_t{1} << random.below(32 - spare)) - 1));
    const std::uint64_t number = std::min(acked + distance, kMaxVarint);
    if (number <= acked) continue;
    const std::size_t length = packet_number_length(number, acked, spare);
    const std::size_t bits = 8 * length - spare;
    const std::uint64_t truncated = number & ((std::uint64_t{1} << bits) - 1);
    const std::uint64_t seen = acked + random.below(static_cast<std::size_t>(number - acked));
    ASSERT_EQ(decode_truncated(seen + 1, truncated, bits), number)
        << acked << " " << seen << " " << number;
  }
}

TEST(PacketNumber, FirstPackets) {
  for (std::uint64_t number = 0; number < 100'000; number += 1 + number / 50) {
    const std::size_t bits = 8 * packet_number_length(number, std::nullopt);
    const std::uint64_t truncated = number & ((std::uint64_t{1} << bits) - 1);
    EXPECT_EQ(decode_truncated(0, truncated, bits), number);
  }
}

}  // namespace
}  // namespace quasi::wire
