// The peer's connection IDs (see remote_cids.h).
#include "connection/remote_cids.h"

#include <algorithm>

namespace quasi::connection {
namespace {
constexpr std::uint64_t kNewConnectionId = 0x18;
}

void RemoteCids::set_initial(const wire::ConnectionId& cid) {
  current_ = Entry{.sequence = 0, .cid = cid, .token = {}, .has_token = false, .valid = true};
}

void RemoteCids::set_initial_token(const ResetToken& token) {
  if (current_.sequence != 0) return;
  current_.token = token;
  current_.has_token = true;
}

Status RemoteCids::add_preferred_address(const wire::ConnectionId& cid, const ResetToken& token) {
  return on_new_connection_id(1, 0, cid, token);
}

Status RemoteCids::retire(std::uint64_t sequence) {
  for (const Retiring& r : retiring_) {
    if (r.valid && r.sequence == sequence) return {};  // on its way already
  }
  for (Retiring& r : retiring_) {
    if (r.valid) continue;
    r = Retiring{.sequence = sequence, .wants_frame = true, .valid = true};
    return {};
  }
  return fail(TransportErrorCode::connection_id_limit_error,
              "too many connection IDs retired whose retirement was not acknowledged",
              kNewConnectionId);
}

Status RemoteCids::on_new_connection_id(std::uint64_t sequence, std::uint64_t retire_prior_to,
                                        const wire::ConnectionId& cid, const ResetToken& token) {
  // RFC 9000 §19.15: an endpoint that sends to a zero-length ID cannot get others.
  if (current_.valid && current_.cid.size() == 0) {
    return fail(TransportErrorCode::protocol_violation,
                "NEW_CONNECTION_ID from a peer that uses a zero-length connection ID",
                kNewConnectionId);
  }
  const auto matches = [&](const Entry& e) -> Result<bool> {
    if (!e.valid) return false;
    const bool same_cid = e.cid == cid;
    if (e.sequence == sequence) {
      if (!same_cid || (e.has_token && e.token != token)) {
        return fail(TransportErrorCode::protocol_violation,
                    "NEW_CONNECTION_ID repeats a sequence number with other contents",
                    kNewConnectionId);
      }
      return true;
    }
    if (same_cid) {
      return fail(TransportErrorCode::protocol_violation,
                  "NEW_CONNECTION_ID gives one connection ID two sequence numbers",
                  kNewConnectionId);
    }
    return false;
  };
  const auto is_current = matches(current_);
  if (!is_current) return std::unexpected(is_current.error());
  bool known = *is_current;
  for (const Entry& e : spares_) {
    const auto m = matches(e);
    if (!m) return std::unexpected(m.error());
    known = known || *m;
  }

  if (retire_prior_to > retire_prior_to_) {
    retire_prior_to_ = retire_prior_to;
    for (Entry& e : spares_) {
      if (!e.valid || e.sequence >= retire_prior_to) continue;
      QUASI_TRY(retire(e.sequence));
      e.valid = false;
    }
  }

  if (sequence < retire_prior_to_) {
    // RFC 9000 §19.15: came late; retire at once, never store.
    if (!known || sequence != current_.sequence) QUASI_TRY(retire(sequence));
  } else if (!known) {
    const auto free_entry =
        std::find_if(spares_.begin(), spares_.end(), [](const Entry& e) { return !e.valid; });
    const auto spares =
        std::count_if(spares_.begin(), spares_.end(), [](const Entry& e) { return e.valid; });
    const bool current_stays = current_.sequence >= retire_prior_to_;
    if (free_entry == spares_.end() ||
        static_cast<std::size_t>(spares) + (current_stays ? 1U : 0U) >= kActiveLimit) {
      return fail(TransportErrorCode::connection_id_limit_error,
                  "more connection IDs than active_connection_id_limit allows", kNewConnectionId);
    }
    *free_entry =
        Entry{.sequence = sequence, .cid = cid, .token = token, .has_token = true, .valid = true};
  }

  if (current_.sequence < retire_prior_to_ && !switch_to_spare()) {
    // With a spare ID there, what failed is to remember one more retirement.
    if (has_spare()) return retire(current_.sequence);
    return fail(TransportErrorCode::protocol_violation,
                "NEW_CONNECTION_ID retires the connection ID in use and leaves none",
                kNewConnectionId);
  }
  return {};
}

bool RemoteCids::has_spare() const {
  return std::any_of(spares_.begin(), spares_.end(), [](const Entry& e) { return e.valid; });
}

bool RemoteCids::switch_to_spare() {
  Entry* best = nullptr;
  for (Entry& e : spares_) {
    if (e.valid && (best == nullptr || e.sequence < best->sequence)) best = &e;
  }
  if (best == nullptr) return false;
  if (!retire(current_.sequence)) return false;
  current_ = *best;
  best->valid = false;
  return true;
}

RemoteCids::Retiring* RemoteCids::next_wanted() {
  for (Retiring& r : retiring_) {
    if (r.valid && r.wants_frame) return &r;
  }
  return nullptr;
}

void RemoteCids::on_retire_acked(std::uint64_t sequence) {
  for (Retiring& r : retiring_) {
    if (r.valid && r.sequence == sequence) r.valid = false;
  }
}

void RemoteCids::on_retire_lost(std::uint64_t sequence) {
  for (Retiring& r : retiring_) {
    if (r.valid && r.sequence == sequence) r.wants_frame = true;
  }
}

bool RemoteCids::is_reset_token(Bytes token) const {
  return current_.valid && current_.has_token && constant_time_equal(current_.token, token);
}

}  // namespace quasi::connection
