// Sealing groups of packets (see protect/packet_sealer.h).
#include "protect/packet_sealer.h"

#include <algorithm>

#include "wire/packet_header.h"

namespace quasi::protect {
namespace {

void apply_mask(const TxPacket& packet, const std::array<std::uint8_t, aead::kMaskSize>& mask) {
  const std::uint8_t masked_bits = (packet.data[0] & wire::kLongHeaderBit) != 0 ? 0x0f : 0x1f;
  packet.data[0] = static_cast<std::uint8_t>(packet.data[0] ^ (mask[0] & masked_bits));
  std::uint8_t* field = packet.data + packet.packet_number_offset;
  for (std::size_t i = 0; i < packet.packet_number_length; ++i) {
    field[i] = static_cast<std::uint8_t>(field[i] ^ mask[i + 1]);
  }
}

}  // namespace

Status PacketSealer::seal(std::span<const TxPacket> packets, const PacketKey& key,
                          const aead::HeaderKey& header_key) {
  while (!packets.empty()) {
    const std::size_t count = std::min(packets.size(), kMaxGroup);
    for (std::size_t i = 0; i < count; ++i) {
      const TxPacket& packet = packets[i];
      if (packet.size < packet.packet_number_offset + kMinNumberAndPayload + aead::kTagSize) {
        return fail(TransportErrorCode::internal_error,
                    "packet is too short for header protection");
      }
      aead::Job& job = jobs_[i];
      job.in = job.out = packet.data + packet.header_size();
      job.size = packet.size - packet.header_size() - aead::kTagSize;
      job.aad = packet.data;
      job.aad_size = packet.header_size();
      job.tag = packet.data + packet.size - aead::kTagSize;
      job.nonce = key.nonce(packet.packet_number);
      masks_[i].sample = packet.data + packet.packet_number_offset + kMinNumberAndPayload;
    }
    if (!header_key || !key.aead().seal_many(std::span(jobs_).first(count))) {
      return fail(TransportErrorCode::internal_error, "packet cannot be sealed: no key");
    }
    header_key.mask_many(std::span(masks_).first(count));
    for (std::size_t i = 0; i < count; ++i) apply_mask(packets[i], masks_[i].mask);
    packets = packets.subspan(count);
  }
  return {};
}

Status PacketSealer::seal(std::span<const TxPacket> packets, KeyPhases& phases) {
  if (packets.empty()) return {};
  if (packets.size() > phases.packets_left()) {
    return fail(TransportErrorCode::aead_limit_reached,
                "as many packets as the AEAD allows were sent under one key");
  }
  QUASI_TRY(seal(packets, phases.send_key(), phases.send_header_key()));
  phases.on_sealed(packets[0].packet_number, packets.size());
  return {};
}

}  // namespace quasi::protect
