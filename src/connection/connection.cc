// The public face of a connection: each call changes state and wakes the endpoint,
// which sends on its next transmit() (see quasi/connection.h).
#include "quasi/connection.h"

#include <algorithm>
#include <string>
#include <utility>

#include "connection/core.h"

namespace quasi {

using connection::Core;
using connection::Phase;

Connection::Connection(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Connection::~Connection() = default;

ConnectionHandle Connection::handle() const { return core_->handle; }
Side Connection::side() const { return core_->side; }
bool Connection::is_connected() const { return core_->phase == Phase::connected; }
bool Connection::is_confirmed() const { return core_->confirmed; }
bool Connection::is_closed() const { return !core_->is_open(); }
SocketAddress Connection::remote_address() const { return core_->path.remote; }

std::string Connection::alpn() const {
  if (!core_->tls) return {};
  const Bytes alpn = core_->tls->alpn();
  return {alpn.begin(), alpn.end()};
}

Bytes Connection::new_token() const { return core_->received_token; }

std::optional<StreamId> Connection::open_stream(Direction direction) {
  if (core_->phase != Phase::connected) return std::nullopt;
  const auto stream = core_->streams.open_stream(direction);
  core_->router->wake(core_->handle);  // a refusal wants STREAMS_BLOCKED
  return stream;
}

std::size_t Connection::write(StreamId stream, Bytes data) {
  if (!core_->is_open()) return 0;
  const std::size_t taken = core_->streams.write(stream, data);
  core_->router->wake(core_->handle);
  return taken;
}

std::size_t Connection::writable(StreamId stream) const {
  return core_->is_open() ? core_->streams.writable(stream) : 0;
}

void Connection::finish(StreamId stream) {
  if (!core_->is_open()) return;
  core_->streams.finish(stream);
  core_->router->wake(core_->handle);
}

void Connection::reset(StreamId stream, std::uint64_t error_code) {
  if (!core_->is_open()) return;
  core_->streams.reset(stream, error_code);
  core_->router->wake(core_->handle);
}

std::size_t Connection::readable(StreamId stream, std::span<Bytes> out) const {
  return core_->streams.readable(stream, out);
}

void Connection::consume(StreamId stream, std::size_t count) {
  core_->streams.consume(stream, count);
  if (core_->streams.wants_control()) core_->router->wake(core_->handle);
}

bool Connection::is_finished(StreamId stream) const { return core_->streams.is_finished(stream); }

void Connection::stop_sending(StreamId stream, std::uint64_t error_code) {
  if (!core_->is_open()) return;
  core_->streams.stop_sending(stream, error_code);
  core_->router->wake(core_->handle);
}

bool Connection::send_datagram(Bytes data) {
  // RFC 9221 §3: the peer's limit covers type and length; one packet has to hold it.
  constexpr std::size_t kFrameOverhead = 1 + 2;
  constexpr std::size_t kPacketOverhead = 1 + 20 + 4 + 16;
  const std::size_t room = core_->mtu.current() - kPacketOverhead - kFrameOverhead;
  if (core_->phase != Phase::connected || data.size() > room ||
      data.size() + kFrameOverhead > core_->peer_parameters.max_datagram_frame_size) {
    return false;
  }
  core_->datagrams_out.emplace_back(data.begin(), data.end());
  core_->datagram_bytes_out += data.size();
  while (core_->datagram_bytes_out > limits::kMaxDatagramQueueBytes ||
         core_->datagrams_out.size() > limits::kMaxDatagramQueueCount) {
    core_->datagram_bytes_out -= core_->datagrams_out.front().size();
    core_->datagrams_out.pop_front();
  }
  core_->router->wake(core_->handle);
  return true;
}

std::optional<std::string> Connection::receive_datagram() {
  if (core_->datagrams_in.empty()) return std::nullopt;
  std::string data = std::move(core_->datagrams_in.front());
  core_->datagrams_in.pop_front();
  core_->datagram_bytes_in -= data.size();
  return data;
}

void Connection::close(std::uint64_t error_code, std::string_view reason) {
  core_->close_requested = true;
  if (!core_->is_open()) return;
  core_->close_reason.kind = CloseReason::Kind::application;
  core_->close_reason.error_code = std::min(error_code, limits::kMaxVarint);
  core_->close_reason.reason = std::string(reason.substr(0, 512));
  core_->router->wake(core_->handle);
}

const CloseReason& Connection::close_reason() const { return core_->close_reason; }

bool Connection::update_keys() {
  if (core_->phase != Phase::connected || !core_->confirmed) return false;
  core_->key_update_requested = true;
  core_->router->wake(core_->handle);
  return true;
}

ConnectionStats Connection::stats() const {
  ConnectionStats stats = core_->stats;
  stats.packets_lost = core_->recovery.packets_lost();
  stats.stream_bytes_received = core_->streams.bytes_received();
  stats.stream_bytes_sent = core_->streams.bytes_sent();
  stats.smoothed_rtt = core_->recovery.rtt().smoothed();
  stats.min_rtt = core_->recovery.rtt().min();
  stats.congestion_window = core_->recovery.congestion_window();
  stats.max_datagram_size = static_cast<std::uint32_t>(core_->mtu.current());
  stats.version = core_->version == nullptr ? 0 : core_->version->number;
  return stats;
}

}  // namespace quasi
