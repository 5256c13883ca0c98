// Which frames may be in which packets (see wire/frame.h).
#include "wire/frame.h"

namespace quasi::wire {
namespace {

constexpr std::uint8_t bit(PacketType packet) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(packet));
}

constexpr std::uint8_t kInitial = bit(PacketType::initial);
constexpr std::uint8_t kZeroRtt = bit(PacketType::zero_rtt);
constexpr std::uint8_t kHandshake = bit(PacketType::handshake);
constexpr std::uint8_t kOneRtt = bit(PacketType::one_rtt);

constexpr std::uint8_t kAll = kInitial | kHandshake | kZeroRtt | kOneRtt;
constexpr std::uint8_t kNotZeroRtt = kInitial | kHandshake | kOneRtt;
constexpr std::uint8_t kApplication = kZeroRtt | kOneRtt;

// RFC 9000 §12.4, table 3, where §12.5 takes RETIRE_CONNECTION_ID out of 0-RTT.
constexpr std::array<std::uint8_t, frame_type::kDatagramWithLength + 1> make_table() {
  std::array<std::uint8_t, frame_type::kDatagramWithLength + 1> table{};
  for (std::size_t type = 0; type <= frame_type::kHandshakeDone; ++type) {
    table[type] = kApplication;
  }
  table[frame_type::kPadding] = kAll;
  table[frame_type::kPing] = kAll;
  table[frame_type::kAck] = kNotZeroRtt;
  table[frame_type::kAckEcn] = kNotZeroRtt;
  table[frame_type::kCrypto] = kNotZeroRtt;
  table[frame_type::kNewToken] = kOneRtt;
  table[frame_type::kRetireConnectionId] = kOneRtt;
  table[frame_type::kPathResponse] = kOneRtt;
  table[frame_type::kConnectionCloseTransport] = kAll;
  table[frame_type::kHandshakeDone] = kOneRtt;
  table[frame_type::kDatagram] = kApplication;  // RFC 9221 §4
  table[frame_type::kDatagramWithLength] = kApplication;
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

std::uint8_t permitted_packets(std::uint64_t type) {
  return type < kTable.size() ? kTable[static_cast<std::size_t>(type)] : std::uint8_t{0};
}

}  // namespace quasi::wire
