// Retry integrity tags: the examples of RFC 9001 and RFC 9369, and forgeries.
#include "protect/retry.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/limits.h"
#include "protect/test_support.h"

namespace quasi::protect {
namespace {

using testing::from_hex;
using testing::to_hex;

wire::ConnectionId cid(std::string_view hex) { return *wire::ConnectionId::from(from_hex(hex)); }

// RFC 9001 A.4 and RFC 9369 A.4.
TEST(Retry, PublishedExamples) {
  const struct {
    std::uint32_t version;
    std::uint8_t unused;
    const char* packet;
  } examples[] = {
      {wire::kVersion1, 0xf, testing::kRetry},
      {wire::kVersion2, 0xf,
       "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6"},
  };
  for (const auto& example : examples) {
    const RetryIntegrity integrity(*wire::find_version(example.version));
    const auto token = from_hex("746f6b656e");
    std::vector<std::uint8_t> packet(100);
    wire::Writer<wire::Forward> writer(packet);
    ASSERT_TRUE(integrity.write(writer, cid("8394c8f03e515708"), {}, cid("f067a5502a4262b5"), token,
                                example.unused));
    EXPECT_EQ(to_hex(writer.output()), example.packet);
    packet.resize(writer.written());

    wire::PacketView view;
    ASSERT_EQ(wire::parse_packet(packet, 0, false, view), wire::ParseOutcome::packet);
    EXPECT_EQ(view.type, wire::PacketType::retry);
    EXPECT_TRUE(integrity.verify(cid("8394c8f03e515708"), view));
    EXPECT_FALSE(integrity.verify(cid("8394c8f03e515709"), view));
    EXPECT_FALSE(integrity.verify({}, view));
    for (std::size_t i = 0; i < packet.size(); ++i) {
      packet[i] ^= 1;
      EXPECT_FALSE(integrity.verify(cid("8394c8f03e515708"), view)) << i;
      packet[i] ^= 1;
    }
  }
}

TEST(Retry, NoRoomAndTooLong) {
  const RetryIntegrity integrity(*wire::find_version(wire::kVersion1));
  std::vector<std::uint8_t> packet(4000);
  for (std::size_t room = 0; room < 36; ++room) {
    wire::Writer<wire::Forward> writer(MutableBytes(packet).first(room));
    EXPECT_FALSE(integrity.write(writer, cid("8394c8f03e515708"), {}, cid("f067a5502a4262b5"),
                                 from_hex("746f6b656e"), 0));
    EXPECT_EQ(writer.written(), 0U);
  }
  EXPECT_TRUE(integrity.tag({}, Bytes(packet).first(limits::kMaxRetrySize)).has_value());
  EXPECT_FALSE(integrity.tag({}, Bytes(packet).first(limits::kMaxRetrySize + 1)).has_value());
}

}  // namespace
}  // namespace quasi::protect
