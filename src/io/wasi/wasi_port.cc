// The port of a WASI 0.3 component (see wasi_port.h).
#include "io/wasi/wasi_port.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "io/open_port.h"
#include "io/wasi/landing.h"

namespace quasi::io {
namespace {

/// Errors about peers that one receive() swallows on one socket before it returns.
constexpr int kMaxErrorsPerReceive = 64;

constexpr const char* kNoGrant =
    "the host gives this component no network: run it with `wasmtime run -S inherit-network -S "
    "udp`, or by the launcher quasi-wasm";

/// Takes the error apart; the text that some errors carry is given back to the heap.
PortError port_error(wasi_sockets_types_error_code_t& error) {
  PortError result{PortError::Kind::other, "the host cannot open that UDP socket", error.tag};
  switch (error.tag) {
    case WASI_SOCKETS_TYPES_ERROR_CODE_ACCESS_DENIED:
      result.kind = PortError::Kind::no_network;
      result.text = kNoGrant;
      break;
    case WASI_SOCKETS_TYPES_ERROR_CODE_NOT_SUPPORTED:
      result.kind = PortError::Kind::no_network;
      result.text =
          "this host has no UDP of that address family: use an address of the other one (IPv4 or "
          "IPv6)";
      break;
    case WASI_SOCKETS_TYPES_ERROR_CODE_ADDRESS_IN_USE:
      result.kind = PortError::Kind::address_in_use;
      result.text =
          "the address and port are already in use: choose another port, or stop the program "
          "that has it";
      break;
    case WASI_SOCKETS_TYPES_ERROR_CODE_ADDRESS_NOT_BINDABLE:
      result.kind = PortError::Kind::invalid;
      result.text =
          "no network interface of this machine has that address: use one that it has, or "
          "0.0.0.0 or [::] for all";
      break;
    case WASI_SOCKETS_TYPES_ERROR_CODE_REMOTE_UNREACHABLE:
      result.kind = PortError::Kind::no_network;
      result.text =
          "there is no route to that address: check the network connection, or use the server's "
          "address of the other family (IPv4 or IPv6)";
      break;
    default:
      break;
  }
  wasi_sockets_types_error_code_free(&error);
  return result;
}

}  // namespace

WasiPort::WasiPort(BufferPool& pool) : pool_(pool) { landing::add_pool(pool_); }

WasiPort::~WasiPort() {
  for (const auto& socket : sockets_) {
    if (socket->task != 0) {
      socket->ready = waiter_.cancel(socket->task);
      landing::end_receive();
    }
    if (socket->ready && !socket->received.is_err) {
      const auto& list = socket->received.val.ok.f0;
      (void)landing::claim(pool_, list.ptr, list.len);
    }
    wasi_sockets_types_udp_socket_drop_own(socket->handle);
  }
  landing::remove_pool(pool_);
}

PortResult<std::unique_ptr<WasiPort>> WasiPort::open(const PortOptions& options) {
  if (options.pool == nullptr || options.more_local.size() >= kMaxSockets) {
    return std::unexpected(PortError{PortError::Kind::invalid,
                                     "a port needs a buffer pool and takes at most 8 addresses"});
  }
  std::unique_ptr<WasiPort> port(new WasiPort(*options.pool));
  auto first = open_socket(options.local, options);
  if (!first) return std::unexpected(first.error());
  port->sockets_.push_back(std::move(*first));
  for (SocketAddress local : options.more_local) {
    if (local.port == 0) local.port = port->local_address().port;
    auto socket = open_socket(local, options);
    if (!socket) return std::unexpected(socket.error());
    port->sockets_.push_back(std::move(*socket));
  }
  return port;
}

PortResult<std::unique_ptr<WasiPort::Socket>> WasiPort::open_socket(const SocketAddress& local,
                                                                    const PortOptions& options) {
  if (!local.is_valid()) {
    return std::unexpected(
        PortError{PortError::Kind::invalid, "the local address has no address family"});
  }
  auto socket = std::make_unique<Socket>();
  wasi_sockets_types_error_code_t error{};
  const wasi_sockets_types_ip_address_family_t family =
      local.family == SocketAddress::Family::ipv6 ? WASI_SOCKETS_TYPES_IP_ADDRESS_FAMILY_IPV6
                                                  : WASI_SOCKETS_TYPES_IP_ADDRESS_FAMILY_IPV4;
  if (!wasi_sockets_types_static_udp_socket_create(family, &socket->handle, &error)) {
    return std::unexpected(port_error(error));
  }
  const auto borrowed = wasi_sockets_types_borrow_udp_socket(socket->handle);
  const auto fail = [&]() -> std::unexpected<PortError> {
    wasi_sockets_types_udp_socket_drop_own(socket->handle);
    return std::unexpected(port_error(error));
  };
  auto address = to_wasi(local);
  if (!wasi_sockets_types_method_udp_socket_bind(borrowed, &address, &error)) return fail();
  if (options.peer.family == local.family && options.peer.port != 0) {
    address = to_wasi(options.peer);
    if (!wasi_sockets_types_method_udp_socket_connect(borrowed, &address, &error)) return fail();
    socket->peer = options.peer;
  }
  // As much as the host grants.
  if (!wasi_sockets_types_method_udp_socket_set_receive_buffer_size(
          borrowed, options.receive_buffer, &error)) {
    wasi_sockets_types_error_code_free(&error);
  }
  if (!wasi_sockets_types_method_udp_socket_set_send_buffer_size(borrowed, options.send_buffer,
                                                                 &error)) {
    wasi_sockets_types_error_code_free(&error);
  }
  if (!wasi_sockets_types_method_udp_socket_get_local_address(borrowed, &address, &error)) {
    return fail();
  }
  from_wasi(address, socket->local);
  return socket;
}

std::vector<SocketAddress> WasiPort::local_addresses() const {
  std::vector<SocketAddress> addresses;
  for (const auto& socket : sockets_) addresses.push_back(socket->local);
  return addresses;
}

void WasiPort::note_error(const wasi_sockets_types_error_code_t& error,
                          const SocketAddress& remote) {
  PeerError::Kind kind = PeerError::Kind::other;
  if (error.tag == WASI_SOCKETS_TYPES_ERROR_CODE_CONNECTION_REFUSED) {
    kind = PeerError::Kind::refused;
  } else if (error.tag == WASI_SOCKETS_TYPES_ERROR_CODE_REMOTE_UNREACHABLE) {
    kind = PeerError::Kind::unreachable;
  } else if (error.tag == WASI_SOCKETS_TYPES_ERROR_CODE_DATAGRAM_TOO_LARGE) {
    kind = PeerError::Kind::too_big;
  } else if (error.tag == WASI_SOCKETS_TYPES_ERROR_CODE_OTHER && error.val.other.is_some) {
    landing::discard(error.val.other.val.ptr);
  }
  note_peer_error(kind, remote, 0);
}

void WasiPort::deliver(Socket& socket, RxBatch& batch) {
  socket.ready = false;
  if (socket.received.is_err) {
    note_error(socket.received.val.err, socket.peer);
    return;
  }
  const auto& [list, from] = socket.received.val.ok;
  BufferRef block = landing::claim(pool_, list.ptr, list.len);
  if (!block) {
    // Longer than we said we take (RFC 9000 §18.2, max_udp_payload_size).
    ++counters_.truncated;
    return;
  }
  RxDatagram& out = batch.datagrams[batch.count++];
  out.data = block.data();
  out.buffer = std::move(block);
  out.size = static_cast<std::uint32_t>(list.len);
  out.ecn = Ecn::not_ect;
  from_wasi(from, out.remote);
  out.local = socket.local;
  ++counters_.datagrams_received;
}

void WasiPort::drain(Socket& socket, RxBatch& batch) {
  const auto borrowed = wasi_sockets_types_borrow_udp_socket(socket.handle);
  int errors = 0;
  while (!batch.full() && errors < kMaxErrorsPerReceive) {
    if (!socket.ready) {
      if (socket.task != 0) return;
      ++counters_.receive_calls;
      landing::begin_receive();
      const auto status = wasi_sockets_types_method_udp_socket_receive(borrowed, &socket.received);
      if (!waiter_.started(status, socket.task)) {
        up_to_date_ = true;
        return;
      }
      landing::end_receive();
    }
    if (socket.received.is_err) ++errors;
    deliver(socket, batch);
  }
}

void WasiPort::on_returned(std::uint32_t task) {
  for (const auto& socket : sockets_) {
    if (socket->task != task) continue;
    socket->task = 0;
    socket->ready = true;
    landing::end_receive();
  }
}

PortResult<void> WasiPort::receive(RxBatch& batch) {
  // What is under way has returned, or it has not: only the host knows. Asking is dear,
  // and whoever has just drained the sockets will wait() next; if not, we ask after all.
  const bool under_way = std::ranges::any_of(sockets_, [](const auto& s) { return s->task != 0; });
  if (under_way && !std::exchange(up_to_date_, false)) {
    while (const std::uint32_t task = waiter_.poll()) on_returned(task);
  }
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    drain(*sockets_[(first_socket_ + i) % sockets_.size()], batch);
  }
  first_socket_ = (first_socket_ + 1) % sockets_.size();
  return {};
}

PortResult<void> WasiPort::wait(Instant deadline) {
  if (take_news()) return {};
  for (const auto& socket : sockets_) {
    if (socket->ready) return {};
    if (socket->task != 0) continue;
    const auto borrowed = wasi_sockets_types_borrow_udp_socket(socket->handle);
    ++counters_.receive_calls;
    landing::begin_receive();
    const auto status = wasi_sockets_types_method_udp_socket_receive(borrowed, &socket->received);
    if (waiter_.started(status, socket->task)) {
      landing::end_receive();
      socket->ready = true;
      return {};
    }
  }
  ++counters_.waits;
  if (const std::uint32_t task = waiter_.wait(deadline); task != 0) on_returned(task);
  up_to_date_ = true;
  return {};
}

WasiPort::Socket* WasiPort::socket_for(const TxBatch::Entry& entry) {
  // The socket that the peer spoke to, else the first of the right family.
  Socket* fallback = nullptr;
  for (const auto& socket : sockets_) {
    if (socket->local.family != entry.remote.family) continue;
    if (socket->local == entry.local) return socket.get();
    if (fallback == nullptr) fallback = socket.get();
  }
  return fallback;
}

PortResult<void> WasiPort::send(const TxBatch& batch) {
  wasi_sockets_types_method_udp_socket_send_args_t arguments{};
  SocketAddress remote;  // that `arguments` hold
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const TxBatch::Entry& entry = batch.entry(i);
    Socket* socket = sockets_.size() == 1 ? sockets_.front().get() : socket_for(entry);
    if (socket == nullptr) {
      ++counters_.send_dropped;
      note_peer_error(PeerError::Kind::unreachable, entry.remote, 0);
      continue;
    }
    arguments.self = wasi_sockets_types_borrow_udp_socket(socket->handle);
    const Bytes payload = batch.payload(i);
    arguments.data.ptr = const_cast<std::uint8_t*>(payload.data());
    arguments.data.len = payload.size();
    arguments.remote_address.is_some = !socket->peer.is_valid();
    if (arguments.remote_address.is_some && remote != entry.remote) {
      remote = entry.remote;
      arguments.remote_address.val = to_wasi(remote);
    }
    Sent sent{};
    ++counters_.send_calls;
    std::uint32_t task = 0;
    if (!waiter_.started(wasi_sockets_types_method_udp_socket_send(&arguments, &sent), task)) {
      // The host's buffer is full. Its calls end in order, and `arguments` must stay.
      waiter_.wait_for(task, [&](std::uint32_t other) { on_returned(other); });
    }
    if (sent.is_err) {
      ++counters_.send_dropped;
      note_error(sent.val.err, entry.remote);
    } else {
      ++counters_.datagrams_sent;
    }
  }
  return {};
}

PortResult<std::unique_ptr<HostPort>> open_port(const PortOptions& options) {
  auto port = WasiPort::open(options);
  if (!port) return std::unexpected(port.error());
  return std::unique_ptr<HostPort>(std::move(*port));
}

std::uint32_t buffer_block_size(bool) { return std::uint32_t{limits::kMaxReceiveDatagramSize}; }

}  // namespace quasi::io
