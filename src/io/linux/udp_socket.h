// One UDP socket of one family, bound and configured for QUIC: don't-fragment, ECN,
// packet info, large buffers, offloads as far as the kernel has them.
#pragma once

#include "io/host_port.h"
#include "quasi/port.h"
#include "quasi/socket_address.h"

namespace quasi::io {

/// Owns a file descriptor.
class UdpSocket {
 public:
  /// `peer`: connect to it when it is a valid address of this family.
  [[nodiscard]] static PortResult<UdpSocket> open(const SocketAddress& local,
                                                  const PortOptions& options);
  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&& other) noexcept;
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;
  ~UdpSocket();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const SocketAddress& local() const { return local_; }
  [[nodiscard]] bool is_ipv6() const { return local_.family == SocketAddress::Family::ipv6; }
  /// Bound to no address in particular: each datagram says where it arrived, and may
  /// say where it leaves from.
  [[nodiscard]] bool is_wildcard() const { return wildcard_; }
  [[nodiscard]] bool is_connected() const { return connected_; }
  /// Trains are delivered as one (UDP_GRO).
  [[nodiscard]] bool gro() const { return gro_; }
  /// Trains are sent as one (UDP_SEGMENT).
  [[nodiscard]] bool gso() const { return gso_; }
  void stop_gso() { gso_ = false; }

 private:
  UdpSocket(int fd, const SocketAddress& local) : fd_(fd), local_(local) {}
  [[nodiscard]] PortResult<void> configure(const PortOptions& options);
  [[nodiscard]] PortResult<void> bind_and_connect(const SocketAddress& peer);

  int fd_ = -1;
  SocketAddress local_;
  bool wildcard_ = false;
  bool connected_ = false;
  bool gro_ = false;
  bool gso_ = false;
};

}  // namespace quasi::io
