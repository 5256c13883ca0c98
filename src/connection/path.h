// One network path of a connection: its addresses, how much may be sent on it
// before the peer has proved that it lives there, the proof (PATH_CHALLENGE and
// PATH_RESPONSE), and the datagram size that it carries (RFC 9000 §8, §9, §14).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/limits.h"
#include "quasi/port.h"
#include "quasi/socket_address.h"
#include "quasi/time.h"
#include "wire/frame.h"

namespace quasi::connection {

using ChallengeData = wire::PathData;

struct Path {
  SocketAddress remote;
  SocketAddress local;
  bool validated = false;
  // RFC 9000 §8.1: an unvalidated address gets at most three times what came from it.
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;

  // Our challenge to the peer, while one is open.
  std::optional<ChallengeData> challenge;
  bool wants_challenge = false;
  Instant challenge_deadline = Instant::never();

  // The newest challenge of the peer: older unanswered ones are dropped, so a
  // flood of them costs one answer a packet (CVE-2023-6193).
  std::optional<ChallengeData> response;

  [[nodiscard]] std::uint64_t send_allowance() const {
    if (validated) return UINT64_MAX;
    const std::uint64_t limit = 3 * bytes_received;
    return limit > bytes_sent ? limit - bytes_sent : 0;
  }
};

/// RFC 8899 in its simplest useful form: try a few sizes from the largest down,
/// each up to three times; keep the first that is acknowledged.
class MtuProber {
 public:
  MtuProber(bool enabled, std::size_t max_size, bool ipv6);

  [[nodiscard]] std::size_t current() const { return current_; }
  /// The size to probe with now, or 0.
  [[nodiscard]] std::size_t probe_size() const;
  void on_probe_sent();
  void on_probe_acked(std::size_t size);
  void on_probe_lost(std::size_t size);
  /// Packets of the current size vanish while small ones pass: back to 1,200.
  void on_black_hole();

 private:
  static constexpr int kAttempts = 3;
  std::array<std::uint16_t, 4> candidates_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  int attempts_ = 0;
  bool in_flight_ = false;
  std::size_t current_ = limits::kMinDatagramSize;
};

}  // namespace quasi::connection
