// Version Negotiation packets: written by the server's rules, read by the client's,
// forged ones ignored.
#include "endpoint/version_negotiation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "endpoint/seeded_entropy.h"

namespace quasi::endpoint {
namespace {

using Kind = NegotiationVerdict::Kind;

constexpr std::uint32_t kUnknown = 0xff00001d;
constexpr std::uint32_t kOurs[] = {wire::kVersion2, wire::kVersion1};

wire::ConnectionId cid(std::size_t size, std::uint8_t value) {
  const std::vector<std::uint8_t> bytes(size, value);
  return *wire::ConnectionId::from(bytes);
}

const wire::ConnectionId kDcid = cid(8, 0xdd);
const wire::ConnectionId kScid = cid(5, 0x55);

/// A long header of `version` as a datagram of `size` bytes.
std::vector<std::uint8_t> datagram(std::uint32_t version, std::size_t size, Bytes dcid,
                                   Bytes scid) {
  std::vector<std::uint8_t> out(size);
  wire::Writer<wire::Forward> writer(out);
  writer.u8(0xc3);
  writer.u32(version);
  writer.u8(static_cast<std::uint8_t>(dcid.size()));
  writer.bytes(dcid);
  writer.u8(static_cast<std::uint8_t>(scid.size()));
  writer.bytes(scid);
  EXPECT_TRUE(writer.ok());
  return out;
}

std::vector<std::uint8_t> answer(const std::vector<std::uint8_t>& trigger,
                                 const Entropy& entropy = seeded_entropy(1)) {
  const auto header = wire::parse_invariants(trigger, 8);
  EXPECT_TRUE(header);
  std::vector<std::uint8_t> out(1200);
  out.resize(write_version_negotiation(out, *header, trigger.size(), kOurs, entropy));
  return out;
}

std::vector<std::uint8_t> answer() {
  return answer(datagram(kUnknown, 1200, kDcid.bytes(), kScid.bytes()));
}

wire::PacketView parsed(std::vector<std::uint8_t>& packet) {
  wire::PacketView view;
  EXPECT_EQ(wire::parse_packet(packet, 8, false, view), wire::ParseOutcome::packet);
  return view;
}

NegotiationVerdict judge(std::vector<std::uint8_t> packet, std::uint32_t version = kUnknown) {
  const wire::PacketView view = parsed(packet);
  return judge_version_negotiation(view, kDcid, kScid, version, kOurs);
}

TEST(VersionNegotiation, AnswerListsOursAndAReservedVersion) {
  std::vector<std::uint8_t> packet = answer();
  const wire::PacketView view = parsed(packet);
  EXPECT_EQ(view.type, wire::PacketType::version_negotiation);
  EXPECT_EQ(view.dcid, kScid);
  EXPECT_EQ(view.scid, kDcid);
  const wire::VersionList list(view);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list.contains(wire::kVersion1));
  EXPECT_TRUE(list.contains(wire::kVersion2));
  std::size_t reserved = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (wire::is_reserved_version(list[i])) ++reserved;
  }
  EXPECT_EQ(reserved, 1u);
}

TEST(VersionNegotiation, ReservedVersionVariesInPlaceAndValueAndIsNotTheOneOffered) {
  std::set<std::size_t> places;
  std::set<std::uint32_t> values;
  const Entropy entropy = seeded_entropy(2);
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t offered = i % 2 == 0 ? kUnknown : 0x0a0a0a0aU;
    std::vector<std::uint8_t> packet =
        answer(datagram(offered, 1200, kDcid.bytes(), kScid.bytes()), entropy);
    const wire::VersionList list(parsed(packet));
    EXPECT_FALSE(list.contains(offered));
    for (std::size_t place = 0; place < list.size(); ++place) {
      if (!wire::is_reserved_version(list[place])) continue;
      places.insert(place);
      values.insert(list[place]);
    }
  }
  EXPECT_EQ(places.size(), 3u);
  EXPECT_GT(values.size(), 100u);
}

TEST(VersionNegotiation, CidsOfForeignVersionsMayBeLong) {
  const std::vector<std::uint8_t> dcid(255, 1), scid(200, 2);
  const std::vector<std::uint8_t> packet = answer(datagram(kUnknown, 1200, dcid, scid));
  const auto header = wire::parse_invariants(packet, 8);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->version, wire::kVersionNegotiation);
  EXPECT_TRUE(std::ranges::equal(header->dcid, scid));
  EXPECT_TRUE(std::ranges::equal(header->scid, dcid));
}

TEST(VersionNegotiation, NoAnswerToSmallOnesNorToItsOwnKind) {
  const auto d = kDcid.bytes(), s = kScid.bytes();
  EXPECT_TRUE(answer(datagram(kUnknown, 1199, d, s)).empty());
  EXPECT_TRUE(answer(datagram(wire::kVersionNegotiation, 1200, d, s)).empty());
  std::vector<std::uint8_t> short_header(1200, 0x40);
  EXPECT_TRUE(answer(short_header).empty());
  // Nor when there is no room.
  const auto trigger = datagram(kUnknown, 1200, d, s);
  std::vector<std::uint8_t> out(20);
  EXPECT_EQ(write_version_negotiation(out, *wire::parse_invariants(trigger, 8), trigger.size(),
                                      kOurs, seeded_entropy(1)),
            0u);
}

TEST(VersionNegotiation, ClientTakesTheFirstItPrefers) {
  const auto verdict = judge(answer());
  EXPECT_EQ(verdict.kind, Kind::use);
  EXPECT_EQ(verdict.version, wire::kVersion2);
}

TEST(VersionNegotiation, ClientIgnoresWhatListsTheVersionInUse) {
  EXPECT_EQ(judge(answer(), wire::kVersion1).kind, Kind::ignore);
}

TEST(VersionNegotiation, ClientIgnoresWhatDoesNotBringItsIdsBack) {
  std::vector<std::uint8_t> packet = answer();
  // Byte 5 is the length of the first ID (our 5 bytes); 6 is in it, 12 in the second.
  for (std::size_t at : {6u, 10u, 12u, 19u}) {
    std::vector<std::uint8_t> forged = packet;
    forged[at] ^= 1;
    EXPECT_EQ(judge(forged).kind, Kind::ignore) << at;
  }
}

TEST(VersionNegotiation, ClientGivesUpWhenNothingIsCommon) {
  std::vector<std::uint8_t> packet = answer();
  packet.resize(packet.size() - 12);
  std::vector<std::uint8_t> empty = packet;
  EXPECT_EQ(judge(empty).kind, Kind::ignore);
  for (std::uint8_t byte :
       {std::uint8_t{0xfa}, std::uint8_t{0xfa}, std::uint8_t{0xfa}, std::uint8_t{0xfa}}) {
    packet.push_back(byte);
  }
  EXPECT_EQ(judge(packet).kind, Kind::no_common);
  // Even if the client listed a reserved version among its own, it would not "use" it.
  const std::uint32_t supported[] = {0xfafafafa};
  std::vector<std::uint8_t> copy = packet;
  const wire::PacketView view = parsed(copy);
  EXPECT_EQ(judge_version_negotiation(view, kDcid, kScid, kUnknown, supported).kind,
            Kind::no_common);
  packet.push_back(0);  // a truncated version at the end is no version
  EXPECT_EQ(judge(packet).kind, Kind::no_common);
}

TEST(VersionNegotiation, OtherPacketsAreNone) {
  std::vector<std::uint8_t> initial(1200, 0);
  wire::Writer<wire::Forward> writer(initial);
  const auto layout = wire::write_long_header(writer, *wire::find_version(wire::kVersion1),
                                              wire::PacketType::initial, kScid, kDcid, {}, 0, 4);
  ASSERT_TRUE(layout);
  wire::set_length(initial, *layout);
  EXPECT_EQ(judge(initial).kind, Kind::ignore);
}

}  // namespace
}  // namespace quasi::endpoint
