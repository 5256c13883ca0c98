// For tests: one endpoint as a victim (server or client) in the virtual-time network,
// a raw peer that has a connection with it, and an ordinary pair of client and server
// that shows afterwards that the victim still serves others.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "connection/core.h"
#include "hostile/raw_peer.h"
#include "sim/session.h"

namespace quasi::hostile {

class Hostile {
 public:
  struct Options {
    Side victim = Side::server;
    sim::Session::Options session;
    RawPeer::Options raw;
  };

  explicit Hostile(Options options)
      : session(options.session),
        victim_side(options.victim),
        client_tls_(*tls::ClientConfig::create(options.session.client_tls)),
        server_tls_(*tls::ServerConfig::create(options.session.server_tls)),
        raw(options.victim == Side::server ? Side::client : Side::server, options.raw,
            [this](Bytes datagram) { inject(datagram); }) {
    session.pair.filter = [this](bool to_server, std::vector<std::uint8_t>& datagram) {
      if (tap) tap(to_server, datagram);
      return !capture(to_server, datagram);
    };
  }

  /// Begins the raw peer's handshake without running it.
  void begin() {
    if (victim_side == Side::server) {
      raw.connect(*client_tls_);
    } else {
      session.connect();
      victim_handle = session.handle;
    }
  }
  /// Runs it until both sides have completed it; false if that does not happen.
  [[nodiscard]] bool handshake() {
    begin();
    const bool done = session.pair.run(
        [&] {
          find_victim();
          return raw.complete() && victim() != nullptr && victim()->is_confirmed();
        },
        Duration::seconds(5));
    run(Duration::milliseconds(200));
    return done;
  }
  void run(Duration duration) {
    (void)session.pair.run([] { return false; }, duration);
    find_victim();
  }

  /// The raw server takes the client's first datagram and answers it.
  void raw_accept(Bytes first) { raw.accept(*server_tls_, first); }

  [[nodiscard]] Endpoint& endpoint() {
    return victim_side == Side::server ? *session.server : *session.client;
  }
  /// The victim's connection with the raw peer; null when it has gone.
  [[nodiscard]] Connection* victim() {
    return victim_handle ? endpoint().connection(*victim_handle) : nullptr;
  }
  [[nodiscard]] connection::Core& core() { return victim()->core(); }
  [[nodiscard]] bool closed() { return victim() == nullptr || victim()->is_closed(); }

  /// Sends a 1-RTT packet with these frames.
  void send(Bytes payload) { raw.send(wire::PacketType::one_rtt, payload); }

  /// The victim serves an ordinary connection.
  void expect_alive() {
    raw_is_deaf_ = true;
    session.connected = false;
    const std::size_t before = session.finished;
    session.fetch(20'000);
    session.connect();
    EXPECT_TRUE(session.pair.run([&] { return session.finished > before; }, Duration::seconds(20)))
        << "the endpoint does not serve another connection";
    for (const auto& [stream, download] : session.downloads) EXPECT_FALSE(download.wrong);
    session.connection()->close(0, "");
  }

  void inject(Bytes datagram) {
    ++sent;
    if (holds) {
      held.emplace_back(datagram.begin(), datagram.end());
      return;
    }
    session.pair.inject(victim_side == Side::server, datagram, raw_address);
  }

  sim::Session session;
  Side victim_side;

 private:
  std::shared_ptr<const tls::ClientConfig> client_tls_;
  std::shared_ptr<const tls::ServerConfig> server_tls_;

 public:
  RawPeer raw;
  std::optional<ConnectionHandle> victim_handle;
  std::size_t sent = 0;  // datagrams of the raw peer
  /// Raw peer's datagrams are kept in `held` instead of sent.
  bool holds = false;
  std::vector<ByteVector> held;
  /// What comes for the raw peer vanishes; only its size is counted.
  bool mute = false;
  std::uint64_t captured_bytes = 0;
  /// Sees every datagram that either endpoint sends.
  std::function<void(bool to_server, Bytes datagram)> tap;
  SocketAddress raw_address = victim_side == Side::server
                                  ? *SocketAddress::parse("203.0.113.66:6666")
                                  : session.pair.server_address();
  /// Client victims: what happens to the first datagram, instead of RawPeer::accept().
  std::function<void(Bytes)> on_first;

 private:
  void find_victim() {
    if (victim_handle || session.server_events.empty() || victim_side == Side::client) return;
    victim_handle = session.server_events.front().connection;
  }

  /// Takes datagrams for the raw peer out of the network.
  bool capture(bool to_server, Bytes datagram) {
    if (to_server != (victim_side == Side::client)) return false;
    const auto header = wire::parse_invariants(datagram, limits::kLocalCidLength);
    if (!header) return false;
    const auto dcid = wire::ConnectionId::from(header->dcid);
    if (!dcid) return false;
    const bool ours = *dcid == raw.scid() ||
                      (dcid->size() >= 4 && std::equal(kRawCidPrefix.begin(), kRawCidPrefix.end(),
                                                       dcid->bytes().begin()));
    if (victim_side == Side::client && !raw_is_deaf_) {
      if (!bound_) {
        bound_ = dcid;
        on_first ? on_first(datagram) : raw.accept(*server_tls_, datagram);
        return true;
      }
      if (*dcid == *bound_ || ours) {
        hear(datagram);
        return true;
      }
      return false;
    }
    if (!ours && !(bound_ && *dcid == *bound_)) return false;
    hear(datagram);
    return true;
  }

  void hear(Bytes datagram) {
    captured_bytes += datagram.size();
    if (!mute) raw.receive(datagram);
  }

  std::optional<wire::ConnectionId> bound_;  // the victim client's first destination ID
  bool raw_is_deaf_ = false;                 // to new connections of the client
};

}  // namespace quasi::hostile
