// The port on Linux (see linux_port.h): opening, waiting, the clock, and what the
// kernel says about peers.
#include "io/linux/linux_port.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/linux/receiver.h"
#include "io/linux/sender.h"
#include "io/linux/sockaddr.h"
#include "io/open_port.h"

namespace quasi::io {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// Entries of an error queue read at once, so that nobody keeps us busy with ICMP.
constexpr int kMaxQueuedErrors = 64;

PeerError::Kind kind_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return PeerError::Kind::refused;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ENONET:
    case EADDRNOTAVAIL:
      return PeerError::Kind::unreachable;
    case EMSGSIZE:
      return PeerError::Kind::too_big;
    default:
      return PeerError::Kind::other;
  }
}

bool is_broken_socket(int error) { return error == EBADF || error == ENOTSOCK || error == EFAULT; }

}  // namespace

LinuxPort::~LinuxPort() = default;

PortResult<std::unique_ptr<LinuxPort>> LinuxPort::open(const PortOptions& options) {
  if (options.pool == nullptr || options.more_local.size() >= kMaxSockets) {
    return std::unexpected(PortError{PortError::Kind::invalid,
                                     "a port needs a buffer pool and takes at most 8 addresses"});
  }
  std::unique_ptr<LinuxPort> port(new LinuxPort());
  auto first = UdpSocket::open(options.local, options);
  if (!first) return std::unexpected(first.error());
  bool trains = first->gro();
  port->sockets_.push_back(std::move(*first));
  for (SocketAddress local : options.more_local) {
    if (local.port == 0) local.port = port->local_address().port;
    auto socket = UdpSocket::open(local, options);
    if (!socket) return std::unexpected(socket.error());
    trains = trains || socket->gro();
    port->sockets_.push_back(std::move(*socket));
  }
  port->receiver_ = std::make_unique<LinuxReceiver>(*options.pool, trains);
  port->sender_ = std::make_unique<LinuxSender>();
  return port;
}

PortResult<void> LinuxPort::receive(RxBatch& batch) { return receiver_->receive(*this, batch); }

PortResult<void> LinuxPort::send(const TxBatch& batch) { return sender_->send(*this, batch); }

Instant LinuxPort::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Instant::from_ns(std::int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec);
}

PortResult<void> LinuxPort::wait(Instant deadline) {
  if (receiver_->has_leftovers() || take_news()) return {};
  timespec timeout{};
  if (!deadline.is_never()) {
    const std::int64_t left = (deadline - now()).ns();
    if (left <= 0) return {};
    timeout.tv_sec = left / kNsPerSecond;
    timeout.tv_nsec = left % kNsPerSecond;
  }
  std::array<pollfd, kMaxSockets> sockets{};
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    sockets[i] = pollfd{sockets_[i].fd(), POLLIN, 0};
  }
  ++counters_.waits;
  const int ready =
      ppoll(sockets.data(), sockets_.size(), deadline.is_never() ? nullptr : &timeout, nullptr);
  for (std::size_t i = 0; ready > 0 && i < sockets_.size(); ++i) {
    if ((sockets[i].revents & POLLNVAL) != 0) {
      return std::unexpected(
          PortError{PortError::Kind::other, "the socket was closed behind the port", EBADF});
    }
    if ((sockets[i].revents & POLLERR) != 0) read_errors(sockets_[i]);
  }
  (void)take_news();
  return {};
}

std::vector<SocketAddress> LinuxPort::local_addresses() const {
  std::vector<SocketAddress> addresses;
  for (const UdpSocket& socket : sockets_) addresses.push_back(socket.local());
  return addresses;
}

void LinuxPort::read_errors(const UdpSocket& socket) {
  for (int i = 0; i < kMaxQueuedErrors; ++i) {
    KernelAddress name{};
    std::uint8_t byte = 0;
    iovec span{&byte, 1};
    alignas(cmsghdr) std::array<std::uint8_t, 512> control;
    msghdr header{};
    header.msg_name = &name;
    header.msg_namelen = sizeof name;
    header.msg_iov = &span;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (recvmsg(socket.fd(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      const bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                            (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!is_error) continue;
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      SocketAddress remote;
      if (header.msg_namelen > 0) from_kernel(name, remote);
      const auto kind = kind_of(static_cast<int>(error.ee_errno));
      note_peer_error(kind, remote, kind == PeerError::Kind::too_big ? error.ee_info : 0);
    }
  }
}

PortResult<void> LinuxPort::handle_error(const UdpSocket& socket, int error,
                                         const SocketAddress& remote) {
  if (is_broken_socket(error)) {
    return std::unexpected(PortError{PortError::Kind::other,
                                     "the socket does not work any more: start the program again",
                                     error});
  }
  const std::uint64_t before = peer_error_.count;
  read_errors(socket);
  // What the queue said is more exact than the bare number.
  if (peer_error_.count == before) note_peer_error(kind_of(error), remote, 0);
  return {};
}

PortResult<std::unique_ptr<HostPort>> open_port(const PortOptions& options) {
  PortOptions chosen = options;
#if QUASI_NATIVE_PORT
  // This build shows what the Wasm code costs natively: no help from the kernel.
  chosen.offloads = false;
#endif
  auto port = LinuxPort::open(chosen);
  if (!port) return std::unexpected(port.error());
  return std::unique_ptr<HostPort>(std::move(*port));
}

}  // namespace quasi::io
