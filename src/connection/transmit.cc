// Datagrams out: what is wanted is written straight into the batch, packets are
// coalesced (RFC 9000 §12.2) and padded where the RFC asks for it, and everything
// that was built for one level is sealed and masked in one call at the end.
#include <algorithm>
#include <array>

#include "connection/core.h"
#include "connection/packet_writer.h"

namespace quasi::connection {
namespace {

constexpr std::array<PacketSpace, recovery::kPacketSpaces> kSpaces = {
    PacketSpace::initial, PacketSpace::handshake, PacketSpace::application};

using Unsealed = Workspace::Unsealed;

/// A datagram while it is put together.
struct Assembly {
  MutableBytes room;
  std::size_t size = 0;
  std::array<BuiltPacket, recovery::kPacketSpaces> packets;
  std::size_t count = 0;
  bool must_pad = false;  // RFC 9000 §14.1, §8.2.1
  Ecn ecn = Ecn::not_ect;
};

/// Seals what was built; false when that is impossible (a limit of the AEAD).
bool seal(Core& core, Unsealed& unsealed, Instant now) {
  Status status;
  for (const PacketSpace which : kSpaces) {
    const std::size_t i = recovery::index_of(which);
    const std::span<const protect::TxPacket> packets(unsealed.packets[i].data(), unsealed.count[i]);
    if (packets.empty()) continue;
    protect::PacketSealer& sealer = core.workspace->sealer;
    if (which == PacketSpace::application) {
      status = sealer.seal(packets, core.phases);
    } else {
      const protect::ProtectionKeys& keys = *core.space(which).seal;
      status = sealer.seal(packets, keys.packet, keys.header);
    }
    unsealed.count[i] = 0;
    if (status) continue;
    close_with_error(core, status.error(), {}, now);
    return false;
  }
  return true;
}

void finish_packet(Core& core, const BuiltPacket& packet, Unsealed& unsealed, Ecn ecn,
                   bool off_path, Instant now) {
  if (packet.layout.length_offset != 0) wire::set_length(packet.bytes, packet.layout);
  const std::size_t i = recovery::index_of(packet.space);
  protect::TxPacket& tx = unsealed.packets[i][unsealed.count[i]++];
  tx.data = packet.bytes.data();
  tx.size = static_cast<std::uint32_t>(packet.bytes.size());
  tx.packet_number_offset = static_cast<std::uint32_t>(packet.layout.packet_number_offset);
  tx.packet_number_length = static_cast<std::uint32_t>(packet.layout.packet_number_length);
  tx.packet_number = packet.packet_number;
  if (packet.closes) {
    // CONNECTION_CLOSE is not recovered, but its number is used up: the next one may be
    // padded differently, and no nonce protects two packets.
    if (core.recovery.has_room(packet.space)) {
      (void)core.recovery.on_packet_sent(packet.space, {}, now);
    }
    return;
  }
  recovery::SentInfo info;
  info.size = static_cast<std::uint16_t>(packet.bytes.size());
  info.ack_eliciting = packet.ack_eliciting;
  info.in_flight = packet.ack_eliciting || packet.padded;
  info.ect = ecn == Ecn::ect0;
  info.mtu_probe = packet.mtu_probe;
  info.off_path = off_path;
  (void)core.recovery.on_packet_sent(packet.space, info, now);
  ++core.stats.packets_sent;
  Space& space = core.space(packet.space);
  if (packet.has_ack) {
    if (packet.space == PacketSpace::application) core.phases.on_ack_sent(space.acks.largest());
    space.acks.on_ack_sent(now);
    ++core.stats.acks_sent;
  }
  if (packet.ack_eliciting) {
    if (space.probes > 0) --space.probes;
    if (!core.eliciting_sent_since_receive) {
      // RFC 9000 §10.1: sending restarts the timer only once until something comes.
      core.eliciting_sent_since_receive = true;
      restart_idle_timer(core, now);
    }
  }
}

/// Pads, notes and commits what was assembled.
void finish_datagram(Core& core, Assembly& assembly, TxBatch& batch, Unsealed& unsealed,
                     Instant now) {
  if (assembly.must_pad && assembly.size < limits::kMinDatagramSize &&
      assembly.room.size() >= limits::kMinDatagramSize) {
    BuiltPacket& last = assembly.packets[assembly.count - 1];
    pad_packet(last, limits::kMinDatagramSize - assembly.size);
    assembly.size = limits::kMinDatagramSize;
  }
  bool handshake_sent = false;
  for (std::size_t i = 0; i < assembly.count; ++i) {
    finish_packet(core, assembly.packets[i], unsealed, assembly.ecn, false, now);
    handshake_sent = handshake_sent || assembly.packets[i].space == PacketSpace::handshake;
  }
  batch.commit(static_cast<std::uint32_t>(assembly.size), assembly.ecn, core.path.remote,
               core.path.local);
  core.path.bytes_sent += assembly.size;
  core.stats.bytes_sent += assembly.size;
  // RFC 9001 §4.9.1: a client drops Initial keys when it first sends a Handshake packet.
  if (handshake_sent && core.side == Side::client && !core.space(PacketSpace::initial).discarded) {
    if (seal(core, unsealed, now)) discard_space(core, PacketSpace::initial, now);
  }
}

/// Sends a probe for a larger MTU when one is wanted: before the data, or a busy
/// sender would never find out (RFC 8899 §4.1).
void probe_mtu(Core& core, TxBatch& batch, Unsealed& unsealed, Instant now) {
  if (!wants_mtu_probe(core)) return;
  const std::size_t size = core.mtu.probe_size();
  if (core.recovery.pacing_deadline(now) > now || batch.space().size() < size ||
      core.path.send_allowance() < size || !core.recovery.has_room(PacketSpace::application)) {
    return;
  }
  const auto built = build_mtu_probe(core, batch.space().first(size), now);
  if (!built) return;
  Assembly assembly;
  assembly.room = batch.space().first(size);
  assembly.packets[assembly.count++] = *built;
  assembly.size = built->bytes.size();
  finish_datagram(core, assembly, batch, unsealed, now);
}

/// Puts one datagram together; false when there is nothing to send now.
bool build_datagram(Core& core, TxBatch& batch, Unsealed& unsealed, Instant now) {
  Assembly assembly;
  const auto limit = static_cast<std::size_t>(std::min<std::uint64_t>(
      {core.mtu.current(), core.path.send_allowance(), batch.space().size()}));
  assembly.room = batch.space().first(limit);
  // The same question as in transmit(): what may go, and else when.
  const bool budget = core.recovery.pacing_deadline(now) <= now;
  if (core.recovery.should_mark_ect()) assembly.ecn = Ecn::ect0;
  for (const PacketSpace which : kSpaces) {
    Space& space = core.space(which);
    if (!space.can_send) continue;
    // A close may go once even to a peer that acknowledged nothing.
    const bool last_word = !core.is_open() && core.closing_received == 0;
    if (!core.recovery.has_room(which) && !last_word) continue;
    PacketRequest request;
    request.space = which;
    request.data_allowed = budget || space.probes > 0;
    request.must_elicit = space.probes > 0;
    request.close = !core.is_open();
    const std::optional<BuiltPacket> built =
        build_packet(core, request, assembly.room.subspan(assembly.size), now);
    if (!built) continue;
    assembly.packets[assembly.count++] = *built;
    assembly.size += built->bytes.size();
    // RFC 9000 §14.1: all of a client's Initials, and a server's that elicit ACKs.
    assembly.must_pad =
        assembly.must_pad || built->wants_full_size ||
        (which == PacketSpace::initial && (core.side == Side::client || built->ack_eliciting));
  }
  if (assembly.count == 0) return false;
  finish_datagram(core, assembly, batch, unsealed, now);
  return true;
}

/// Answers a probe of an address that is not the path, within three times its size.
void answer_probe(Core& core, TxBatch& batch, Unsealed& unsealed, Instant now) {
  if (!core.probe_reply || !core.application().can_send) return;
  const ProbeReply reply = *std::exchange(core.probe_reply, std::nullopt);
  if (!core.recovery.has_room(PacketSpace::application)) return;
  const std::size_t limit =
      std::min<std::size_t>({limits::kMinDatagramSize, static_cast<std::size_t>(3 * reply.received),
                             batch.space().size()});
  std::optional<BuiltPacket> built =
      build_path_response(core, reply.data, batch.space().first(limit), now);
  if (!built) return;
  if (built->bytes.size() < limit) pad_packet(*built, limit - built->bytes.size());
  finish_packet(core, *built, unsealed, Ecn::not_ect, true, now);
  batch.commit(static_cast<std::uint32_t>(built->bytes.size()), Ecn::not_ect, reply.remote,
               reply.local);
  core.stats.bytes_sent += built->bytes.size();
}

}  // namespace

bool transmit(Core& core, TxBatch& batch, Instant now) {
  if (core.close_requested) close_by_application(core, now);
  if (core.phase == Phase::draining || core.phase == Phase::gone) return false;
  if (core.phase == Phase::closing && !core.close_wanted) return false;
  const std::size_t before = batch.count();
  Unsealed& unsealed = core.workspace->unsealed;
  unsealed.count = {};
  core.pacing_deadline = Instant::never();
  if (core.is_open()) {
    if ((core.phases.should_update(now) || core.key_update_requested) &&
        core.phases.start_update(now)) {
      core.key_update_requested = false;
      ++core.stats.key_updates;
      provide_next_keys(core);
    }
    replenish_cids(core, now);
    answer_probe(core, batch, unsealed, now);
    probe_mtu(core, batch, unsealed, now);
  }
  while (batch.space().size() >= limits::kMaxDatagramSize) {
    const bool closing = !core.is_open();
    if (!build_datagram(core, batch, unsealed, now)) {
      if (!closing && wants_data(core)) {
        // Only what time alone cures: who waits for the address to be validated, or for
        // ACKs, would otherwise be woken without end.
        const Instant later = core.recovery.pacing_deadline(now);
        if (later > now) core.pacing_deadline = later;
      } else if (!closing) {
        core.recovery.on_application_limited();
      }
      break;
    }
    if (closing) {
      core.close_wanted = false;
      break;
    }
  }
  core.close_wanted = core.close_wanted && core.phase == Phase::closing && batch.count() == before;
  (void)seal(core, unsealed, now);
  if (core.side == Side::server) {
    // RFC 9002 §6.2.2.1: no probe timer runs while the address gets nothing more.
    core.recovery.set_amplification_blocked(core.path.send_allowance() < limits::kMinDatagramSize);
  }
  return batch.count() > before;
}

}  // namespace quasi::connection
