// Issue and retirement of our own connection IDs (see local_cids.h).
#include "connection/local_cids.h"

#include <algorithm>

namespace quasi::connection {
namespace {
// Replacements that a peer gets without delay: enough for honest rebinding and
// migration; beyond it one an interval (msquic#180 shows what happens otherwise).
constexpr std::uint64_t kFreeReplacements = 16;
}  // namespace

void LocalCids::set_initial(const wire::ConnectionId& cid) {
  entries_[0] = Entry{.sequence = 0, .cid = cid, .token = {}, .in_use = true, .wants_frame = false};
  handshake_cid_ = cid;
}

void LocalCids::set_peer_limit(std::uint64_t limit) {
  limit_ = static_cast<std::size_t>(std::min<std::uint64_t>(limit, kMaxActive));
}

std::size_t LocalCids::active() const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.in_use; }));
}

bool LocalCids::wants_new_cid(Instant now) const {
  return active() < limit_ && (replenished_ < kFreeReplacements || now >= not_before_);
}

Instant LocalCids::next_issue_time() const {
  if (active() >= limit_ || replenished_ < kFreeReplacements) return Instant::never();
  return not_before_;
}

void LocalCids::issue(const wire::ConnectionId& cid, const ResetToken& token, Instant now,
                      Duration interval) {
  const auto free_entry =
      std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.in_use; });
  if (free_entry == entries_.end()) return;
  *free_entry = Entry{.sequence = next_sequence_++,
                      .cid = cid,
                      .token = token,
                      .in_use = true,
                      .wants_frame = true};
  ++replenished_;
  not_before_ = now + interval;
}

LocalCids::Entry* LocalCids::next_wanted() {
  for (Entry& entry : entries_) {
    if (entry.in_use && entry.wants_frame) return &entry;
  }
  return nullptr;
}

void LocalCids::on_frame_lost(std::uint64_t sequence) {
  for (Entry& entry : entries_) {
    if (entry.in_use && entry.sequence == sequence && sequence != 0) entry.wants_frame = true;
  }
}

Result<std::optional<wire::ConnectionId>> LocalCids::on_retire(
    std::uint64_t sequence, const wire::ConnectionId& packet_cid) {
  constexpr std::uint64_t kRetireConnectionId = 0x19;
  // RFC 9000 §19.16: a sequence number that was never sent, or the one in use here.
  if (sequence >= next_sequence_) {
    return fail(TransportErrorCode::protocol_violation,
                "RETIRE_CONNECTION_ID for a sequence number that was never issued",
                kRetireConnectionId);
  }
  for (Entry& entry : entries_) {
    if (!entry.in_use || entry.sequence != sequence) continue;
    if (entry.cid == packet_cid) {
      return fail(TransportErrorCode::protocol_violation,
                  "RETIRE_CONNECTION_ID for the connection ID of its own packet",
                  kRetireConnectionId);
    }
    entry.in_use = false;
    entry.wants_frame = false;
    return std::optional<wire::ConnectionId>(entry.cid);
  }
  return std::optional<wire::ConnectionId>();  // retired before: a retransmission
}

}  // namespace quasi::connection
