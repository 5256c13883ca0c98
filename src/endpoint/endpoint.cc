// The public face of an endpoint: bursts in, batches out, events and timers (see
// quasi/endpoint.h). Datagrams of one connection within a burst are handed to it
// together, whatever lies between them.
#include "quasi/endpoint.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "endpoint/endpoint_state.h"

namespace quasi {

using endpoint::EndpointState;
using endpoint::Slot;

Endpoint::Endpoint(EndpointConfig config, Entropy entropy)
    : state_(std::make_unique<EndpointState>(std::move(config), std::move(entropy))) {}

Endpoint::~Endpoint() = default;

Result<Connection*> Endpoint::connect(const ConnectOptions& options, Instant now) {
  EndpointState& s = *state_;
  s.now = now;
  Connection& created = s.create(Side::client, options.transport.value_or(s.config.transport));
  connection::Core& core = created.core();
  const std::uint32_t index = core.handle.index;
  if (const Status started = connection::start_client(core, options, now); !started) {
    s.destroy(index);
    return std::unexpected(started.error());
  }
  s.mark_dirty(index);
  s.settle(index);
  return &created;
}

void Endpoint::receive(RxBatch& batch, Instant now) {
  EndpointState& s = *state_;
  s.now = now;
  s.stats.datagrams_received += batch.count;
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::array<std::uint32_t, RxBatch::kCapacity> owner;
  std::array<RxDatagram*, RxBatch::kCapacity> group;
  for (std::size_t i = 0; i < batch.count; ++i) {
    owner[i] = s.route(batch.datagrams[i]).value_or(kNone);
  }
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::uint32_t index = owner[i];
    if (index == kNone) continue;
    std::size_t count = 0;
    for (std::size_t k = i; k < batch.count; ++k) {
      if (owner[k] != index) continue;
      owner[k] = kNone;
      group[count++] = &batch.datagrams[k];
    }
    Slot& slot = s.slots[index];
    if (!slot.connection) continue;
    connection::receive(slot.connection->core(), std::span<RxDatagram* const>(group.data(), count),
                        now);
    s.mark_dirty(index);
    s.settle(index);
  }
}

bool Endpoint::transmit(TxBatch& batch, Instant now) {
  EndpointState& s = *state_;
  s.now = now;
  const std::size_t before = batch.count();
  while (!s.replies.empty() && batch.space().size() >= limits::kMinDatagramSize) {
    const endpoint::Reply& reply = s.replies.front();
    std::memcpy(batch.space().data(), reply.bytes.data(), reply.size);
    batch.commit(static_cast<std::uint32_t>(reply.size), Ecn::not_ect, reply.remote, reply.local);
    s.replies.pop_front();
  }
  // Each connection gets one turn a call; who fills the batch waits for the next call.
  for (std::size_t turns = s.dirty.size(); turns > 0; --turns) {
    if (batch.space().size() < limits::kMaxDatagramSize) break;
    const std::uint32_t index = s.dirty.front();
    s.dirty.pop_front();
    Slot& slot = s.slots[index];
    slot.dirty = false;
    if (!slot.connection) continue;
    (void)connection::transmit(slot.connection->core(), batch, now);
    // A full batch says nothing about whether there is more: ask again.
    if (batch.space().size() < limits::kMaxDatagramSize) s.mark_dirty(index);
    s.settle(index);
  }
  s.stats.datagrams_sent += batch.count() - before;
  return batch.count() > before;
}

Instant Endpoint::next_timeout() const { return state_->timers.next(); }

void Endpoint::on_timeout(Instant now) {
  EndpointState& s = *state_;
  s.now = now;
  std::uint32_t index = 0;
  // A connection is asked once a call, so a deadline that does not move cannot loop.
  for (std::size_t left = s.timers.size(); left > 0 && s.timers.pop_due(now, index); --left) {
    Slot& slot = s.slots[index];
    if (!slot.connection) continue;
    connection::on_timeout(slot.connection->core(), now);
    s.mark_dirty(index);
    s.settle(index);
  }
}

std::optional<Event> Endpoint::poll_event() {
  EndpointState& s = *state_;
  while (!s.eventful.empty()) {
    const std::uint32_t index = s.eventful.front();
    Slot& slot = s.slots[index];
    if (slot.connection) {
      connection::Core& core = slot.connection->core();
      // Stream events come after `connected` and before `closed`.
      const bool closed_next =
          !core.events.empty() && core.events.front().kind == Event::Kind::closed;
      if (!core.events.empty() && !closed_next) {
        const Event event = core.events.front();
        core.events.pop_front();
        return event;
      }
      if (auto event = core.streams.poll_event()) {
        event->connection = core.handle;
        return event;
      }
      if (closed_next) {
        const Event event = core.events.front();
        core.events.pop_front();
        return event;
      }
    }
    slot.has_events = false;
    s.eventful.pop_front();
  }
  return std::nullopt;
}

Connection* Endpoint::connection(ConnectionHandle handle) { return state_->find(handle); }

void Endpoint::release(ConnectionHandle handle) {
  if (state_->find(handle) == nullptr) return;
  state_->slots[handle.index].released = true;
  state_->settle(handle.index);
}

std::size_t Endpoint::connection_count() const { return state_->live; }

void Endpoint::close_all(std::uint64_t error_code, std::string_view reason) {
  for (Slot& slot : state_->slots) {
    if (slot.connection) slot.connection->close(error_code, reason);
  }
}

void Endpoint::stop_accepting() { state_->accepting = false; }
EndpointStats Endpoint::stats() const { return state_->stats; }

}  // namespace quasi
