// Stateless resets (RFC 9000 §10.3): the token of each connection ID that we issue,
// made from a static key so that a later run of the program still knows it, and the
// packets that tell a peer of a connection we have lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quasi/bytes.h"
#include "quasi/endpoint.h"
#include "wire/connection_id.h"
#include "wire/frame.h"

namespace quasi::endpoint {

/// RFC 9000 §10.3: five bytes that look like a short header, and the token.
inline constexpr std::size_t kMinResetSize = 21;

class StatelessReset {
 public:
  /// `key`: any length, at least 32 bytes advised; empty: a random one from `entropy`.
  StatelessReset(Bytes key, const Entropy& entropy);
  ~StatelessReset();
  StatelessReset(const StatelessReset&) = delete;
  StatelessReset& operator=(const StatelessReset&) = delete;

  /// RFC 9000 §10.3.2: HMAC-SHA-256 of the connection ID, the first 16 bytes.
  [[nodiscard]] wire::ResetToken token(const wire::ConnectionId& cid) const;

  /// Writes a reset into `out` in answer to a datagram of `trigger_size` bytes with
  /// a short header for `cid`, and returns its size: always smaller than the trigger,
  /// so that two endpoints that reset each other fall silent (§10.3.3). 0 when the
  /// trigger leaves no room for that, or `out` does not.
  [[nodiscard]] std::size_t write(MutableBytes out, std::size_t trigger_size,
                                  const wire::ConnectionId& cid, const Entropy& entropy) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

/// The token that `datagram` ends with if it is a reset; empty when it is too short
/// for one. What its first bytes look like means nothing (§10.3.1, R-84): look the
/// token up among those of connection IDs in use only, whenever nothing of the
/// datagram could be decrypted.
[[nodiscard]] inline Bytes reset_candidate(Bytes datagram) {
  if (datagram.size() < kMinResetSize) return {};
  return datagram.last(std::tuple_size_v<wire::ResetToken>);
}

}  // namespace quasi::endpoint
