// What quasi's own ports have beyond the interface of quasi/port.h: how they are
// opened, and what they have heard about peers that cannot be reached.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "quasi/packet_buffer.h"
#include "quasi/port.h"
#include "quasi/socket_address.h"

namespace quasi::io {

/// What the network said about one peer (ICMP, mostly). It may be forged by whoever
/// guesses our port, so it explains a silence and proves nothing.
struct PeerError {
  enum class Kind : std::uint8_t {
    none,
    refused,      // nothing listens on that port
    unreachable,  // no route, or the host does not answer
    too_big,      // a datagram did not fit the path
    other,
  };
  Kind kind = Kind::none;
  SocketAddress remote;     // as far as the host tells
  std::uint32_t mtu = 0;    // too_big: what the path carries, 0 when unknown
  std::uint64_t count = 0;  // errors of all kinds since the port was opened
};

struct PortCounters {
  std::uint64_t datagrams_received = 0, datagrams_sent = 0;
  std::uint64_t receive_calls = 0, send_calls = 0, waits = 0;  // into the host
  std::uint64_t truncated = 0;     // received, longer than a buffer: dropped
  std::uint64_t send_dropped = 0;  // the host would not take them
};

struct PortOptions {
  /// Where to receive. Port 0: any free one. The unspecified IP of a family: all of
  /// that family's addresses. The family must be set.
  SocketAddress local;
  /// Where datagrams land; must outlive the port and every datagram from it. Blocks
  /// of io::buffer_block_size() bytes serve every host.
  BufferPool* pool = nullptr;
  /// Further addresses to receive at, IPv6 beside IPv4 say: the same port speaks for
  /// all. A port number 0 here means that of `local`.
  std::vector<SocketAddress> more_local{};
  /// The only peer, when there is one: sending is cheaper, datagrams from others do
  /// not arrive, and the host tells that it refuses. Leave it unspecified otherwise.
  SocketAddress peer{};
  /// Segmentation offloads, both ways, where the host has them.
  bool offloads = true;
  /// Bytes of datagrams that the host may keep for us, as far as it allows.
  std::uint32_t receive_buffer = std::uint32_t{8} << 20;
  std::uint32_t send_buffer = std::uint32_t{4} << 20;
};

/// At most so many addresses a port.
inline constexpr std::size_t kMaxSockets = 8;

class HostPort : public Port {
 public:
  /// The last error about a peer. Kind `refused` sticks once seen.
  [[nodiscard]] const PeerError& last_peer_error() const { return peer_error_; }
  /// Some peer's host said that nothing listens there.
  [[nodiscard]] bool peer_refused() const { return peer_error_.kind == PeerError::Kind::refused; }
  [[nodiscard]] const PortCounters& counters() const { return counters_; }
  /// All addresses that are received at, that of `local` first.
  [[nodiscard]] virtual std::vector<SocketAddress> local_addresses() const = 0;

 protected:
  void note_peer_error(PeerError::Kind kind, const SocketAddress& remote, std::uint32_t mtu) {
    ++peer_error_.count;
    has_news_ = true;
    if (peer_error_.kind == PeerError::Kind::refused) return;
    peer_error_.kind = kind;
    peer_error_.remote = remote;
    peer_error_.mtu = mtu;
  }

  /// wait() asks this first: who was told of an error by another call must get the
  /// chance to look at it before blocking.
  [[nodiscard]] bool take_news() { return std::exchange(has_news_, false); }

  PeerError peer_error_;
  PortCounters counters_;

 private:
  bool has_news_ = false;
};

}  // namespace quasi::io
