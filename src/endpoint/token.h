// Address validation tokens of a server (RFC 9000 §8.1): those that a Retry packet
// carries and a client must bring back within seconds, and those that NEW_TOKEN
// frames give for a later connection. Sealed under random keys of this process, so
// that nobody else makes or reads one; bound to the client's address; accepted once
// as far as a small table remembers (§8.1.4 asks for a limit, not for proof).
//
// When: one TokenKeeper in an endpoint that serves. It holds about 70 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quasi/aead.h"
#include "quasi/bytes.h"
#include "quasi/endpoint.h"
#include "quasi/socket_address.h"
#include "quasi/time.h"
#include "wire/connection_id.h"

namespace quasi::endpoint {

/// A token by value: nothing is allocated for a Retry.
struct Token {
  static constexpr std::size_t kMaxSize = 112;
  std::array<std::uint8_t, kMaxSize> data{};
  std::size_t size = 0;
  [[nodiscard]] Bytes bytes() const { return Bytes(data).first(size); }
};

struct TokenVerdict {
  enum class Kind : std::uint8_t {
    /// Not one of ours, too old, from elsewhere, or used before: go on as if the
    /// client had brought none (RFC 9000 §8.1.3).
    none,
    /// A Retry token of ours that does not fit: the client will take no second Retry,
    /// so close with INVALID_TOKEN (RFC 9000 §8.1.3).
    invalid_retry,
    /// The address is validated by a Retry token.
    retry,
    /// The address is validated by a NEW_TOKEN token.
    new_token,
  };
  Kind kind = Kind::none;
  /// Only for `retry`: the Destination Connection ID of the client's first Initial,
  /// for original_destination_connection_id (RFC 9000 §7.3).
  wire::ConnectionId original_dcid;
  /// Names the token for spend().
  std::array<std::uint8_t, aead::kTagSize> id{};
};

class TokenKeeper {
 public:
  explicit TokenKeeper(Entropy entropy);

  /// The token for a Retry that answers an Initial sent to `original_dcid`, and that
  /// makes the client go on with `retry_scid`.
  [[nodiscard]] Token make_retry(Instant now, const SocketAddress& client,
                                 const wire::ConnectionId& original_dcid,
                                 const wire::ConnectionId& retry_scid);
  /// A token for NEW_TOKEN.
  [[nodiscard]] Token make_new_token(Instant now, const SocketAddress& client);

  /// Judges the token of an Initial that would open a connection. `dcid`: the
  /// Initial's Destination Connection ID.
  [[nodiscard]] TokenVerdict check(Bytes token, Instant now, const SocketAddress& client,
                                   const wire::ConnectionId& dcid) const;
  /// Uses up the token that `verdict` accepted. Call it once the Initial has
  /// authenticated and a connection stands: a datagram damaged on its way, or a
  /// forged one with a token that somebody saw, must not spoil the client's next try.
  void spend(const TokenVerdict& verdict);

 private:
  /// Remembers the newest of some tokens for each value of their hash.
  using Set = std::array<std::uint64_t, 4>;

  void renew_key(Instant now);
  [[nodiscard]] Token seal(Instant now, std::uint8_t kind, Bytes content);
  [[nodiscard]] bool is_spent(Bytes tag) const;

  Entropy entropy_;
  /// The key in use and the one before it; bit kKeyBit of a token tells which.
  std::array<aead::AeadKey, 2> keys_;
  std::size_t current_key_ = 0;
  Instant key_since_;
  std::uint64_t sealed_ = 0;  // under the key in use
  std::vector<Set> spent_;    // made when the first token is spent
};

}  // namespace quasi::endpoint
