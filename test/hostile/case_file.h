// A hostile input as a file: what is sent, to whom, and what has to come of it.
//
//   # comment                       anywhere at the start of a line
//   victim: server | client         who is attacked (default: server)
//   stage: connected | handshake    when: after the handshake (default), or as soon as
//                                   the raw peer has the keys, its own flight held back
//   parameters: HEX                 transport parameters of the raw peer; then the
//                                   handshake itself is the attack
//   packet: 1rtt | handshake | initial   for the payloads below (default: 1rtt)
//   payload: HEX                    frames of one packet; more lines, more packets
//   expect: 0a 07                   close codes, any of which is right, or "alive"
//   frame: 02                       the frame type of the close, if it matters
//
// HEX is bytes in hexadecimal; "xN" repeats the token or (group) before it N times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/connection.h"
#include "wire/packet_type.h"

namespace quasi::hostile {

struct Case {
  struct Packet {
    wire::PacketType type = wire::PacketType::one_rtt;
    std::vector<std::uint8_t> payload;
  };
  std::string name;
  Side victim = Side::server;
  bool during_handshake = false;
  std::vector<std::uint8_t> parameters;
  std::vector<Packet> packets;
  std::vector<std::uint64_t> codes;  // empty: the connection has to survive
  std::optional<std::uint64_t> frame_type;
};

/// A case from its text; on failure `error` says in which line and why.
[[nodiscard]] std::optional<Case> parse_case(std::string_view name, std::string_view text,
                                             std::string& error);
/// Bytes from HEX as above; empty for anything else.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text);

}  // namespace quasi::hostile
