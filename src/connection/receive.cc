// Datagrams in: coalesced packets are taken apart, 1-RTT packets of a burst are
// unmasked and opened as one group, duplicates are dropped between the two, and
// frames are handled in the order of arrival (RFC 9000 §12.2, RFC 9001 §5.5, §5.7).
#include <algorithm>
#include <array>
#include <utility>

#include "connection/core.h"

namespace quasi::connection {
namespace {

using protect::RxPacket;
using protect::Verdict;

using Group = Workspace::Group;

Status handle_payload(Core& core, Bytes payload, PacketContext& context, Instant now) {
  return core.version->reversed ? handle_frames<wire::Reverse>(core, payload, context, now)
                                : handle_frames<wire::Forward>(core, payload, context, now);
}

/// What every authenticated packet brings with it. False: stop working on the burst.
bool on_opened(Core& core, const RxPacket& packet, PacketContext& context, Instant now) {
  Space& space = core.space(context.space);
  if (space.discarded) return false;
  // The same number twice in one burst passed the first check; this one sees it.
  if (space.acks.is_duplicate(packet.packet_number)) {
    ++core.stats.packets_duplicate;
    return true;
  }
  const bool newest = packet.packet_number >= space.acks.next_expected();
  core.heard_from_peer = true;
  ++core.stats.packets_received;
  context.packet_number = packet.packet_number;
  context.key_generation = packet.key_generation;
  const Status status = handle_payload(core, packet.payload(), context, now);
  if (!status) {
    close_with_error(core, status.error(), {}, now);
    return false;
  }
  if (!core.is_open()) return false;
  space.acks.on_received(packet.packet_number, context.ack_eliciting, context.datagram->ecn, now);
  restart_idle_timer(core, now);
  core.eliciting_sent_since_receive = false;
  if (context.space == PacketSpace::application) {
    on_path_packet(core, *context.datagram, context.non_probing, newest, now);
  }
  return true;
}

void on_unopened(Core& core, const RxPacket& packet, bool short_header, Instant now) {
  // RFC 9000 §10.3.1: what cannot be opened may be a stateless reset. So may what looks
  // like a duplicate: the random bytes of a reset give any packet number.
  constexpr std::size_t kResetTokenSize = 16;
  constexpr std::size_t kSmallestReset = 21;
  if (short_header && packet.size >= kSmallestReset &&
      core.remote_cids.is_reset_token(
          Bytes(packet.data + packet.size - kResetTokenSize, kResetTokenSize))) {
    on_stateless_reset(core, now);
    return;
  }
  ++(packet.verdict == Verdict::duplicate ? core.stats.packets_duplicate
                                          : core.stats.packets_undecryptable);
}

void mark_duplicates(const recovery::AckTracker& acks, std::span<RxPacket> packets) {
  for (RxPacket& packet : packets) {
    if (packet.verdict == Verdict::pending && acks.is_duplicate(packet.packet_number)) {
      packet.verdict = Verdict::duplicate;
    }
  }
}

/// Opens and handles the collected 1-RTT packets.
void flush(Core& core, Group& group, Instant now) {
  if (group.count == 0) return;
  Space& space = core.application();
  const std::span<RxPacket> packets(group.packets.data(), group.count);
  group.count = 0;
  protect::PacketOpener& opener = core.workspace->opener;
  opener.unmask(packets, core.phases.receive_header_key(), space.acks.next_expected());
  mark_duplicates(space.acks, packets);
  const Status opened =
      opener.open(packets, core.phases, now, core.recovery.pto(PacketSpace::application));
  provide_next_keys(core);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].verdict != Verdict::opened) {
      on_unopened(core, packets[i], true, now);
      if (!core.is_open()) return;
      continue;
    }
    PacketContext context;
    context.datagram = group.datagrams[i];
    context.dcid = wire::ConnectionId::from(Bytes(packets[i].data + 1, limits::kLocalCidLength))
                       .value_or(wire::ConnectionId());
    if (!on_opened(core, packets[i], context, now)) return;
  }
  if (!opened) close_with_error(core, opened.error(), {}, now);
}

void keep_early(Core& core, const RxDatagram& datagram, MutableBytes packet) {
  if (core.early_count == core.early.size()) return;
  EarlyPacket& early = core.early[core.early_count++];
  early.datagram = datagram;
  early.datagram.data = packet.data();
  early.datagram.size = static_cast<std::uint32_t>(packet.size());
}

/// An Initial or Handshake packet.
void handle_long(Core& core, const wire::PacketView& view, const RxDatagram& datagram,
                 Instant now) {
  const bool initial = view.type == wire::PacketType::initial;
  const PacketSpace which = initial ? PacketSpace::initial : PacketSpace::handshake;
  Space& space = core.space(which);
  if (view.version != core.version || space.discarded) return;
  if (!space.can_receive) {
    if (!initial) keep_early(core, datagram, view.bytes);
    return;
  }
  // RFC 9000 §17.2.2: only clients send tokens, and only clients get Retry packets.
  if (initial && core.side == Side::client && !view.token.empty()) return;
  // RFC 9000 §7.2: once the peer's source ID is known it does not change.
  if (core.peer_cid_known && view.scid != core.remote_cids.current() &&
      core.remote_cids.current_sequence() == 0) {
    return;
  }
  std::array<RxPacket, 1> packets;
  packets[0].data = view.bytes.data();
  packets[0].size = static_cast<std::uint32_t>(view.bytes.size());
  packets[0].packet_number_offset = static_cast<std::uint32_t>(view.packet_number_offset);
  protect::PacketOpener& opener = core.workspace->opener;
  opener.unmask(packets, space.open->header, space.acks.next_expected());
  mark_duplicates(space.acks, packets);
  const Status opened = opener.open(packets, space.open->packet);
  if (packets[0].verdict != Verdict::opened) {
    on_unopened(core, packets[0], false, now);
    return;
  }
  if (!opened) {
    close_with_error(core, opened.error(), {}, now);
    return;
  }
  if (core.side == Side::client && !core.peer_cid_known) {
    // RFC 9000 §7.2: from now on packets go to the ID that the server chose.
    core.peer_cid_known = true;
    core.remote_cids.set_initial(view.scid);
  }
  if (core.side == Side::server && !initial) {
    core.path.validated = true;  // RFC 9000 §8.1
    core.recovery.set_amplification_blocked(false);
  }
  PacketContext context;
  context.space = which;
  context.type = view.type;
  context.datagram = &datagram;
  context.dcid = view.dcid;
  if (!on_opened(core, packets[0], context, now)) return;
  // RFC 9001 §4.9.1: the first Handshake packet ends the use of Initial keys.
  if (core.side == Side::server && !initial) discard_space(core, PacketSpace::initial, now);
  drive_handshake(core, now);
}

void handle_datagram(Core& core, RxDatagram& datagram, Group& group, Instant now) {
  if (!core.is_open() || datagram.size == 0) return;
  const bool is_long = (datagram.data[0] & wire::kLongHeaderBit) != 0;
  if (!is_long && core.application().can_receive) {
    // The common case: one 1-RTT packet is the whole datagram.
    if ((datagram.data[0] & wire::kFixedBit) == 0) return;
    if (group.count == group.packets.size()) flush(core, group, now);
    RxPacket& packet = group.packets[group.count];
    packet = RxPacket();
    packet.data = datagram.data;
    packet.size = datagram.size;
    packet.packet_number_offset = 1 + limits::kLocalCidLength;
    group.datagrams[group.count++] = &datagram;
    return;
  }
  flush(core, group, now);
  wire::DatagramReader reader(MutableBytes(datagram.data, datagram.size), limits::kLocalCidLength);
  wire::PacketView view;
  while (core.is_open() && reader.next(view) == wire::ParseOutcome::packet) {
    switch (view.type) {
      case wire::PacketType::initial:
        // RFC 9000 §14.1: servers drop Initials in datagrams that are too small.
        if (core.side == Side::server && datagram.size < limits::kMinDatagramSize) return;
        [[fallthrough]];
      case wire::PacketType::handshake:
        handle_long(core, view, datagram, now);
        break;
      case wire::PacketType::one_rtt:
        if (core.application().can_receive) {
          if (group.count == group.packets.size()) flush(core, group, now);
          RxPacket& packet = group.packets[group.count];
          packet = RxPacket();
          packet.data = view.bytes.data();
          packet.size = static_cast<std::uint32_t>(view.bytes.size());
          packet.packet_number_offset = static_cast<std::uint32_t>(view.packet_number_offset);
          group.datagrams[group.count++] = &datagram;
        } else {
          keep_early(core, datagram, view.bytes);
        }
        break;
      case wire::PacketType::retry:
        on_retry(core, view, now);
        break;
      case wire::PacketType::version_negotiation:
        on_version_negotiation(core, view, now);
        break;
      case wire::PacketType::zero_rtt:
        break;  // not offered, so not accepted
    }
  }
}

/// Packets that waited for keys which are there now.
void replay_early(Core& core, Group& group, Instant now) {
  if (core.early_count == 0) return;
  if (!core.application().can_receive && !core.space(PacketSpace::handshake).can_receive) return;
  std::array<EarlyPacket, limits::kMaxEarlyPackets> waiting;
  const std::size_t count = std::exchange(core.early_count, 0);
  for (std::size_t i = 0; i < count; ++i) waiting[i] = std::move(core.early[i]);
  for (std::size_t i = 0; i < count; ++i) {
    handle_datagram(core, waiting[i].datagram, group, now);
    flush(core, group, now);
  }
}

}  // namespace

void receive(Core& core, std::span<RxDatagram* const> datagrams, Instant now) {
  static_assert(RxBatch::kCapacity <= protect::PacketOpener::kMaxGroup);
  Group& group = core.workspace->group;
  group.count = 0;
  for (RxDatagram* datagram : datagrams) {
    // RFC 9000 §9: servers do not move, so a client hears nobody else.
    if (core.side == Side::client && datagram->remote != core.path.remote) continue;
    core.stats.bytes_received += datagram->size;
    if (datagram->remote == core.path.remote) core.path.bytes_received += datagram->size;
    if (core.phase == Phase::closing) {
      // RFC 9000 §10.2.1: answer less and less often to what still comes.
      ++core.closing_received;
      if ((core.closing_received & (core.closing_received - 1)) == 0) core.close_wanted = true;
      continue;
    }
    handle_datagram(core, *datagram, group, now);
    if (core.early_count > 0) {
      flush(core, group, now);
      replay_early(core, group, now);
    }
  }
  flush(core, group, now);
  replay_early(core, group, now);
  if (core.is_open() && core.side == Side::server) {
    core.recovery.set_amplification_blocked(core.path.send_allowance() < limits::kMinDatagramSize);
  }
}

}  // namespace quasi::connection
