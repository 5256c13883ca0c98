// How a connection ends (RFC 9000 §10): an error found here, the application's
// wish, the peer's CONNECTION_CLOSE, a stateless reset, or silence.
#include <algorithm>

#include "connection/core.h"

namespace quasi::connection {
namespace {

void emit_closed(Core& core) {
  core.close_reason.heard_from_peer = core.heard_from_peer;
  core.events.push_back(Event{.kind = Event::Kind::closed, .connection = core.handle});
  core.idle_deadline = Instant::never();
  core.handshake_deadline = Instant::never();
  core.pacing_deadline = Instant::never();
  core.early_count = 0;
  for (EarlyPacket& early : core.early) early.datagram.buffer = BufferRef();
  core.datagrams_out.clear();
  core.datagram_bytes_out = 0;
}

/// RFC 9000 §10.2: the closing and draining periods last three probe timeouts.
Instant end_of_closing(const Core& core, Instant now) {
  return now + core.recovery.pto(PacketSpace::application) * 3;
}

void start_closing(Core& core, Instant now) {
  core.phase = Phase::closing;
  core.close_wanted = true;
  core.close_deadline = end_of_closing(core, now);
  emit_closed(core);
  core.router->wake(core.handle);
}

void start_draining(Core& core, Instant now) {
  const bool was_open = core.is_open();
  core.phase = Phase::draining;
  core.close_wanted = false;
  core.close_deadline = end_of_closing(core, now);
  if (was_open) emit_closed(core);
}

}  // namespace

std::string printable(Bytes text) {
  std::string out;
  for (const std::uint8_t c : text.first(std::min<std::size_t>(text.size(), 512))) {
    out += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  }
  return out;
}

void close_with_error(Core& core, const Error& error, const std::string& detail, Instant now) {
  if (!core.is_open()) return;
  core.close_reason = CloseReason();
  core.close_reason.kind = CloseReason::Kind::transport;
  core.close_reason.error_code = static_cast<std::uint64_t>(error.code);
  core.close_reason.frame_type = error.frame_type;
  // Details of TLS may quote the peer's certificate.
  core.close_reason.reason =
      detail.empty()
          ? error.reason
          : printable(Bytes(reinterpret_cast<const std::uint8_t*>(detail.data()), detail.size()));
  start_closing(core, now);
}

void close_by_application(Core& core, Instant now) {
  core.close_requested = false;
  if (core.is_open()) start_closing(core, now);
}

void on_peer_close(Core& core, const wire::ConnectionCloseFrame& frame, Instant now) {
  if (core.is_open()) {
    core.close_reason.kind =
        frame.application ? CloseReason::Kind::application : CloseReason::Kind::transport;
    core.close_reason.by_peer = true;
    core.close_reason.error_code = frame.error_code;
    core.close_reason.frame_type = frame.frame_type;
    core.close_reason.reason = printable(frame.reason);
  }
  start_draining(core, now);
}

void on_stateless_reset(Core& core, Instant now) {
  if (core.is_open()) {
    core.close_reason.kind = CloseReason::Kind::stateless_reset;
    core.close_reason.by_peer = true;
  }
  start_draining(core, now);
}

void end_silently(Core& core, CloseReason::Kind kind, std::string reason) {
  if (core.is_open()) {
    core.close_reason.kind = kind;
    core.close_reason.reason = std::move(reason);
    emit_closed(core);
  }
  core.phase = Phase::gone;
  core.close_wanted = false;
  core.close_deadline = Instant::never();
}

}  // namespace quasi::connection
