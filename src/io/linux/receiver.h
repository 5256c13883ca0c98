// Receiving on Linux: recvmmsg into blocks of the pool, and trains of datagrams (which
// UDP_GRO delivers as one message) taken apart into views of one block.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/linux/linux_port.h"
#include "io/linux/sockaddr.h"

namespace quasi::io {

/// How a message of `size` bytes, of which the kernel says that it consists of segments
/// of `segment` bytes, is taken apart: the segment size, or the whole message when the
/// report makes no sense.
[[nodiscard]] constexpr std::uint32_t usable_segment(std::int64_t segment, std::uint32_t size) {
  return segment <= 0 || segment > std::int64_t{size} ? size : static_cast<std::uint32_t>(segment);
}

class LinuxReceiver {
 public:
  LinuxReceiver(BufferPool& pool, bool trains);

  /// Appends datagrams of all sockets until nothing is left or the batch is full.
  [[nodiscard]] PortResult<void> receive(LinuxPort& port, RxBatch& batch);
  /// Datagrams that arrived are waiting for room in a batch.
  [[nodiscard]] bool has_leftovers() const { return next_ < received_; }

 private:
  static constexpr std::size_t kMessages = 64;
  /// Trains are long: a few fill a batch.
  static constexpr std::size_t kTrainMessages = 4;
  static constexpr std::size_t kControlBytes = 128;

  struct Message {
    KernelAddress name;
    iovec span;
    alignas(cmsghdr) std::array<std::uint8_t, kControlBytes> control;
    BufferRef block;
  };
  /// What a message's control data says.
  struct Info {
    std::uint32_t segment = 0;
    Ecn ecn = Ecn::not_ect;
    SocketAddress remote;
    SocketAddress local;
  };

  [[nodiscard]] std::size_t prepare(std::size_t wanted);
  [[nodiscard]] static Info read_info(const UdpSocket& socket, const msghdr& header,
                                      std::uint32_t size);
  void deliver(LinuxPort& port, RxBatch& batch);

  BufferPool& pool_;
  std::size_t message_limit_;
  std::array<mmsghdr, kMessages> headers_;
  std::array<Message, kMessages> messages_;
  // Messages [next_, received_) of socket_ wait to be delivered; the first one from
  // offset_ on.
  std::size_t received_ = 0, next_ = 0;
  std::uint32_t offset_ = 0;
  std::size_t socket_ = 0;
  std::size_t first_socket_ = 0;  // where the next receive() begins, for fairness
};

}  // namespace quasi::io
