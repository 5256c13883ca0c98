// The peer without manners (see raw_peer.h).
#include "hostile/raw_peer.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "wire/frame_parser.h"
#include "wire/frame_writer.h"

namespace quasi::hostile {
namespace {

using wire::PacketType;

constexpr std::array<PacketType, 3> kTypes = {PacketType::initial, PacketType::handshake,
                                              PacketType::one_rtt};

protect::KeyMaterial material(const tls::TrafficKeys& keys) {
  return {.algorithm = tls::aead_algorithm(keys.suite),
          .key = keys.key_bytes(),
          .iv = keys.iv,
          .header_key = keys.header_bytes()};
}

wire::ConnectionId raw_cid(std::uint8_t name, std::uint8_t kind) {
  std::array<std::uint8_t, 8> bytes{};
  std::copy(kRawCidPrefix.begin(), kRawCidPrefix.end(), bytes.begin());
  bytes[6] = kind;
  bytes[7] = name;
  return *wire::ConnectionId::from(bytes);
}

}  // namespace

RawPeer::RawPeer(Side side, Options options, Send send)
    : acknowledges(options.acknowledges),
      side_(side),
      options_(std::move(options)),
      send_(std::move(send)),
      scid_(options_.scid.value_or(raw_cid(options_.name, 0))) {}

ByteVector RawPeer::encoded_parameters() const {
  wire::TransportParameters p;
  if (options_.more_parameters.empty()) {
    p.initial_max_data = 1 << 20;
    p.initial_max_stream_data_bidi_local = p.initial_max_stream_data_bidi_remote =
        p.initial_max_stream_data_uni = 1 << 18;
    p.initial_max_streams_bidi = p.initial_max_streams_uni = 16;
    p.active_connection_id_limit = 8;
  }
  p.initial_source_connection_id = scid_;
  if (side_ == Side::server) p.original_destination_connection_id = original_dcid_;
  if (options_.parameters) options_.parameters(p);
  ByteVector out(wire::kMaxTransportParametersSize);
  const auto size = wire::encode_transport_parameters(
      p, side_ == Side::client ? wire::ParameterSender::client : wire::ParameterSender::server, 0,
      out);
  out.resize(size.value_or(0));
  out.insert(out.end(), options_.more_parameters.begin(), options_.more_parameters.end());
  return out;
}

void RawPeer::install(Space& space, const tls::KeyPair& keys) {
  space.has_keys =
      space.open.install(material(keys.remote)) && space.seal.install(material(keys.local));
}

void RawPeer::install_initial_keys() {
  install(spaces_[0], tls::initial_keys(tls::Version::v1, original_dcid_.bytes(), side_));
}

void RawPeer::connect(const tls::ClientConfig& tls) {
  original_dcid_ = options_.original_dcid.value_or(raw_cid(options_.name, 1));
  dcid_ = original_dcid_;
  auto session = tls::Session::client(tls, "localhost", tls::Version::v1, encoded_parameters());
  if (!session) return;
  tls_.emplace(std::move(*session));
  install_initial_keys();
  drive();
}

void RawPeer::accept(const tls::ServerConfig& tls, Bytes first) {
  const auto header = wire::parse_invariants(first, limits::kLocalCidLength);
  if (!header) return;
  original_dcid_ = *wire::ConnectionId::from(header->dcid);
  dcid_ = *wire::ConnectionId::from(header->scid);
  peer_cid_known_ = true;
  auto session = tls::Session::server(tls, tls::Version::v1, encoded_parameters());
  if (!session) return;
  tls_.emplace(std::move(*session));
  install_initial_keys();
  receive(first);
}

ByteVector RawPeer::packet(PacketType type, Bytes payload, std::optional<std::uint64_t> number) {
  Space& space = spaces_[index(type)];
  const std::uint64_t pn = number.value_or(space.next);
  if (!number) ++space.next;
  ByteVector out(payload.size() + 256 + options_.token.size());
  wire::Writer<wire::Forward> writer(out);
  const wire::VersionInfo& version = *wire::find_version(wire::kVersion1);
  const auto layout =
      type == PacketType::one_rtt
          ? wire::write_short_header(writer, dcid_, false, key_phase_, pn, 4)
          : wire::write_long_header(writer, version, type, dcid_, scid_,
                                    type == PacketType::initial ? Bytes(options_.token) : Bytes(),
                                    pn, 4);
  if (!layout || !space.has_keys) return {};
  std::copy(payload.begin(), payload.end(), out.begin() + static_cast<long>(layout->size));
  out.resize(layout->size + payload.size() + aead::kTagSize);
  if (layout->length_offset != 0) wire::set_length(out, *layout);
  protect::TxPacket tx;
  tx.data = out.data();
  tx.size = static_cast<std::uint32_t>(out.size());
  tx.packet_number_offset = static_cast<std::uint32_t>(layout->packet_number_offset);
  tx.packet_number_length = static_cast<std::uint32_t>(layout->packet_number_length);
  tx.packet_number = pn;
  if (!sealer_.seal(std::span<const protect::TxPacket>(&tx, 1), space.seal.packet,
                    space.seal.header)) {
    return {};
  }
  return out;
}

void RawPeer::send(PacketType type, Bytes payload, std::optional<std::uint64_t> number) {
  ByteVector datagram = packet(type, payload, number);
  // Zeros are no packet, so they are dropped; but they make the datagram long enough.
  if (type == PacketType::initial && datagram.size() < limits::kMinDatagramSize) {
    datagram.resize(limits::kMinDatagramSize);
  }
  send_(datagram);
}

void RawPeer::acknowledge(PacketType type) {
  Space& space = spaces_[index(type)];
  space.wants_ack = false;
  if (!space.has_keys || space.received.empty()) return;
  std::array<std::uint8_t, 512> buffer{};
  wire::Writer<wire::Forward> writer(buffer);
  if (wire::write_ack(writer, space.received, 0, std::nullopt) == 0) return;
  send(type, Bytes(buffer).first(writer.written()));
}

void RawPeer::update_keys() {
  Space& space = spaces_[2];
  const tls::KeyPair next = tls_->next_1rtt_keys();
  (void)space.open.packet.install(material(next.remote));
  (void)space.seal.packet.install(material(next.local));
  key_phase_ = !key_phase_;
}

void RawPeer::handle_payload(PacketType type, Bytes payload, bool& eliciting) {
  wire::FrameParser<wire::Forward> parser(payload, type);
  wire::Frame frame;
  for (;;) {
    const auto more = parser.next(frame);
    if (!more || !*more) return;
    ++frames[frame.kind];
    eliciting = eliciting || wire::is_ack_eliciting(frame.kind);
    switch (frame.kind) {
      case wire::FrameKind::crypto:
        spaces_[index(type)].crypto[frame.crypto.offset] =
            ByteVector(frame.crypto.data.begin(), frame.crypto.data.end());
        break;
      case wire::FrameKind::connection_close:
        if (!close) {
          close = Close{.code = frame.connection_close.error_code,
                        .frame_type = frame.connection_close.frame_type,
                        .application = frame.connection_close.application};
        }
        break;
      case wire::FrameKind::new_connection_id:
        new_cids.push_back(frame.new_connection_id);
        break;
      case wire::FrameKind::path_challenge:
        challenges.push_back(frame.path_challenge.data);
        break;
      case wire::FrameKind::path_response:
        responses.push_back(frame.path_response.data);
        break;
      case wire::FrameKind::max_data:
        max_data = std::max(max_data, frame.max_data.maximum);
        break;
      case wire::FrameKind::max_streams:
        if (!frame.max_streams.unidirectional) {
          max_streams_bidi = std::max(max_streams_bidi, frame.max_streams.maximum);
        }
        break;
      case wire::FrameKind::stop_sending:
        ++stop_sendings[frame.stop_sending.stream_id];
        break;
      case wire::FrameKind::reset_stream:
        ++reset_streams[frame.reset_stream.stream_id];
        break;
      default:
        break;
    }
  }
}

void RawPeer::receive(Bytes datagram) {
  ++datagrams;
  bytes += datagram.size();
  ByteVector copy(datagram.begin(), datagram.end());
  wire::DatagramReader reader(copy, scid_.size());
  wire::PacketView view;
  while (reader.next(view) == wire::ParseOutcome::packet) {
    if (view.type == PacketType::retry || view.type == PacketType::version_negotiation) continue;
    Space& space = spaces_[index(view.type)];
    if (!space.has_keys) continue;
    std::array<protect::RxPacket, 1> packets;
    packets[0].data = view.bytes.data();
    packets[0].size = static_cast<std::uint32_t>(view.bytes.size());
    packets[0].packet_number_offset = static_cast<std::uint32_t>(view.packet_number_offset);
    opener_.unmask(packets, space.open.header, space.expected);
    (void)opener_.open(packets, space.open.packet);
    if (packets[0].verdict != protect::Verdict::opened) {
      ++undecryptable;
      continue;
    }
    if (side_ == Side::client && !peer_cid_known_) {
      peer_cid_known_ = true;
      dcid_ = view.scid;
    }
    const std::uint64_t pn = packets[0].packet_number;
    space.expected = std::max(space.expected, pn + 1);
    (void)space.received.insert_dropping_lowest(pn, pn + 1);
    bool eliciting = false;
    handle_payload(view.type, packets[0].payload(), eliciting);
    space.wants_ack = space.wants_ack || eliciting;
    drive();
  }
  for (const PacketType type : kTypes) {
    if (acknowledges && spaces_[index(type)].wants_ack) acknowledge(type);
  }
}

void RawPeer::drive() {
  if (!tls_ || tls_error) return;
  for (;;) {
    const tls::Level level = tls_->read_level();
    Space& space = spaces_[level == tls::Level::initial     ? 0
                           : level == tls::Level::handshake ? 1
                                                            : 2];
    const auto it = space.crypto.find(space.crypto_read);
    if (it == space.crypto.end() || it->second.empty()) break;
    space.crypto_read += it->second.size();
    if (const Status read = tls_->read_handshake(level, it->second); !read) {
      tls_error = read.error();
      return;
    }
  }
  for (;;) {
    ByteVector handshake;
    const tls::HandshakeOutput output = tls_->write_handshake(handshake);
    if (output.empty()) break;
    const PacketType type = output.level == tls::Level::initial     ? PacketType::initial
                            : output.level == tls::Level::handshake ? PacketType::handshake
                                                                    : PacketType::one_rtt;
    Space& space = spaces_[index(type)];
    for (std::size_t at = 0; at < handshake.size(); at += 1000) {
      const Bytes piece =
          Bytes(handshake).subspan(at, std::min<std::size_t>(1000, handshake.size() - at));
      ByteVector frame(piece.size() + 16);
      wire::Writer<wire::Forward> writer(frame);
      (void)wire::write(writer, wire::CryptoFrame{.offset = space.crypto_sent, .data = piece});
      space.crypto_sent += piece.size();
      send(type, Bytes(frame).first(writer.written()));
    }
    if (output.keys) {
      install(spaces_[output.keys->level == tls::Level::handshake ? 1 : 2], output.keys->keys);
      has_application_ = has_application_ || output.keys->level == tls::Level::one_rtt;
    }
  }
  if (side_ == Side::server && complete() && options_.sends_handshake_done &&
      !std::exchange(handshake_done_sent_, true)) {
    send(PacketType::one_rtt, std::array<std::uint8_t, 1>{0x1e});
  }
}

}  // namespace quasi::hostile
