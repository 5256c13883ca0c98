// All streams of a connection: who may open which (RFC 9000 §2.1, §4.6), frames to
// streams, which stream sends next, which frames are wanted, and events for the
// application. Everything is wanted state: flags in streams that hang in intrusive
// lists, so that neither peer nor application can make a queue grow.
//
// Streams are recycled with their storage (stream_table.h). A closed stream leaves nothing behind:
// an ID below the highest opened that is not in the table was closed, and frames for it are
// ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/limits.h"
#include "connection/flow_control.h"
#include "connection/recv_buffer_account.h"
#include "connection/recv_stream.h"
#include "connection/send_stream.h"
#include "connection/stream.h"
#include "connection/stream_list.h"
#include "connection/stream_table.h"
#include "quasi/bytes.h"
#include "quasi/connection.h"
#include "quasi/packet_buffer.h"
#include "quasi/result.h"
#include "quasi/time.h"
#include "recovery/types.h"

namespace quasi::connection {

/// How streams are set up. Our transport parameters have to announce what
/// StreamMap::config() gives back: initial_max_data = connection_window,
/// initial_max_stream_data_* = stream_window, initial_max_streams_* = max_streams_*.
struct StreamConfig {
  Side side = Side::client;
  std::uint64_t max_streams_bidi = 128;
  std::uint64_t max_streams_uni = 128;
  std::uint64_t stream_window = std::uint64_t{1} << 20;
  std::uint64_t max_stream_window = std::uint64_t{8} << 20;
  std::uint64_t connection_window = std::uint64_t{3} << 19;
  std::uint64_t max_connection_window = std::uint64_t{12} << 20;
  std::uint64_t send_buffer = std::uint64_t{4} << 20;
  /// Something the peer cannot guess; spreads stream IDs over the table.
  std::uint64_t table_seed = 0x9e3779b97f4a7c15;
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
  /// What the stream whose turn it is would send; nothing when nothing can be sent.
  [[nodiscard]] std::optional<NextData> peek_data() const;
  /// Takes up to `max` bytes of the stream that peek_data() named; it counts as sent,
  /// and the turn goes on. Remember it as record().
  [[nodiscard]] DataChunk take_data(std::uint64_t max);
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

  /// The configuration as it holds, with everything cut to what limits.h allows: what
  /// our transport parameters announce.
  [[nodiscard]] const StreamConfig& config() const { return config_; }

  // For statistics and tests.
  [[nodiscard]] const RecvAccount& account() const { return account_; }
  [[nodiscard]] RecvAccount& account() { return account_; }
  [[nodiscard]] const ConnectionReceiveWindow& receive_window() const { return receive_window_; }
  [[nodiscard]] const SendWindow& send_window() const { return send_window_; }
  [[nodiscard]] std::uint64_t send_held() const { return held_; }
  [[nodiscard]] std::size_t open_count() const { return streams_.size(); }
  /// First transmissions of stream bytes; what arrived (highest offsets).
  [[nodiscard]] std::uint64_t bytes_sent() const { return send_window_.used(); }
  [[nodiscard]] std::uint64_t bytes_received() const { return receive_window_.received(); }

 private:
  /// The four kinds of streams, by the two low bits of their IDs (RFC 9000 §2.1).
  struct Kind {
    std::uint64_t opened = 0;      // IDs with indexes below were opened, in our view
    std::uint64_t limit = 0;       // how many may be: the peer's word, or what we announced
    std::uint64_t closed = 0;      // of the peer's streams
    std::uint64_t concurrent = 0;  // of the peer's streams: how many may be open at once
    SendWindow blocked;            // of ours: STREAMS_BLOCKED, in the terms of a window
    bool resend_limit = false;     // the newest MAX_STREAMS was lost
    bool tell_available = false;   // the application was refused a stream
    bool available = false;        // and may open one now
  };

  [[nodiscard]] static std::size_t kind_of(StreamId id) { return id & 3; }
  [[nodiscard]] std::size_t kind_of(Direction direction, bool ours) const;
  [[nodiscard]] bool is_ours(StreamId id) const {
    return (id & 1) == (config_.side == Side::server ? 1U : 0U);
  }
  [[nodiscard]] static bool is_unidirectional(StreamId id) { return (id & 2) != 0; }

  // Null: the stream was closed, the frame is ignored.
  [[nodiscard]] Result<Stream*> find_or_open(StreamId id, std::uint64_t frame_type);
  [[nodiscard]] Result<Stream*> for_receiving(StreamId id, std::uint64_t frame_type);
  [[nodiscard]] Result<Stream*> for_sending(StreamId id, std::uint64_t frame_type);
  Stream& create(StreamId id);
  [[nodiscard]] std::uint64_t initial_send_limit(StreamId id) const;

  void apply(Stream& stream, const RecvStream::Outcome& outcome);
  void add_event(Stream& stream, Stream::EventBit event);
  /// Puts the stream into the lists that its state asks for, or closes it; last thing
  /// that is done with it.
  void settle(Stream& stream);
  void settle_turn(Stream& stream);
  void settle_control(Stream& stream);
  void leave_turn(Stream& stream);
  void close(Stream& stream);
  [[nodiscard]] Stream* next_to_send() const;
  [[nodiscard]] bool wants_max_streams(const Kind& kind) const;
  [[nodiscard]] std::optional<ControlFrame> take_connection_control(Instant now, Duration rtt);
  [[nodiscard]] ControlFrame take_stream_control(Instant now, Duration rtt);
  void remember_reset(StreamId id);
  [[nodiscard]] std::uint64_t send_room() const;
  /// A stream's send buffer held `before` bytes and may hold other now.
  void settle_held(const Stream& stream, std::uint64_t before);
  void wake_waiting();

  static constexpr std::size_t kUrgencies = 8;

  StreamConfig config_;
  BufferPool* blocks_;
  PeerStreamLimits peer_;
  RecvAccount account_;  // outlives the streams
  ConnectionReceiveWindow receive_window_;
  SendWindow send_window_;
  std::array<Kind, 4> kinds_;
  IntrusiveList<Stream, &Stream::send_hook> resend_;
  std::array<IntrusiveList<Stream, &Stream::send_hook>, kUrgencies> fresh_;
  std::uint8_t fresh_urgencies_ = 0;  // bit i: fresh_[i] has streams
  IntrusiveList<Stream, &Stream::control_hook> control_;
  IntrusiveList<Stream, &Stream::event_hook> events_;
  IntrusiveList<Stream, &Stream::wait_hook> waiting_;  // found the connection's buffer full
  std::uint64_t held_ = 0;                             // bytes in all send buffers
  std::array<StreamId, limits::kRememberedResets> resets_;
  std::size_t next_reset_ = 0;
  StreamTable streams_;
};

}  // namespace quasi::connection
