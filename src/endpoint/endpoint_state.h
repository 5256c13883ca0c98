// The state of an endpoint: its connections, how datagrams find them, which of them
// have something to send or to tell, their timers, and the few packets that are
// answered without a connection (Version Negotiation, Retry, stateless reset,
// refusals), which are bounded in number and rate.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "connection/core.h"
#include "endpoint/index_queue.h"
#include "endpoint/reply_limiter.h"
#include "endpoint/stateless_reset.h"
#include "endpoint/timer_heap.h"
#include "endpoint/token.h"
#include "protect/retry.h"
#include "quasi/endpoint.h"
#include "wire/connection_id.h"

namespace quasi::endpoint {

/// One place for a connection; reused with another generation.
struct Slot {
  std::unique_ptr<Connection> connection;
  std::uint32_t generation = 0;
  bool dirty = false;           // in EndpointState::dirty
  bool has_events = false;      // in EndpointState::eventful
  bool released = false;        // by the application
  bool is_handshaking = false;  // counted in EndpointState::handshaking
  /// Server: the client's first destination ID, by which its first flights come.
  std::optional<wire::ConnectionId> first_dcid;
};

/// A datagram that answers one of an unknown connection.
struct Reply {
  std::array<std::uint8_t, limits::kMinDatagramSize> bytes{};
  std::size_t size = 0;
  SocketAddress remote, local;
};

struct EndpointState final : connection::Router {
  EndpointState(EndpointConfig config, Entropy entropy);

  // connection::Router
  wire::ConnectionId issue_cid(ConnectionHandle connection) override;
  void retire_cid(const wire::ConnectionId& cid) override;
  connection::ResetToken reset_token(const wire::ConnectionId& cid) override;
  void watch_reset_token(ConnectionHandle connection, const connection::ResetToken* old_token,
                         const connection::ResetToken* token) override;
  std::vector<std::uint8_t> address_token(const SocketAddress& remote) override;
  void wake(ConnectionHandle connection) override;

  /// Takes a free place and makes a connection in it.
  Connection& create(Side side, const TransportConfig& transport);
  void destroy(std::uint32_t index);
  [[nodiscard]] Connection* find(ConnectionHandle handle);
  /// After anything happened to a connection: timers, events, the end.
  void settle(std::uint32_t index);
  void mark_dirty(std::uint32_t index);

  /// Which connection a datagram belongs to; a new one if it begins one; or none.
  [[nodiscard]] std::optional<std::uint32_t> route(RxDatagram& datagram);
  [[nodiscard]] std::optional<std::uint32_t> route_short(const RxDatagram& datagram);

  // accept.cc
  [[nodiscard]] std::optional<std::uint32_t> accept(RxDatagram& datagram);
  void send_version_negotiation(const wire::InvariantHeader& header, const RxDatagram& datagram);
  void send_retry(const wire::PacketView& initial, const RxDatagram& datagram);
  void send_refusal(const wire::PacketView& initial, const RxDatagram& datagram,
                    TransportErrorCode code);
  void send_stateless_reset(const wire::ConnectionId& dcid, const RxDatagram& datagram);
  /// Room for one more reply, or null: their rate and number are capped.
  [[nodiscard]] Reply* new_reply(const RxDatagram& datagram);

  /// Unfinished handshakes from which on clients have to prove their address first.
  [[nodiscard]] std::size_t retry_threshold() const {
    return std::min(config.max_connections / 2, limits::kHandshakesBeforeRetry);
  }

  EndpointConfig config;
  Entropy entropy;
  EndpointStats stats;
  bool accepting = true;

  // Declared before the connections, which return their blocks to it.
  BufferPool blocks{static_cast<std::uint32_t>(limits::kStreamBlockSize)};
  std::unique_ptr<connection::Workspace> workspace = std::make_unique<connection::Workspace>();
  std::vector<Slot> slots;
  std::vector<std::uint32_t> free_slots;
  std::size_t live = 0;
  std::size_t handshaking = 0;  // server connections whose handshake is not complete

  wire::ConnectionIdHash hash;
  std::unordered_map<wire::ConnectionId, std::uint32_t, wire::ConnectionIdHash> by_cid;
  /// Reset tokens of the peers' connection IDs in use; a token is 16 bytes and so
  /// fits the same key type. The keyed hash makes the look-up tell nothing.
  std::unordered_map<wire::ConnectionId, std::uint32_t, wire::ConnectionIdHash> by_reset_token;

  IndexQueue dirty;
  IndexQueue eventful;
  TimerHeap timers;

  TokenKeeper tokens;
  StatelessReset resets;
  std::unique_ptr<protect::RetryIntegrity> retry_integrity;
  std::deque<Reply> replies;
  ReplyLimiter reply_limiter;
  Instant now;  // of the call that is running
};

}  // namespace quasi::endpoint
