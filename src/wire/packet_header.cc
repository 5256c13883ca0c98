// Parsing and writing of packet headers (see wire/packet_header.h).
#include "wire/packet_header.h"

namespace quasi::wire {
namespace {

void write_long_start(Writer<Forward>& writer, std::uint8_t first, std::uint32_t version,
                      Bytes dcid, Bytes scid) {
  writer.u8(first);
  writer.u32(version);
  writer.u8(static_cast<std::uint8_t>(dcid.size()));
  writer.bytes(dcid);
  writer.u8(static_cast<std::uint8_t>(scid.size()));
  writer.bytes(scid);
}

std::uint8_t long_first_byte(const VersionInfo& version, PacketType type, unsigned low_bits) {
  const unsigned bits = version.type_bits[static_cast<std::size_t>(type)];
  return static_cast<std::uint8_t>(kLongHeaderBit | kFixedBit | bits << 4 | low_bits);
}

/// The lowest bytes of the packet number (RFC 9000 §17.1).
void write_packet_number(Writer<Forward>& writer, std::uint64_t number, std::size_t length) {
  if (std::uint8_t* place = writer.reserve(length).data()) {
    for (std::size_t i = length; i-- > 0; number >>= 8) {
      place[i] = static_cast<std::uint8_t>(number);
    }
  }
}

ParseOutcome parse_short(MutableBytes datagram, std::size_t dcid_length, PacketView& packet) {
  if (datagram.size() < 1 + dcid_length) return ParseOutcome::malformed;
  const auto dcid = ConnectionId::from(datagram.subspan(1, dcid_length));
  if (!dcid) return ParseOutcome::malformed;
  packet.type = PacketType::one_rtt;
  packet.version = nullptr;
  packet.dcid = *dcid;
  packet.scid = ConnectionId();
  packet.token = Bytes();
  packet.bytes = datagram;
  packet.packet_number_offset = 1 + dcid_length;
  return ParseOutcome::packet;
}

}  // namespace

std::optional<InvariantHeader> parse_invariants(Bytes datagram, std::size_t short_dcid_length) {
  Reader<Forward> reader(datagram);
  InvariantHeader header;
  if (!reader.u8(header.first_byte)) return std::nullopt;
  header.is_long = (header.first_byte & kLongHeaderBit) != 0;
  if (header.is_long) {
    std::uint8_t length = 0;
    if (!reader.u32(header.version) || !reader.u8(length) || !reader.bytes(length, header.dcid) ||
        !reader.u8(length) || !reader.bytes(length, header.scid)) {
      return std::nullopt;
    }
  } else if (!reader.bytes(short_dcid_length, header.dcid)) {
    return std::nullopt;
  }
  header.size = reader.consumed();
  return header;
}

ParseOutcome parse_packet(MutableBytes datagram, std::size_t short_dcid_length,
                          bool accept_zero_fixed_bit, PacketView& packet) {
  if (datagram.empty()) return ParseOutcome::end;
  const std::uint8_t first = datagram[0];
  // RFC 9000 §17.2, §17.3.1: no packet, unless RFC 9287 says otherwise.
  const bool is_fixed = (first & kFixedBit) != 0 || accept_zero_fixed_bit;
  if ((first & kLongHeaderBit) == 0) {
    if (!is_fixed) return ParseOutcome::malformed;
    return parse_short(datagram, short_dcid_length, packet);
  }

  const auto header = parse_invariants(datagram, short_dcid_length);
  if (!header) return ParseOutcome::malformed;
  packet.version = find_version(header->version);
  if (packet.version == nullptr && header->version != kVersionNegotiation) {
    return ParseOutcome::unsupported_version;
  }
  const auto dcid = ConnectionId::from(header->dcid);
  const auto scid = ConnectionId::from(header->scid);
  if (!dcid || !scid) return ParseOutcome::malformed;  // RFC 9000 §17.2
  packet.dcid = *dcid;
  packet.scid = *scid;
  packet.token = Bytes();
  packet.bytes = datagram;
  packet.packet_number_offset = header->size;
  if (header->version == kVersionNegotiation) {  // its fixed bit means nothing
    packet.type = PacketType::version_negotiation;
    return ParseOutcome::packet;
  }
  if (!is_fixed) return ParseOutcome::malformed;
  packet.type = packet.version->types[first >> 4 & 3U];

  if (packet.type == PacketType::retry) {
    const Bytes rest = datagram.subspan(header->size);
    if (rest.size() < kTagSize) return ParseOutcome::malformed;
    packet.token = rest.first(rest.size() - kTagSize);
    return ParseOutcome::packet;
  }
  Reader<Forward> reader(datagram.subspan(header->size));
  if (packet.type == PacketType::initial && !reader.counted_bytes(packet.token)) {
    return ParseOutcome::malformed;
  }
  std::uint64_t length = 0;
  if (!reader.varint(length) || length > reader.remaining()) return ParseOutcome::malformed;
  packet.packet_number_offset += reader.consumed();
  packet.bytes = datagram.first(packet.packet_number_offset + static_cast<std::size_t>(length));
  return ParseOutcome::packet;
}

ParseOutcome DatagramReader::next(PacketView& packet) {
  for (;;) {
    const ParseOutcome outcome =
        parse_packet(rest_, short_dcid_length_, accept_zero_fixed_bit_, packet);
    if (outcome != ParseOutcome::packet) {
      rest_ = MutableBytes();
      return outcome;
    }
    rest_ = rest_.subspan(packet.bytes.size());
    if (first_) {
      first_ = false;
      dcid_ = packet.dcid;
      return outcome;
    }
    if (packet.dcid == dcid_) return outcome;
  }
}

std::size_t long_header_size(PacketType type, const ConnectionId& dcid, const ConnectionId& scid,
                             std::size_t token_size, std::size_t packet_number_length) {
  const std::size_t token = type == PacketType::initial ? varint_size(token_size) + token_size : 0;
  return 1 + 4 + 1 + dcid.size() + 1 + scid.size() + token + kLengthFieldSize +
         packet_number_length;
}

std::optional<HeaderLayout> write_long_header(Writer<Forward>& writer, const VersionInfo& version,
                                              PacketType type, const ConnectionId& dcid,
                                              const ConnectionId& scid, Bytes token,
                                              std::uint64_t packet_number,
                                              std::size_t packet_number_length) {
  const auto mark = writer.mark();
  const std::size_t start = writer.written();
  write_long_start(writer,
                   long_first_byte(version, type, static_cast<unsigned>(packet_number_length - 1)),
                   version.number, dcid.bytes(), scid.bytes());
  if (type == PacketType::initial) writer.counted_bytes(token);
  HeaderLayout layout;
  layout.length_offset = writer.written() - start;
  writer.sized_varint(0, kLengthFieldSize);
  layout.packet_number_offset = writer.written() - start;
  layout.packet_number_length = packet_number_length;
  write_packet_number(writer, packet_number, packet_number_length);
  layout.size = writer.written() - start;
  if (!writer.ok()) {
    writer.rewind(mark);
    return std::nullopt;
  }
  return layout;
}

void set_length(MutableBytes packet, const HeaderLayout& layout) {
  Forward::encode(packet.data() + layout.length_offset,
                  packet.size() - layout.length_offset - kLengthFieldSize, kLengthFieldSize);
}

std::optional<HeaderLayout> write_short_header(Writer<Forward>& writer, const ConnectionId& dcid,
                                               bool spin, bool key_phase,
                                               std::uint64_t packet_number,
                                               std::size_t packet_number_length) {
  HeaderLayout layout;
  layout.packet_number_offset = 1 + dcid.size();
  layout.packet_number_length = packet_number_length;
  layout.size = short_header_size(dcid, packet_number_length);
  if (!writer.ok() || writer.remaining() < layout.size) return std::nullopt;
  writer.u8(static_cast<std::uint8_t>(kFixedBit | (spin ? kSpinBit : 0U) |
                                      (key_phase ? kKeyPhaseBit : 0U) |
                                      (packet_number_length - 1)));
  writer.bytes(dcid.bytes());
  write_packet_number(writer, packet_number, packet_number_length);
  return layout;
}

bool write_retry(Writer<Forward>& writer, const VersionInfo& version, const ConnectionId& dcid,
                 const ConnectionId& scid, Bytes token, std::uint8_t unused) {
  const auto mark = writer.mark();
  write_long_start(writer, long_first_byte(version, PacketType::retry, unused & 0x0fU),
                   version.number, dcid.bytes(), scid.bytes());
  writer.bytes(token);
  if (writer.ok()) return true;
  writer.rewind(mark);
  return false;
}

bool write_version_negotiation(Writer<Forward>& writer, Bytes dcid, Bytes scid,
                               std::span<const std::uint32_t> versions, std::uint8_t random) {
  if (dcid.size() > 255 || scid.size() > 255) return false;
  const auto mark = writer.mark();
  // RFC 9000 §17.2.1: the bit where others have the fixed bit should be 1.
  write_long_start(writer, static_cast<std::uint8_t>(kLongHeaderBit | kFixedBit | (random & 0x3fU)),
                   kVersionNegotiation, dcid, scid);
  for (const std::uint32_t version : versions) writer.u32(version);
  if (writer.ok()) return true;
  writer.rewind(mark);
  return false;
}

}  // namespace quasi::wire
