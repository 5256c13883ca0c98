// All streams of a connection: who may open which (RFC 9000 §2.1, §4.6), frames to
// streams, which stream sends next, which frames are wanted, and events for the
// application. Everything is wanted state: flags in streams that hang in intrusive
// lists, so that neither peer nor application can make a queue grow.
//
// Streams live in a slab and are recycled with their storage; an open-addressed
// table finds them by ID. A closed stream leaves nothing behind: an ID below the
// highest opened that is not in the table was closed, and frames for it are ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "connection/flow_control.h"
#include "connection/recv_buffer_account.h"
#include "connection/recv_stream.h"
#include "connection/send_stream.h"
#include "quasi/bytes.h"
#include "quasi/connection.h"
#include "quasi/packet_buffer.h"
#include "quasi/result.h"
#include "quasi/time.h"
#include "recovery/types.h"

namespace quasi::connection {

/// What we announce in our transport parameters; how streams are set up.
struct StreamConfig {
  Side side = Side::client;
  std::uint64_t max_streams_bidi = 128;
  std::uint64_t max_streams_uni = 128;
  std::uint64_t stream_window = std::uint64_t{1} << 20;
  std::uint64_t max_stream_window = std::uint64_t{8} << 20;
  std::uint64_t connection_window = std::uint64_t{3} << 19;
  std::uint64_t max_connection_window = std::uint64_t{12} << 20;
  std::uint64_t send_buffer = std::uint64_t{4} << 20;
};

/// The peer's transport parameters that limit our streams (RFC 9000 §18.2).
struct PeerStreamLimits {
  std::uint64_t initial_max_data = 0;
  std::uint64_t initial_max_stream_data_bidi_local = 0;   // streams that the peer opens
  std::uint64_t initial_max_stream_data_bidi_remote = 0;  // streams that we open
  std::uint64_t initial_max_stream_data_uni = 0;
  std::uint64_t initial_max_streams_bidi = 0;
  std::uint64_t initial_max_streams_uni = 0;
};

/// A frame other than STREAM that the streams want sent.
struct ControlFrame {
  /// One of max_data, max_stream_data, max_streams_*, data_blocked,
  /// stream_data_blocked, streams_blocked_*, reset_stream, stop_sending.
  recovery::RecordKind kind = recovery::RecordKind::max_data;
  StreamId stream = 0;           // of those that name one
  std::uint64_t value = 0;       // the limit, or RESET_STREAM's final size
  std::uint64_t error_code = 0;  // RESET_STREAM, STOP_SENDING

  /// No such frame is longer: type and three varints.
  static constexpr std::size_t kMaxSize = 1 + 8 + 8 + 8;
  /// What the sent packet has to remember of it.
  [[nodiscard]] recovery::SentRecord record() const {
    return {.kind = kind, .fin = false, .extra = 0, .length = 0, .id = stream, .offset = value};
  }
};

class StreamMap {
 public:
  /// `blocks`: block_size() limits::kStreamBlockSize; must outlive the map.
  StreamMap(const StreamConfig& config, BufferPool& blocks);
  ~StreamMap();
  StreamMap(const StreamMap&) = delete;
  StreamMap& operator=(const StreamMap&) = delete;

  /// The peer's transport parameters (also those remembered for 0-RTT, first).
  /// TRANSPORT_PARAMETER_ERROR for stream limits above 2^60.
  [[nodiscard]] Status set_peer_limits(const PeerStreamLimits& limits);

  // Frames from the peer. `frame_type` is only for errors.
  [[nodiscard]] Status on_stream(StreamId id, std::uint64_t offset, Bytes data, bool fin,
                                 const BufferRef& owner, std::uint64_t frame_type = 0x08);
  [[nodiscard]] Status on_reset_stream(StreamId id, std::uint64_t error_code,
                                       std::uint64_t final_size);
  [[nodiscard]] Status on_stop_sending(StreamId id, std::uint64_t error_code);
  [[nodiscard]] Status on_max_data(std::uint64_t limit);
  [[nodiscard]] Status on_max_stream_data(StreamId id, std::uint64_t limit);
  [[nodiscard]] Status on_max_streams(Direction direction, std::uint64_t limit);
  [[nodiscard]] Status on_stream_data_blocked(StreamId id);
  [[nodiscard]] Status on_streams_blocked(Direction direction, std::uint64_t limit);

  // STREAM frames to send: peek, work out the room, take.
  struct NextData {
    StreamId stream = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // with endless room; 0: a FIN alone
    bool resent = false;     // lost before (VReverso sends such data in packets of its own)
  };
  [[nodiscard]] bool wants_to_send() const;
  /// What the stream whose turn it is would send.
  [[nodiscard]] std::optional<NextData> peek_data() const;
  /// Takes up to `max` bytes of the stream that peek_data() named; it counts as sent,
  /// and the turn goes on. Remember it as record().
  [[nodiscard]] DataChunk take_data(std::size_t max);
  [[nodiscard]] static recovery::SentRecord record(StreamId id, const DataChunk& chunk) {
    return {.kind = recovery::RecordKind::stream,
            .fin = chunk.fin,
            .extra = 0,
            .length = static_cast<std::uint32_t>(chunk.size),
            .id = id,
            .offset = chunk.offset};
  }

  // Other frames to send.
  [[nodiscard]] bool wants_control() const;
  /// A frame that is wanted; it counts as sent. Have ControlFrame::kMaxSize bytes of
  /// room. `rtt`: smoothed, zero when unknown; tunes windows.
  [[nodiscard]] std::optional<ControlFrame> take_control(Instant now, Duration rtt);

  /// A packet with this record was acknowledged, or declared lost; both may happen,
  /// in any order and more than once. False for kinds that are not the streams'.
  bool on_acked(const recovery::SentRecord& record);
  bool on_lost(const recovery::SentRecord& record);

  // The application's side; see quasi/connection.h. Unknown and closed streams read
  // nothing, take nothing and ignore the rest.
  [[nodiscard]] std::optional<StreamId> open_stream(Direction direction);
  [[nodiscard]] std::size_t write(StreamId id, Bytes data);
  [[nodiscard]] std::size_t writable(StreamId id) const;
  void finish(StreamId id);
  void reset(StreamId id, std::uint64_t error_code);
  [[nodiscard]] std::size_t readable(StreamId id, std::span<Bytes> out) const;
  void consume(StreamId id, std::size_t count);
  [[nodiscard]] bool is_finished(StreamId id) const;
  void stop_sending(StreamId id, std::uint64_t error_code);
  /// RFC 9218: urgency 0 (first) to 7; streams of equal urgency that are incremental
  /// take turns, others are sent whole. Default: 3, incremental.
  void set_priority(StreamId id, std::uint8_t urgency, bool incremental);

  /// The next stream event (kinds stream_*, streams_available), `connection` unset.
  [[nodiscard]] std::optional<Event> poll_event();
  [[nodiscard]] bool has_event() const;

  // For statistics and tests.
  [[nodiscard]] const RecvAccount& account() const { return account_; }
  [[nodiscard]] RecvAccount& account() { return account_; }
  [[nodiscard]] const ConnectionReceiveWindow& receive_window() const { return receive_window_; }
  [[nodiscard]] const SendWindow& send_window() const { return send_window_; }
  [[nodiscard]] std::size_t open_count() const { return open_count_; }
  /// First transmissions of stream bytes; what arrived (highest offsets).
  [[nodiscard]] std::uint64_t bytes_sent() const { return send_window_.used(); }
  [[nodiscard]] std::uint64_t bytes_received() const { return receive_window_.received(); }

 private:
  struct Stream;
  struct List;
  struct Kind;

  RecvAccount account_;
  ConnectionReceiveWindow receive_window_;
  SendWindow send_window_;
  std::size_t open_count_ = 0;
};

}  // namespace quasi::connection
