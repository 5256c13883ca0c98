// Receiving on Linux (see receiver.h).
#include "io/linux/receiver.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace quasi::io {
namespace {

/// Errors about peers that one receive() swallows on one socket before it returns.
constexpr int kMaxErrorsPerReceive = 64;

template <class T>
T control_value(const cmsghdr* control) {
  T value{};
  std::memcpy(&value, CMSG_DATA(const_cast<cmsghdr*>(control)), sizeof value);
  return value;
}

Ecn ecn_of(int traffic_class) { return static_cast<Ecn>(traffic_class & 3); }

}  // namespace

LinuxReceiver::LinuxReceiver(BufferPool& pool, bool trains)
    : pool_(pool), message_limit_(trains ? kTrainMessages : kMessages) {
  for (std::size_t i = 0; i < kMessages; ++i) {
    Message& message = messages_[i];
    headers_[i] = mmsghdr{};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &message.name;
    header.msg_iov = &message.span;
    header.msg_iovlen = 1;
    header.msg_control = message.control.data();
  }
}

std::size_t LinuxReceiver::prepare(std::size_t wanted) {
  wanted = std::min(wanted, message_limit_);
  for (std::size_t i = 0; i < wanted; ++i) {
    Message& message = messages_[i];
    if (!message.block) {
      message.block = pool_.allocate();
      if (!message.block) return i;
      message.span = iovec{message.block.data(), message.block.capacity()};
    }
    msghdr& header = headers_[i].msg_hdr;
    header.msg_namelen = sizeof message.name;
    header.msg_controllen = kControlBytes;
    header.msg_flags = 0;
  }
  return wanted;
}

LinuxReceiver::Info LinuxReceiver::read_info(const UdpSocket& socket, const msghdr& header,
                                             std::uint32_t size) {
  Info info;
  info.segment = size;
  info.local = socket.local();
  from_kernel(*static_cast<const KernelAddress*>(header.msg_name), info.remote);
  for (const cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      info.segment = usable_segment(control_value<int>(c), size);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      info.ecn = ecn_of(control_value<std::uint8_t>(c));
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      info.ecn = ecn_of(control_value<int>(c));
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      const auto packet = control_value<in_pktinfo>(c);
      std::memcpy(info.local.ip.data(), &packet.ipi_addr, 4);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      const auto packet = control_value<in6_pktinfo>(c);
      std::memcpy(info.local.ip.data(), &packet.ipi6_addr, 16);
      const bool link_local = info.local.ip[0] == 0xfe && (info.local.ip[1] & 0xc0) == 0x80;
      info.local.scope_id = link_local ? packet.ipi6_ifindex : 0;
    }
  }
  return info;
}

void LinuxReceiver::deliver(LinuxPort& port, RxBatch& batch) {
  for (; next_ < received_; ++next_, offset_ = 0) {
    Message& message = messages_[next_];
    const mmsghdr& header = headers_[next_];
    const std::uint32_t size = header.msg_len;
    if ((header.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      // Longer than we said we take (RFC 9000 §18.2, max_udp_payload_size).
      ++port.counters_.truncated;
      continue;
    }
    const Info info = read_info(port.sockets_[socket_], header.msg_hdr, size);
    // An empty datagram is one datagram too; the loop body runs once for it.
    do {
      if (batch.full()) return;
      RxDatagram& out = batch.datagrams[batch.count++];
      const std::uint32_t length = std::min(info.segment, size - offset_);
      out.buffer = message.block;
      out.data = message.block.data() + offset_;
      out.size = length;
      out.ecn = info.ecn;
      out.remote = info.remote;
      out.local = info.local;
      offset_ += length;
      ++port.counters_.datagrams_received;
    } while (offset_ < size);
    message.block = BufferRef();
  }
}

PortResult<void> LinuxReceiver::receive(LinuxPort& port, RxBatch& batch) {
  deliver(port, batch);
  const std::size_t sockets = port.sockets_.size();
  for (std::size_t i = 0; i < sockets && !batch.full(); ++i) {
    socket_ = (first_socket_ + i) % sockets;
    const UdpSocket& socket = port.sockets_[socket_];
    int errors = 0;
    while (!batch.full()) {
      const std::size_t wanted = prepare(RxBatch::kCapacity - batch.count);
      if (wanted == 0) return {};  // out of memory: the kernel keeps the datagrams for now
      ++port.counters_.receive_calls;
      const int got = recvmmsg(socket.fd(), headers_.data(), static_cast<unsigned>(wanted),
                               MSG_DONTWAIT, nullptr);
      if (got < 0) {
        const int error = errno;
        if (error == EAGAIN || error == EWOULDBLOCK) break;
        if (error == EINTR) continue;
        if (auto handled = port.handle_error(socket, error, {}); !handled) return handled;
        if (++errors == kMaxErrorsPerReceive) break;
        continue;
      }
      received_ = static_cast<std::size_t>(got);
      next_ = 0;
      offset_ = 0;
      deliver(port, batch);
      // Fewer than asked for: nothing was left, and asking again would only cost a call.
      if (received_ < wanted) break;
    }
  }
  first_socket_ = (first_socket_ + 1) % sockets;
  return {};
}

}  // namespace quasi::io
