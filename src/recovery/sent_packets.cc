// The rings of sent packets and of their records: see sent_packets.h.
#include "recovery/sent_packets.h"

#include <algorithm>

namespace quasi::recovery {
namespace {

constexpr std::size_t kFirstPackets = 16;
constexpr std::size_t kFirstRecords = 32;
// A ring longer than this drops ACK-only packets from its old end: nothing waits
// for their fate.
constexpr std::size_t kKeepUntracked = 1024;

bool counts_as_eliciting(const SentPacket& packet) {
  return packet.ack_eliciting && packet.in_flight;
}

}  // namespace

void SentPackets::grow_packets() {
  std::vector<SentPacket> bigger(packets_.empty() ? kFirstPackets : packets_.size() * 2);
  for (std::uint64_t pn = base_; pn < next_; ++pn) {
    bigger[static_cast<std::size_t>(pn) & (bigger.size() - 1)] = slot(pn);
  }
  packets_.swap(bigger);
}

void SentPackets::grow_records() {
  std::vector<SentRecord> bigger(records_.empty() ? kFirstRecords : records_.size() * 2);
  for (std::uint32_t i = record_head_; i != record_tail_; ++i) {
    bigger[i & (bigger.size() - 1)] = record(i);
  }
  records_.swap(bigger);
}

void SentPackets::skip_number() {
  if (size() == packets_.size()) grow_packets();
  SentPacket& packet = slot(next_);
  packet = SentPacket();
  packet.state = SentPacket::State::skipped;
  packet.skip = 1;
  packet.first_record = open_;
  (void)skipped_.insert_dropping_lowest(next_, next_ + 1);
  ++next_;
}

void SentPackets::push_record(const SentRecord& record) {
  if (record_tail_ - record_head_ == records_.size()) grow_records();
  records_[record_tail_ & (records_.size() - 1)] = record;
  ++record_tail_;
}

SentPacket& SentPackets::commit(const SentPacket& packet) {
  while (size() >= kKeepUntracked) {
    const SentPacket& front = slot(base_);
    if (front.state == SentPacket::State::lost) break;
    if (front.state == SentPacket::State::outstanding && front.in_flight) break;
    pop_front();
  }
  if (size() == packets_.size()) grow_packets();
  SentPacket& sent = slot(next_);
  sent = packet;
  sent.state = SentPacket::State::outstanding;
  sent.first_record = open_;
  sent.record_count = static_cast<std::uint16_t>(record_tail_ - open_);
  sent.skip = 0;
  open_ = record_tail_;
  ++next_;
  ++outstanding_;
  if (counts_as_eliciting(sent)) ++eliciting_outstanding_;
  return sent;
}

bool SentPackets::has_room() const {
  return size() < limits::kMaxSentPackets &&
         outstanding_ - eliciting_outstanding_ < limits::kMaxUntrackedPackets;
}

bool SentPackets::all_sent(std::uint64_t smallest, std::uint64_t largest) const {
  return smallest <= largest && largest < next_ && !skipped_.intersects(smallest, largest + 1);
}

std::uint64_t SentPackets::first_unacked(std::uint64_t from) {
  from = std::max(from, base_);
  std::uint64_t pn = from;
  while (pn < next_) {
    const SentPacket& packet = slot(pn);
    if (packet.state == SentPacket::State::outstanding || packet.state == SentPacket::State::lost) {
      break;
    }
    pn += packet.skip;
  }
  // Every link on the way now leads straight there.
  while (from < pn) {
    SentPacket& packet = slot(from);
    const std::uint32_t step = packet.skip;
    packet.skip = static_cast<std::uint32_t>(pn - from);
    from += step;
  }
  return pn;
}

void SentPackets::mark_acked(SentPacket& packet) {
  if (packet.state == SentPacket::State::outstanding) {
    --outstanding_;
    if (counts_as_eliciting(packet)) --eliciting_outstanding_;
  }
  packet.state = SentPacket::State::acked;
  packet.skip = 1;
}

void SentPackets::mark_lost(SentPacket& packet) {
  if (packet.state != SentPacket::State::outstanding) return;
  --outstanding_;
  if (counts_as_eliciting(packet)) --eliciting_outstanding_;
  packet.state = SentPacket::State::lost;
}

void SentPackets::pop_front() {
  SentPacket& packet = slot(base_);
  if (packet.state == SentPacket::State::outstanding) mark_lost(packet);
  record_head_ = packet.first_record + packet.record_count;
  ++base_;
  loss_cursor = std::max(loss_cursor, base_);
}

void SentPackets::trim(Instant horizon) {
  while (base_ < next_) {
    const SentPacket& packet = slot(base_);
    if (packet.state == SentPacket::State::outstanding) break;
    if (packet.state == SentPacket::State::lost && packet.time_sent >= horizon &&
        size() <= limits::kMaxRetainedPackets) {
      break;
    }
    pop_front();
  }
}

}  // namespace quasi::recovery
