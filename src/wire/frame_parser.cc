// The frame parser (see wire/frame_parser.h): one text for both directions.
#include "wire/frame_parser.h"

#include <cstring>
#include <memory>

namespace quasi::wire {
namespace {

using enum TransportErrorCode;

std::unexpected<Error> malformed(const char* reason, std::uint64_t type) {
  return fail(frame_encoding_error, reason, type);
}

template <class D>
bool parse_ack(Reader<D>& reader, bool with_ecn, AckFrame& ack) {
  if (!reader.varint(ack.largest) || !reader.varint(ack.delay) || !reader.varint(ack.range_count) ||
      !reader.varint(ack.first_range)) {
    return false;
  }
  if (ack.first_range > ack.largest) return false;
  // Walks the ranges once, so that whoever iterates later may trust them. The
  // count is the peer's, but each round eats at least two bytes of the packet.
  const Bytes before = reader.rest();
  std::uint64_t smallest = ack.largest - ack.first_range;
  for (std::uint64_t i = 0; i < ack.range_count; ++i) {
    std::uint64_t gap = 0;
    std::uint64_t length = 0;
    if (!reader.varint(gap) || !reader.varint(length)) return false;
    if (smallest < gap + 2) return false;  // RFC 9000 §19.3.1
    smallest -= gap + 2;
    if (smallest < length) return false;
    smallest -= length;
  }
  const std::size_t size = before.size() - reader.remaining();
  ack.raw_ranges = D::kReversed ? before.last(size) : before.first(size);
  ack.reversed = D::kReversed;
  ack.has_ecn = with_ecn;
  return !with_ecn ||
         (reader.varint(ack.ecn.ect0) && reader.varint(ack.ecn.ect1) && reader.varint(ack.ecn.ce));
}

template <class D>
bool parse_new_connection_id(Reader<D>& reader, NewConnectionIdFrame& frame) {
  std::uint8_t length = 0;
  Bytes id;
  Bytes token;
  if (!reader.varint(frame.sequence) || !reader.varint(frame.retire_prior_to) ||
      !reader.u8(length) || !reader.bytes(length, id) ||
      !reader.bytes(frame.reset_token.size(), token)) {
    return false;
  }
  const auto value = ConnectionId::from(id);
  // RFC 9000 §19.15.
  if (!value || value->empty() || frame.retire_prior_to > frame.sequence) return false;
  frame.connection_id = *value;
  std::memcpy(frame.reset_token.data(), token.data(), token.size());
  return true;
}

template <class D>
bool parse_path_data(Reader<D>& reader, PathData& data) {
  Bytes view;
  if (!reader.bytes(data.size(), view)) return false;
  std::memcpy(data.data(), view.data(), view.size());
  return true;
}

template <class D>
bool parse_stream(Reader<D>& reader, std::uint64_t type, StreamFrame& stream) {
  if (!reader.varint(stream.stream_id)) return false;
  if ((type & frame_type::kStreamOffsetBit) != 0 && !reader.varint(stream.offset)) return false;
  if ((type & frame_type::kStreamLengthBit) == 0) {
    stream.data = reader.take_rest();
  } else if (!reader.counted_bytes(stream.data)) {
    return false;
  }
  stream.fin = (type & frame_type::kStreamFinBit) != 0;
  return stream.data.size() <= kMaxVarint - stream.offset;  // RFC 9000 §19.8
}

}  // namespace

template <class D>
Result<bool> FrameParser<D>::next(Frame& frame) {
  if (reader_.at_end()) [[unlikely]] {
    if (reader_.consumed() != 0) return false;
    // RFC 9000 §12.4.
    return fail(protocol_violation, "packet contains no frames");
  }
  const std::size_t before = reader_.remaining();
  std::uint64_t type = 0;
  if (!reader_.varint(type)) return malformed("frame type is truncated", 0);
  const std::size_t type_size = before - reader_.remaining();
  if (type_size != 1 && type_size != varint_size(type)) [[unlikely]] {
    // RFC 9000 §12.4: may be treated so, and no honest peer does it.
    return fail(protocol_violation, "frame type is not encoded in its shortest form", type);
  }
  const std::uint8_t permitted = permitted_packets(type);
  if ((permitted >> static_cast<unsigned>(packet_) & 1U) == 0) [[unlikely]] {
    if (permitted == 0) return malformed("frame type is unknown", type);
    return fail(protocol_violation, "frame is not permitted in this type of packet", type);
  }

  frame.type = type;
  bool ok = false;
  switch (type) {
    case frame_type::kPadding:
      frame.kind = FrameKind::padding;
      std::construct_at(&frame.padding, PaddingFrame{1 + reader_.skip_run(0)});
      return true;
    case frame_type::kPing:
      frame.kind = FrameKind::ping;
      std::construct_at(&frame.ping);
      return true;
    case frame_type::kAck:
    case frame_type::kAckEcn: {
      frame.kind = FrameKind::ack;
      AckFrame& ack = *std::construct_at(&frame.ack);
      if (parse_ack(reader_, type == frame_type::kAckEcn, ack)) return true;
      return malformed("ACK frame is truncated or acknowledges packet numbers below zero", type);
    }
    case frame_type::kResetStream: {
      frame.kind = FrameKind::reset_stream;
      ResetStreamFrame& f = *std::construct_at(&frame.reset_stream);
      ok = reader_.varint(f.stream_id) && reader_.varint(f.error_code) &&
           reader_.varint(f.final_size);
      break;
    }
    case frame_type::kStopSending: {
      frame.kind = FrameKind::stop_sending;
      StopSendingFrame& f = *std::construct_at(&frame.stop_sending);
      ok = reader_.varint(f.stream_id) && reader_.varint(f.error_code);
      break;
    }
    case frame_type::kCrypto: {
      frame.kind = FrameKind::crypto;
      CryptoFrame& f = *std::construct_at(&frame.crypto);
      // RFC 9000 §19.6.
      if (reader_.varint(f.offset) && reader_.counted_bytes(f.data) &&
          f.data.size() <= kMaxVarint - f.offset) {
        return true;
      }
      return malformed("CRYPTO frame is truncated or ends beyond the largest offset", type);
    }
    case frame_type::kNewToken: {
      frame.kind = FrameKind::new_token;
      NewTokenFrame& f = *std::construct_at(&frame.new_token);
      if (reader_.counted_bytes(f.token) && !f.token.empty()) return true;  // RFC 9000 §19.7
      return malformed("NEW_TOKEN frame is truncated or its token is empty", type);
    }
    case frame_type::kMaxData: {
      frame.kind = FrameKind::max_data;
      ok = reader_.varint(std::construct_at(&frame.max_data)->maximum);
      break;
    }
    case frame_type::kMaxStreamData: {
      frame.kind = FrameKind::max_stream_data;
      MaxStreamDataFrame& f = *std::construct_at(&frame.max_stream_data);
      ok = reader_.varint(f.stream_id) && reader_.varint(f.maximum);
      break;
    }
    case frame_type::kMaxStreamsBidi:
    case frame_type::kMaxStreamsUni: {
      frame.kind = FrameKind::max_streams;
      MaxStreamsFrame& f = *std::construct_at(&frame.max_streams);
      f.unidirectional = type == frame_type::kMaxStreamsUni;
      // RFC 9000 §4.6.
      if (reader_.varint(f.maximum) && f.maximum <= kMaxStreamCount) return true;
      return malformed("MAX_STREAMS frame is truncated or allows more than 2^60 streams", type);
    }
    case frame_type::kDataBlocked: {
      frame.kind = FrameKind::data_blocked;
      ok = reader_.varint(std::construct_at(&frame.data_blocked)->limit);
      break;
    }
    case frame_type::kStreamDataBlocked: {
      frame.kind = FrameKind::stream_data_blocked;
      StreamDataBlockedFrame& f = *std::construct_at(&frame.stream_data_blocked);
      ok = reader_.varint(f.stream_id) && reader_.varint(f.limit);
      break;
    }
    case frame_type::kStreamsBlockedBidi:
    case frame_type::kStreamsBlockedUni: {
      frame.kind = FrameKind::streams_blocked;
      StreamsBlockedFrame& f = *std::construct_at(&frame.streams_blocked);
      f.unidirectional = type == frame_type::kStreamsBlockedUni;
      // RFC 9000 §19.14.
      if (reader_.varint(f.limit) && f.limit <= kMaxStreamCount) return true;
      return malformed("STREAMS_BLOCKED frame is truncated or its limit is above 2^60", type);
    }
    case frame_type::kNewConnectionId:
      frame.kind = FrameKind::new_connection_id;
      if (parse_new_connection_id(reader_, *std::construct_at(&frame.new_connection_id))) {
        return true;
      }
      return malformed(
          "NEW_CONNECTION_ID frame is truncated, its ID has no permitted length, or it retires "
          "itself",
          type);
    case frame_type::kRetireConnectionId: {
      frame.kind = FrameKind::retire_connection_id;
      ok = reader_.varint(std::construct_at(&frame.retire_connection_id)->sequence);
      break;
    }
    case frame_type::kPathChallenge:
      frame.kind = FrameKind::path_challenge;
      ok = parse_path_data(reader_, std::construct_at(&frame.path_challenge)->data);
      break;
    case frame_type::kPathResponse:
      frame.kind = FrameKind::path_response;
      ok = parse_path_data(reader_, std::construct_at(&frame.path_response)->data);
      break;
    case frame_type::kConnectionCloseTransport:
    case frame_type::kConnectionCloseApplication: {
      frame.kind = FrameKind::connection_close;
      ConnectionCloseFrame& f = *std::construct_at(&frame.connection_close);
      f.application = type == frame_type::kConnectionCloseApplication;
      ok = reader_.varint(f.error_code) && (f.application || reader_.varint(f.frame_type)) &&
           reader_.counted_bytes(f.reason);
      break;
    }
    case frame_type::kHandshakeDone:
      frame.kind = FrameKind::handshake_done;
      std::construct_at(&frame.handshake_done);
      return true;
    case frame_type::kDatagram:
      frame.kind = FrameKind::datagram;
      std::construct_at(&frame.datagram, DatagramFrame{reader_.take_rest()});
      return true;
    case frame_type::kDatagramWithLength:
      frame.kind = FrameKind::datagram;
      ok = reader_.counted_bytes(std::construct_at(&frame.datagram)->data);
      break;
    default: {  // STREAM: the table let nothing else through
      frame.kind = FrameKind::stream;
      if (parse_stream(reader_, type, *std::construct_at(&frame.stream))) [[likely]]
        return true;
      return malformed("STREAM frame is truncated or ends beyond the largest offset", type);
    }
  }
  if (ok) [[likely]]
    return true;
  return malformed("frame is truncated", type);
}

template class FrameParser<Forward>;
template class FrameParser<Reverse>;

}  // namespace quasi::wire
