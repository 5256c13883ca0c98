// HyStart++ (RFC 9406): leave slow start when round trips grow, before packets
// are lost; go on slowly for a few rounds to see whether that was a false alarm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quasi/time.h"

namespace quasi::recovery {

class HyStart {
 public:
  enum class Verdict : std::uint8_t { slow_start, conservative, leave };

  /// One RTT sample within slow start. `round_start`: a new round trip began.
  Verdict on_rtt_sample(Duration rtt, bool round_start);
  /// Growth is divided by this.
  [[nodiscard]] std::uint64_t divisor() const { return conservative_ ? kGrowthDivisor : 1; }
  void restart() { *this = HyStart(); }

 private:
  static constexpr std::uint64_t kGrowthDivisor = 4;
  static constexpr int kSamples = 8;
  static constexpr int kConservativeRounds = 5;

  Duration last_round_min_ = Duration::infinite();
  Duration round_min_ = Duration::infinite();
  Duration baseline_ = Duration::infinite();
  int samples_ = 0;
  int conservative_rounds_ = 0;
  bool conservative_ = false;
};

}  // namespace quasi::recovery
