// Headers: routing by invariants, coalesced packets, truncation, and what is
// written is read back, for every version.
#include "wire/packet_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::from_hex;
using testing::Random;
using testing::to_hex;

ConnectionId cid(std::string_view hex) { return *ConnectionId::from(from_hex(hex)); }

PacketView parse(std::vector<std::uint8_t>& datagram, std::size_t short_length = 4) {
  PacketView packet;
  EXPECT_EQ(parse_packet(datagram, short_length, false, packet), ParseOutcome::packet);
  return packet;
}

TEST(PacketHeader, Invariants) {
  // An unknown version with IDs longer than version 1 allows.
  std::string hex = "b3 1a2b3c4d ff";
  for (int i = 0; i < 255; ++i) hex += "dd";
  hex += "02 0102 deadbeef";
  const auto datagram = from_hex(hex);
  const auto header = parse_invariants(datagram, 8);
  ASSERT_TRUE(header.has_value());
  EXPECT_TRUE(header->is_long);
  EXPECT_EQ(header->version, 0x1a2b3c4dU);
  EXPECT_EQ(header->dcid.size(), 255U);
  EXPECT_EQ(to_hex(header->scid), "0102");
  EXPECT_EQ(header->size, datagram.size() - 4);
  for (std::size_t size = 0; size < header->size; ++size) {
    EXPECT_FALSE(parse_invariants(Bytes(datagram).first(size), 8).has_value());
  }

  const auto brief = from_hex("41 0102030405060708 99");
  const auto short_header = parse_invariants(brief, 8);
  ASSERT_TRUE(short_header.has_value());
  EXPECT_FALSE(short_header->is_long);
  EXPECT_EQ(to_hex(short_header->dcid), "0102030405060708");
  EXPECT_FALSE(parse_invariants(brief, 10).has_value());
  EXPECT_TRUE(parse_invariants(brief, 0).has_value());
}

// The headers of RFC 9001 A.2 and A.3.
TEST(PacketHeader, InitialExamples) {
  std::array<std::uint8_t, 64> room{};
  Writer<Forward> writer(room);
  const VersionInfo& v1 = *find_version(kVersion1);
  const auto client = write_long_header(writer, v1, PacketType::initial, cid("8394c8f03e515708"),
                                        ConnectionId(), {}, 2, 4);
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->size, 22U);
  EXPECT_EQ(client->packet_number_offset, 18U);
  EXPECT_EQ(client->size,
            long_header_size(PacketType::initial, cid("8394c8f03e515708"), ConnectionId(), 0, 4));
  std::vector<std::uint8_t> packet(room.begin(), room.begin() + 22);
  packet.resize(1200);
  set_length(packet, *client);
  EXPECT_EQ(to_hex(Bytes(packet).first(22)), "c300000001088394c8f03e5157080000449e00000002");

  const PacketView view = parse(packet);
  EXPECT_EQ(view.type, PacketType::initial);
  EXPECT_EQ(view.version, &v1);
  EXPECT_EQ(view.dcid, cid("8394c8f03e515708"));
  EXPECT_TRUE(view.scid.empty());
  EXPECT_TRUE(view.token.empty());
  EXPECT_EQ(view.packet_number_offset, 18U);
  EXPECT_EQ(view.bytes.size(), 1200U);

  Writer<Forward> second(room);
  const auto server = write_long_header(second, v1, PacketType::initial, ConnectionId(),
                                        cid("f067a5502a4262b5"), {}, 1, 2);
  ASSERT_TRUE(server.has_value());
  std::vector<std::uint8_t> reply(room.begin(), room.begin() + 20);
  reply.resize(20 + 99 + 16);
  set_length(reply, *server);
  EXPECT_EQ(to_hex(Bytes(reply).first(20)), "c1000000010008f067a5502a4262b50040750001");
}

TEST(PacketHeader, EveryLongHeaderOfEveryVersion) {
  const auto token = from_hex("0102030405");
  for (const VersionInfo& version : known_versions()) {
    for (const PacketType type :
         {PacketType::initial, PacketType::zero_rtt, PacketType::handshake}) {
      for (std::size_t length = 1; length <= 4; ++length) {
        const Bytes used = type == PacketType::initial ? Bytes(token) : Bytes();
        std::vector<std::uint8_t> packet(80);
        Writer<Forward> writer(packet);
        const auto layout = write_long_header(writer, version, type, cid("d1d2"), cid("55"), used,
                                              0x1234567890, length);
        ASSERT_TRUE(layout.has_value());
        EXPECT_EQ(layout->size, writer.written());
        EXPECT_EQ(layout->size,
                  long_header_size(type, cid("d1d2"), cid("55"), used.size(), length));
        set_length(packet, *layout);
        packet.resize(100);  // something follows
        const PacketView view = parse(packet);
        EXPECT_EQ(view.type, type);
        EXPECT_EQ(view.version, &version);
        EXPECT_EQ(view.dcid, cid("d1d2"));
        EXPECT_EQ(view.scid, cid("55"));
        EXPECT_EQ(to_hex(view.token), to_hex(used));
        EXPECT_EQ(view.bytes.size(), 80U);
        EXPECT_EQ(view.packet_number_offset, layout->packet_number_offset);
        EXPECT_EQ(packet[0] & kPacketNumberLengthBits, length - 1);
        EXPECT_EQ(to_hex(Bytes(packet).subspan(layout->packet_number_offset, length)),
                  std::string("34567890").substr(8 - 2 * length));
        // One byte too few of room: nothing is written.
        Writer<Forward> small(MutableBytes(packet).first(layout->size - 1));
        EXPECT_FALSE(
            write_long_header(small, version, type, cid("d1d2"), cid("55"), used, 1, length)
                .has_value());
        EXPECT_EQ(small.written(), 0U);
        EXPECT_TRUE(small.ok());
      }
    }
  }
}

TEST(PacketHeader, VersionsDiffer) {
  EXPECT_EQ(find_version(kVersion2)->type_bits, (std::array<std::uint8_t, 4>{1, 2, 3, 0}));
  for (const VersionInfo& version : known_versions()) {
    for (std::size_t type = 0; type < 4; ++type) {
      EXPECT_EQ(version.types[version.type_bits[type]], static_cast<PacketType>(type));
    }
  }
  EXPECT_TRUE(find_version(kVersionReverso)->reversed);
  EXPECT_FALSE(find_version(kVersion1)->reversed);
  EXPECT_EQ(find_version(0), nullptr);
  EXPECT_EQ(find_version(2), nullptr);
  EXPECT_TRUE(is_reserved_version(0x1a2a3a4a));
  EXPECT_FALSE(is_reserved_version(kVersion1));
}

TEST(PacketHeader, ShortHeaders) {
  std::vector<std::uint8_t> packet(40);
  Writer<Forward> writer(packet);
  const auto layout = write_short_header(writer, cid("c0c1c2c3"), true, true, 0xabcdef, 3);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->size, 8U);
  EXPECT_EQ(layout->packet_number_offset, 5U);
  EXPECT_EQ(to_hex(Bytes(packet).first(8)), "66c0c1c2c3abcdef");
  const PacketView view = parse(packet);
  EXPECT_EQ(view.type, PacketType::one_rtt);
  EXPECT_EQ(view.dcid, cid("c0c1c2c3"));
  EXPECT_EQ(view.packet_number_offset, 5U);
  EXPECT_EQ(view.bytes.size(), 40U);

  Writer<Forward> plain(packet);
  ASSERT_TRUE(write_short_header(plain, cid(""), false, false, 5, 1).has_value());
  EXPECT_EQ(to_hex(plain.output()), "4005");
  Writer<Forward> small(MutableBytes(packet).first(7));
  EXPECT_FALSE(write_short_header(small, cid("c0c1c2c3"), true, true, 1, 3).has_value());
  EXPECT_EQ(small.written(), 0U);
}

TEST(PacketHeader, FixedBit) {
  std::vector<std::uint8_t> short_packet = from_hex("01 c0c1c2c3 99 99 99");
  std::vector<std::uint8_t> long_packet = from_hex("80 00000001 00 00 00 02 0102");
  PacketView view;
  EXPECT_EQ(parse_packet(short_packet, 4, false, view), ParseOutcome::malformed);
  EXPECT_EQ(parse_packet(long_packet, 4, false, view), ParseOutcome::malformed);
  EXPECT_EQ(parse_packet(short_packet, 4, true, view), ParseOutcome::packet);
  EXPECT_EQ(parse_packet(long_packet, 4, true, view), ParseOutcome::packet);
}

TEST(PacketHeader, Retry) {
  const auto token = from_hex("746f6b656e");
  std::vector<std::uint8_t> packet(64);
  Writer<Forward> writer(packet);
  ASSERT_TRUE(
      write_retry(writer, *find_version(kVersion1), cid(""), cid("f067a5502a4262b5"), token, 0xf));
  packet.resize(writer.written());
  EXPECT_EQ(to_hex(packet), "ff000000010008f067a5502a4262b5746f6b656e");
  packet.resize(packet.size() + 16);  // the tag
  const PacketView view = parse(packet);
  EXPECT_EQ(view.type, PacketType::retry);
  EXPECT_EQ(to_hex(view.token), "746f6b656e");
  EXPECT_EQ(view.scid, cid("f067a5502a4262b5"));
  EXPECT_EQ(view.bytes.size(), packet.size());
  packet.resize(15 + 15);  // less than a tag
  PacketView ignored;
  EXPECT_EQ(parse_packet(packet, 4, false, ignored), ParseOutcome::malformed);
}

TEST(PacketHeader, VersionNegotiation) {
  const std::vector<std::uint8_t> long_id(255, 7);
  const std::uint32_t versions[] = {kVersion1, 0x0a0a0a0a};
  std::vector<std::uint8_t> packet(300);
  Writer<Forward> writer(packet);
  ASSERT_TRUE(write_version_negotiation(writer, from_hex("0102"), from_hex("03"), versions, 0x95));
  packet.resize(writer.written());
  EXPECT_EQ(to_hex(packet),
            "d500000000"
            "020102"
            "0103"
            "00000001"
            "0a0a0a0a");
  packet.push_back(0x77);  // a truncated third version
  const PacketView view = parse(packet);
  EXPECT_EQ(view.type, PacketType::version_negotiation);
  EXPECT_EQ(view.version, nullptr);
  const VersionList list(view);
  EXPECT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0], kVersion1);
  EXPECT_TRUE(list.contains(0x0a0a0a0a));
  EXPECT_FALSE(list.contains(kVersion2));

  // Long IDs of unknown versions are echoed whole, but are none of ours to receive.
  packet.resize(300);
  Writer<Forward> echo(packet);
  ASSERT_TRUE(write_version_negotiation(echo, long_id, {}, versions, 0));
  EXPECT_EQ(parse_invariants(echo.output(), 0)->dcid.size(), 255U);
  PacketView ignored;
  EXPECT_EQ(parse_packet(echo.output(), 4, false, ignored), ParseOutcome::malformed);
}

TEST(PacketHeader, UnsupportedVersion) {
  auto packet = from_hex("c0 0a0a0a0a 02 0102 01 03 ffffff");
  PacketView view;
  EXPECT_EQ(parse_packet(packet, 4, false, view), ParseOutcome::unsupported_version);
}

/// A long header packet with `payload` bytes after its Length field.
std::vector<std::uint8_t> long_packet(PacketType type, const ConnectionId& dcid,
                                      std::size_t payload) {
  const VersionInfo& v1 = *find_version(kVersion1);
  std::vector<std::uint8_t> packet(200);
  Writer<Forward> writer(packet);
  const auto layout = write_long_header(writer, v1, type, dcid, cid("51"), {}, 0, 1);
  packet.resize(layout->packet_number_offset + payload);
  set_length(packet, *layout);
  return packet;
}

void append(std::vector<std::uint8_t>& to, const std::vector<std::uint8_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// R-72 and RFC 9000 §12.2.
TEST(PacketHeader, CoalescedPackets) {
  std::vector<std::uint8_t> datagram = long_packet(PacketType::handshake, cid("d0d1"), 30);
  append(datagram, long_packet(PacketType::initial, cid("d0d1"), 40));
  append(datagram, long_packet(PacketType::initial, cid("eeee"), 25));  // another connection
  append(datagram, long_packet(PacketType::zero_rtt, cid("d0d1"), 0));  // useless, and legal here
  append(datagram, from_hex("40 d0d1 01020304050607080910111213141516"));
  DatagramReader reader(datagram, 2);
  PacketView packet;
  std::vector<PacketType> types;
  std::size_t total = 0;
  while (reader.next(packet) == ParseOutcome::packet) {
    types.push_back(packet.type);
    total += packet.bytes.size();
  }
  EXPECT_EQ(types, (std::vector{PacketType::handshake, PacketType::initial, PacketType::zero_rtt,
                                PacketType::one_rtt}));
  EXPECT_EQ(total + long_packet(PacketType::initial, cid("eeee"), 25).size(), datagram.size());
  EXPECT_EQ(reader.next(packet), ParseOutcome::end);
}

TEST(PacketHeader, GarbageAfterAPacket) {
  for (const char* garbage :
       {"00", "0000000000", "c0", "c000000001", "c0 00000001 15", "80 00000001 00 00 00 00",
        "c0 00000001 00 00 00 7fff 00", "c0 00000001 00 00 ffffffffffffffff",
        "c0 00000001 00 00 00 ffffffffffffffff"}) {
    std::vector<std::uint8_t> datagram = long_packet(PacketType::initial, cid("d0d1"), 30);
    append(datagram, from_hex(garbage));
    DatagramReader reader(datagram, 2);
    PacketView packet;
    EXPECT_EQ(reader.next(packet), ParseOutcome::packet);
    EXPECT_EQ(reader.next(packet), ParseOutcome::malformed) << garbage;
    EXPECT_EQ(reader.next(packet), ParseOutcome::end) << garbage;
  }
}

TEST(PacketHeader, TruncatedEverywhere) {
  const auto token = from_hex("0102030405");
  std::vector<std::uint8_t> packet(60);
  Writer<Forward> writer(packet);
  const auto layout = write_long_header(writer, *find_version(kVersion1), PacketType::initial,
                                        cid("d0d1d2d3"), cid("51"), token, 0, 1);
  set_length(packet, *layout);
  for (std::size_t size = 0; size < packet.size(); ++size) {
    std::vector<std::uint8_t> part(packet.begin(),
                                   packet.begin() + static_cast<std::ptrdiff_t>(size));
    PacketView view;
    EXPECT_EQ(parse_packet(part, 4, false, view),
              size == 0 ? ParseOutcome::end : ParseOutcome::malformed);
  }
}

TEST(PacketHeader, RandomDatagrams) {
  constexpr std::uint64_t kSeed = 20260103;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 100'000; ++round) {
    std::vector<std::uint8_t> datagram = random.bytes(random.below(80));
    if (datagram.size() > 6 && random.below(4) != 0) {
      datagram[0] |= 0xc0;
      store_be(datagram.data() + 1, random.below(2) == 0 ? kVersion1 : kVersion2);
      datagram[5] &= 0x1f;
    }
    DatagramReader reader(datagram, random.below(21));
    PacketView packet;
    std::size_t packets = 0;
    std::size_t bytes = 0;
    while (reader.next(packet) == ParseOutcome::packet) {
      ++packets;
      bytes += packet.bytes.size();
      ASSERT_LE(packet.packet_number_offset, packet.bytes.size());
    }
    ASSERT_LE(bytes, datagram.size());
    ASSERT_LE(packets, datagram.size());
  }
}

}  // namespace
}  // namespace quasi::wire
