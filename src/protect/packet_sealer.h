// Applies packet protection to groups of packets that are about to be sent (RFC
// 9001 §5.3, §5.4): one call of the AEAD layer seals all of them, a second one makes
// their header masks. In place; nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protect/key_phases.h"
#include "protect/keys.h"
#include "quasi/aead.h"
#include "quasi/result.h"

namespace quasi::protect {

/// RFC 9001 §5.4.2: packet number and payload together need so many bytes, or there
/// is nothing to sample; builders pad up to it.
inline constexpr std::size_t kMinNumberAndPayload = 4;

/// One packet on its way out: header, plaintext, and room for the tag behind it.
struct TxPacket {
  std::uint8_t* data = nullptr;
  std::uint32_t size = 0;  // the whole packet with its tag
  std::uint32_t packet_number_offset = 0;
  std::uint32_t packet_number_length = 1;
  std::uint64_t packet_number = 0;

  [[nodiscard]] std::uint32_t header_size() const {
    return packet_number_offset + packet_number_length;
  }
};

/// Owns the scratch space: keep one per endpoint.
class PacketSealer {
 public:
  /// Larger groups are worked off in pieces of this size.
  static constexpr std::size_t kMaxGroup = 64;

  /// Seals and masks all packets. INTERNAL_ERROR, and none is fit to be sent, when
  /// one is shorter than kMinNumberAndPayload asks for or there is no key.
  [[nodiscard]] Status seal(std::span<const TxPacket> packets, const PacketKey& key,
                            const aead::HeaderKey& header_key);
  /// The same for 1-RTT packets, in ascending order, whose headers carry
  /// phases.send_phase_bit(). Counts them; AEAD_LIMIT_REACHED, with nothing sealed,
  /// when the key may not seal so many (RFC 9001 §6.6).
  [[nodiscard]] Status seal(std::span<const TxPacket> packets, KeyPhases& phases);

 private:
  std::array<aead::Job, kMaxGroup> jobs_;
  std::array<aead::MaskJob, kMaxGroup> masks_;
};

}  // namespace quasi::protect
