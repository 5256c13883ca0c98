// The port between the transport and a host: batches of datagrams in and out,
// one wait, one clock. The transport itself opens no socket; whoever drives it
// (quasi's event loop, or a C++ program of its own) moves batches between a Port
// and an Endpoint. Backends: src/io/linux, src/io/wasi.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"
#include "quasi/result.h"
#include "quasi/socket_address.h"
#include "quasi/time.h"

namespace quasi {

/// RFC 3168 code points.
enum class Ecn : std::uint8_t { not_ect = 0, ect1 = 1, ect0 = 2, ce = 3 };

/// One received datagram. `data` points into `buffer` and may be overwritten
/// (packets are decrypted in place).
struct RxDatagram {
  BufferRef buffer;
  std::uint8_t* data = nullptr;
  std::uint32_t size = 0;
  Ecn ecn = Ecn::not_ect;
  SocketAddress remote;
  SocketAddress local;  // as far as the host tells; port always set
};

/// A burst of received datagrams: the unit of work on the way in.
struct RxBatch {
  static constexpr std::size_t kCapacity = 128;
  std::array<RxDatagram, kCapacity> datagrams;
  std::size_t count = 0;

  void clear() {
    for (std::size_t i = 0; i < count; ++i) datagrams[i].buffer = BufferRef();
    count = 0;
  }
  [[nodiscard]] bool full() const { return count == kCapacity; }
};

/// Datagrams to send, built side by side in one buffer. Neighbours with equal
/// destination and size are what a host with segmentation offload sends at once.
class TxBatch {
 public:
  static constexpr std::size_t kCapacity = 64;
  static constexpr std::size_t kBytes = std::size_t{64} * 1536;

  struct Entry {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    Ecn ecn = Ecn::not_ect;
    SocketAddress remote;
    SocketAddress local;  // source to send from; unspecified: the host chooses
  };

  TxBatch() : bytes_(kBytes) {}

  /// Room for the next datagram; empty when the batch is full.
  [[nodiscard]] MutableBytes space() {
    if (count_ == kCapacity) return {};
    return MutableBytes(bytes_).subspan(used_);
  }
  /// Takes the first `size` bytes of space() as a datagram.
  void commit(std::uint32_t size, Ecn ecn, const SocketAddress& remote,
              const SocketAddress& local) {
    entries_[count_++] = Entry{static_cast<std::uint32_t>(used_), size, ecn, remote, local};
    used_ += size;
  }
  void clear() { count_ = used_ = 0; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const Entry& entry(std::size_t i) const { return entries_[i]; }
  [[nodiscard]] Bytes payload(std::size_t i) const {
    return Bytes(bytes_).subspan(entries_[i].offset, entries_[i].size);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::array<Entry, kCapacity> entries_;
  std::size_t count_ = 0;
  std::size_t used_ = 0;
};

/// What a Port says went wrong; `text` is one sentence with cause and cure.
struct PortError {
  enum class Kind : std::uint8_t { address_in_use, access_denied, no_network, invalid, other };
  Kind kind = Kind::other;
  const char* text = "";
  int system_error = 0;  // errno or 0
};
template <class T>
using PortResult = std::expected<T, PortError>;

/// A bound UDP endpoint with its clock. Not thread-safe.
class Port {
 public:
  virtual ~Port() = default;
  /// Appends what has arrived, without blocking, until nothing is left or the
  /// batch is full. An error about one peer (ICMP) is not an error of the port.
  [[nodiscard]] virtual PortResult<void> receive(RxBatch& batch) = 0;
  /// Sends all datagrams of the batch, in order; may drop on a full queue, as
  /// UDP does. Fails only when the port is unusable.
  [[nodiscard]] virtual PortResult<void> send(const TxBatch& batch) = 0;
  /// Blocks until something arrived or the deadline passed.
  [[nodiscard]] virtual PortResult<void> wait(Instant deadline) = 0;
  [[nodiscard]] virtual Instant now() = 0;
  [[nodiscard]] virtual SocketAddress local_address() const = 0;
};

}  // namespace quasi
