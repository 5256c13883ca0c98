// A token bucket that spreads packets over the round trip (RFC 9002 §7.7), in
// bursts that are long enough for few wakeups: it asks to be woken no more often
// than about once a millisecond.
#pragma once

#include <cstdint>

#include "quasi/time.h"

namespace quasi::recovery {

class Pacer {
 public:
  explicit Pacer(std::uint64_t max_datagram_size);

  /// `bytes_per_second` 0: no limit. Nor is there one while a whole `window` fits
  /// into the burst of 2 ms: on so short a path the ACKs pace well enough, and
  /// timers that fine cost more than they help.
  void set_rate(std::uint64_t bytes_per_second, std::uint64_t window,
                std::uint64_t max_datagram_size, Instant now);
  /// Bytes that may be sent at `now`; 0 while a burst is still being saved up.
  [[nodiscard]] std::uint64_t budget(Instant now) const;
  /// When budget() becomes positive: `now` if it is, never before.
  [[nodiscard]] Instant next_send_time(Instant now) const;
  void on_sent(std::uint64_t bytes, Instant now);
  /// The largest burst, in bytes.
  [[nodiscard]] std::uint64_t burst() const { return burst_; }

 private:
  [[nodiscard]] double tokens_at(Instant now) const;

  double rate_ = 0;
  std::uint64_t mss_;
  std::uint64_t burst_;
  std::uint64_t quantum_;  // after running dry, wait until so much has gathered
  double tokens_;          // below 0: debt
  Instant last_;
  bool dry_ = false;
  bool limited_ = false;
};

}  // namespace quasi::recovery
