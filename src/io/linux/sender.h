// Sending on Linux: a batch becomes one sendmmsg, in which neighbours of one size to
// one destination are one message with UDP_SEGMENT where the kernel can cut it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/linux/linux_port.h"
#include "io/linux/sockaddr.h"

namespace quasi::io {

class LinuxSender {
 public:
  LinuxSender();

  [[nodiscard]] PortResult<void> send(LinuxPort& port, const TxBatch& batch);

 private:
  static constexpr std::size_t kControlBytes = 128;

  /// Entries [first, first + count) of the batch as one message to the kernel.
  struct Message {
    std::size_t first = 0, count = 0;
    KernelAddress name;
    iovec span;
    alignas(cmsghdr) std::array<std::uint8_t, kControlBytes> control;
  };

  [[nodiscard]] static std::size_t socket_for(const LinuxPort& port, const TxBatch::Entry& entry);
  [[nodiscard]] static std::size_t train_length(const TxBatch& batch, std::size_t first,
                                                std::size_t end);
  /// Adds a message to those that transmit() sends.
  void add(const UdpSocket& socket, const TxBatch& batch, std::size_t first, std::size_t count);
  /// Sends entries [begin, end), all through one socket.
  [[nodiscard]] PortResult<void> send_range(LinuxPort& port, UdpSocket& socket,
                                            const TxBatch& batch, std::size_t begin,
                                            std::size_t end);
  /// Sends the messages added. Stops early at a train that the kernel refuses: returns
  /// its index, and the kernel's error in refusal_.
  [[nodiscard]] PortResult<std::size_t> transmit(LinuxPort& port, const UdpSocket& socket,
                                                 const TxBatch& batch);

  std::array<mmsghdr, TxBatch::kCapacity> headers_;
  std::array<Message, TxBatch::kCapacity> messages_;
  std::size_t count_ = 0;
  int refusal_ = 0;
};

}  // namespace quasi::io
