// Sending on Linux (see sender.h).
#include "io/linux/sender.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace quasi::io {
namespace {

/// How long a full socket buffer is waited for before a datagram is dropped: the buffer
/// drains at the speed of the link, and dropping would look like loss on the path.
constexpr int kFullBufferWaitMs = 10;

/// System calls that one datagram is worth.
constexpr int kMaxAttempts = 3;

/// Bytes of a train: an IPv4 packet holds 65,535 with its headers.
constexpr std::size_t kMaxTrainBytes = 65'535 - 20 - 8;
/// Segments of a train that every kernel with UDP_SEGMENT takes (UDP_MAX_SEGMENTS).
constexpr std::size_t kMaxTrainSegments = 64;

/// Appends control messages to a buffer.
class ControlWriter {
 public:
  ControlWriter(std::uint8_t* buffer, std::size_t capacity)
      : buffer_(buffer), capacity_(capacity) {}

  template <class T>
  void add(int level, int type, const T& value) {
    if (used_ + CMSG_SPACE(sizeof(T)) > capacity_) return;
    std::memset(buffer_ + used_, 0, CMSG_SPACE(sizeof(T)));
    auto* control = reinterpret_cast<cmsghdr*>(buffer_ + used_);
    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(sizeof(T));
    std::memcpy(CMSG_DATA(control), &value, sizeof value);
    used_ += CMSG_SPACE(sizeof(T));
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::uint8_t* buffer_;
  std::size_t capacity_;
  std::size_t used_ = 0;
};

/// Errors by which kernel or driver say that they cannot cut trains here.
bool refuses_trains(int error) {
  return error == EIO || error == EINVAL || error == ENOPROTOOPT || error == EOPNOTSUPP;
}

}  // namespace

LinuxSender::LinuxSender() {
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    headers_[i] = mmsghdr{};
    headers_[i].msg_hdr.msg_iov = &messages_[i].span;
    headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

std::size_t LinuxSender::socket_for(const LinuxPort& port, const TxBatch::Entry& entry) {
  const auto& sockets = port.sockets_;
  if (sockets.size() == 1) return 0;
  // The socket that the peer spoke to, else the first of the right family.
  std::size_t fallback = sockets.size();
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const SocketAddress& local = sockets[i].local();
    if (local.family != entry.remote.family) continue;
    if (fallback == sockets.size()) fallback = i;
    if (entry.local.is_valid() && local.port == entry.local.port &&
        (sockets[i].is_wildcard() || local.ip == entry.local.ip)) {
      return i;
    }
  }
  return fallback;
}

std::size_t LinuxSender::train_length(const TxBatch& batch, std::size_t first, std::size_t end) {
  const TxBatch::Entry& head = batch.entry(first);
  std::size_t bytes = head.size;
  std::size_t count = 1;
  if (head.size == 0) return 1;
  while (first + count < end && count < kMaxTrainSegments) {
    const TxBatch::Entry& next = batch.entry(first + count);
    const TxBatch::Entry& last = batch.entry(first + count - 1);
    if (next.size == 0 || next.size > head.size || bytes + next.size > kMaxTrainBytes ||
        next.offset != last.offset + last.size || next.ecn != head.ecn ||
        next.remote != head.remote || next.local != head.local) {
      break;
    }
    bytes += next.size;
    ++count;
    if (next.size < head.size) break;  // only the last segment may be shorter
  }
  return count;
}

void LinuxSender::add(const UdpSocket& socket, const TxBatch& batch, std::size_t first,
                      std::size_t count) {
  Message& message = messages_[count_];
  msghdr& header = headers_[count_].msg_hdr;
  ++count_;
  const TxBatch::Entry& head = batch.entry(first);
  const TxBatch::Entry& last = batch.entry(first + count - 1);
  message.first = first;
  message.count = count;
  message.span.iov_base = const_cast<std::uint8_t*>(batch.payload(first).data());
  message.span.iov_len = last.offset + last.size - head.offset;
  if (socket.is_connected()) {
    header.msg_name = nullptr;
    header.msg_namelen = 0;
  } else {
    header.msg_name = &message.name;
    header.msg_namelen = to_kernel(head.remote, message.name);
  }
  ControlWriter control(message.control.data(), kControlBytes);
  if (count > 1) {
    control.add(IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(head.size));
  }
  if (head.ecn != Ecn::not_ect) {
    control.add(socket.is_ipv6() ? IPPROTO_IPV6 : IPPROTO_IP,
                socket.is_ipv6() ? IPV6_TCLASS : IP_TOS, static_cast<int>(head.ecn));
  }
  // A socket with an address of its own sends from that anyway.
  if (socket.is_wildcard() && head.local.family == socket.local().family) {
    const bool any =
        std::ranges::all_of(head.local.ip, [](std::uint8_t byte) { return byte == 0; });
    if (!any && socket.is_ipv6()) {
      in6_pktinfo packet{};
      std::memcpy(&packet.ipi6_addr, head.local.ip.data(), 16);
      packet.ipi6_ifindex = head.local.scope_id;
      control.add(IPPROTO_IPV6, IPV6_PKTINFO, packet);
    } else if (!any) {
      in_pktinfo packet{};
      std::memcpy(&packet.ipi_spec_dst, head.local.ip.data(), 4);
      control.add(IPPROTO_IP, IP_PKTINFO, packet);
    }
  }
  header.msg_control = control.used() == 0 ? nullptr : message.control.data();
  header.msg_controllen = control.used();
}

PortResult<void> LinuxSender::send(LinuxPort& port, const TxBatch& batch) {
  for (std::size_t begin = 0; begin < batch.count();) {
    const std::size_t index = socket_for(port, batch.entry(begin));
    std::size_t end = begin + 1;
    if (port.sockets_.size() == 1) {
      end = batch.count();
    } else {
      while (end < batch.count() && socket_for(port, batch.entry(end)) == index) ++end;
    }
    if (index == port.sockets_.size()) {
      // No socket of that family: as if there were no route.
      port.counters_.send_dropped += end - begin;
      port.note_peer_error(PeerError::Kind::unreachable, batch.entry(begin).remote, 0);
    } else {
      UdpSocket& socket = port.sockets_[index];
      if (auto sent = send_range(port, socket, batch, begin, end); !sent) return sent;
    }
    begin = end;
  }
  return {};
}

PortResult<void> LinuxSender::send_range(LinuxPort& port, UdpSocket& socket, const TxBatch& batch,
                                         std::size_t begin, std::size_t end) {
  while (begin < end) {
    count_ = 0;
    for (std::size_t first = begin; first < end;) {
      const std::size_t count = socket.gso() ? train_length(batch, first, end) : 1;
      add(socket, batch, first, count);
      first += count;
    }
    const auto stopped = transmit(port, socket, batch);
    if (!stopped) return std::unexpected(stopped.error());
    if (*stopped == count_) return {};

    // The refused train goes out datagram by datagram, then the rest follows.
    const std::size_t first = messages_[*stopped].first;
    begin = first + messages_[*stopped].count;
    const int refusal = refusal_;
    const std::uint64_t sent_before = port.counters_.datagrams_sent;
    count_ = 0;
    for (std::size_t i = first; i < begin; ++i) add(socket, batch, i, 1);
    if (const auto sent = transmit(port, socket, batch); !sent) {
      return std::unexpected(sent.error());
    }
    // If it was the train that displeased, and not its destination or size, trains are
    // over for good: asking each time would cost a system call.
    if (refusal != EMSGSIZE && port.counters_.datagrams_sent > sent_before) socket.stop_gso();
  }
  return {};
}

PortResult<std::size_t> LinuxSender::transmit(LinuxPort& port, const UdpSocket& socket,
                                              const TxBatch& batch) {
  std::size_t done = 0;
  int attempts = 0;  // that failed, of message `done`
  while (done < count_) {
    ++port.counters_.send_calls;
    const int sent =
        sendmmsg(socket.fd(), headers_.data() + done, static_cast<unsigned>(count_ - done), 0);
    if (sent > 0) {
      for (int i = 0; i < sent; ++i, ++done) port.counters_.datagrams_sent += messages_[done].count;
      attempts = 0;
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    const Message& message = messages_[done];
    if (message.count > 1 && (refuses_trains(error) || error == EMSGSIZE)) {
      refusal_ = error;
      return done;
    }
    bool again = ++attempts < kMaxAttempts;
    if (error == EAGAIN || error == EWOULDBLOCK) {
      pollfd writable{socket.fd(), POLLOUT, 0};
      again = again && poll(&writable, 1, kFullBufferWaitMs) > 0;
    } else if (error == ENOBUFS) {
      again = false;  // the interface's queue is full: that is loss
    } else {
      // About a peer, perhaps an earlier datagram's: this one gets another chance.
      const auto handled = port.handle_error(socket, error, batch.entry(message.first).remote);
      if (!handled) return std::unexpected(handled.error());
      again = again && error != EMSGSIZE;
    }
    if (again) continue;
    port.counters_.send_dropped += message.count;
    attempts = 0;
    ++done;
  }
  return done;
}

}  // namespace quasi::io
