// Token bucket: see pacer.h.
#include "recovery/pacer.h"

#include <algorithm>

namespace quasi::recovery {
namespace {

// RFC 9002 §7.7: bursts no longer than the initial window; and at high rates what
// leaves in 2 ms, so that a wakeup is worth its cost, up to 256 KiB.
constexpr std::uint64_t kBurstPackets = 10;
constexpr double kBurstSeconds = 0.002;
constexpr double kQuantumSeconds = 0.001;
constexpr std::uint64_t kLargestBurst = std::uint64_t{256} << 10;

}  // namespace

Pacer::Pacer(std::uint64_t max_datagram_size)
    : mss_(max_datagram_size),
      burst_(kBurstPackets * max_datagram_size),
      quantum_(max_datagram_size),
      tokens_(static_cast<double>(burst_)) {}

void Pacer::set_rate(std::uint64_t bytes_per_second, std::uint64_t window,
                     std::uint64_t max_datagram_size, Instant now) {
  tokens_ = tokens_at(now);
  last_ = std::max(last_, now);
  rate_ = static_cast<double>(bytes_per_second);
  mss_ = max_datagram_size;
  const auto in_time = [&](double seconds) {
    return static_cast<std::uint64_t>(std::min(rate_ * seconds, 1e15));
  };
  const std::uint64_t smallest = kBurstPackets * mss_;
  burst_ = std::clamp(in_time(kBurstSeconds), smallest, std::max(smallest, kLargestBurst));
  quantum_ = std::clamp(in_time(kQuantumSeconds), mss_, burst_ / 2);
  tokens_ = std::min(tokens_, static_cast<double>(burst_));
  limited_ = bytes_per_second > 0 && window > std::min(in_time(kBurstSeconds), kLargestBurst);
}

double Pacer::tokens_at(Instant now) const {
  const Duration elapsed = std::max(now - last_, Duration());
  return std::min(tokens_ + rate_ * elapsed.to_seconds(), static_cast<double>(burst_));
}

std::uint64_t Pacer::budget(Instant now) const {
  if (!limited_) return UINT64_MAX;
  const double tokens = tokens_at(now);
  return tokens < static_cast<double>(dry_ ? quantum_ : mss_) ? 0
                                                              : static_cast<std::uint64_t>(tokens);
}

Instant Pacer::next_send_time(Instant now) const {
  if (budget(now) > 0) return now;
  const double missing = static_cast<double>(dry_ ? quantum_ : mss_) - tokens_at(now);
  // One microsecond more than needed, so that rounding never wakes us in vain; at
  // least 1 byte a second, so that the conversion stays within range.
  const double seconds = std::min(missing / std::max(rate_, 1.0), 1e6);
  return now + Duration::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)) +
         Duration::microseconds(1);
}

void Pacer::on_sent(std::uint64_t bytes, Instant now) {
  tokens_ = tokens_at(now) - static_cast<double>(bytes);
  last_ = std::max(last_, now);
  // What ignores the budget (probes, ACKs) may dig a hole, but not a deep one.
  tokens_ = std::max(tokens_, -static_cast<double>(burst_));
  dry_ = tokens_ < static_cast<double>(mss_);
}

}  // namespace quasi::recovery
