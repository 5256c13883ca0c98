// A network in virtual time for two endpoints: delay, rate with a drop-tail queue,
// loss, reordering, duplication, corruption, an MTU, and address rebinding, all
// drawn from one seed. Nothing waits and nothing is random twice: the same seed
// gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "quasi/endpoint.h"
#include "quasi/port.h"

namespace quasi::sim {

struct LinkConfig {
  Duration delay = Duration::milliseconds(10);  // one way
  std::uint64_t bits_per_second = 0;            // 0: no bottleneck
  std::size_t queue_bytes = 256 * 1024;         // behind the bottleneck, then drop-tail
  double loss = 0, duplicate = 0, corrupt = 0;  // probability a datagram
  double reorder = 0;                           // probability of `reorder_delay` more
  Duration reorder_delay = Duration::milliseconds(5);
  std::size_t mtu = 1472;  // UDP payload; larger ones vanish
};

struct LinkStats {
  std::uint64_t sent = 0, delivered = 0, lost = 0, queue_drops = 0, too_large = 0, corrupted = 0;
  std::uint64_t bytes = 0;
};

/// Both endpoints and the two links between them.
class Pair {
 public:
  /// Called for every event of either side; `is_server` tells which.
  using EventHandler = std::function<void(bool is_server, Endpoint&, const Event&)>;

  Pair(std::uint64_t seed, const LinkConfig& to_server, const LinkConfig& to_client);

  /// Deterministic entropy for the endpoints of this run.
  [[nodiscard]] Entropy entropy();
  void attach(Endpoint& client, Endpoint& server, EventHandler handler);

  /// Runs until `done` says so (true) or nothing is left to do or virtual `limit`
  /// has passed (false).
  [[nodiscard]] bool run(const std::function<bool()>& done, Duration limit);

  /// From now on the client appears at another address, as behind a NAT that
  /// forgot it; what is sent to the old one is lost.
  void rebind_client();
  /// Sees every datagram before it enters a link; may change it, false drops it.
  std::function<bool(bool to_server, std::vector<std::uint8_t>& datagram)> filter;
  /// Puts a datagram of the test's own making in front of a receiver at once.
  void inject(bool to_server, Bytes datagram, const SocketAddress& from);

  LinkConfig to_server, to_client;
  [[nodiscard]] const LinkStats& stats(bool towards_server) const {
    return towards_server ? server_stats_ : client_stats_;
  }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const SocketAddress& server_address() const { return server_address_; }
  [[nodiscard]] const SocketAddress& client_address() const { return client_address_; }

 private:
  struct Flight {
    Instant arrival;
    std::uint64_t order = 0;
    bool to_server = false;
    Ecn ecn = Ecn::not_ect;
    SocketAddress from, to;
    std::vector<std::uint8_t> bytes;
  };
  struct Later {
    bool operator()(const Flight& a, const Flight& b) const {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.order > b.order;
    }
  };

  void pump(bool server_side);
  void enter_link(bool towards_server, Bytes datagram, Ecn ecn, const SocketAddress& from,
                  const SocketAddress& to);
  void deliver_due();
  void drain_events(bool server_side);
  [[nodiscard]] bool chance(double probability);
  [[nodiscard]] Endpoint& endpoint(bool server_side) { return server_side ? *server_ : *client_; }

  std::mt19937_64 random_;
  std::mt19937_64 entropy_random_;
  BufferPool pool_{2048};
  RxBatch rx_;
  TxBatch tx_;
  Endpoint* client_ = nullptr;
  Endpoint* server_ = nullptr;
  EventHandler handler_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint64_t order_ = 0;
  Instant server_link_free_, client_link_free_;
  std::priority_queue<Flight, std::vector<Flight>, Later> flights_;
  LinkStats server_stats_, client_stats_;
  SocketAddress server_address_, client_address_;
};

}  // namespace quasi::sim
