// The vocabulary of loss recovery: packet number spaces, what a sent packet
// carried, and ranges of packet numbers as ACK frames give them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/frame.h"

namespace quasi::recovery {

/// RFC 9000 §12.3. 0-RTT and 1-RTT share the application space.
enum class PacketSpace : std::uint8_t { initial = 0, handshake = 1, application = 2 };
inline constexpr std::size_t kPacketSpaces = 3;

[[nodiscard]] constexpr std::size_t index_of(PacketSpace space) {
  return static_cast<std::size_t>(space);
}

/// Packet numbers from smallest to largest, both included, as in an ACK frame.
using AckRange = wire::PnRange;
/// RFC 9000 §19.3.2: counts of packets received with each code point.
using EcnCounts = wire::EcnCounts;

/// What one frame of a sent packet carried. `id`, `offset` and `length` mean:
enum class RecordKind : std::uint8_t {
  ack,                   // offset: largest packet number acknowledged
  crypto,                // offset, length (the packet's space tells the level)
  stream,                // id: stream, offset, length, fin
  datagram,              // id: of the connection's choice; never sent again
  max_data,              // offset: the limit that was sent
  max_stream_data,       // id: stream, offset: the limit
  max_streams_bidi,      // offset: the limit
  max_streams_uni,       // offset: the limit
  data_blocked,          // offset: the limit
  stream_data_blocked,   // id: stream, offset: the limit
  streams_blocked_bidi,  // offset: the limit
  streams_blocked_uni,   // offset: the limit
  reset_stream,          // id: stream
  stop_sending,          // id: stream
  new_connection_id,     // id: sequence number
  retire_connection_id,  // id: sequence number
  new_token,
  handshake_done,
  path_challenge,  // id: path, of the connection's choice
  path_response,   // id: path; never sent again
  ping,
  mtu_probe,   // length: datagram size that was tried
  key_update,  // id: key phase counter; rides on packets whose ack matters to it
};

/// Wanted state, not a queued frame: when a packet is lost, its records tell the
/// connection which objects have to be looked at again, and the connection sends
/// whatever is then newest. 24 bytes.
struct SentRecord {
  RecordKind kind = RecordKind::ping;
  bool fin = false;
  std::uint16_t extra = 0;  // free for the connection
  std::uint32_t length = 0;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(SentRecord) == 24);

/// What the connection tells about a packet it has sent.
struct SentInfo {
  std::uint16_t size = 0;      // bytes of the QUIC packet (its part of the datagram)
  bool ack_eliciting = false;  // RFC 9000 §13.2: anything but ACK, PADDING, CONNECTION_CLOSE
  bool in_flight = false;      // RFC 9002 §2: ack-eliciting or containing PADDING
  bool ect = false;            // was sent as ECT(0)
  bool mtu_probe = false;      // its loss says nothing about congestion (RFC 9000 §14.4)
  bool off_path = false;       // went to another path than the active one: a path probe
};

}  // namespace quasi::recovery
