// Packet headers (RFC 9000 §17) and the version-independent part of them (RFC
// 8999): routing a datagram without touching a protected bit, splitting it into
// its coalesced packets, and writing headers. What header protection hides (the
// packet number, its length, the key phase) is left to src/protect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "quasi/bytes.h"
#include "wire/connection_id.h"
#include "wire/cursor.h"
#include "wire/packet_type.h"
#include "wire/version.h"

namespace quasi::wire {

inline constexpr std::uint8_t kLongHeaderBit = 0x80;
inline constexpr std::uint8_t kFixedBit = 0x40;
inline constexpr std::uint8_t kSpinBit = 0x20;
inline constexpr std::uint8_t kKeyPhaseBit = 0x04;
inline constexpr std::uint8_t kLongReservedBits = 0x0c;
inline constexpr std::uint8_t kShortReservedBits = 0x18;
inline constexpr std::uint8_t kPacketNumberLengthBits = 0x03;

/// RFC 9001 §5.3: every AEAD of QUIC adds 16 bytes; a Retry's tag is as long.
inline constexpr std::size_t kTagSize = 16;

/// What RFC 8999 promises of every version.
struct InvariantHeader {
  bool is_long = false;
  std::uint8_t first_byte = 0;
  std::uint32_t version = 0;  // of long headers
  Bytes dcid;                 // of long headers up to 255 bytes
  Bytes scid;                 // of long headers, likewise
  /// Where the version-specific part starts.
  std::size_t size = 0;
};

/// Reads the invariant part; empty when the datagram is too short for it.
/// `short_dcid_length`: length of the connection IDs that this endpoint issues.
[[nodiscard]] std::optional<InvariantHeader> parse_invariants(Bytes datagram,
                                                              std::size_t short_dcid_length);

/// One packet inside a datagram, still protected. All views point into it.
struct PacketView {
  PacketType type = PacketType::one_rtt;
  const VersionInfo* version = nullptr;  // of long headers
  ConnectionId dcid;
  ConnectionId scid;  // of long headers
  /// Initial: the token. Retry: the Retry token, without the integrity tag.
  Bytes token;
  /// The whole packet, from its first byte to the end of its AEAD tag; packets
  /// are decrypted here. Version Negotiation: the same.
  MutableBytes bytes;
  /// Where the protected packet number starts in `bytes`. Retry and Version
  /// Negotiation: where the token or the version list starts.
  std::size_t packet_number_offset = 0;
};

enum class ParseOutcome : std::uint8_t {
  packet,               // one was parsed
  end,                  // nothing is left in the datagram
  malformed,            // the rest is garbage: drop it
  unsupported_version,  // a long header of a version that is not in the table
};

/// Walks the packets that are coalesced in one datagram (RFC 9000 §12.2).
class DatagramReader {
 public:
  /// `short_dcid_length`: as above. `accept_zero_fixed_bit`: RFC 9287 was
  /// negotiated, so the fixed bit may be 0.
  DatagramReader(MutableBytes datagram, std::size_t short_dcid_length,
                 bool accept_zero_fixed_bit = false)
      : rest_(datagram),
        short_dcid_length_(short_dcid_length),
        accept_zero_fixed_bit_(accept_zero_fixed_bit) {}

  /// Parses the next packet. After anything but ParseOutcome::packet the datagram
  /// is exhausted. Packets whose DCID differs from the first one's are skipped, as
  /// §12.2 recommends.
  [[nodiscard]] ParseOutcome next(PacketView& packet);

 private:
  MutableBytes rest_;
  std::size_t short_dcid_length_;
  bool accept_zero_fixed_bit_;
  bool first_ = true;
  ConnectionId dcid_;
};

/// Parses the packet at the start of `datagram`, which ends with it or goes on
/// with coalesced ones. The same checks as DatagramReader's.
[[nodiscard]] ParseOutcome parse_packet(MutableBytes datagram, std::size_t short_dcid_length,
                                        bool accept_zero_fixed_bit, PacketView& packet);

/// The version list of a Version Negotiation packet; truncated words are ignored.
class VersionList {
 public:
  explicit VersionList(const PacketView& packet)
      : bytes_(Bytes(packet.bytes).subspan(packet.packet_number_offset)) {}
  [[nodiscard]] std::size_t size() const { return bytes_.size() / 4; }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
    return load_be<std::uint32_t>(bytes_.data() + 4 * i);
  }
  [[nodiscard]] bool contains(std::uint32_t version) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i] == version) return true;
    }
    return false;
  }

 private:
  Bytes bytes_;
};

/// Where the parts of a header that was just written are, from its first byte.
struct HeaderLayout {
  /// Long headers: where the two-byte Length field is; 0 in short headers.
  std::size_t length_offset = 0;
  std::size_t packet_number_offset = 0;
  std::size_t packet_number_length = 0;
  /// The whole header: the payload starts here.
  std::size_t size = 0;
};

/// RFC 9000 §17.2.2: largest datagram payload is below 2^14, so two bytes do.
inline constexpr std::size_t kLengthFieldSize = 2;

/// Bytes of a long header with a packet number, up to the payload.
[[nodiscard]] std::size_t long_header_size(PacketType type, const ConnectionId& dcid,
                                           const ConnectionId& scid, std::size_t token_size,
                                           std::size_t packet_number_length);
/// Bytes of a short header.
[[nodiscard]] constexpr std::size_t short_header_size(const ConnectionId& dcid,
                                                      std::size_t packet_number_length) {
  return 1 + dcid.size() + packet_number_length;
}

/// Writes an Initial, 0-RTT or Handshake header with `packet_number` in
/// `packet_number_length` bytes and a Length of 0, to be set by set_length().
/// `token` only of Initials. Empty, and nothing written, when it does not fit.
[[nodiscard]] std::optional<HeaderLayout> write_long_header(
    Writer<Forward>& writer, const VersionInfo& version, PacketType type, const ConnectionId& dcid,
    const ConnectionId& scid, Bytes token, std::uint64_t packet_number,
    std::size_t packet_number_length);

/// Sets the Length of a long header whose packet, with its AEAD tag, is all of
/// `packet` (below 2^14 bytes after the header's Length field).
void set_length(MutableBytes packet, const HeaderLayout& layout);

/// Writes a 1-RTT header. Empty, and nothing written, when it does not fit.
[[nodiscard]] std::optional<HeaderLayout> write_short_header(Writer<Forward>& writer,
                                                             const ConnectionId& dcid, bool spin,
                                                             bool key_phase,
                                                             std::uint64_t packet_number,
                                                             std::size_t packet_number_length);

/// Writes a Retry packet (RFC 9000 §17.2.5) up to its integrity tag, which
/// protect::write_retry_tag() makes of it. `unused` gives the four unused bits.
[[nodiscard]] bool write_retry(Writer<Forward>& writer, const VersionInfo& version,
                               const ConnectionId& dcid, const ConnectionId& scid, Bytes token,
                               std::uint8_t unused = 0);

/// Writes a Version Negotiation packet (RFC 9000 §17.2.1, RFC 8999 §6): `dcid` and
/// `scid` are those of the packet that it answers, already swapped, and may be
/// longer than 20 bytes. `random` makes the unused bits of the first byte.
[[nodiscard]] bool write_version_negotiation(Writer<Forward>& writer, Bytes dcid, Bytes scid,
                                             std::span<const std::uint32_t> versions,
                                             std::uint8_t random);

}  // namespace quasi::wire
