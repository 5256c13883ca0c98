// Helpers of this module's tests and fuzz targets: hex, reproducible random bytes,
// writing any parsed frame, and frames as text to compare them by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/bytes.h"
#include "wire/frame.h"
#include "wire/frame_parser.h"
#include "wire/frame_writer.h"

namespace quasi::wire::testing {

/// Bytes from lower-case hexadecimal digits; everything else in `text` is skipped.
inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  unsigned value = 1;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | (static_cast<unsigned>(c - 'a') + 10);
    } else {
      continue;
    }
    if (value >= 0x100) {
      bytes.push_back(static_cast<std::uint8_t>(value));
      value = 1;
    }
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

/// SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// 0 .. bound - 1.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>((next() >> 16) % bound); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(next() >> 56); }
  std::vector<std::uint8_t> bytes(std::size_t size) {
    std::vector<std::uint8_t> out(size);
    for (auto& b : out) b = byte();
    return out;
  }

 private:
  std::uint64_t state_;
};

/// Writes a frame as it was parsed, always with a length.
template <class D>
bool write_any(Writer<D>& writer, const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::padding:
      return write(writer, frame.padding);
    case FrameKind::ping:
      return write(writer, frame.ping);
    case FrameKind::ack: {
      std::vector<PnRange> ranges;
      for (const PnRange& range : frame.ack) ranges.push_back(range);
      const std::optional<EcnCounts> ecn =
          frame.ack.has_ecn ? std::optional(frame.ack.ecn) : std::nullopt;
      return write_ack(writer, std::span<const PnRange>(ranges), frame.ack.delay, ecn) ==
             ranges.size();
    }
    case FrameKind::reset_stream:
      return write(writer, frame.reset_stream);
    case FrameKind::stop_sending:
      return write(writer, frame.stop_sending);
    case FrameKind::crypto:
      return write(writer, frame.crypto);
    case FrameKind::new_token:
      return write(writer, frame.new_token);
    case FrameKind::stream:
      return write(writer, frame.stream);
    case FrameKind::max_data:
      return write(writer, frame.max_data);
    case FrameKind::max_stream_data:
      return write(writer, frame.max_stream_data);
    case FrameKind::max_streams:
      return write(writer, frame.max_streams);
    case FrameKind::data_blocked:
      return write(writer, frame.data_blocked);
    case FrameKind::stream_data_blocked:
      return write(writer, frame.stream_data_blocked);
    case FrameKind::streams_blocked:
      return write(writer, frame.streams_blocked);
    case FrameKind::new_connection_id:
      return write(writer, frame.new_connection_id);
    case FrameKind::retire_connection_id:
      return write(writer, frame.retire_connection_id);
    case FrameKind::path_challenge:
      return write(writer, frame.path_challenge);
    case FrameKind::path_response:
      return write(writer, frame.path_response);
    case FrameKind::connection_close:
      return write(writer, frame.connection_close);
    case FrameKind::handshake_done:
      return write(writer, frame.handshake_done);
    case FrameKind::datagram:
      return write(writer, frame.datagram);
  }
  return false;
}

/// All fields of a frame as one line of text.
inline std::string describe(const Frame& frame) {
  std::string text;
  const auto name = [&](const char* s) { text = s; };
  const auto number = [&](std::uint64_t n) { text += " " + std::to_string(n); };
  const auto bytes = [&](Bytes b) { text += " [" + to_hex(b) + "]"; };
  const auto flag = [&](bool set, const char* s) { text += set ? s : ""; };
  switch (frame.kind) {
    case FrameKind::padding:
      name("PADDING");
      number(frame.padding.length);
      break;
    case FrameKind::ping:
      name("PING");
      break;
    case FrameKind::ack:
      name("ACK");
      for (const PnRange& range : frame.ack) {
        text += " " + std::to_string(range.smallest) + "-" + std::to_string(range.largest);
      }
      text += " delay";
      number(frame.ack.delay);
      if (frame.ack.has_ecn) {
        text += " ecn";
        number(frame.ack.ecn.ect0);
        number(frame.ack.ecn.ect1);
        number(frame.ack.ecn.ce);
      }
      break;
    case FrameKind::reset_stream:
      name("RESET_STREAM");
      number(frame.reset_stream.stream_id);
      number(frame.reset_stream.error_code);
      number(frame.reset_stream.final_size);
      break;
    case FrameKind::stop_sending:
      name("STOP_SENDING");
      number(frame.stop_sending.stream_id);
      number(frame.stop_sending.error_code);
      break;
    case FrameKind::crypto:
      name("CRYPTO");
      number(frame.crypto.offset);
      bytes(frame.crypto.data);
      break;
    case FrameKind::new_token:
      name("NEW_TOKEN");
      bytes(frame.new_token.token);
      break;
    case FrameKind::stream:
      name("STREAM");
      number(frame.stream.stream_id);
      number(frame.stream.offset);
      bytes(frame.stream.data);
      flag(frame.stream.fin, " FIN");
      break;
    case FrameKind::max_data:
      name("MAX_DATA");
      number(frame.max_data.maximum);
      break;
    case FrameKind::max_stream_data:
      name("MAX_STREAM_DATA");
      number(frame.max_stream_data.stream_id);
      number(frame.max_stream_data.maximum);
      break;
    case FrameKind::max_streams:
      name("MAX_STREAMS");
      number(frame.max_streams.maximum);
      flag(frame.max_streams.unidirectional, " uni");
      break;
    case FrameKind::data_blocked:
      name("DATA_BLOCKED");
      number(frame.data_blocked.limit);
      break;
    case FrameKind::stream_data_blocked:
      name("STREAM_DATA_BLOCKED");
      number(frame.stream_data_blocked.stream_id);
      number(frame.stream_data_blocked.limit);
      break;
    case FrameKind::streams_blocked:
      name("STREAMS_BLOCKED");
      number(frame.streams_blocked.limit);
      flag(frame.streams_blocked.unidirectional, " uni");
      break;
    case FrameKind::new_connection_id:
      name("NEW_CONNECTION_ID");
      number(frame.new_connection_id.sequence);
      number(frame.new_connection_id.retire_prior_to);
      bytes(frame.new_connection_id.connection_id.bytes());
      bytes(frame.new_connection_id.reset_token);
      break;
    case FrameKind::retire_connection_id:
      name("RETIRE_CONNECTION_ID");
      number(frame.retire_connection_id.sequence);
      break;
    case FrameKind::path_challenge:
      name("PATH_CHALLENGE");
      bytes(frame.path_challenge.data);
      break;
    case FrameKind::path_response:
      name("PATH_RESPONSE");
      bytes(frame.path_response.data);
      break;
    case FrameKind::connection_close:
      name("CONNECTION_CLOSE");
      flag(frame.connection_close.application, " application");
      number(frame.connection_close.error_code);
      if (!frame.connection_close.application) number(frame.connection_close.frame_type);
      bytes(frame.connection_close.reason);
      break;
    case FrameKind::handshake_done:
      name("HANDSHAKE_DONE");
      break;
    case FrameKind::datagram:
      name("DATAGRAM");
      bytes(frame.datagram.data);
      break;
  }
  return text;
}

/// All frames of a payload, or what the error was, a line each.
template <class D>
std::string describe_all(Bytes payload, PacketType packet = PacketType::one_rtt) {
  FrameParser<D> parser(payload, packet);
  std::string text;
  Frame frame;
  for (;;) {
    const auto more = parser.next(frame);
    if (!more) {
      return text + "error " + std::to_string(static_cast<std::uint64_t>(more.error().code)) +
             " in frame " + std::to_string(more.error().frame_type);
    }
    if (!*more) return text;
    if (!text.empty()) text += "\n";
    text += describe(frame);
  }
}

}  // namespace quasi::wire::testing
