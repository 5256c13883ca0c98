// Opening groups of packets (see protect/packet_opener.h).
#include "protect/packet_opener.h"

#include <algorithm>

#include "wire/packet_number.h"

namespace quasi::protect {
namespace {

constexpr std::size_t kMaxPacketNumberLength = 4;

/// RFC 9001 §5.4.2: the sample starts as if the packet number had four bytes.
bool has_sample(const RxPacket& packet) {
  return packet.size >= packet.packet_number_offset + kMaxPacketNumberLength + aead::kSampleSize;
}

/// RFC 9001 §5.4.1: unmasks the first byte, and with it learns how many of the next
/// four bytes are packet number. The others are ciphertext and keep their values.
void remove_mask(RxPacket& packet, const std::array<std::uint8_t, aead::kMaskSize>& mask,
                 std::uint64_t expected) {
  const std::uint8_t masked_bits = (packet.data[0] & wire::kLongHeaderBit) != 0 ? 0x0f : 0x1f;
  packet.data[0] = static_cast<std::uint8_t>(packet.data[0] ^ (mask[0] & masked_bits));
  const unsigned length = 1U + (packet.data[0] & wire::kPacketNumberLengthBits);
  const unsigned shift = 8 * (4 - length);

  std::uint8_t* field = packet.data + packet.packet_number_offset;
  const std::uint32_t field_mask = load_be<std::uint32_t>(mask.data() + 1) >> shift << shift;
  const std::uint32_t unmasked = load_be<std::uint32_t>(field) ^ field_mask;
  store_be(field, unmasked);
  packet.packet_number_length = static_cast<std::uint8_t>(length);
  packet.packet_number =
      wire::decode_truncated(expected, unmasked >> shift, std::size_t{8} * length);
}

/// RFC 9000 §17.2, §17.3.1: only an authentic packet may be blamed for them.
bool has_reserved_bits(const RxPacket& packet) {
  if (packet.verdict != Verdict::opened) return false;
  const std::uint8_t first = packet.data[0];
  return (first & ((first & wire::kLongHeaderBit) != 0 ? wire::kLongReservedBits
                                                       : wire::kShortReservedBits)) != 0;
}

Status check_reserved_bits(std::span<const RxPacket> packets) {
  if (std::ranges::none_of(packets, has_reserved_bits)) [[likely]]
    return {};
  return fail(TransportErrorCode::protocol_violation, "reserved header bits are not zero");
}

}  // namespace

void PacketOpener::unmask(std::span<RxPacket> packets, const aead::HeaderKey& key,
                          std::uint64_t expected) {
  std::size_t next = 0;
  while (next < packets.size()) {
    std::size_t count = 0;
    for (; next < packets.size() && count < kMaxGroup; ++next) {
      RxPacket& packet = packets[next];
      if (packet.verdict != Verdict::pending) continue;
      if (!has_sample(packet)) {
        packet.verdict = Verdict::too_short;
        continue;
      }
      masks_[count].sample = packet.data + packet.packet_number_offset + kMaxPacketNumberLength;
      selected_[count++] = &packet;
    }
    key.mask_many(std::span(masks_).first(count));
    for (std::size_t i = 0; i < count; ++i) remove_mask(*selected_[i], masks_[i].mask, expected);
  }
}

void PacketOpener::open_selected(const PacketKey& key) {
  for (std::size_t i = 0; i < selected_count_; ++i) {
    const RxPacket& packet = *selected_[i];
    aead::Job& job = jobs_[i];
    const MutableBytes payload = packet.payload();
    job.in = packet.data + packet.header_size();
    job.out = payload.data();
    job.size = payload.size();
    job.aad = packet.data;
    job.aad_size = packet.header_size();
    job.tag = packet.data + packet.size - aead::kTagSize;
    job.nonce = key.nonce(packet.packet_number);
  }
  key.aead().open_many(std::span(jobs_).first(selected_count_));
  for (std::size_t i = 0; i < selected_count_; ++i) {
    selected_[i]->verdict = jobs_[i].ok ? Verdict::opened : Verdict::forged;
  }
  selected_count_ = 0;
}

Status PacketOpener::open(std::span<RxPacket> packets, const PacketKey& key) {
  selected_count_ = 0;
  for (RxPacket& packet : packets) {
    if (packet.verdict != Verdict::pending) continue;
    select(packet);
    if (selected_count_ == kMaxGroup) open_selected(key);
  }
  open_selected(key);
  return check_reserved_bits(packets);
}

Status PacketOpener::open(std::span<RxPacket> packets, KeyPhases& phases, Instant now,
                          Duration pto) {
  using Choice = KeyPhases::Choice;
  phases.expire(now);
  // One pass per key; while no update is under way that is one pass. Keys do not
  // move before all are opened, so a choice holds for the whole group.
  bool has_previous = false;
  bool has_next = false;
  const auto pass = [&](Choice key) {
    for (RxPacket& packet : packets) {
      if (packet.verdict != Verdict::pending) continue;
      const Choice choice = phases.choose(packet.key_phase(), packet.packet_number);
      if (choice != key) {
        has_previous |= choice == Choice::previous;
        has_next |= choice == Choice::next;
        if (choice == Choice::none) packet.verdict = Verdict::no_key;
        continue;
      }
      packet.key_generation = phases.generation(choice);
      select(packet);
      if (selected_count_ == kMaxGroup) open_selected(phases.receive_key(key));
    }
    if (selected_count_ != 0) open_selected(phases.receive_key(key));
  };
  selected_count_ = 0;
  pass(Choice::current);
  if (has_previous) pass(Choice::previous);
  if (has_next) pass(Choice::next);

  std::uint64_t forged = 0;
  for (const RxPacket& packet : packets) {
    if (packet.verdict == Verdict::opened) {
      QUASI_TRY(phases.on_opened(packet.packet_number, packet.key_generation, now, pto));
    } else if (packet.verdict == Verdict::forged) {
      ++forged;
    }
  }
  if (forged != 0) QUASI_TRY(phases.on_forged(forged));
  return check_reserved_bits(packets);
}

}  // namespace quasi::protect
