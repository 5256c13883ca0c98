// Builds single packets: a header, and the frames that are wanted in the order in
// which they should reach the peer (ACK, control frames, CRYPTO, DATAGRAM, STREAM).
// Packets are left unprotected, with room for the tag; each frame is recorded with
// LossRecovery, so that its loss brings back the wish for it.
#pragma once

#include <cstdint>
#include <optional>

#include "connection/core.h"
#include "quasi/bytes.h"

namespace quasi::connection {

struct PacketRequest {
  PacketSpace space = PacketSpace::application;
  bool data_allowed = false;  // congestion control lets ack-eliciting packets go
  bool must_elicit = false;   // a probe: at least a PING
  bool close = false;         // nothing but CONNECTION_CLOSE
};

struct BuiltPacket {
  PacketSpace space = PacketSpace::application;
  MutableBytes bytes;  // header, payload, room for the tag
  wire::HeaderLayout layout;
  std::uint64_t packet_number = 0;
  bool ack_eliciting = false;
  bool has_ack = false;
  bool padded = false;
  bool mtu_probe = false;
  bool closes = false;
  bool wants_full_size = false;  // carries PATH_CHALLENGE or PATH_RESPONSE
};

/// A packet of what is wanted in the space, or nothing.
[[nodiscard]] std::optional<BuiltPacket> build_packet(Core& core, const PacketRequest& request,
                                                      MutableBytes room, Instant now);
/// PING and PADDING that fill the room exactly (RFC 8899 §4.1).
[[nodiscard]] std::optional<BuiltPacket> build_mtu_probe(Core& core, MutableBytes room,
                                                         Instant now);
[[nodiscard]] std::optional<BuiltPacket> build_path_response(Core& core, const ChallengeData& data,
                                                             MutableBytes room, Instant now);
/// Adds `count` PADDING frames; the packet's bytes must have that much room behind them.
void pad_packet(BuiltPacket& packet, std::size_t count);

/// Whether there is something to send that congestion control may hold back.
[[nodiscard]] bool wants_data(const Core& core);
[[nodiscard]] bool wants_mtu_probe(const Core& core);
/// Issues connection IDs until the peer has as many as it takes.
void replenish_cids(Core& core, Instant now);

}  // namespace quasi::connection
