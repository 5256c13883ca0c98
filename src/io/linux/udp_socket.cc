// Opening and configuring a UDP socket (see udp_socket.h).
#include "io/linux/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/linux/sockaddr.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace quasi::io {
namespace {

std::unexpected<PortError> port_error(PortError::Kind kind, const char* text, int error) {
  return std::unexpected(PortError{kind, text, error});
}

std::unexpected<PortError> open_error(int error) {
  switch (error) {
    case EAFNOSUPPORT:
    case EPFNOSUPPORT:
      return port_error(PortError::Kind::no_network,
                        "this machine has no network of that address family: use an address of "
                        "the other one (IPv4 or IPv6)",
                        error);
    case EACCES:
    case EPERM:
      return port_error(PortError::Kind::access_denied,
                        "this process may not open UDP sockets: run it where its sandbox or "
                        "security policy allows that",
                        error);
    case EMFILE:
    case ENFILE:
      return port_error(PortError::Kind::other,
                        "too many files are open: raise the limit (ulimit -n)", error);
    default:
      return port_error(PortError::Kind::other, "the kernel gives no UDP socket", error);
  }
}

std::unexpected<PortError> bind_error(int error) {
  switch (error) {
    case EADDRINUSE:
      return port_error(PortError::Kind::address_in_use,
                        "the address and port are already in use: choose another port, or stop "
                        "the program that has it",
                        error);
    case EACCES:
    case EPERM:
      return port_error(PortError::Kind::access_denied,
                        "this user may not listen on that port: choose one above 1023, or run "
                        "with the capability CAP_NET_BIND_SERVICE",
                        error);
    case EADDRNOTAVAIL:
      return port_error(PortError::Kind::invalid,
                        "no network interface of this machine has that address: use one that "
                        "`ip address` lists, or 0.0.0.0 or [::] for all",
                        error);
    default:
      return port_error(PortError::Kind::other, "the address cannot be bound", error);
  }
}

bool is_unspecified_ip(const SocketAddress& address) {
  return std::ranges::all_of(address.ip, [](std::uint8_t byte) { return byte == 0; });
}

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/// As many bytes as the kernel grants: beyond its limit if we may, else up to it.
void set_buffer(int fd, int force, int ask, std::uint32_t size) {
  const int value = static_cast<int>(std::min<std::uint32_t>(size, 1U << 30));
  if (!set_option(fd, SOL_SOCKET, force, value)) (void)set_option(fd, SOL_SOCKET, ask, value);
}

}  // namespace

UdpSocket::UdpSocket(UdpSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      local_(other.local_),
      wildcard_(other.wildcard_),
      connected_(other.connected_),
      gro_(other.gro_),
      gso_(other.gso_) {}

UdpSocket& UdpSocket::operator=(UdpSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  local_ = other.local_;
  wildcard_ = other.wildcard_;
  connected_ = other.connected_;
  gro_ = other.gro_;
  gso_ = other.gso_;
  return *this;
}

UdpSocket::~UdpSocket() {
  if (fd_ >= 0) close(fd_);
}

PortResult<UdpSocket> UdpSocket::open(const SocketAddress& local, const PortOptions& options) {
  if (!local.is_valid()) {
    return port_error(PortError::Kind::invalid, "the local address has no address family", 0);
  }
  const int family = local.family == SocketAddress::Family::ipv6 ? AF_INET6 : AF_INET;
  const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return open_error(errno);
  UdpSocket socket(fd, local);
  socket.wildcard_ = is_unspecified_ip(local);
  if (auto done = socket.configure(options); !done) return std::unexpected(done.error());
  if (auto done = socket.bind_and_connect(options.peer); !done) {
    return std::unexpected(done.error());
  }
  return socket;
}

PortResult<void> UdpSocket::configure(const PortOptions& options) {
  const bool v6 = is_ipv6();
  // IPv4 has sockets of its own: addresses then never appear in mapped form.
  if (v6 && !set_option(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 1)) {
    return port_error(PortError::Kind::other, "the kernel cannot make an IPv6-only socket", errno);
  }
  const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  // RFC 9000 §14: datagrams must not be fragmented. PROBE also ignores what the kernel
  // believes about the path, which anybody's ICMP could have told it.
  (void)set_option(fd_, level, v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                   v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE);
  // RFC 9000 §13.4: without it, ECN is not reported, and not used then.
  (void)set_option(fd_, level, v6 ? IPV6_RECVTCLASS : IP_RECVTOS, 1);
  // ICMP errors come with the peer they are about, instead of hitting the next call.
  (void)set_option(fd_, level, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
  if (wildcard_) (void)set_option(fd_, level, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, 1);
  set_buffer(fd_, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
  set_buffer(fd_, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);
  if (options.offloads) {
    // A train can be as long as an IP packet: smaller blocks would truncate it.
    constexpr std::uint32_t kLongestTrain = 65'535;
    if (options.pool->block_size() >= kLongestTrain) {
      gro_ = set_option(fd_, IPPROTO_UDP, UDP_GRO, 1);
    }
    // Only asks whether the kernel knows the option; each train carries its own size.
    gso_ = set_option(fd_, IPPROTO_UDP, UDP_SEGMENT, 0);
  }
  return {};
}

PortResult<void> UdpSocket::bind_and_connect(const SocketAddress& peer) {
  KernelAddress address{};
  socklen_t length = to_kernel(local_, address);
  if (::bind(fd_, &address.any, length) != 0) return bind_error(errno);
  if (peer.family == local_.family && peer.port != 0) {
    length = to_kernel(peer, address);
    if (::connect(fd_, &address.any, length) != 0) {
      return port_error(PortError::Kind::no_network,
                        "there is no route to that address: check the network connection, or "
                        "use the server's address of the other family (IPv4 or IPv6)",
                        errno);
    }
    connected_ = true;
    wildcard_ = false;
  }
  length = sizeof address;
  if (getsockname(fd_, &address.any, &length) != 0) {
    return port_error(PortError::Kind::other, "the kernel does not tell the socket's address",
                      errno);
  }
  from_kernel(address, local_);
  return {};
}

}  // namespace quasi::io
