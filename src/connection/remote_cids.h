// The connection IDs that the peer issued to us, the one in use, and which
// RETIRE_CONNECTION_ID frames still have to be delivered (RFC 9000 §5.1.2,
// §19.15). Bounded: a peer that makes us retire IDs and withholds the ACKs for it
// meets CONNECTION_ID_LIMIT_ERROR, not an endless queue (CVE-2024-22189).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "connection/local_cids.h"
#include "quasi/bytes.h"
#include "quasi/result.h"
#include "wire/connection_id.h"

namespace quasi::connection {

class RemoteCids {
 public:
  /// What we announce as active_connection_id_limit.
  static constexpr std::size_t kActiveLimit = 4;
  /// RETIRE_CONNECTION_ID frames that may be undelivered at once.
  static constexpr std::size_t kMaxRetiring = 3 * kActiveLimit;

  struct Entry {
    std::uint64_t sequence = 0;
    wire::ConnectionId cid;
    ResetToken token{};
    bool has_token = false;
    bool valid = false;
  };
  struct Retiring {
    std::uint64_t sequence = 0;
    bool wants_frame = false;
    bool valid = false;
  };

  /// The peer's source ID of the handshake: sequence number 0.
  void set_initial(const wire::ConnectionId& cid);
  /// stateless_reset_token of the server's transport parameters: belongs to sequence 0.
  void set_initial_token(const ResetToken& token);
  /// preferred_address of the server's transport parameters: sequence 1.
  [[nodiscard]] Status add_preferred_address(const wire::ConnectionId& cid,
                                             const ResetToken& token);

  /// NEW_CONNECTION_ID (its encoding was checked by the parser).
  [[nodiscard]] Status on_new_connection_id(std::uint64_t sequence, std::uint64_t retire_prior_to,
                                            const wire::ConnectionId& cid, const ResetToken& token);

  [[nodiscard]] const wire::ConnectionId& current() const { return current_.cid; }
  [[nodiscard]] std::uint64_t current_sequence() const { return current_.sequence; }
  /// The reset token of the ID in use, if the peer gave one.
  [[nodiscard]] std::optional<ResetToken> current_token() const {
    return current_.has_token ? std::optional(current_.token) : std::nullopt;
  }
  /// Retires the ID in use and takes a spare one; false when there is none.
  [[nodiscard]] bool switch_to_spare();
  [[nodiscard]] bool has_spare() const;

  [[nodiscard]] Retiring* next_wanted();
  [[nodiscard]] bool has_wanted() const {
    return std::any_of(retiring_.begin(), retiring_.end(),
                       [](const Retiring& e) { return e.valid && e.wants_frame; });
  }
  void on_retire_acked(std::uint64_t sequence);
  void on_retire_lost(std::uint64_t sequence);

  /// Whether the bytes are the reset token of the ID in use, compared in constant
  /// time. Unused and retired IDs do not count (RFC 9000 §10.3.1).
  [[nodiscard]] bool is_reset_token(Bytes token) const;

 private:
  [[nodiscard]] Status retire(std::uint64_t sequence);

  Entry current_;
  std::array<Entry, kActiveLimit> spares_{};
  std::array<Retiring, kMaxRetiring> retiring_{};
  std::uint64_t retire_prior_to_ = 0;
};

}  // namespace quasi::connection
