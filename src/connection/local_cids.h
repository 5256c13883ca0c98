// The connection IDs that this endpoint issued for one connection: sequence
// numbers, reset tokens, and which NEW_CONNECTION_ID frames still have to be sent
// (RFC 9000 §5.1, §19.15, §19.16). Bounded: never more than kMaxActive at once,
// and a peer that retires every new ID at once is served no faster than one ID a
// replenishing interval (hostile shape: a reply that provokes a reply).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "quasi/result.h"
#include "quasi/time.h"
#include "wire/connection_id.h"
#include "wire/frame.h"

namespace quasi::connection {

using wire::ResetToken;

class LocalCids {
 public:
  /// At most so many IDs are active at once, whatever the peer would take.
  static constexpr std::size_t kMaxActive = 4;

  struct Entry {
    std::uint64_t sequence = 0;
    wire::ConnectionId cid;
    ResetToken token{};
    bool in_use = false;
    bool wants_frame = false;  // its NEW_CONNECTION_ID has to be (re)sent
  };

  /// The ID of the handshake, sequence number 0; never announced by a frame.
  void set_initial(const wire::ConnectionId& cid);

  /// The peer's active_connection_id_limit (RFC 9000 §18.2), once it is known.
  void set_peer_limit(std::uint64_t limit);

  /// Whether another ID may be issued now.
  [[nodiscard]] bool wants_new_cid(Instant now) const;
  /// When replenishing may go on, if it is held back.
  [[nodiscard]] Instant next_issue_time() const;
  /// Adds a freshly made ID; its frame is then wanted.
  void issue(const wire::ConnectionId& cid, const ResetToken& token, Instant now,
             Duration interval);

  /// Next entry whose NEW_CONNECTION_ID is wanted, or null.
  [[nodiscard]] Entry* next_wanted();
  [[nodiscard]] bool has_wanted() const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [](const Entry& e) { return e.in_use && e.wants_frame; });
  }
  /// The frame for `sequence` was lost; wanted again unless retired meanwhile.
  void on_frame_lost(std::uint64_t sequence);

  /// RETIRE_CONNECTION_ID. `packet_cid` is the destination ID of the packet that
  /// carried it. Returns the ID that is no longer valid, or nothing for a repeat.
  [[nodiscard]] Result<std::optional<wire::ConnectionId>> on_retire(
      std::uint64_t sequence, const wire::ConnectionId& packet_cid);

  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] const wire::ConnectionId& handshake_cid() const { return handshake_cid_; }

 private:
  [[nodiscard]] std::size_t active() const;

  std::array<Entry, kMaxActive> entries_{};
  wire::ConnectionId handshake_cid_;
  std::uint64_t next_sequence_ = 1;
  std::size_t limit_ = 1;
  std::uint64_t replenished_ = 0;
  Instant not_before_;
};

}  // namespace quasi::connection
