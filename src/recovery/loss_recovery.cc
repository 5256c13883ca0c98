// Loss detection, probe timers and congestion control: see loss_recovery.h.
#include "recovery/loss_recovery.h"

#include <algorithm>

namespace quasi::recovery {
namespace {

constexpr std::uint64_t kPacketThreshold = 3;       // RFC 9002 §6.1.1
constexpr std::uint32_t kTimeThresholdEighths = 9;  // RFC 9002 §6.1.2
constexpr std::uint32_t kMaxTimeThresholdEighths = 16;
constexpr int kPersistentCongestionPtos = 3;  // RFC 9002 §7.6.1
constexpr int kRetentionPtos = 3;
// As in RACK (RFC 8985 §6.2): so many loss episodes without reordering, and the
// thresholds are what they were at first.
constexpr std::uint32_t kEpisodesToForget = 16;

// Distances between skipped packet numbers: often at first, while a peer that
// acknowledges what it has not seen gains most, then ever more rarely.
constexpr std::uint64_t kFirstSkipPeriod = 64;
constexpr std::uint64_t kLastSkipPeriod = std::uint64_t{1} << 17;

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

LossRecovery::LossRecovery(const RecoveryConfig& config)
    : rtt_(config.initial_rtt),
      congestion_(config.congestion_controller, config.max_datagram_size),
      pacer_(config.max_datagram_size),
      ecn_(config.ecn),
      initial_rtt_(config.initial_rtt),
      skip_state_(config.skip_seed),
      skip_period_(kFirstSkipPeriod),
      max_datagram_size_(config.max_datagram_size),
      algorithm_(config.congestion_controller),
      side_(config.side),
      packet_threshold_(kPacketThreshold),
      time_threshold_eighths_(kTimeThresholdEighths) {
  if (skip_state_ != 0) {
    at(PacketSpace::application).skip_at = 1 + next_random(skip_state_) % kFirstSkipPeriod;
  }
}

std::uint64_t LossRecovery::next_packet_number(PacketSpace space) {
  Space& s = at(space);
  if (s.sent.next() >= s.skip_at) {
    s.sent.skip_number();
    s.skip_at = s.sent.next() + skip_period_ + next_random(skip_state_) % skip_period_;
    skip_period_ = std::min(skip_period_ * 2, kLastSkipPeriod);
  }
  return s.sent.next();
}

std::uint64_t LossRecovery::on_packet_sent(PacketSpace space, const SentInfo& info, Instant now) {
  Space& s = at(space);
  const std::uint64_t pn = s.sent.next();
  const bool counts = info.in_flight && !info.off_path;
  if (counts && bytes_in_flight_ == 0) first_sent_time_ = delivered_time_ = now;

  SentPacket packet;
  packet.time_sent = now;
  packet.delivered = delivered_;
  packet.delivered_time = delivered_time_;
  packet.first_sent_time = first_sent_time_;
  packet.size = info.size;
  packet.ack_eliciting = info.ack_eliciting;
  packet.in_flight = counts;
  packet.ect = info.ect;
  packet.mtu_probe = info.mtu_probe;
  packet.app_limited = app_limited_until_ != 0;
  packet.had_rtt_sample = rtt_.has_sample();
  // A path probe never equals the epoch of the active path.
  packet.path_epoch = static_cast<std::uint8_t>(info.off_path ? path_epoch_ - 1 : path_epoch_);
  s.sent.commit(packet);

  s.non_eliciting_run = info.ack_eliciting ? 0 : s.non_eliciting_run + 1;
  if (info.ect) ecn_.on_marked_sent();
  if (!counts) return pn;
  if (info.ack_eliciting) {
    s.last_eliciting_sent = now;
    probe_base_ = now;
  }
  bytes_in_flight_ += info.size;
  congestion_.on_packet_sent({now, info.size, bytes_in_flight_});
  pacer_.on_sent(info.size, now);
  if (bytes_in_flight_ + max_datagram_size_ > congestion_.window()) {
    window_limited_round_ = rounds_;
    app_limited_until_ = 0;
  }
  return pn;
}

void LossRecovery::on_application_limited() {
  if (bytes_in_flight_ + max_datagram_size_ > congestion_.window()) return;
  app_limited_until_ = std::max<std::uint64_t>(delivered_ + bytes_in_flight_, 1);
}

std::uint64_t LossRecovery::send_budget(Instant now) const {
  const std::uint64_t window = congestion_.window();
  if (bytes_in_flight_ >= window) return 0;
  if (!has_room(PacketSpace::application)) return 0;
  return std::min(window - bytes_in_flight_, pacer_.budget(now));
}

Instant LossRecovery::pacing_deadline(Instant now) const {
  if (bytes_in_flight_ + max_datagram_size_ > congestion_.window()) return Instant::never();
  if (!has_room(PacketSpace::application)) return Instant::never();
  return pacer_.next_send_time(now);
}

// --- ACKs -------------------------------------------------------------------

Status LossRecovery::check_range(const Space& s, std::uint64_t smallest,
                                 std::uint64_t largest) const {
  // RFC 9000 §13.1 and §21.4.
  if (s.sent.all_sent(smallest, largest)) return {};
  return fail(TransportErrorCode::protocol_violation, "ACK of a packet number that was never sent",
              0x02);
}

void LossRecovery::begin_ack(AckSum& sum, Instant now) {
  sum.event.now = now;
  sum.event.prior_in_flight = bytes_in_flight_;
  sum.event.rtt = &rtt_;
}

void LossRecovery::ack_packet(Space& s, std::uint64_t pn, SentPacket& packet, AckSum& sum) {
  AckResult& result = sum.result;
  ++result.newly_acked;
  const bool on_path = packet.path_epoch == path_epoch_;
  if (!result.largest_newly_acked || pn > *result.largest_newly_acked) {
    result.largest_newly_acked = pn;
    sum.largest_time_sent = packet.time_sent;
    sum.largest_on_path = on_path;
  }
  sum.any_eliciting |= packet.ack_eliciting;
  if (packet.ect && on_path) ++sum.ect_acked;

  if (packet.state == SentPacket::State::lost) {
    s.has_lost_run = false;
    if (!packet.requeued && packet.in_flight && on_path) {
      ++result.spurious;
      ++packets_spurious_;
      if (s.largest_acked && *s.largest_acked > pn) {
        adapt_to_spurious_loss(*s.largest_acked - pn);
      }
      if (packet.episode == episode_) ++episode_spurious_;
    }
  } else if (packet.in_flight && on_path) {
    sum.any_in_flight = true;
    sum.event.acked_bytes += packet.size;
    if (!congestion_.in_recovery(packet.time_sent)) sum.event.growth_bytes += packet.size;
    remove_from_flight(packet);
  }
  if (packet.in_flight && on_path) {
    delivered_ += packet.size;
    delivered_time_ = sum.event.now;
    // The packet sent last tells about the newest stretch of the path.
    if (!sum.has_rate || packet.time_sent >= sum.rate_sent) {
      sum.has_rate = true;
      sum.rate_prior_delivered = packet.delivered;
      sum.rate_prior_time = packet.delivered_time;
      sum.rate_first_sent = packet.first_sent_time;
      sum.rate_sent = packet.time_sent;
      sum.rate_app_limited = packet.app_limited;
    }
  }
  s.sent.mark_acked(packet);
}

void LossRecovery::after_acks(PacketSpace space, std::uint64_t largest_in_frame, Duration ack_delay,
                              const EcnCounts* ecn, Instant now, AckSum& sum) {
  Space& s = at(space);
  const bool raised = !s.largest_acked || largest_in_frame > *s.largest_acked;
  if (raised) s.largest_acked = largest_in_frame;
  probe_base_ = now;

  // RFC 9002 §5.1: a sample only when the largest is new and something in
  // the frame made the peer answer.
  if (sum.result.largest_newly_acked == largest_in_frame && sum.any_eliciting &&
      sum.largest_on_path) {
    // RFC 9002 §5.3: Initial packets are acknowledged without delay.
    if (space == PacketSpace::initial) ack_delay = Duration();
    rtt_.on_sample(now - sum.largest_time_sent, ack_delay, handshake_confirmed_,
                   peer_max_ack_delay_);
    sum.event.rtt_sampled = true;
  }

  if (sum.has_rate) {
    first_sent_time_ = sum.rate_sent;
    const Duration interval =
        std::max(sum.rate_sent - sum.rate_first_sent, now - sum.rate_prior_time);
    sum.event.rate.prior_delivered = sum.rate_prior_delivered;
    sum.event.rate.delivered = delivered_ - sum.rate_prior_delivered;
    sum.event.rate.app_limited = sum.rate_app_limited;
    // Shorter than any round trip: packets that were acknowledged in a clump.
    if (interval >= rtt_.min()) sum.event.rate.interval = interval;
    if (sum.rate_prior_delivered >= round_end_) {
      round_end_ = delivered_;
      ++rounds_;
      sum.event.round_start = true;
    }
    if (app_limited_until_ != 0 && delivered_ > app_limited_until_) app_limited_until_ = 0;
  }

  // RFC 9002 §6.2.2.1: the server proves with it that it knows our address.
  if (space == PacketSpace::handshake) peer_validated_address_ = true;

  if (raised && sum.largest_on_path) {
    if (ecn_.on_ack(space, sum.ect_acked, ecn) > 0) {
      if (congestion_.on_congestion_event(
              {now, sum.largest_time_sent, 0, bytes_in_flight_, true})) {
        ++episode_;
        episode_lost_ = episode_spurious_ = 0;
        episode_undoable_ = false;
      }
    }
  }
  // RFC 9002 §6.2.1: not for a client that the server may still be unable to answer.
  if (peer_completed_address_validation()) pto_count_ = 0;
}

void LossRecovery::finish_ack(PacketSpace space, Instant now, AckSum& sum, const LossSum& losses) {
  sum.result.lost = losses.packets;
  sum.result.persistent_congestion = losses.persistent;
  answer_losses(losses, now);
  if (sum.result.spurious > 0 && episode_undoable_ && episode_lost_ > 0 &&
      episode_spurious_ >= episode_lost_) {
    congestion_.on_spurious_congestion();
    episode_undoable_ = false;
  }
  if (sum.any_in_flight || losses.bytes > 0) {
    sum.event.lost_bytes = losses.bytes;
    sum.event.bytes_in_flight = bytes_in_flight_;
    sum.event.delivered_total = delivered_;
    const std::uint64_t window = congestion_.window();
    sum.event.window_limited =
        rounds_ - window_limited_round_ <= 1 ||
        (congestion_.in_slow_start() && sum.event.prior_in_flight > window / 2);
    congestion_.on_ack(sum.event);
  }
  at(space).sent.trim(now - retention());
  pacer_.set_rate(congestion_.pacing_rate(rtt_), congestion_.window(), max_datagram_size_, now);
}

void LossRecovery::adapt_to_spurious_loss(std::uint64_t distance) {
  // RFC 9002 §6.1.1 allows more than 3 packets, §6.1.2 more than 9/8 RTT, where the
  // path reorders more than that. A large packet threshold costs little: the time
  // threshold then finds what was really lost.
  packet_threshold_ =
      std::max(packet_threshold_, std::min(distance + 1, limits::kMaxPacketThreshold));
  time_threshold_eighths_ = std::min(time_threshold_eighths_ + 1, kMaxTimeThresholdEighths);
  episodes_without_reordering_ = 0;
}

void LossRecovery::forget_reordering() {
  packet_threshold_ = kPacketThreshold;
  time_threshold_eighths_ = kTimeThresholdEighths;
  episodes_without_reordering_ = 0;
}

void LossRecovery::remove_from_flight(SentPacket& packet) {
  if (!packet.in_flight || packet.path_epoch != path_epoch_) return;
  bytes_in_flight_ -= std::min<std::uint64_t>(bytes_in_flight_, packet.size);
}

Duration LossRecovery::retention() const { return pto(PacketSpace::application) * kRetentionPtos; }

// --- Loss ---------------------------------------------------------------------

Duration LossRecovery::loss_delay() const {
  const Duration rtt = std::max(rtt_.latest(), rtt_.smoothed());
  return std::max(rtt / 8 * time_threshold_eighths_, kGranularity);
}

SentPacket* LossRecovery::next_lost(Space& s, Instant now) {
  s.loss_time = Instant::never();
  if (!s.largest_acked) return nullptr;
  const Duration delay = loss_delay();
  std::uint64_t& pn = s.sent.loss_cursor;
  for (pn = std::max(pn, s.sent.base()); pn <= *s.largest_acked && pn < s.sent.next(); ++pn) {
    SentPacket& packet = *s.sent.find(pn);
    if (packet.state == SentPacket::State::outstanding) {
      if (*s.largest_acked - pn >= packet_threshold_ || packet.time_sent + delay <= now) {
        return &packet;
      }
      // Packets are sent in the order of their numbers: none after it is older.
      s.loss_time = packet.time_sent + delay;
      return nullptr;
    }
    // RFC 9002 §7.6.2: an acknowledged packet ends a run of lost ones.
    if (packet.state == SentPacket::State::acked) s.has_lost_run = false;
  }
  return nullptr;
}

void LossRecovery::lose_packet(Space& s, SentPacket& packet, LossSum& sum) {
  s.sent.mark_lost(packet);
  const bool on_path = packet.path_epoch == path_epoch_;
  if (packet.ect && on_path) ecn_.on_marked_lost();
  if (!packet.in_flight) return;
  ++sum.packets;
  ++packets_lost_;
  if (!on_path) return;
  remove_from_flight(packet);
  if (packet.mtu_probe) return;  // RFC 9000 §14.4: says nothing about congestion
  sum.bytes += packet.size;
  sum.congestion = true;
  sum.largest_time_sent = std::max(sum.largest_time_sent, packet.time_sent);
  const bool old = congestion_.in_recovery(packet.time_sent);
  ++(old ? sum.old_episode : sum.new_episode);
  packet.episode = static_cast<std::uint8_t>(old ? episode_ : episode_ + 1);

  // RFC 9002 §7.6: between two ack-eliciting packets, both sent after the first
  // RTT sample, nothing arrived for three probe timeouts.
  if (!packet.ack_eliciting || !packet.had_rtt_sample) return;
  if (!s.has_lost_run) {
    s.has_lost_run = true;
    s.lost_run_start = packet.time_sent;
    return;
  }
  const Duration limit = (rtt_.pto() + peer_max_ack_delay_) * kPersistentCongestionPtos;
  if (packet.time_sent - s.lost_run_start > limit) {
    sum.persistent = true;
    s.has_lost_run = false;
  }
}

void LossRecovery::answer_losses(const LossSum& sum, Instant now) {
  if (!sum.congestion) return;
  if (congestion_.on_congestion_event(
          {now, sum.largest_time_sent, sum.bytes, bytes_in_flight_, false})) {
    ++episode_;
    episode_lost_ = sum.new_episode;
    episode_spurious_ = 0;
    episode_undoable_ = true;
    if (++episodes_without_reordering_ >= kEpisodesToForget) forget_reordering();
  } else {
    episode_lost_ += sum.old_episode;
  }
  if (sum.persistent) {
    congestion_.on_persistent_congestion(now);
    rtt_.restart_min();
    forget_reordering();
    episode_undoable_ = false;
  }
  pacer_.set_rate(congestion_.pacing_rate(rtt_), congestion_.window(), max_datagram_size_, now);
}

// --- Timers -------------------------------------------------------------------

Duration LossRecovery::pto(PacketSpace space) const {
  // RFC 9002 §6.2.1: the peer delays ACKs in the application space only.
  Duration d = rtt_.pto();
  if (space == PacketSpace::application) d += peer_max_ack_delay_;
  return d;
}

bool LossRecovery::has_ack_eliciting_in_flight() const {
  for (const Space& s : spaces_) {
    if (s.sent.eliciting_outstanding() > 0) return true;
  }
  return false;
}

std::optional<PacketSpace> LossRecovery::earliest_loss_space() const {
  std::optional<PacketSpace> earliest;
  for (std::size_t i = 0; i < kPacketSpaces; ++i) {
    if (spaces_[i].loss_time.is_never()) continue;
    if (!earliest || spaces_[i].loss_time < at(*earliest).loss_time) {
      earliest = static_cast<PacketSpace>(i);
    }
  }
  return earliest;
}

LossRecovery::PtoTimer LossRecovery::pto_timer() const {
  PtoTimer timer;
  // RFC 9002 §6.2.2.1: what cannot be sent needs no timer.
  if (amplification_blocked_) return timer;
  const std::int64_t backoff = std::int64_t{1} << std::min(pto_count_, limits::kMaxPtoExponent);
  for (std::size_t i = 0; i < kPacketSpaces; ++i) {
    const Space& s = spaces_[i];
    const auto space = static_cast<PacketSpace>(i);
    if (s.sent.eliciting_outstanding() == 0) continue;
    if (space == PacketSpace::application && !handshake_confirmed_) continue;
    const Instant time = s.last_eliciting_sent + pto(space) * backoff;
    if (time < timer.time) timer = {time, space};
  }
  if (timer.time.is_never() && !peer_completed_address_validation()) {
    // RFC 9002 §6.2.2.1: a client keeps talking, or a blocked server never may.
    // Also with nothing but 0-RTT in flight, which has no timer of its own yet.
    timer.space = has_handshake_keys_ ? PacketSpace::handshake : PacketSpace::initial;
    timer.time = probe_base_ + pto(timer.space) * backoff;
  }
  return timer;
}

Instant LossRecovery::next_timeout() const {
  if (const auto space = earliest_loss_space()) return at(*space).loss_time;
  return pto_timer().time;
}

// --- Changes ------------------------------------------------------------------

void LossRecovery::discard_space(PacketSpace space, Instant now) {
  Space& s = at(space);
  for (std::uint64_t pn = s.sent.first_unacked(s.sent.loss_cursor); pn < s.sent.next();
       pn = s.sent.first_unacked(pn + 1)) {
    SentPacket& packet = *s.sent.find(pn);
    if (packet.state == SentPacket::State::outstanding) remove_from_flight(packet);
  }
  s = Space();
  // RFC 9002 §6.4, A.11.
  probe_base_ = now;
  pto_count_ = 0;
}

void LossRecovery::on_path_changed(Instant now, bool same_host) {
  // RFC 9000 §9.4: what was sent on the old path says nothing about the new one.
  if (same_host) return;
  ++path_epoch_;
  bytes_in_flight_ = 0;
  rtt_ = RttEstimator(initial_rtt_);
  congestion_ = Congestion(algorithm_, max_datagram_size_);
  pacer_ = Pacer(max_datagram_size_);
  if (ecn_.state() != EcnValidator::State::off) ecn_ = EcnValidator(true);
  forget_reordering();
  pto_count_ = 0;
  episode_undoable_ = false;
  app_limited_until_ = 0;
  first_sent_time_ = delivered_time_ = now;
  round_end_ = delivered_;
  for (Space& s : spaces_) s.has_lost_run = false;
}

void LossRecovery::set_max_datagram_size(std::size_t bytes) {
  max_datagram_size_ = bytes;
  congestion_.set_max_datagram_size(bytes);
}

}  // namespace quasi::recovery
