// The table of permitted frames, written out as RFC 9000 §12.4 prints it.
#include "wire/frame.h"

#include <gtest/gtest.h>

#include <string_view>
#include <type_traits>

namespace quasi::wire {
namespace {

// Frames are handed around by value and reused: no constructors to run.
static_assert(std::is_trivially_copyable_v<Frame>);

TEST(Frame, PermittedPackets) {
  const struct {
    std::uint64_t first, last;
    std::string_view packets;  // I, H, 0, 1 as in table 3
  } table[] = {
      {0x00, 0x00, "IH01"},  // PADDING
      {0x01, 0x01, "IH01"},  // PING
      {0x02, 0x03, "IH_1"},  // ACK
      {0x04, 0x04, "__01"},  // RESET_STREAM
      {0x05, 0x05, "__01"},  // STOP_SENDING
      {0x06, 0x06, "IH_1"},  // CRYPTO
      {0x07, 0x07, "___1"},  // NEW_TOKEN
      {0x08, 0x0f, "__01"},  // STREAM
      {0x10, 0x18, "__01"},  // MAX_DATA to NEW_CONNECTION_ID
      {0x19, 0x19, "___1"},  // RETIRE_CONNECTION_ID, by §12.5
      {0x1a, 0x1a, "__01"},  // PATH_CHALLENGE
      {0x1b, 0x1b, "___1"},  // PATH_RESPONSE
      {0x1c, 0x1c, "IH01"},  // CONNECTION_CLOSE
      {0x1d, 0x1d, "__01"},  // CONNECTION_CLOSE of the application
      {0x1e, 0x1e, "___1"},  // HANDSHAKE_DONE
      {0x1f, 0x2f, "____"},  // not registered
      {0x30, 0x31, "__01"},  // DATAGRAM
      {0x32, 0x4000, "____"}, {kMaxVarint, kMaxVarint, "____"},
  };
  std::uint64_t next = 0;
  for (const auto& row : table) {
    if (row.first != kMaxVarint) {
      EXPECT_EQ(row.first, next);
    }
    next = row.last + 1;
    for (std::uint64_t type = row.first; type <= row.last; ++type) {
      EXPECT_EQ(is_permitted(type, PacketType::initial), row.packets[0] == 'I') << type;
      EXPECT_EQ(is_permitted(type, PacketType::handshake), row.packets[1] == 'H') << type;
      EXPECT_EQ(is_permitted(type, PacketType::zero_rtt), row.packets[2] == '0') << type;
      EXPECT_EQ(is_permitted(type, PacketType::one_rtt), row.packets[3] == '1') << type;
    }
  }
}

TEST(Frame, AckElicitingAndProbing) {
  for (unsigned i = 0; i <= static_cast<unsigned>(FrameKind::datagram); ++i) {
    const auto kind = static_cast<FrameKind>(i);
    EXPECT_EQ(is_ack_eliciting(kind), kind != FrameKind::ack && kind != FrameKind::padding &&
                                          kind != FrameKind::connection_close);
  }
  EXPECT_TRUE(is_probing(FrameKind::path_challenge));
  EXPECT_TRUE(is_probing(FrameKind::path_response));
  EXPECT_TRUE(is_probing(FrameKind::new_connection_id));
  EXPECT_TRUE(is_probing(FrameKind::padding));
  EXPECT_FALSE(is_probing(FrameKind::ping));
  EXPECT_FALSE(is_probing(FrameKind::stream));
}

}  // namespace
}  // namespace quasi::wire
