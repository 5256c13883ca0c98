// A QUIC endpoint, sans-I/O: one UDP socket's worth of connections, client,
// server or both. The driver moves batches and time:
//
//   for (;;) {
//     port.receive(rx);  endpoint.receive(rx, port.now());  rx.clear();
//     while (auto event = endpoint.poll_event()) ...;
//     while (endpoint.transmit(tx, port.now())) { port.send(tx); tx.clear(); }
//     port.wait(endpoint.next_timeout());  endpoint.on_timeout(port.now());
//   }
//
// Not thread-safe; an Endpoint reads no clock and opens no socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/bytes.h"
#include "quasi/connection.h"
#include "quasi/port.h"
#include "quasi/result.h"
#include "quasi/time.h"

namespace quasi {

namespace tls {
class ClientConfig;
class ServerConfig;
}  // namespace tls

namespace endpoint {
struct EndpointState;
}

/// Fills the bytes with randomness that a peer cannot guess. Tests give a seeded one.
using Entropy = std::function<void(MutableBytes)>;

struct EndpointConfig {
  TransportConfig transport;
  /// Makes the endpoint a server; null for clients.
  std::shared_ptr<const tls::ServerConfig> server_tls;
  /// Ask every new client for a Retry token (RFC 9000 §8.1.2). Otherwise Retry
  /// begins with 256 unfinished handshakes, or half of max_connections if that is less.
  bool always_retry = false;
  /// Connections held at once; further ones are refused (CONNECTION_REFUSED).
  std::size_t max_connections = 10'000;
  /// Key of the stateless reset tokens (RFC 9000 §10.3.2): give the same one to
  /// be able to reset connections of an earlier run. Empty: random.
  std::vector<std::uint8_t> reset_key;
};

struct ConnectOptions {
  std::shared_ptr<const tls::ClientConfig> tls;
  SocketAddress remote;
  /// For SNI and certificate checks: a DNS name or an IP address.
  std::string server_name;
  /// A token from an earlier connection's NEW_TOKEN, or empty.
  std::vector<std::uint8_t> token;
  std::optional<TransportConfig> transport;  // instead of the endpoint's
};

struct EndpointStats {
  std::uint64_t datagrams_received = 0, datagrams_sent = 0, datagrams_dropped = 0;
  std::uint64_t retries_sent = 0, resets_sent = 0, version_negotiations_sent = 0;
  std::uint64_t connections_accepted = 0, connections_refused = 0;
};

class Endpoint {
 public:
  Endpoint(EndpointConfig config, Entropy entropy);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Starts a connection; packets come out of transmit().
  [[nodiscard]] Result<Connection*> connect(const ConnectOptions& options, Instant now);

  /// Takes a burst. Datagrams are decrypted where they lie; their buffers are
  /// kept only as long as stream data in them is unread.
  void receive(RxBatch& batch, Instant now);
  /// Adds datagrams to the batch; false when nothing was added.
  [[nodiscard]] bool transmit(TxBatch& batch, Instant now);
  /// When on_timeout() has to be called next; Instant::never() for no timer.
  [[nodiscard]] Instant next_timeout() const;
  void on_timeout(Instant now);

  [[nodiscard]] std::optional<Event> poll_event();

  /// Null when the connection has gone.
  [[nodiscard]] Connection* connection(ConnectionHandle handle);
  /// Forgets a connection whose `closed` event was polled. Until its draining
  /// period ends (RFC 9000 §10.2) the endpoint keeps what it needs of it.
  void release(ConnectionHandle handle);
  /// Connections that are not yet gone for good, those draining included.
  [[nodiscard]] std::size_t connection_count() const;
  /// Closes every connection, as Connection::close() does.
  void close_all(std::uint64_t error_code, std::string_view reason);
  /// Stops accepting: new clients are refused, what runs goes on.
  void stop_accepting();
  [[nodiscard]] EndpointStats stats() const;

 private:
  std::unique_ptr<endpoint::EndpointState> state_;
};

}  // namespace quasi
