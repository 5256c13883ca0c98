// Building packets (see packet_writer.h).
#include "connection/packet_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "wire/frame_writer.h"
#include "wire/packet_number.h"

namespace quasi::connection {
namespace {

using recovery::RecordKind;
using recovery::SentRecord;
using Writer = wire::Writer<wire::Forward>;

/// What a packet holds so far, while its payload is written.
struct Draft {
  Core& core;
  Space& space;
  BuiltPacket& packet;
  Writer& writer;
  Instant now;

  void record(const SentRecord& r) { core.recovery.add_record(packet.space, r); }
};

void write_ack(Draft& d) {
  const recovery::AckTracker& acks = d.space.acks;
  // Our own exponent is the default of RFC 9000 §18.2.
  const std::uint64_t delay = recovery::encode_ack_delay(acks.ack_delay(d.now), 3);
  std::optional<wire::EcnCounts> ecn;
  if (const auto& counts = acks.ecn_counts(); (counts.ect0 | counts.ect1 | counts.ce) != 0) {
    ecn = counts;
  }
  if (wire::write_ack(d.writer, acks.ranges(), delay, ecn) == 0) return;
  d.record({.kind = RecordKind::ack, .offset = acks.largest()});
  d.packet.has_ack = true;
}

void write_crypto(Draft& d) {
  CryptoStream& crypto = d.space.crypto;
  while (crypto.wants_to_send()) {
    const auto mark = d.writer.mark();
    // The header is written for what fits; the chunk may turn out shorter than that
    // (lost ranges), in which case the header is written again for it.
    const std::uint64_t offset = crypto.next_offset();
    constexpr std::size_t kHeader = 1 + 8 + 2;
    if (d.writer.remaining() <= kHeader) return;
    const DataChunk chunk = crypto.next_chunk(d.writer.remaining() - kHeader);
    if (chunk.size == 0) return;
    const auto frame = wire::open_crypto(d.writer, offset, chunk.size);
    if (!frame || frame->data.size() != chunk.size) {
      d.writer.rewind(mark);
      crypto.on_lost(chunk.offset, chunk.size);
      return;
    }
    chunk.copy_to(frame->data.data());
    d.record({.kind = RecordKind::crypto,
              .length = static_cast<std::uint32_t>(chunk.size),
              .offset = chunk.offset});
    d.packet.ack_eliciting = true;
  }
}

template <class Frame>
bool write_recorded(Draft& d, const Frame& frame, const SentRecord& record) {
  if (!wire::write(d.writer, frame)) return false;
  d.record(record);
  d.packet.ack_eliciting = true;
  return true;
}

bool write_control(Draft& d, const ControlFrame& c) {
  switch (c.kind) {
    case RecordKind::reset_stream:
      return write_recorded(
          d,
          wire::ResetStreamFrame{
              .stream_id = c.stream, .error_code = c.error_code, .final_size = c.value},
          c.record());
    case RecordKind::stop_sending:
      return write_recorded(
          d, wire::StopSendingFrame{.stream_id = c.stream, .error_code = c.error_code}, c.record());
    case RecordKind::max_data:
      return write_recorded(d, wire::MaxDataFrame{.maximum = c.value}, c.record());
    case RecordKind::max_stream_data:
      return write_recorded(d, wire::MaxStreamDataFrame{.stream_id = c.stream, .maximum = c.value},
                            c.record());
    case RecordKind::max_streams_bidi:
    case RecordKind::max_streams_uni:
      return write_recorded(
          d,
          wire::MaxStreamsFrame{.unidirectional = c.kind == RecordKind::max_streams_uni,
                                .maximum = c.value},
          c.record());
    case RecordKind::data_blocked:
      return write_recorded(d, wire::DataBlockedFrame{.limit = c.value}, c.record());
    case RecordKind::stream_data_blocked:
      return write_recorded(
          d, wire::StreamDataBlockedFrame{.stream_id = c.stream, .limit = c.value}, c.record());
    case RecordKind::streams_blocked_bidi:
    case RecordKind::streams_blocked_uni:
      return write_recorded(
          d,
          wire::StreamsBlockedFrame{.unidirectional = c.kind == RecordKind::streams_blocked_uni,
                                    .limit = c.value},
          c.record());
    default:
      return false;
  }
}

void write_path_frames(Draft& d) {
  Path& path = d.core.path;
  if (path.response && wire::write(d.writer, wire::PathResponseFrame{.data = *path.response})) {
    path.response.reset();  // never sent again (RFC 9000 §13.3)
    d.record({.kind = RecordKind::path_response});
    d.packet.ack_eliciting = d.packet.wants_full_size = true;
  }
  if (path.wants_challenge && path.challenge &&
      write_recorded(d, wire::PathChallengeFrame{.data = *path.challenge},
                     {.kind = RecordKind::path_challenge})) {
    path.wants_challenge = false;
    d.packet.wants_full_size = true;
  }
}

void write_cid_frames(Draft& d) {
  while (LocalCids::Entry* entry = d.core.local_cids.next_wanted()) {
    const wire::NewConnectionIdFrame frame{.sequence = entry->sequence,
                                           .retire_prior_to = 0,
                                           .connection_id = entry->cid,
                                           .reset_token = entry->token};
    if (!write_recorded(d, frame, {.kind = RecordKind::new_connection_id, .id = entry->sequence})) {
      return;
    }
    entry->wants_frame = false;
  }
  while (RemoteCids::Retiring* retiring = d.core.remote_cids.next_wanted()) {
    if (!write_recorded(d, wire::RetireConnectionIdFrame{.sequence = retiring->sequence},
                        {.kind = RecordKind::retire_connection_id, .id = retiring->sequence})) {
      return;
    }
    retiring->wants_frame = false;
  }
}

void write_datagrams(Draft& d) {
  Core& core = d.core;
  while (!core.datagrams_out.empty()) {
    const std::string& data = core.datagrams_out.front();
    const auto frame = wire::open_datagram(d.writer, data.size(), false);
    if (!frame) return;
    if (!data.empty()) std::memcpy(frame->data.data(), data.data(), data.size());
    d.record({.kind = RecordKind::datagram});
    d.packet.ack_eliciting = true;
    core.datagram_bytes_out -= data.size();
    core.datagrams_out.pop_front();
  }
}

void write_streams(Draft& d) {
  StreamMap& streams = d.core.streams;
  while (const auto next = streams.peek_data()) {
    const auto fit =
        wire::fit_data(d.writer.remaining(), wire::stream_header_size(next->stream, next->offset),
                       static_cast<std::size_t>(next->size), true);
    if (!fit) return;
    const DataChunk chunk = streams.take_data(fit->data_length);
    const auto frame =
        wire::open_stream(d.writer, next->stream, chunk.offset, chunk.size, chunk.fin, true);
    if (!frame || frame->data.size() != chunk.size || frame->fin != chunk.fin) {
      // Cannot happen for what fit_stream() promised; the data is not lost either way.
      (void)streams.on_lost(StreamMap::record(next->stream, chunk));
      return;
    }
    chunk.copy_to(frame->data.data());
    d.record(StreamMap::record(next->stream, chunk));
    d.packet.ack_eliciting = true;
  }
}

void write_application_frames(Draft& d) {
  Core& core = d.core;
  write_path_frames(d);
  if (core.wants_handshake_done &&
      write_recorded(d, wire::HandshakeDoneFrame{}, {.kind = RecordKind::handshake_done})) {
    core.wants_handshake_done = false;
  }
  if (core.wants_new_token && write_recorded(d, wire::NewTokenFrame{.token = core.new_token},
                                             {.kind = RecordKind::new_token})) {
    core.wants_new_token = false;
  }
  write_cid_frames(d);
  const Duration rtt =
      core.recovery.rtt().has_sample() ? core.recovery.rtt().smoothed() : Duration();
  while (core.streams.wants_control() && d.writer.remaining() >= ControlFrame::kMaxSize) {
    const auto control = core.streams.take_control(d.now, rtt);
    if (!control) break;
    (void)write_control(d, *control);  // fits: room was checked
  }
  write_crypto(d);
  write_datagrams(d);
  write_streams(d);
}

void write_close(Draft& d) {
  const CloseReason& reason = d.core.close_reason;
  wire::ConnectionCloseFrame frame;
  frame.application = reason.kind == CloseReason::Kind::application;
  frame.error_code = reason.error_code;
  frame.frame_type = reason.frame_type;
  frame.reason =
      Bytes(reinterpret_cast<const std::uint8_t*>(reason.reason.data()), reason.reason.size());
  if (frame.application && d.packet.space != PacketSpace::application) {
    // RFC 9000 §10.2.3: the application's reasons stay private before 1-RTT keys.
    frame.application = false;
    frame.error_code = static_cast<std::uint64_t>(TransportErrorCode::application_error);
    frame.reason = {};
  }
  d.packet.closes = wire::write(d.writer, frame);
  if (d.packet.closes) return;
  frame.reason = {};  // an address that is not validated may leave room for the code only
  d.packet.closes = wire::write(d.writer, frame);
}

/// Whether the space has anything to say now.
bool is_wanted(const Core& core, const Space& space, const PacketRequest& request, Instant now) {
  if (request.close || request.must_elicit || space.acks.ack_due(now)) return true;
  if (!request.data_allowed) return false;
  return request.space == PacketSpace::application ? wants_data(core)
                                                   : space.crypto.wants_to_send();
}

/// Starts a packet: header written, payload writer ready.
std::optional<Writer> begin_packet(Core& core, PacketSpace which, MutableBytes room,
                                   BuiltPacket& packet) {
  packet.space = which;
  packet.packet_number = core.recovery.next_packet_number(which);
  const std::size_t length =
      wire::packet_number_length(packet.packet_number, core.recovery.largest_acked(which));
  constexpr std::size_t kLeastPayload = protect::kMinNumberAndPayload;
  if (room.size() < 64) return std::nullopt;
  Writer header(room.first(room.size() - aead::kTagSize - kLeastPayload));
  std::optional<wire::HeaderLayout> layout;
  if (which == PacketSpace::application) {
    layout = wire::write_short_header(header, core.remote_cids.current(), false,
                                      core.phases.send_phase_bit(), packet.packet_number, length);
  } else {
    const bool initial = which == PacketSpace::initial;
    layout = wire::write_long_header(
        header, *core.version, initial ? wire::PacketType::initial : wire::PacketType::handshake,
        core.remote_cids.current(), core.local_cids.handshake_cid(),
        initial && core.side == Side::client ? Bytes(core.token) : Bytes(), packet.packet_number,
        length);
  }
  if (!layout) return std::nullopt;
  packet.layout = *layout;
  return Writer(room.subspan(layout->size, room.size() - layout->size - aead::kTagSize));
}

/// Pads to what header protection needs and fixes the packet's extent.
void end_packet(BuiltPacket& packet, Writer& payload, MutableBytes room) {
  const std::size_t have = packet.layout.packet_number_length + payload.written();
  if (have < protect::kMinNumberAndPayload) payload.zeros(protect::kMinNumberAndPayload - have);
  packet.bytes = room.first(packet.layout.size + payload.written() + aead::kTagSize);
}

}  // namespace

bool wants_data(const Core& core) {
  if (core.space(PacketSpace::initial).crypto.wants_to_send() ||
      core.space(PacketSpace::handshake).crypto.wants_to_send()) {
    return true;
  }
  return core.streams.wants_to_send() || core.streams.wants_control() ||
         core.application().crypto.wants_to_send() || core.path.wants_challenge ||
         core.path.response || core.wants_handshake_done || core.wants_new_token ||
         core.local_cids.has_wanted() || core.remote_cids.has_wanted() ||
         !core.datagrams_out.empty();
}

bool wants_mtu_probe(const Core& core) {
  return core.confirmed && core.is_open() && core.path.validated && core.mtu.probe_size() != 0;
}

void replenish_cids(Core& core, Instant now) {
  if (!core.confirmed) return;
  while (core.local_cids.wants_new_cid(now)) {
    const wire::ConnectionId cid = core.router->issue_cid(core.handle);
    core.local_cids.issue(cid, core.router->reset_token(cid), now,
                          core.recovery.pto(PacketSpace::application));
  }
}

std::optional<BuiltPacket> build_packet(Core& core, const PacketRequest& request, MutableBytes room,
                                        Instant now) {
  Space& space = core.space(request.space);
  if (!is_wanted(core, space, request, now)) return std::nullopt;
  BuiltPacket packet;
  auto payload = begin_packet(core, request.space, room, packet);
  if (!payload) return std::nullopt;
  Draft draft{core, space, packet, *payload, now};
  if (request.close) {
    write_close(draft);
  } else {
    if (space.acks.has_ranges() && (space.acks.ack_wanted() || space.acks.ack_due(now))) {
      write_ack(draft);
    }
    if (request.data_allowed) {
      if (request.space == PacketSpace::application) {
        write_application_frames(draft);
      } else {
        write_crypto(draft);
      }
    }
    const bool ping =
        request.must_elicit || (packet.has_ack && core.recovery.wants_ping(request.space));
    if (ping && !packet.ack_eliciting && wire::write(*payload, wire::PingFrame{})) {
      draft.record({.kind = RecordKind::ping});
      packet.ack_eliciting = true;
    }
  }
  if (payload->written() == 0) {
    core.recovery.drop_records(request.space);
    return std::nullopt;
  }
  end_packet(packet, *payload, room);
  return packet;
}

std::optional<BuiltPacket> build_mtu_probe(Core& core, MutableBytes room, Instant) {
  BuiltPacket packet;
  auto payload = begin_packet(core, PacketSpace::application, room, packet);
  if (!payload || !wire::write(*payload, wire::PingFrame{})) return std::nullopt;
  payload->zeros(payload->remaining());
  core.recovery.add_record(
      PacketSpace::application,
      {.kind = RecordKind::mtu_probe, .length = static_cast<std::uint32_t>(room.size())});
  packet.ack_eliciting = packet.padded = packet.mtu_probe = true;
  end_packet(packet, *payload, room);
  core.mtu.on_probe_sent();
  return packet;
}

std::optional<BuiltPacket> build_path_response(Core& core, const ChallengeData& data,
                                               MutableBytes room, Instant) {
  BuiltPacket packet;
  auto payload = begin_packet(core, PacketSpace::application, room, packet);
  if (!payload || !wire::write(*payload, wire::PathResponseFrame{.data = data})) {
    return std::nullopt;
  }
  core.recovery.add_record(PacketSpace::application, {.kind = RecordKind::path_response});
  packet.ack_eliciting = true;
  end_packet(packet, *payload, room);
  return packet;
}

void pad_packet(BuiltPacket& packet, std::size_t count) {
  std::uint8_t* tag = packet.bytes.data() + packet.bytes.size() - aead::kTagSize;
  std::memset(tag, 0, count);
  packet.bytes = MutableBytes(packet.bytes.data(), packet.bytes.size() + count);
  packet.padded = true;
}

}  // namespace quasi::connection
