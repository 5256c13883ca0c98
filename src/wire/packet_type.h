// The kinds of packets of RFC 9000 §17, shared by headers, frames and protection.
#pragma once

#include <cstdint>

namespace quasi::wire {

/// The first four are long headers, in the order of version 1's type bits.
enum class PacketType : std::uint8_t {
  initial = 0,
  zero_rtt = 1,
  handshake = 2,
  retry = 3,
  one_rtt = 4,
  version_negotiation = 5,
};

}  // namespace quasi::wire
