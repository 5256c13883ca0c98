// A server's answers to datagrams of no connection: a new connection, Version
// Negotiation, Retry, a refusal, a stateless reset (RFC 9000 §5.2.2, §6.1, §8.1.2,
// §10.3). Nothing is kept of a client before its Initial packet has authenticated,
// and no answer is larger than three times its trigger.
#include <algorithm>
#include <cstring>

#include "endpoint/endpoint_state.h"
#include "tls/session.h"
#include "wire/frame_writer.h"

namespace quasi::endpoint {
namespace {

/// RFC 9000 §7.2: a client's first destination ID is unpredictable.
constexpr std::size_t kLeastFirstCid = 8;

}  // namespace

Reply* EndpointState::new_reply(const RxDatagram& datagram, Instant at) {
  if (datagram.remote == datagram.local) return nullptr;  // our own packet came back
  reply_budget = std::min<double>(
      limits::kStatelessReplyBurst,
      reply_budget + (at - reply_budget_time).to_seconds() * limits::kStatelessRepliesPerSecond);
  reply_budget_time = at;
  if (reply_budget < 1 || replies.size() >= limits::kMaxPendingReplies) {
    ++stats.datagrams_dropped;
    return nullptr;
  }
  reply_budget -= 1;
  Reply& reply = replies.emplace_back();
  reply.remote = datagram.remote;
  reply.local = datagram.local;
  return &reply;
}

void EndpointState::send_version_negotiation(const wire::InvariantHeader& header,
                                             const RxDatagram& datagram) {
  Reply* reply = new_reply(datagram, now);
  if (reply == nullptr) return;
  std::array<std::uint8_t, 5> random{};
  entropy(random);
  // RFC 9000 §6.3: a reserved version keeps clients honest about unknown ones.
  const std::uint32_t reserved =
      (load_le<std::uint32_t>(random.data()) & 0xf0f0f0f0U) | 0x0a0a0a0aU;
  const std::array<std::uint32_t, 2> versions = {wire::kVersion1, reserved};
  wire::Writer<wire::Forward> writer(reply->bytes);
  if (!wire::write_version_negotiation(writer, header.scid, header.dcid, versions, random[4])) {
    replies.pop_back();
    return;
  }
  reply->size = writer.written();
  ++stats.version_negotiations_sent;
}

void EndpointState::send_retry(const wire::PacketView& initial, const RxDatagram& datagram,
                               Instant at) {
  Reply* reply = new_reply(datagram, at);
  if (reply == nullptr) return;
  if (!retry_integrity) {
    retry_integrity = std::make_unique<protect::RetryIntegrity>(*initial.version);
  }
  std::array<std::uint8_t, limits::kLocalCidLength + 1> random{};
  entropy(random);
  const auto scid = wire::ConnectionId::from(Bytes(random).first(limits::kLocalCidLength));
  const std::vector<std::uint8_t> token =
      tokens.make_retry_token(datagram.remote, initial.dcid, *scid, at);
  wire::Writer<wire::Forward> writer(reply->bytes);
  if (!retry_integrity->write(writer, initial.dcid, initial.scid, *scid, token, random.back())) {
    replies.pop_back();
    return;
  }
  reply->size = writer.written();
  ++stats.retries_sent;
}

void EndpointState::send_refusal(const wire::PacketView& initial, const RxDatagram& datagram,
                                 TransportErrorCode code) {
  Reply* reply = new_reply(datagram, now);
  if (reply == nullptr) return;
  const tls::KeyPair raw =
      tls::initial_keys(tls::Version::v1, initial.dcid.bytes(), Side::server);
  protect::ProtectionKeys keys;
  wire::Writer<wire::Forward> writer(MutableBytes(reply->bytes).first(256));
  std::array<std::uint8_t, limits::kLocalCidLength> scid{};
  entropy(scid);
  const auto layout = wire::write_long_header(
      writer, *initial.version, wire::PacketType::initial, initial.scid,
      *wire::ConnectionId::from(scid), {}, 0, 1);
  const bool written =
      layout &&
      keys.install({.algorithm = aead::Algorithm::aes_128_gcm,
                    .key = raw.local.key_bytes(),
                    .iv = raw.local.iv,
                    .header_key = raw.local.header_bytes()}) &&
      wire::write(writer,
                  wire::ConnectionCloseFrame{.application = false,
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

void EndpointState::send_stateless_reset(Bytes dcid, const RxDatagram& datagram) {
  // RFC 9000 §10.3.3: always smaller than what it answers, so that two endpoints which
  // reset each other fall silent; and never so small that it could not be one.
  constexpr std::size_t kLeast = 21;
  constexpr std::size_t kMost = 42;
  if (datagram.size <= kLeast) return;
  Reply* reply = new_reply(datagram, now);
  if (reply == nullptr) return;
  reply->size = std::clamp<std::size_t>(datagram.size - 1, kLeast, kMost);
  const MutableBytes packet = MutableBytes(reply->bytes).first(reply->size);
  entropy(packet);
  packet[0] = static_cast<std::uint8_t>((packet[0] & 0x3f) | wire::kFixedBit);
  const connection::ResetToken token = reset_token(*wire::ConnectionId::from(dcid));
  std::memcpy(packet.data() + packet.size() - token.size(), token.data(), token.size());
  ++stats.resets_sent;
}

std::optional<std::uint32_t> EndpointState::accept(RxDatagram& datagram, Instant at) {
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
  bool validated = false;
  if (!initial.token.empty()) {
    const TokenProtector::Verdict token = tokens.check(initial.token, datagram.remote, at);
    if (token.kind == TokenProtector::Kind::retry) {
      if (!token.valid || token.retry_scid != initial.dcid) {
        // RFC 9000 §8.1.2: a bad Retry token is answered at once, without state.
        send_refusal(initial, datagram, TransportErrorCode::invalid_token);
        return std::nullopt;
      }
      original_dcid = token.original_dcid;
      retry_scid = initial.dcid;
    }
    validated = token.valid;
  }
  if (!accepting || live >= config.max_connections) {
    ++stats.connections_refused;
    send_refusal(initial, datagram, TransportErrorCode::connection_refused);
    return std::nullopt;
  }
  if (!validated && (config.always_retry || handshaking >= config.max_connections / 2)) {
    send_retry(initial, datagram, at);
    return std::nullopt;
  }
  Connection& created = create(Side::server, config.transport);
  connection::Core& core = created.core();
  const std::uint32_t index = core.handle.index;
  if (!connection::start_server(core, config.server_tls, initial, original_dcid, retry_scid,
                                validated, datagram, at)) {
    destroy(index);
    return std::nullopt;
  }
  RxDatagram* const first = &datagram;
  connection::receive(core, std::span<RxDatagram* const>(&first, 1), at);
  if (!core.heard_from_peer) {
    // It did not authenticate: as if it had never come.
    destroy(index);
    ++stats.datagrams_dropped;
    return std::nullopt;
  }
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
