// The port on Linux: non-blocking UDP sockets, many datagrams a system call
// (recvmmsg, sendmmsg), trains of datagrams where the kernel segments (UDP_GRO,
// UDP_SEGMENT), ECN and packet info by control messages, ppoll for waiting.
#pragma once

#include <memory>
#include <vector>

#include "io/host_port.h"
#include "io/linux/udp_socket.h"

namespace quasi::io {

class LinuxReceiver;
class LinuxSender;

class LinuxPort final : public HostPort {
 public:
  [[nodiscard]] static PortResult<std::unique_ptr<LinuxPort>> open(const PortOptions& options);
  ~LinuxPort() override;
  LinuxPort(const LinuxPort&) = delete;
  LinuxPort& operator=(const LinuxPort&) = delete;

  [[nodiscard]] PortResult<void> receive(RxBatch& batch) override;
  [[nodiscard]] PortResult<void> send(const TxBatch& batch) override;
  /// Returns early when a signal arrives, so that the caller can look at its flags.
  [[nodiscard]] PortResult<void> wait(Instant deadline) override;
  [[nodiscard]] Instant now() override;
  [[nodiscard]] SocketAddress local_address() const override { return sockets_.front().local(); }
  [[nodiscard]] std::vector<SocketAddress> local_addresses() const override;

  [[nodiscard]] const UdpSocket& socket(std::size_t i) const { return sockets_[i]; }
  /// Whether trains leave (arrive) as one; false for good after the kernel refused.
  [[nodiscard]] bool sends_trains() const { return sockets_.front().gso(); }
  [[nodiscard]] bool receives_trains() const { return sockets_.front().gro(); }

 private:
  friend class LinuxReceiver;
  friend class LinuxSender;
  LinuxPort() = default;
  /// Empties a socket's error queue into note_peer_error().
  void read_errors(const UdpSocket& socket);
  /// Notes an errno that is about one peer, or fails when the socket is broken.
  [[nodiscard]] PortResult<void> handle_error(const UdpSocket& socket, int error,
                                              const SocketAddress& remote);

  std::vector<UdpSocket> sockets_;
  std::unique_ptr<LinuxReceiver> receiver_;
  std::unique_ptr<LinuxSender> sender_;
};

}  // namespace quasi::io
