// Removes packet protection from groups of received packets (RFC 9001 §5.3, §5.4)
// in two stages, each one call of the AEAD layer for a whole group:
//
//   opener.unmask(packets, keys.header, expected)   header protection, packet numbers
//   ... the caller marks duplicates, which are then not opened ...
//   opener.open(packets, keys.packet)               or, 1-RTT: open(packets, phases, ...)
//
// Packets are opened in place; each gets its own verdict. Nothing allocates. Between
// the stages packet numbers are not authenticated: they must change no state. (So two
// copies of a packet in one group both open: look for duplicates again afterwards.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protect/key_phases.h"
#include "protect/keys.h"
#include "quasi/aead.h"
#include "quasi/bytes.h"
#include "quasi/result.h"
#include "quasi/time.h"
#include "wire/packet_header.h"

namespace quasi::protect {

enum class Verdict : std::uint8_t {
  pending,    // not opened yet
  opened,     // authentic; payload() is its plaintext
  duplicate,  // set by the caller, between the stages
  too_short,  // no room for the header protection sample (RFC 9001 §5.4.2)
  no_key,     // of a key phase whose keys are gone or not there yet
  forged,     // the AEAD refused it; the payload is zeros
};

/// One packet on its way in. The caller sets the first three (wire::PacketView has
/// them) and reads the rest.
struct RxPacket {
  std::uint8_t* data = nullptr;
  std::uint32_t size = 0;  // the whole packet with its tag
  std::uint32_t packet_number_offset = 0;
  /// Where to put the plaintext; null: in place.
  std::uint8_t* plaintext = nullptr;

  Verdict verdict = Verdict::pending;
  std::uint8_t packet_number_length = 0;  // from unmask()
  std::uint64_t packet_number = 0;        // from unmask()
  /// From open() with KeyPhases: which keys opened it, for KeyPhases::on_ack_received().
  std::uint64_t key_generation = 0;

  [[nodiscard]] std::uint32_t header_size() const {
    return packet_number_offset + packet_number_length;
  }
  [[nodiscard]] bool key_phase() const { return (data[0] & wire::kKeyPhaseBit) != 0; }
  [[nodiscard]] bool spin() const { return (data[0] & wire::kSpinBit) != 0; }
  [[nodiscard]] MutableBytes payload() const {
    return {plaintext != nullptr ? plaintext : data + header_size(),
            size - header_size() - aead::kTagSize};
  }
};

/// Owns the scratch space of both stages: keep one per endpoint, not per packet.
class PacketOpener {
 public:
  /// Larger groups are worked off in pieces of this size.
  static constexpr std::size_t kMaxGroup = 128;

  /// First stage, for all packets that are pending. `expected`: one more than the
  /// largest packet number that was opened in this space (0 at first).
  void unmask(std::span<RxPacket> packets, const aead::HeaderKey& key, std::uint64_t expected);

  /// Second stage for Initial, 0-RTT and Handshake packets. Returns an error that
  /// closes the connection: PROTOCOL_VIOLATION when an authentic packet has its
  /// reserved bits set (RFC 9000 §17.2). The verdicts are good in any case.
  [[nodiscard]] Status open(std::span<RxPacket> packets, const PacketKey& key);

  /// Second stage for 1-RTT packets: chooses the key of each packet, follows the
  /// peer's key updates, counts forgeries. `pto`: the current probe timeout, by
  /// which old keys are kept. Besides the error above: KEY_UPDATE_ERROR and
  /// AEAD_LIMIT_REACHED. Afterwards, if phases.wants_next(), give it the next keys.
  [[nodiscard]] Status open(std::span<RxPacket> packets, KeyPhases& phases, Instant now,
                            Duration pto);

 private:
  void select(RxPacket& packet) { selected_[selected_count_++] = &packet; }
  void open_selected(const PacketKey& key);

  std::array<aead::MaskJob, kMaxGroup> masks_;
  std::array<aead::Job, kMaxGroup> jobs_;
  std::array<RxPacket*, kMaxGroup> selected_{};
  std::size_t selected_count_ = 0;
};

}  // namespace quasi::protect
