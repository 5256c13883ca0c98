// Connections of an endpoint and the tables that find them (see endpoint_state.h).
#include "endpoint/endpoint_state.h"

#include <array>
#include <utility>

namespace quasi::endpoint {
namespace {

wire::ConnectionIdHash make_hash(const Entropy& entropy) {
  std::array<std::uint8_t, 16> key{};
  entropy(key);
  return {load_le<std::uint64_t>(key.data()), load_le<std::uint64_t>(key.data() + 8)};
}

}  // namespace

EndpointState::EndpointState(EndpointConfig endpoint_config, Entropy randomness)
    : config(std::move(endpoint_config)),
      entropy(std::move(randomness)),
      hash(make_hash(entropy)),
      by_cid(16, hash),
      by_reset_token(16, hash),
      tokens(entropy),
      resets(config.reset_key, entropy) {}

wire::ConnectionId EndpointState::issue_cid(ConnectionHandle connection) {
  std::array<std::uint8_t, limits::kLocalCidLength> bytes{};
  for (;;) {
    entropy(bytes);
    const wire::ConnectionId cid = *wire::ConnectionId::from(bytes);
    if (by_cid.try_emplace(cid, connection.index).second) return cid;
  }
}

void EndpointState::retire_cid(const wire::ConnectionId& cid) { by_cid.erase(cid); }

connection::ResetToken EndpointState::reset_token(const wire::ConnectionId& cid) {
  return resets.token(cid);
}

void EndpointState::watch_reset_token(ConnectionHandle connection,
                                      const connection::ResetToken* old_token,
                                      const connection::ResetToken* token) {
  if (old_token != nullptr) {
    const auto it = by_reset_token.find(*wire::ConnectionId::from(*old_token));
    if (it != by_reset_token.end() && it->second == connection.index) by_reset_token.erase(it);
  }
  if (token != nullptr) {
    by_reset_token.insert_or_assign(*wire::ConnectionId::from(*token), connection.index);
  }
}

std::vector<std::uint8_t> EndpointState::address_token(const SocketAddress& remote) {
  const Token token = tokens.make_new_token(now, remote);
  return {token.bytes().begin(), token.bytes().end()};
}

void EndpointState::wake(ConnectionHandle connection) {
  if (find(connection) == nullptr) return;
  mark_dirty(connection.index);
  Slot& slot = slots[connection.index];
  if (!slot.has_events) {
    slot.has_events = true;
    eventful.push_back(connection.index);
  }
}

void EndpointState::mark_dirty(std::uint32_t index) {
  Slot& slot = slots[index];
  if (slot.dirty) return;
  slot.dirty = true;
  dirty.push_back(index);
}

Connection& EndpointState::create(Side side, const TransportConfig& transport) {
  std::uint32_t index = 0;
  if (free_slots.empty()) {
    index = static_cast<std::uint32_t>(slots.size());
    slots.emplace_back();
  } else {
    index = free_slots.back();
    free_slots.pop_back();
  }
  Slot& slot = slots[index];
  const ConnectionHandle handle{.index = index, .generation = slot.generation};
  slot.connection = std::make_unique<Connection>(std::make_unique<connection::Core>(
      side, transport, blocks, entropy, *this, *workspace, handle));
  slot.released = false;
  slot.is_handshaking = false;
  ++live;
  return *slot.connection;
}

void EndpointState::destroy(std::uint32_t index) {
  Slot& slot = slots[index];
  if (!slot.connection) return;
  connection::Core& core = slot.connection->core();
  for (const connection::LocalCids::Entry& entry : core.local_cids.entries()) {
    if (entry.in_use) by_cid.erase(entry.cid);
  }
  if (slot.first_dcid) by_cid.erase(*slot.first_dcid);
  slot.first_dcid.reset();
  if (core.watched_token) watch_reset_token(core.handle, &*core.watched_token, nullptr);
  if (std::exchange(slot.is_handshaking, false)) --handshaking;
  timers.set(index, Instant::never());
  slot.connection.reset();
  ++slot.generation;
  free_slots.push_back(index);
  --live;
}

Connection* EndpointState::find(ConnectionHandle handle) {
  if (handle.index >= slots.size()) return nullptr;
  Slot& slot = slots[handle.index];
  return slot.generation == handle.generation ? slot.connection.get() : nullptr;
}

void EndpointState::settle(std::uint32_t index) {
  Slot& slot = slots[index];
  if (!slot.connection) return;
  connection::Core& core = slot.connection->core();
  if (core.phase != connection::Phase::handshaking && std::exchange(slot.is_handshaking, false)) {
    --handshaking;
  }
  if (core.confirmed && slot.first_dcid) {
    by_cid.erase(*slot.first_dcid);
    slot.first_dcid.reset();
  }
  const bool has_events = !core.events.empty() || core.streams.has_event();
  if (has_events && !slot.has_events) {
    slot.has_events = true;
    eventful.push_back(index);
  }
  if (core.phase == connection::Phase::gone && slot.released) {
    destroy(index);
    return;
  }
  timers.set(index, connection::next_timeout(core));
}

std::optional<std::uint32_t> EndpointState::route_short(const RxDatagram& datagram) {
  if (datagram.size < 1 + limits::kLocalCidLength) return std::nullopt;
  const auto dcid = wire::ConnectionId::from(Bytes(datagram.data + 1, limits::kLocalCidLength));
  if (const auto it = by_cid.find(*dcid); it != by_cid.end()) return it->second;
  if (!by_reset_token.empty()) {
    const auto token =
        wire::ConnectionId::from(reset_candidate(Bytes(datagram.data, datagram.size)));
    const auto it = by_reset_token.find(*token);
    if (it != by_reset_token.end()) return it->second;
  }
  if (config.server_tls) send_stateless_reset(*dcid, datagram);
  return std::nullopt;
}

std::optional<std::uint32_t> EndpointState::route(RxDatagram& datagram) {
  if (datagram.size == 0) return std::nullopt;
  if ((datagram.data[0] & wire::kLongHeaderBit) == 0) return route_short(datagram);
  const auto header =
      wire::parse_invariants(Bytes(datagram.data, datagram.size), limits::kLocalCidLength);
  if (!header) return std::nullopt;
  if (const auto dcid = wire::ConnectionId::from(header->dcid)) {
    if (const auto it = by_cid.find(*dcid); it != by_cid.end()) return it->second;
  }
  if (!config.server_tls) return std::nullopt;
  // RFC 9000 §14.1, §5.2.2: small datagrams neither begin connections nor get answers.
  if (datagram.size < limits::kMinDatagramSize) return std::nullopt;
  if (header->version != wire::kVersion1) {
    send_version_negotiation(*header, datagram);
    return std::nullopt;
  }
  return accept(datagram);
}

}  // namespace quasi::endpoint
