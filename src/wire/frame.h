// The frames of RFC 9000 §19 and RFC 9221 as plain structs, and a tagged union of
// them. Parsed frames are views: byte strings point into the packet, and an ACK's
// ranges are decoded while they are walked. Nothing here allocates or owns.
// Frames are the same values in both directions of the wire (wire/varint.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "quasi/bytes.h"
#include "wire/connection_id.h"
#include "wire/packet_type.h"
#include "wire/varint.h"

namespace quasi::wire {

/// Frame types as registered (RFC 9000 §19, RFC 9221 §4).
namespace frame_type {
inline constexpr std::uint64_t kPadding = 0x00;
inline constexpr std::uint64_t kPing = 0x01;
inline constexpr std::uint64_t kAck = 0x02;
inline constexpr std::uint64_t kAckEcn = 0x03;
inline constexpr std::uint64_t kResetStream = 0x04;
inline constexpr std::uint64_t kStopSending = 0x05;
inline constexpr std::uint64_t kCrypto = 0x06;
inline constexpr std::uint64_t kNewToken = 0x07;
inline constexpr std::uint64_t kStream = 0x08;  // to 0x0f, with the three bits below
inline constexpr std::uint64_t kStreamFinBit = 0x01;
inline constexpr std::uint64_t kStreamLengthBit = 0x02;
inline constexpr std::uint64_t kStreamOffsetBit = 0x04;
inline constexpr std::uint64_t kMaxData = 0x10;
inline constexpr std::uint64_t kMaxStreamData = 0x11;
inline constexpr std::uint64_t kMaxStreamsBidi = 0x12;
inline constexpr std::uint64_t kMaxStreamsUni = 0x13;
inline constexpr std::uint64_t kDataBlocked = 0x14;
inline constexpr std::uint64_t kStreamDataBlocked = 0x15;
inline constexpr std::uint64_t kStreamsBlockedBidi = 0x16;
inline constexpr std::uint64_t kStreamsBlockedUni = 0x17;
inline constexpr std::uint64_t kNewConnectionId = 0x18;
inline constexpr std::uint64_t kRetireConnectionId = 0x19;
inline constexpr std::uint64_t kPathChallenge = 0x1a;
inline constexpr std::uint64_t kPathResponse = 0x1b;
inline constexpr std::uint64_t kConnectionCloseTransport = 0x1c;
inline constexpr std::uint64_t kConnectionCloseApplication = 0x1d;
inline constexpr std::uint64_t kHandshakeDone = 0x1e;
inline constexpr std::uint64_t kDatagram = 0x30;
inline constexpr std::uint64_t kDatagramWithLength = 0x31;
}  // namespace frame_type

using limits::kMaxStreamCount;

using ResetToken = std::array<std::uint8_t, 16>;
using PathData = std::array<std::uint8_t, 8>;

/// RFC 9000 §19.1: a run of PADDING frames.
struct PaddingFrame {
  std::size_t length = 0;
};

/// RFC 9000 §19.2.
struct PingFrame {};

/// Packet numbers smallest..largest, both included.
struct PnRange {
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  friend bool operator==(const PnRange&, const PnRange&) = default;
};

/// RFC 9000 §19.3.2.
struct EcnCounts {
  std::uint64_t ect0 = 0;
  std::uint64_t ect1 = 0;
  std::uint64_t ce = 0;
  [[nodiscard]] bool any() const { return (ect0 | ect1 | ce) != 0; }
  friend bool operator==(const EcnCounts&, const EcnCounts&) = default;
};

/// RFC 9000 §19.3: an ACK as received. Iterating gives PnRanges from the largest downwards; the
/// parser has checked that none goes below zero.
struct AckFrame {
  std::uint64_t largest = 0;
  /// As on the wire: to be multiplied by 2^ack_delay_exponent microseconds.
  std::uint64_t delay = 0;
  std::uint64_t first_range = 0;
  /// Ranges besides the first one.
  std::uint64_t range_count = 0;
  /// Encoded (gap, length) pairs.
  Bytes raw_ranges;
  bool reversed = false;
  bool has_ecn = false;
  EcnCounts ecn;

  class Iterator {
   public:
    using value_type = PnRange;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const AckFrame& frame)
        : range_{frame.largest - frame.first_range, frame.largest},
          begin_(frame.raw_ranges.data()),
          end_(begin_ + frame.raw_ranges.size()),
          left_(frame.range_count),
          reversed_(frame.reversed) {}
    [[nodiscard]] const PnRange& operator*() const { return range_; }
    [[nodiscard]] const PnRange* operator->() const { return &range_; }
    Iterator& operator++() {
      if (left_ == 0) {
        done_ = true;
        return *this;
      }
      --left_;
      const std::uint64_t gap = read();
      const std::uint64_t length = read();
      range_.largest = range_.smallest - gap - 2;  // RFC 9000 §19.3.1
      range_.smallest = range_.largest - length;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.done_; }

   private:
    std::uint64_t read() {
      std::uint64_t value = 0;
      if (reversed_) {
        end_ -= Reverse::decode(begin_, end_, value);
      } else {
        begin_ += Forward::decode(begin_, end_, value);
      }
      return value;
    }
    PnRange range_;
    const std::uint8_t* begin_ = nullptr;
    const std::uint8_t* end_ = nullptr;
    std::uint64_t left_ = 0;
    bool reversed_ = false;
    bool done_ = false;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }
};

/// RFC 9000 §19.4.
struct ResetStreamFrame {
  std::uint64_t stream_id = 0;
  std::uint64_t error_code = 0;
  std::uint64_t final_size = 0;
};

/// RFC 9000 §19.5.
struct StopSendingFrame {
  std::uint64_t stream_id = 0;
  std::uint64_t error_code = 0;
};

/// RFC 9000 §19.6.
struct CryptoFrame {
  std::uint64_t offset = 0;
  Bytes data;
};

/// RFC 9000 §19.7.
struct NewTokenFrame {
  Bytes token;
};

/// RFC 9000 §19.8.
struct StreamFrame {
  std::uint64_t stream_id = 0;
  std::uint64_t offset = 0;
  Bytes data;
  bool fin = false;
};

/// RFC 9000 §19.9.
struct MaxDataFrame {
  std::uint64_t maximum = 0;
};

/// RFC 9000 §19.10.
struct MaxStreamDataFrame {
  std::uint64_t stream_id = 0;
  std::uint64_t maximum = 0;
};

/// RFC 9000 §19.11.
struct MaxStreamsFrame {
  bool unidirectional = false;
  std::uint64_t maximum = 0;
};

/// RFC 9000 §19.12.
struct DataBlockedFrame {
  std::uint64_t limit = 0;
};

/// RFC 9000 §19.13.
struct StreamDataBlockedFrame {
  std::uint64_t stream_id = 0;
  std::uint64_t limit = 0;
};

/// RFC 9000 §19.14.
struct StreamsBlockedFrame {
  bool unidirectional = false;
  std::uint64_t limit = 0;
};

/// RFC 9000 §19.15.
struct NewConnectionIdFrame {
  std::uint64_t sequence = 0;
  std::uint64_t retire_prior_to = 0;
  /// 1 to 20 bytes.
  ConnectionId connection_id;
  ResetToken reset_token{};
};

/// RFC 9000 §19.16.
struct RetireConnectionIdFrame {
  std::uint64_t sequence = 0;
};

/// RFC 9000 §19.17.
struct PathChallengeFrame {
  PathData data{};
};

/// RFC 9000 §19.18.
struct PathResponseFrame {
  PathData data{};
};

/// RFC 9000 §19.19.
struct ConnectionCloseFrame {
  bool application = false;  // type 0x1d
  std::uint64_t error_code = 0;
  /// Only of a transport close: the type of the frame that caused it.
  std::uint64_t frame_type = 0;
  /// Whatever the peer sent: not necessarily UTF-8.
  Bytes reason;
};

/// RFC 9000 §19.20.
struct HandshakeDoneFrame {};

/// RFC 9221 §4.
struct DatagramFrame {
  Bytes data;
};

enum class FrameKind : std::uint8_t {
  padding,
  ping,
  ack,
  reset_stream,
  stop_sending,
  crypto,
  new_token,
  stream,
  max_data,
  max_stream_data,
  max_streams,
  data_blocked,
  stream_data_blocked,
  streams_blocked,
  new_connection_id,
  retire_connection_id,
  path_challenge,
  path_response,
  connection_close,
  handshake_done,
  datagram,
};

/// One parsed frame: switch on `kind` and read the member of the same name.
struct Frame {
  FrameKind kind = FrameKind::padding;
  /// The type on the wire: what an error about this frame names.
  std::uint64_t type = frame_type::kPadding;
  union {
    PaddingFrame padding;
    PingFrame ping;
    AckFrame ack;
    ResetStreamFrame reset_stream;
    StopSendingFrame stop_sending;
    CryptoFrame crypto;
    NewTokenFrame new_token;
    StreamFrame stream;
    MaxDataFrame max_data;
    MaxStreamDataFrame max_stream_data;
    MaxStreamsFrame max_streams;
    DataBlockedFrame data_blocked;
    StreamDataBlockedFrame stream_data_blocked;
    StreamsBlockedFrame streams_blocked;
    NewConnectionIdFrame new_connection_id;
    RetireConnectionIdFrame retire_connection_id;
    PathChallengeFrame path_challenge;
    PathResponseFrame path_response;
    ConnectionCloseFrame connection_close;
    HandshakeDoneFrame handshake_done;
    DatagramFrame datagram;
  };

  Frame() : padding() {}
};

/// RFC 9000 §13.2: everything but ACK, PADDING and CONNECTION_CLOSE.
[[nodiscard]] constexpr bool is_ack_eliciting(FrameKind kind) {
  return kind != FrameKind::ack && kind != FrameKind::padding &&
         kind != FrameKind::connection_close;
}

/// RFC 9000 §9.1: frames that a peer may send from an address it only probes.
[[nodiscard]] constexpr bool is_probing(FrameKind kind) {
  return kind == FrameKind::path_challenge || kind == FrameKind::path_response ||
         kind == FrameKind::new_connection_id || kind == FrameKind::padding;
}

/// RFC 9000 §12.4, table 3, and §12.5: in which packet types a frame of this wire
/// type may be, as bits 1 << PacketType; 0 for unknown frame types.
[[nodiscard]] std::uint8_t permitted_packets(std::uint64_t type);

[[nodiscard]] inline bool is_permitted(std::uint64_t type, PacketType packet) {
  return (permitted_packets(type) >> static_cast<unsigned>(packet) & 1U) != 0;
}

}  // namespace quasi::wire
