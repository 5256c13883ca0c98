// Transport parameters: round trips, every invalid value of RFC 9000 §18.2, and
// random bytes.
#include "wire/transport_parameters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/cursor.h"
#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::from_hex;
using testing::Random;

constexpr auto kClient = ParameterSender::client;
constexpr auto kServer = ParameterSender::server;

Result<TransportParameters> parse(std::string_view hex, ParameterSender sender = kServer) {
  return parse_transport_parameters(from_hex(hex), sender);
}

TransportParameters everything() {
  TransportParameters p;
  p.original_destination_connection_id = ConnectionId::from(std::vector<std::uint8_t>(20, 1));
  p.max_idle_timeout = kMaxVarint;
  p.stateless_reset_token = ResetToken{1, 2, 3};
  p.max_udp_payload_size = kMaxVarint;
  p.initial_max_data = kMaxVarint;
  p.initial_max_stream_data_bidi_local = kMaxVarint - 1;
  p.initial_max_stream_data_bidi_remote = kMaxVarint - 2;
  p.initial_max_stream_data_uni = kMaxVarint - 3;
  p.initial_max_streams_bidi = kMaxStreamCount;
  p.initial_max_streams_uni = kMaxStreamCount - 1;
  p.ack_delay_exponent = 20;
  p.max_ack_delay = 16383;
  p.disable_active_migration = true;
  PreferredAddress address;
  address.ipv4 = {192, 0, 2, 1};
  address.ipv4_port = 443;
  address.ipv6 = {0x20, 0x01, 0x0d, 0xb8};
  address.ipv6_port = 4433;
  address.connection_id = *ConnectionId::from(std::vector<std::uint8_t>(20, 2));
  address.reset_token = {9, 8, 7};
  p.preferred_address = address;
  p.active_connection_id_limit = kMaxVarint;
  p.initial_source_connection_id = ConnectionId::from(std::vector<std::uint8_t>(20, 3));
  p.retry_source_connection_id = ConnectionId::from(std::vector<std::uint8_t>(20, 4));
  p.max_datagram_frame_size = kMaxVarint;
  p.grease_quic_bit = true;
  VersionInformation versions;
  versions.chosen = 31;
  for (std::uint32_t i = 0; i < VersionInformation::kMaxAvailable; ++i) {
    versions.available[versions.available_count++] = i + 1;
  }
  versions.chosen_is_available = true;
  p.version_information = versions;
  p.min_ack_delay = 1000;
  return p;
}

TEST(TransportParameters, RoundTripOfEverything) {
  std::vector<std::uint8_t> room(kMaxTransportParametersSize);
  const auto size = encode_transport_parameters(everything(), kServer, ~std::uint64_t{0}, room);
  ASSERT_TRUE(size.has_value());
  const auto parsed = parse_transport_parameters(Bytes(room).first(*size), kServer);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().reason;
  EXPECT_EQ(*parsed, everything());
  // Truncated anywhere: either an error, or parameters are missing.
  for (std::size_t cut = 0; cut < *size; ++cut) {
    const std::vector<std::uint8_t> part(room.begin(),
                                         room.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto result = parse_transport_parameters(part, kServer);
    if (!result) {
      EXPECT_EQ(result.error().code, TransportErrorCode::transport_parameter_error);
    }
    EXPECT_FALSE(encode_transport_parameters(everything(), kServer, ~std::uint64_t{0},
                                             MutableBytes(room).first(cut))
                     .has_value());
    ASSERT_TRUE(
        encode_transport_parameters(everything(), kServer, ~std::uint64_t{0}, room).has_value());
  }
}

TEST(TransportParameters, ClientsSendNoServerParameters) {
  std::vector<std::uint8_t> room(kMaxTransportParametersSize);
  const auto size = encode_transport_parameters(everything(), kClient, 5, room);
  ASSERT_TRUE(size.has_value());
  const auto parsed = parse_transport_parameters(Bytes(room).first(*size), kClient);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().reason;
  TransportParameters expected = everything();
  expected.original_destination_connection_id.reset();
  expected.stateless_reset_token.reset();
  expected.preferred_address.reset();
  expected.retry_source_connection_id.reset();
  EXPECT_EQ(*parsed, expected);
}

TEST(TransportParameters, DefaultsAreNotSent) {
  std::vector<std::uint8_t> room(kMaxTransportParametersSize);
  const auto size = encode_transport_parameters({}, kServer, 0, room);
  EXPECT_EQ(size, 2U);  // only the reserved one: 27, of no bytes
  EXPECT_EQ(room[0], 27);
  const auto parsed = parse("");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, TransportParameters());
  EXPECT_EQ(parsed->max_udp_payload_size, 65527U);
  EXPECT_EQ(parsed->ack_delay_exponent, 3U);
  EXPECT_EQ(parsed->max_ack_delay, 25U);
  EXPECT_EQ(parsed->active_connection_id_limit, 2U);
}

TEST(TransportParameters, ReservedOnesAreIgnored) {
  std::vector<std::uint8_t> room(kMaxTransportParametersSize);
  Random random(11);
  for (int round = 0; round < 1000; ++round) {
    const auto size = encode_transport_parameters({}, kClient, random.next(), room);
    ASSERT_TRUE(size.has_value());
    Reader<Forward> reader(Bytes(room).first(*size));
    std::uint64_t id = 0;
    ASSERT_TRUE(reader.varint(id));
    EXPECT_EQ(id % 31, 27U);
    const auto parsed = parse_transport_parameters(Bytes(room).first(*size), kServer);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(*parsed, TransportParameters());
  }
  EXPECT_TRUE(parse("7fff 03 010203").has_value());
}

TEST(TransportParameters, BoundariesThatAreValid) {
  EXPECT_EQ(parse("03 02 44b0")->max_udp_payload_size, 1200U);
  EXPECT_EQ(parse("0a 01 14")->ack_delay_exponent, 20U);
  EXPECT_EQ(parse("0b 02 7fff")->max_ack_delay, 16383U);
  EXPECT_EQ(parse("0e 01 02")->active_connection_id_limit, 2U);
  EXPECT_EQ(parse("08 08 d000000000000000")->initial_max_streams_bidi, kMaxStreamCount);
  EXPECT_EQ(parse("01 08 ffffffffffffffff")->max_idle_timeout, kMaxVarint);
  EXPECT_EQ(parse("01 02 4005")->max_idle_timeout, 5U);  // not minimal, and legal
  EXPECT_TRUE(parse("0f 00")->initial_source_connection_id->empty());
  EXPECT_EQ(parse("20 04 80010000")->max_datagram_frame_size, 65536U);
  EXPECT_TRUE(parse("6ab2 00")->grease_quic_bit);
  const auto versions = parse("11 0c 00000001 6b3343cf 00000001")->version_information;
  EXPECT_EQ(versions->chosen, 1U);
  EXPECT_EQ(versions->available_count, 2U);
  EXPECT_TRUE(versions->chosen_is_available);
  EXPECT_FALSE(parse("11 08 00000001 6b3343cf")->version_information->chosen_is_available);
  EXPECT_EQ(parse("11 04 00000001")->version_information->available_count, 0U);
}

TEST(TransportParameters, InvalidOnes) {
  const std::string address = "c0000201 01bb 20010db8000000000000000000000001 01bb";
  const std::string token(32, '0');
  const std::string invalid[] = {
      // lengths that do not fit the value, in both directions.
      "20 01 40",
      "20 03 800100",
      "20 02 05 05",
      "20 00",
      "c0000000ff04de1b 02 80 00",
      "c0000000ff04de1b 01 c0",
      "01 00",
      "01 02 05 05",
      "04 03 404040",
      "05 01 c0",
      "06 02 8000",
      "07 00",
      "09 01 40",
      //
      "0a 01 15",
      "0a 08 ffffffffffffffff",
      "0b 04 80004000",
      "03 02 44af",
      "03 01 00",
      "0e 01 01",
      "0e 01 00",
      "c0000000ff04de1b 04 800061a9",  // 25,001 us, and max_ack_delay is 25 ms
      //
      "08 08 d000000000000001",
      "09 08 ffffffffffffffff",
      // Duplicates, of known, unknown and reserved ones.
      "04 01 05 04 01 05",
      "0c 00 0c 00",
      "1b 00 1b 00",
      "7fff 00 7fff 00",
      // Connection IDs, tokens and flags of the wrong size.
      "00 15 000000000000000000000000000000000000000000",
      "0f 15 000000000000000000000000000000000000000000",
      "10 15 000000000000000000000000000000000000000000",
      "02 0f 000000000000000000000000000000",
      "02 11 0000000000000000000000000000000000",
      "0c 01 00",
      "6ab2 01 00",
      // preferred_address: empty, cut, with an empty, a too long and a cut ID, with a byte too
      // many.
      "0d 00",
      "0d 06 c0000201 01bb",
      "0d 29 " + address + " 00 " + token,
      "0d 3e " + address + " 15 " + std::string(42, '0') + token,
      "0d 2a " + address + " 02 01 " + token,
      "0d 2b " + address + " 01 01 " + token + " 00",
      // version_information: empty, cut, zeros (RFC 9368 §3).
      "11 00",
      "11 03 000000",
      "11 05 00000001 00",
      "11 04 00000000",
      "11 08 00000001 00000000",
      // Truncated ones.
      "04",
      "04 02 01",
      "40",
      "04 ffffffffffffffff 00",
      "7fff 01",
  };
  for (const std::string& hex : invalid) {
    const auto result = parse(hex);
    ASSERT_FALSE(result.has_value()) << hex;
    EXPECT_EQ(result.error().code, TransportErrorCode::transport_parameter_error) << hex;
    EXPECT_STRNE(result.error().reason, "");
  }
}

TEST(TransportParameters, ServerParametersFromAClient) {
  for (const char* hex : {"00 04 01020304", "02 10 00000000000000000000000000000000", "10 00",
                          "0d 2a c0000201 01bb 20010db8000000000000000000000001 01bb 01 01 "
                          "00000000000000000000000000000000"}) {
    EXPECT_TRUE(parse(hex, kServer).has_value()) << hex;
    const auto result = parse(hex, kClient);
    ASSERT_FALSE(result.has_value()) << hex;
    EXPECT_EQ(result.error().code, TransportErrorCode::transport_parameter_error);
  }
}

// A peer may fill the extension with tiny unknown parameters; the work stays linear
// and nothing is stored.
TEST(TransportParameters, ManyUnknownOnes) {
  std::vector<std::uint8_t> encoded(65'000);
  Writer<Forward> writer(encoded);
  for (std::uint64_t id = 1000; writer.remaining() >= 10; ++id) {
    writer.varint(id);
    writer.varint(0);
  }
  EXPECT_TRUE(parse_transport_parameters(writer.output(), kServer).has_value());
}

TEST(TransportParameters, MoreVersionsThanAreKept) {
  std::vector<std::uint8_t> encoded(1024);
  Writer<Forward> writer(encoded);
  writer.varint(0x11);
  writer.varint(4 * 101);
  writer.u32(100);
  for (std::uint32_t i = 1; i <= 100; ++i) writer.u32(i);
  const auto parsed = parse_transport_parameters(writer.output(), kClient);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->version_information->available_count, VersionInformation::kMaxAvailable);
  EXPECT_TRUE(parsed->version_information->chosen_is_available);
}

TEST(TransportParameters, RandomBytes) {
  constexpr std::uint64_t kSeed = 20260104;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  std::vector<std::uint8_t> room(kMaxTransportParametersSize);
  int valid = 0;
  for (int round = 0; round < 100'000; ++round) {
    auto bytes = random.bytes(random.below(40));
    if (random.below(2) == 0) {
      for (auto& byte : bytes) byte &= 0x13;
    }
    const auto parsed = parse_transport_parameters(bytes, kServer);
    if (!parsed) continue;
    ++valid;
    // What was accepted is encoded and read back as the same.
    const auto size = encode_transport_parameters(*parsed, kServer, 1, room);
    ASSERT_TRUE(size.has_value());
    EXPECT_EQ(parse_transport_parameters(Bytes(room).first(*size), kServer), *parsed);
  }
  EXPECT_GT(valid, 100);
}

}  // namespace
}  // namespace quasi::wire
