// What each frame of an authenticated packet does (RFC 9000 §19, RFC 9221 §4). The
// parser has checked encodings and whether a frame may be in this packet; here is
// what depends on the connection. Every handler is bounded in work and memory.
#include <algorithm>

#include "connection/core.h"
#include "connection/loss_sink.h"
#include "wire/frame_parser.h"

namespace quasi::connection {
namespace {

using wire::Frame;
using wire::FrameKind;

/// A frame that changed nothing. Honest peers send some; floods of them end the
/// connection (RFC 9000 §21.9 suggests an error code of the endpoint's choice).
Status count_glitch(Core& core, std::uint64_t frame_type) {
  if (++core.glitches <= limits::kMaxGlitches) return {};
  return fail(TransportErrorCode::protocol_violation, "too many frames that change nothing",
              frame_type);
}

/// Useful packets make up for frames such as MAX_DATA, which honest peers send with them.
void forgive_glitches(Core& core, std::uint64_t packets) {
  core.glitches -= std::min(core.glitches, packets);
}

Status on_ack(Core& core, const wire::AckFrame& ack, const PacketContext& packet, Instant now) {
  const std::uint64_t exponent =
      core.have_peer_parameters ? core.peer_parameters.ack_delay_exponent : 3;
  // RFC 9000 §13.2.5: delays in Initial and Handshake packets are not meant.
  const Duration delay = packet.space == PacketSpace::application
                             ? recovery::decode_ack_delay(ack.delay, exponent)
                             : Duration();
  LossSink sink(core);
  const auto result = core.recovery.on_ack_received(packet.space, ack, delay,
                                                    ack.has_ecn ? &ack.ecn : nullptr, now, sink);
  if (!result) return std::unexpected(result.error());
  if (packet.space == PacketSpace::application) {
    QUASI_TRY(core.phases.on_ack_received(ack.largest, packet.key_generation));
  }
  if (std::exchange(core.recovery_mtu_changed, false)) {
    core.recovery.set_max_datagram_size(core.mtu.current());
  }
  if (core.recovery.rtt().has_sample()) {
    core.application().acks.set_rtt(core.recovery.rtt().smoothed());
  }
  if (result->newly_acked > 0) {
    core.space(packet.space).probes = 0;
    forgive_glitches(core, result->newly_acked);
    return {};
  }
  return count_glitch(core, wire::frame_type::kAck);
}

Status on_crypto(Core& core, const wire::CryptoFrame& frame, const PacketContext& packet) {
  return core.space(packet.space)
      .crypto.on_crypto(frame.offset, frame.data, packet.datagram->buffer);
}

Status on_new_connection_id(Core& core, const wire::NewConnectionIdFrame& frame) {
  const std::uint64_t before = core.remote_cids.current_sequence();
  QUASI_TRY(core.remote_cids.on_new_connection_id(frame.sequence, frame.retire_prior_to,
                                                  frame.connection_id, frame.reset_token));
  if (core.remote_cids.current_sequence() != before) watch_current_token(core);
  return count_glitch(core, wire::frame_type::kNewConnectionId);
}

Status on_retire_connection_id(Core& core, const wire::RetireConnectionIdFrame& frame,
                               const PacketContext& packet) {
  const auto retired = core.local_cids.on_retire(frame.sequence, packet.dcid);
  if (!retired) return std::unexpected(retired.error());
  if (*retired) {
    core.router->retire_cid(**retired);
    return {};
  }
  return count_glitch(core, wire::frame_type::kRetireConnectionId);
}

Status on_new_token(Core& core, const wire::NewTokenFrame& frame) {
  if (core.side == Side::server) {
    return fail(TransportErrorCode::protocol_violation, "a client sent NEW_TOKEN",
                wire::frame_type::kNewToken);
  }
  core.received_token.assign(frame.token.begin(), frame.token.end());
  return count_glitch(core, wire::frame_type::kNewToken);
}

Status on_handshake_done(Core& core, Instant now) {
  if (core.side == Side::server) {
    return fail(TransportErrorCode::protocol_violation, "a client sent HANDSHAKE_DONE",
                wire::frame_type::kHandshakeDone);
  }
  confirm_handshake(core, now);
  return count_glitch(core, wire::frame_type::kHandshakeDone);
}

Status on_datagram(Core& core, const wire::DatagramFrame& frame) {
  // RFC 9221 §3: not announced, or larger than announced.
  if (frame.data.size() + 1 > core.config.max_datagram_frame_size) {
    return fail(TransportErrorCode::protocol_violation,
                "a DATAGRAM frame that was not announced or is too large",
                wire::frame_type::kDatagram);
  }
  core.datagrams_in.emplace_back(reinterpret_cast<const char*>(frame.data.data()),
                                 frame.data.size());
  core.datagram_bytes_in += frame.data.size();
  while (core.datagram_bytes_in > limits::kMaxDatagramQueueBytes ||
         core.datagrams_in.size() > limits::kMaxDatagramQueueCount) {
    core.datagram_bytes_in -= core.datagrams_in.front().size();
    core.datagrams_in.pop_front();
  }
  if (core.datagrams_in.size() == 1) {
    core.events.push_back(Event{.kind = Event::Kind::datagram_received, .connection = core.handle});
  }
  return {};
}

Status handle(Core& core, const Frame& frame, PacketContext& packet, Instant now) {
  switch (frame.kind) {
    case FrameKind::padding:
    case FrameKind::ping:
      return {};
    case FrameKind::ack:
      return on_ack(core, frame.ack, packet, now);
    case FrameKind::reset_stream:
      QUASI_TRY(core.streams.on_reset_stream(frame.reset_stream.stream_id,
                                             frame.reset_stream.error_code,
                                             frame.reset_stream.final_size));
      return count_glitch(core, frame.type);
    case FrameKind::stop_sending:
      QUASI_TRY(core.streams.on_stop_sending(frame.stop_sending.stream_id,
                                             frame.stop_sending.error_code));
      return count_glitch(core, frame.type);
    case FrameKind::crypto:
      return on_crypto(core, frame.crypto, packet);
    case FrameKind::new_token:
      return on_new_token(core, frame.new_token);
    case FrameKind::stream:
      return core.streams.on_stream(frame.stream.stream_id, frame.stream.offset, frame.stream.data,
                                    frame.stream.fin, packet.datagram->buffer, frame.type);
    case FrameKind::max_data:
      QUASI_TRY(core.streams.on_max_data(frame.max_data.maximum));
      return count_glitch(core, frame.type);
    case FrameKind::max_stream_data:
      QUASI_TRY(core.streams.on_max_stream_data(frame.max_stream_data.stream_id,
                                                frame.max_stream_data.maximum));
      return count_glitch(core, frame.type);
    case FrameKind::max_streams:
      QUASI_TRY(core.streams.on_max_streams(
          frame.max_streams.unidirectional ? Direction::unidirectional : Direction::bidirectional,
          frame.max_streams.maximum));
      return count_glitch(core, frame.type);
    case FrameKind::data_blocked:
      return count_glitch(core, frame.type);
    case FrameKind::stream_data_blocked:
      QUASI_TRY(core.streams.on_stream_data_blocked(frame.stream_data_blocked.stream_id));
      return count_glitch(core, frame.type);
    case FrameKind::streams_blocked:
      QUASI_TRY(core.streams.on_streams_blocked(frame.streams_blocked.unidirectional
                                                    ? Direction::unidirectional
                                                    : Direction::bidirectional,
                                                frame.streams_blocked.limit));
      return count_glitch(core, frame.type);
    case FrameKind::new_connection_id:
      return on_new_connection_id(core, frame.new_connection_id);
    case FrameKind::retire_connection_id:
      return on_retire_connection_id(core, frame.retire_connection_id, packet);
    case FrameKind::path_challenge:
      on_path_challenge(core, frame.path_challenge.data, *packet.datagram);
      return count_glitch(core, frame.type);
    case FrameKind::path_response:
      on_path_response(core, frame.path_response.data, now);
      return count_glitch(core, frame.type);
    case FrameKind::connection_close:
      on_peer_close(core, frame.connection_close, now);
      return {};
    case FrameKind::handshake_done:
      return on_handshake_done(core, now);
    case FrameKind::datagram:
      return on_datagram(core, frame.datagram);
  }
  return {};
}

}  // namespace

template <class Direction>
Status handle_frames(Core& core, Bytes payload, PacketContext& packet, Instant now) {
  wire::FrameParser<Direction> parser(payload, packet.type);
  Frame frame;
  unsigned acks = 0;
  bool crypto = false;
  const std::uint64_t stream_bytes = core.streams.bytes_received();
  for (;;) {
    const auto more = parser.next(frame);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    packet.ack_eliciting = packet.ack_eliciting || wire::is_ack_eliciting(frame.kind);
    packet.non_probing = packet.non_probing || !wire::is_probing(frame.kind);
    // a packet stuffed with ACK frames costs no more than an ordinary one.
    if (frame.kind == FrameKind::ack && ++acks > limits::kMaxAcksPerPacket) continue;
    crypto = crypto || frame.kind == FrameKind::crypto;
    QUASI_TRY(handle(core, frame, packet, now));
    if (!core.is_open()) return {};  // RFC 9000 §10.2: nothing after a close matters
  }
  if (core.streams.bytes_received() != stream_bytes) forgive_glitches(core, 1);
  // Post-handshake messages (NewSessionTicket); handshake packets are driven later.
  if (crypto && packet.space == PacketSpace::application) drive_handshake(core, now);
  return {};
}

template Status handle_frames<wire::Forward>(Core&, Bytes, PacketContext&, Instant);
template Status handle_frames<wire::Reverse>(Core&, Bytes, PacketContext&, Instant);

}  // namespace quasi::connection
