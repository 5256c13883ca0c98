// One QUIC connection, sans-I/O: streams to read and write, datagrams, close.
// When: after Endpoint::connect, or a `connected` event on a server. Not for:
// moving packets (the Endpoint does) or waiting (the Port does). A Connection is
// owned by its Endpoint; pointers stay valid until its `closed` event was polled
// and released. Not thread-safe. Nothing here calls back into the application:
// what happens is told by events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quasi/bytes.h"
#include "quasi/result.h"
#include "quasi/socket_address.h"
#include "quasi/time.h"

namespace quasi {

namespace connection {
struct Core;
}

/// RFC 9000 §2.1: the two low bits tell initiator and direction.
using StreamId = std::uint64_t;

enum class Side : std::uint8_t { client, server };
enum class Direction : std::uint8_t { bidirectional, unidirectional };
enum class CongestionController : std::uint8_t { cubic, new_reno, bbr };

/// Names a connection of an Endpoint, also after it has gone.
struct ConnectionHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  friend bool operator==(const ConnectionHandle&, const ConnectionHandle&) = default;
};

/// What a user may tune. Everything else follows from these or from the RFCs.
struct TransportConfig {
  /// Silence after which the connection ends without a word (RFC 9000 §10.1).
  Duration max_idle_timeout = Duration::seconds(30);
  /// Time within which the handshake has to complete.
  Duration handshake_timeout = Duration::seconds(10);
  /// Streams that the peer may have open at once.
  std::uint64_t max_streams_bidi = 128;
  std::uint64_t max_streams_uni = 128;
  /// Receive window of a stream in bytes: where auto-tuning starts, where it ends.
  std::uint64_t initial_stream_window = std::uint64_t{1} << 20;
  std::uint64_t max_stream_window = std::uint64_t{8} << 20;
  /// Receive window of the connection in bytes, likewise.
  std::uint64_t initial_connection_window = std::uint64_t{3} << 19;
  std::uint64_t max_connection_window = std::uint64_t{12} << 20;
  /// Bytes a stream accepts from the application beyond what is acknowledged.
  std::uint64_t send_buffer = std::uint64_t{4} << 20;
  /// Largest DATAGRAM frame accepted (RFC 9221); 0 refuses them.
  std::uint64_t max_datagram_frame_size = 0;
  CongestionController congestion_controller = CongestionController::cubic;
  /// Ack-eliciting packets that are received before an ACK is sent (RFC 9000
  /// §13.2.2 suggests 2; bulk receivers save much CPU with more).
  std::uint32_t ack_eliciting_threshold = 2;
  /// RFC 9000 §18.2; how long an ACK may be held back.
  Duration max_ack_delay = Duration::milliseconds(25);
  /// Look for a path MTU above 1,200 bytes (RFC 8899), up to max_udp_payload_size.
  bool mtu_discovery = true;
  std::uint16_t max_udp_payload_size = 1472;
  /// Key updates are started after so many packets (0: only when the AEAD's
  /// limit comes near, RFC 9001 §6.6).
  std::uint64_t key_update_interval = 0;
};

/// Why a connection ended.
struct CloseReason {
  enum class Kind : std::uint8_t {
    none,                 // still open
    application,          // CONNECTION_CLOSE of type 0x1d, or close() here
    transport,            // CONNECTION_CLOSE of type 0x1c, or an error found here
    idle_timeout,         // nothing was heard for max_idle_timeout
    handshake_timeout,    // the peer never completed the handshake
    stateless_reset,      // the peer no longer knows the connection
    version_negotiation,  // no version in common
  };
  Kind kind = Kind::none;
  bool by_peer = false;
  std::uint64_t error_code = 0;
  std::uint64_t frame_type = 0;
  /// For people; at most 512 bytes, printable ASCII.
  std::string reason;
  /// Whether anything at all was ever heard from the peer.
  bool heard_from_peer = false;
};

struct Event {
  enum class Kind : std::uint8_t {
    connected,          // handshake complete; streams may be opened
    confirmed,          // handshake confirmed (RFC 9001 §4.1.2)
    stream_opened,      // the peer opened `stream`
    stream_readable,    // new data, or the end, can be read on `stream`
    stream_writable,    // `stream` takes data again after write() took less than asked
    stream_reset,       // the peer reset its sending part with `error_code`
    stream_stopped,     // the peer asked not to be sent more, with `error_code`
    stream_sent,        // all data and the end of `stream` are acknowledged
    streams_available,  // the peer allows more streams to be opened
    datagram_received,
    closed,  // the last event; see Connection::close_reason()
  };
  Kind kind = Kind::closed;
  ConnectionHandle connection;
  StreamId stream = 0;
  std::uint64_t error_code = 0;
};

/// Counters since the connection began.
struct ConnectionStats {
  std::uint64_t packets_sent = 0, packets_received = 0, packets_lost = 0;
  std::uint64_t packets_undecryptable = 0, packets_duplicate = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;                // UDP payload
  std::uint64_t stream_bytes_received = 0, stream_bytes_sent = 0;  // first transmissions
  std::uint64_t acks_sent = 0, key_updates = 0, pto_count = 0;
  Duration smoothed_rtt, min_rtt;
  std::uint64_t congestion_window = 0;
  std::uint32_t max_datagram_size = 0;
  std::uint16_t cipher_suite = 0;  // TLS number, e.g. 0x1301
  std::uint32_t version = 0;
};

class Connection {
 public:
  explicit Connection(std::unique_ptr<connection::Core> core);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] ConnectionHandle handle() const;
  [[nodiscard]] Side side() const;
  [[nodiscard]] bool is_connected() const;
  [[nodiscard]] bool is_confirmed() const;
  /// Closing, draining or gone: nothing can be sent or read any more.
  [[nodiscard]] bool is_closed() const;
  [[nodiscard]] SocketAddress remote_address() const;
  /// The protocol that ALPN chose; empty before the handshake is complete.
  [[nodiscard]] std::string alpn() const;

  /// Client: the newest token of the server's NEW_TOKEN frames, for a later
  /// ConnectOptions::token (RFC 9000 §8.1.3); empty if there was none.
  [[nodiscard]] Bytes new_token() const;

  /// Opens a stream, or nothing when the peer allows no more just now.
  [[nodiscard]] std::optional<StreamId> open_stream(Direction direction);

  /// Takes as much of `data` as there is room for and returns how much that was.
  /// The bytes are copied. 0 for streams that cannot be written.
  [[nodiscard]] std::size_t write(StreamId stream, Bytes data);
  /// Room for write() on this stream now, in bytes.
  [[nodiscard]] std::size_t writable(StreamId stream) const;
  /// No more data follows on this stream.
  void finish(StreamId stream);
  /// Abandons sending (RESET_STREAM).
  void reset(StreamId stream, std::uint64_t error_code);

  /// Fills `out` with views of the bytes that can be read next, in order, without
  /// copying, and returns how many views that took. The views stay valid until
  /// consume() passes them or the connection closes.
  [[nodiscard]] std::size_t readable(StreamId stream, std::span<Bytes> out) const;
  /// Releases the next `count` readable bytes and grants the peer new credit.
  void consume(StreamId stream, std::size_t count);
  /// All bytes up to the end of the stream have been consumed.
  [[nodiscard]] bool is_finished(StreamId stream) const;
  /// Asks the peer to stop sending (STOP_SENDING); unread data is discarded.
  void stop_sending(StreamId stream, std::uint64_t error_code);

  /// Queues a DATAGRAM (RFC 9221); false when the peer takes none that long.
  [[nodiscard]] bool send_datagram(Bytes data);
  /// Takes the oldest datagram received, if any.
  [[nodiscard]] std::optional<std::string> receive_datagram();

  /// Ends the connection with an application error code (0x1d); what was written
  /// and not yet acknowledged is lost. Takes effect with the next transmit().
  void close(std::uint64_t error_code, std::string_view reason);
  [[nodiscard]] const CloseReason& close_reason() const;

  /// Asks for a key update (RFC 9001 §6), done as soon as the last one is settled;
  /// false before the handshake is confirmed.
  [[nodiscard]] bool update_keys();
  [[nodiscard]] ConnectionStats stats() const;

  /// For the Endpoint.
  [[nodiscard]] connection::Core& core() { return *core_; }

 private:
  std::unique_ptr<connection::Core> core_;
};

}  // namespace quasi
