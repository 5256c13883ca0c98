// A server's answers to datagrams of no connection: a new connection, Version
// Negotiation, Retry, a refusal, a stateless reset (RFC 9000 §5.2.2, §6.1, §8.1.2,
// §10.3). Nothing is kept of a client before its Initial packet has authenticated,
// and no answer is larger than three times its trigger.
#include <array>

#include "endpoint/endpoint_state.h"
#include "endpoint/version_negotiation.h"
#include "tls/session.h"
#include "wire/frame_writer.h"

namespace quasi::endpoint {
namespace {

/// RFC 9000 §7.2: a client's first destination ID is unpredictable.
constexpr std::size_t kLeastFirstCid = 8;

}  // namespace

Reply* EndpointState::new_reply(const RxDatagram& datagram) {
  // Our own packet that came back is never answered.
  if (datagram.remote == datagram.local || replies.size() >= limits::kMaxPendingReplies ||
      !reply_limiter.allow(now)) {
    ++stats.datagrams_dropped;
    return nullptr;
  }
  Reply& reply = replies.emplace_back();
  reply.remote = datagram.remote;
  reply.local = datagram.local;
  return &reply;
}

void EndpointState::send_version_negotiation(const wire::InvariantHeader& header,
                                             const RxDatagram& datagram) {
  Reply* reply = new_reply(datagram);
  if (reply == nullptr) return;
  constexpr std::array<std::uint32_t, 1> kVersions = {wire::kVersion1};
  reply->size = write_version_negotiation(reply->bytes, header, datagram.size, kVersions, entropy);
  if (reply->size == 0) {
    replies.pop_back();
    return;
  }
  ++stats.version_negotiations_sent;
}

void EndpointState::send_retry(const wire::PacketView& initial, const RxDatagram& datagram) {
  Reply* reply = new_reply(datagram);
  if (reply == nullptr) return;
  if (!retry_integrity) {
    retry_integrity = std::make_unique<protect::RetryIntegrity>(*initial.version);
  }
  std::array<std::uint8_t, limits::kLocalCidLength + 1> random{};
  entropy(random);
  const auto scid = wire::ConnectionId::from(Bytes(random).first(limits::kLocalCidLength));
  const Token token = tokens.make_retry(now, datagram.remote, initial.dcid, *scid);
  wire::Writer<wire::Forward> writer(reply->bytes);
  if (!retry_integrity->write(writer, initial.dcid, initial.scid, *scid, token.bytes(),
                              random.back())) {
    replies.pop_back();
    return;
  }
  reply->size = writer.written();
  ++stats.retries_sent;
}

void EndpointState::send_refusal(const wire::PacketView& initial, const RxDatagram& datagram,
                                 TransportErrorCode code) {
  Reply* reply = new_reply(datagram);
  if (reply == nullptr) return;
  const tls::KeyPair raw = tls::initial_keys(tls::Version::v1, initial.dcid.bytes(), Side::server);
  protect::ProtectionKeys keys;
  wire::Writer<wire::Forward> writer(MutableBytes(reply->bytes).first(256));
  std::array<std::uint8_t, limits::kLocalCidLength> scid{};
  entropy(scid);
  const auto layout =
      wire::write_long_header(writer, *initial.version, wire::PacketType::initial, initial.scid,
                              *wire::ConnectionId::from(scid), {}, 0, 1);
  const bool written =
      layout &&
      keys.install({.algorithm = aead::Algorithm::aes_128_gcm,
                    .key = raw.local.key_bytes(),
                    .iv = raw.local.iv,
                    .header_key = raw.local.header_bytes()}) &&
      wire::write(writer, wire::ConnectionCloseFrame{.application = false,
                                                     .error_code = static_cast<std::uint64_t>(code),
                                                     .frame_type = 0,
                                                     .reason = {}});
  if (!written) {
    replies.pop_back();
    return;
  }
  reply->size = writer.written() + aead::kTagSize;
  const MutableBytes packet = MutableBytes(reply->bytes).first(reply->size);
  wire::set_length(packet, *layout);
  protect::TxPacket tx;
  tx.data = packet.data();
  tx.size = static_cast<std::uint32_t>(packet.size());
  tx.packet_number_offset = static_cast<std::uint32_t>(layout->packet_number_offset);
  tx.packet_number_length = static_cast<std::uint32_t>(layout->packet_number_length);
  tx.packet_number = 0;
  if (!workspace->sealer.seal(std::span<const protect::TxPacket>(&tx, 1), keys.packet,
                              keys.header)) {
    replies.pop_back();
  }
}

void EndpointState::send_stateless_reset(const wire::ConnectionId& dcid,
                                         const RxDatagram& datagram) {
  if (datagram.size <= kMinResetSize) return;
  Reply* reply = new_reply(datagram);
  if (reply == nullptr) return;
  reply->size = resets.write(reply->bytes, datagram.size, dcid, entropy);
  if (reply->size == 0) {
    replies.pop_back();
    return;
  }
  ++stats.resets_sent;
}

std::optional<std::uint32_t> EndpointState::accept(RxDatagram& datagram) {
  wire::PacketView initial;
  const auto outcome = wire::parse_packet(MutableBytes(datagram.data, datagram.size),
                                          limits::kLocalCidLength, false, initial);
  if (outcome != wire::ParseOutcome::packet || initial.type != wire::PacketType::initial ||
      initial.dcid.size() < kLeastFirstCid) {
    ++stats.datagrams_dropped;
    return std::nullopt;
  }
  wire::ConnectionId original_dcid = initial.dcid;
  std::optional<wire::ConnectionId> retry_scid;
  TokenVerdict token;
  bool validated = false;
  if (!initial.token.empty()) {
    token = tokens.check(initial.token, now, datagram.remote, initial.dcid);
    if (token.kind == TokenVerdict::Kind::invalid_retry) {
      // RFC 9000 §8.1.2: answered at once, without state.
      send_refusal(initial, datagram, TransportErrorCode::invalid_token);
      return std::nullopt;
    }
    if (token.kind == TokenVerdict::Kind::retry) {
      original_dcid = token.original_dcid;
      retry_scid = initial.dcid;
    }
    validated = token.kind != TokenVerdict::Kind::none;
  }
  if (!accepting || live >= config.max_connections) {
    ++stats.connections_refused;
    send_refusal(initial, datagram, TransportErrorCode::connection_refused);
    return std::nullopt;
  }
  if (!validated && (config.always_retry || handshaking >= retry_threshold())) {
    send_retry(initial, datagram);
    return std::nullopt;
  }
  Connection& created = create(Side::server, config.transport);
  connection::Core& core = created.core();
  const std::uint32_t index = core.handle.index;
  if (!connection::start_server(core, config.server_tls, initial, original_dcid, retry_scid,
                                validated, datagram, now)) {
    destroy(index);
    return std::nullopt;
  }
  RxDatagram* const first = &datagram;
  connection::receive(core, std::span<RxDatagram* const>(&first, 1), now);
  if (!core.heard_from_peer) {
    // It did not authenticate: as if it had never come.
    destroy(index);
    ++stats.datagrams_dropped;
    return std::nullopt;
  }
  if (validated) tokens.spend(token);
  Slot& slot = slots[index];
  slot.first_dcid = initial.dcid;
  by_cid.try_emplace(initial.dcid, index);
  slot.is_handshaking = true;
  ++handshaking;
  ++stats.connections_accepted;
  mark_dirty(index);
  settle(index);
  return std::nullopt;  // the datagram has been dealt with
}

}  // namespace quasi::endpoint
