// All timers of a connection behind two functions: when to come back, and what is
// due. Deadlines are values in the state, so setting one costs nothing.
#include <algorithm>

#include "connection/core.h"
#include "connection/loss_sink.h"

namespace quasi::connection {
namespace {

/// RFC 9000 §10.1: the smaller of both sides' timeouts, zero meaning none, and never
/// less than three probe timeouts.
Duration idle_period(const Core& core) {
  Duration period = core.config.max_idle_timeout;
  if (core.have_peer_parameters && core.peer_parameters.max_idle_timeout != 0) {
    const std::uint64_t ms =
        std::min<std::uint64_t>(core.peer_parameters.max_idle_timeout, INT64_MAX);
    const Duration theirs = Duration::milliseconds(static_cast<std::int64_t>(ms));
    period = period == Duration() ? theirs : std::min(period, theirs);
  }
  if (period == Duration()) return Duration::infinite();
  return std::max(period, core.recovery.pto(PacketSpace::application) * 3);
}

void check_path_validation(Core& core, Instant now) {
  if (core.path.challenge_deadline > now) return;
  core.path.challenge.reset();
  core.path.wants_challenge = false;
  core.path.challenge_deadline = Instant::never();
  if (core.path.validated || !core.previous_path) return;
  // RFC 9000 §9.3.2: a path that cannot be validated falls back to the last good one.
  core.path = *core.previous_path;
  core.previous_path.reset();
  core.recovery.on_path_changed(now, false);
  core.recovery.set_amplification_blocked(false);
}

}  // namespace

void restart_idle_timer(Core& core, Instant now) { core.idle_deadline = now + idle_period(core); }

Instant next_timeout(const Core& core) {
  if (core.phase == Phase::gone) return Instant::never();
  if (!core.is_open()) return core.close_deadline;
  Instant next = std::min({core.idle_deadline, core.handshake_deadline, core.pacing_deadline,
                           core.path.challenge_deadline, core.recovery.next_timeout()});
  // An ACK that cannot be sent yet waits for a packet to come, not for time to pass.
  constexpr std::uint64_t kLeastPacket = 64;
  if (core.path.send_allowance() >= kLeastPacket) {
    for (const PacketSpace which :
         {PacketSpace::initial, PacketSpace::handshake, PacketSpace::application}) {
      const Space& space = core.space(which);
      if (!space.can_send || !core.recovery.has_room(which)) continue;
      next = std::min(next, space.acks.next_deadline());
    }
  }
  if (core.phase == Phase::connected) next = std::min(next, core.local_cids.next_issue_time());
  return next;
}

void on_timeout(Core& core, Instant now) {
  if (core.phase == Phase::gone) return;
  if (!core.is_open()) {
    if (core.close_deadline <= now) core.phase = Phase::gone;
    return;
  }
  if (core.idle_deadline <= now) {
    end_silently(core, CloseReason::Kind::idle_timeout, "");
    return;
  }
  if (core.handshake_deadline <= now) {
    // The peer may hold state for us, so tell it; nothing is kept here either way.
    core.handshake_deadline = Instant::never();
    core.close_reason.heard_from_peer = core.heard_from_peer;
    end_silently(core, CloseReason::Kind::handshake_timeout, "");
    return;
  }
  check_path_validation(core, now);
  core.phases.expire(now);
  if (core.recovery.next_timeout() <= now) {
    LossSink sink(core);
    const auto result = core.recovery.on_timeout(now, sink);
    if (result.probes > 0) {
      Space& space = core.space(result.probe_space);
      space.probes = result.probes;
      core.recovery.collect_probe_records(result.probe_space, result.probes, sink);
      ++core.stats.pto_count;
      // Full-size packets that vanish while nothing comes back look like a path
      // whose MTU shrank (RFC 8899 §4.4).
      if (core.recovery.pto_count() >= 3 && core.mtu.current() > limits::kMinDatagramSize) {
        core.mtu.on_black_hole();
        core.recovery.set_max_datagram_size(core.mtu.current());
      }
    }
  }
}

}  // namespace quasi::connection
