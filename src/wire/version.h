// QUIC versions that this endpoint can speak, as rows of one table: what differs
// between them on the wire. (What differs in key schedules is TLS's.)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "quasi/bytes.h"
#include "wire/packet_type.h"

namespace quasi::wire {

inline constexpr std::uint32_t kVersionNegotiation = 0;
inline constexpr std::uint32_t kVersion1 = 0x00000001;
inline constexpr std::uint32_t kVersion2 = 0x6b3343cf;        // RFC 9369
inline constexpr std::uint32_t kVersionReverso = 0x00791097;  // VReverso

struct VersionInfo {
  std::uint32_t number = 0;
  /// Value of the two type bits of a long header, indexed by PacketType.
  std::array<std::uint8_t, 4> type_bits{};
  /// The inverse: PacketType by type bits.
  std::array<PacketType, 4> types{};
  /// RFC 9001 §5.8, RFC 9369 §3.3.3.
  std::array<std::uint8_t, 16> retry_key{};
  std::array<std::uint8_t, 12> retry_nonce{};
  /// Frames are parsed and written in the Reverse direction.
  bool reversed = false;
};

/// The row of a version, or null when it is unknown.
[[nodiscard]] const VersionInfo* find_version(std::uint32_t number);

/// All rows, the preferred ones first.
[[nodiscard]] std::span<const VersionInfo> known_versions();

/// RFC 9000 §15: versions 0x?a?a?a?a, reserved to exercise negotiation.
[[nodiscard]] constexpr bool is_reserved_version(std::uint32_t number) {
  return (number & 0x0f0f0f0fU) == 0x0a0a0a0aU;
}

}  // namespace quasi::wire
