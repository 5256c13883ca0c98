// Changes of the peer's address and the validation of paths (RFC 9000 §8.2, §9).
// This endpoint does not move by itself; it follows a client whose address changes
// (a NAT that forgot it, another network), and answers every probe of its path.
#include <algorithm>

#include "connection/core.h"

namespace quasi::connection {
namespace {

void start_validation(Core& core, Instant now) {
  ChallengeData data{};
  (*core.entropy)(data);
  core.path.challenge = data;
  core.path.wants_challenge = true;
  // RFC 9000 §8.2.4: three times the larger of the current PTO and a new path's.
  const Duration pto =
      std::max(core.recovery.pto(PacketSpace::application), recovery::kInitialRtt * 3);
  core.path.challenge_deadline = now + pto * 3;
  // The window may be full of what was lost on the old path; the proof does not wait for
  // that to be found out.
  Space& space = core.application();
  space.probes = std::max(space.probes, 1U);
}

}  // namespace

std::size_t peer_datagram_limit(const Core& core) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(
      core.config.max_udp_payload_size, core.peer_parameters.max_udp_payload_size));
}

void watch_current_token(Core& core) {
  const auto token = core.remote_cids.current_token();
  core.router->watch_reset_token(core.handle, core.watched_token ? &*core.watched_token : nullptr,
                                 token ? &*token : nullptr);
  core.watched_token = token;
}

void on_path_challenge(Core& core, const ChallengeData& data, const RxDatagram& datagram) {
  if (datagram.remote == core.path.remote) {
    core.path.response = data;
  } else {
    // A probe from an address that has not become the path: answered from there, with
    // the newest one only (RFC 9000 §8.2.2; CVE-2023-6193).
    core.probe_reply = ProbeReply{.data = data,
                                  .remote = datagram.remote,
                                  .local = datagram.local,
                                  .received = datagram.size};
  }
}

void on_path_packet(Core& core, const RxDatagram& datagram, bool non_probing, bool newest,
                    Instant now) {
  if (datagram.remote == core.path.remote) {
    core.path.local = datagram.local;
    return;
  }
  // RFC 9000 §9.3: only the newest packet moves a connection, only when it is more
  // than a probe, only once the handshake is confirmed, and only clients move.
  if (core.side != Side::server || !core.confirmed || !non_probing || !newest) return;
  if (core.previous_path && core.previous_path->remote == datagram.remote) {
    // Back where the peer was proved to be: a spoofed packet lured us away, or the peer
    // changed its mind (RFC 9000 §9.3.3).
    core.path = *core.previous_path;
    core.path.local = datagram.local;
    core.previous_path.reset();
    core.recovery.on_path_changed(now, false);
    core.recovery.set_amplification_blocked(false);
    return;
  }
  const bool same_host = datagram.remote.family == core.path.remote.family &&
                         datagram.remote.ip == core.path.remote.ip;
  if (core.path.validated) core.previous_path = core.path;
  core.path = Path{};
  core.path.remote = datagram.remote;
  core.path.local = datagram.local;
  core.path.bytes_received = datagram.size;
  // RFC 9000 §9.5: another path gets another connection ID, when there is one.
  if (core.remote_cids.switch_to_spare()) watch_current_token(core);
  if (!same_host) {
    // RFC 9000 §14.3: another path has another MTU.
    core.mtu = MtuProber(core.config.mtu_discovery, peer_datagram_limit(core),
                         core.path.remote.family == SocketAddress::Family::ipv6);
    core.recovery.set_max_datagram_size(core.mtu.current());
  }
  core.recovery.on_path_changed(now, same_host);
  start_validation(core, now);
}

void on_path_response(Core& core, const ChallengeData& data, Instant) {
  if (!core.path.challenge || !constant_time_equal(*core.path.challenge, data)) return;
  core.path.validated = true;
  core.path.challenge.reset();
  core.path.wants_challenge = false;
  core.path.challenge_deadline = Instant::never();
  core.previous_path.reset();
  core.recovery.set_amplification_blocked(false);
}

}  // namespace quasi::connection
