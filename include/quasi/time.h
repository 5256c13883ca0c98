// Time as an argument: a duration and a point on a monotonic clock, both in
// nanoseconds, with arithmetic that saturates instead of overflowing (a peer may
// send timeouts near 2^62). Nothing in the library reads a clock itself.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace quasi {

class Duration {
 public:
  constexpr Duration() = default;
  [[nodiscard]] static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
  [[nodiscard]] static constexpr Duration microseconds(std::int64_t n) {
    return Duration(n) * 1'000;
  }
  [[nodiscard]] static constexpr Duration milliseconds(std::int64_t n) {
    return Duration(n) * 1'000'000;
  }
  [[nodiscard]] static constexpr Duration seconds(std::int64_t n) {
    return Duration(n) * 1'000'000'000;
  }
  [[nodiscard]] static constexpr Duration infinite() {
    return Duration(std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
  [[nodiscard]] constexpr std::int64_t us() const { return ns_ / 1'000; }
  [[nodiscard]] constexpr std::int64_t ms() const { return ns_ / 1'000'000; }
  [[nodiscard]] constexpr double to_seconds() const { return static_cast<double>(ns_) * 1e-9; }

  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t r = 0;
    if (__builtin_add_overflow(a.ns_, b.ns_, &r)) r = a.ns_ < 0 ? kMin : kMax;
    return Duration(r);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    std::int64_t r = 0;
    if (__builtin_sub_overflow(a.ns_, b.ns_, &r)) r = a.ns_ < 0 ? kMin : kMax;
    return Duration(r);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t k) {
    std::int64_t r = 0;
    if (__builtin_mul_overflow(a.ns_, k, &r)) r = ((a.ns_ < 0) != (k < 0)) ? kMin : kMax;
    return Duration(r);
  }
  /// `k` must not be zero.
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return Duration(a.ns_ / k); }
  constexpr Duration& operator+=(Duration b) { return *this = *this + b; }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  explicit constexpr Duration(std::int64_t n) : ns_(n) {}
  std::int64_t ns_ = 0;
};

/// A point on a monotonic clock whose origin means nothing.
class Instant {
 public:
  constexpr Instant() = default;
  [[nodiscard]] static constexpr Instant from_ns(std::int64_t n) { return Instant(n); }
  /// Later than every other instant: "no deadline".
  [[nodiscard]] static constexpr Instant never() {
    return Instant(std::numeric_limits<std::int64_t>::max());
  }
  [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
  [[nodiscard]] constexpr bool is_never() const { return *this == never(); }

  friend constexpr Instant operator+(Instant t, Duration d) {
    return Instant((Duration::nanoseconds(t.ns_) + d).ns());
  }
  friend constexpr Instant operator-(Instant t, Duration d) {
    return Instant((Duration::nanoseconds(t.ns_) - d).ns());
  }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return Duration::nanoseconds(a.ns_) - Duration::nanoseconds(b.ns_);
  }
  friend constexpr auto operator<=>(Instant, Instant) = default;

 private:
  explicit constexpr Instant(std::int64_t n) : ns_(n) {}
  std::int64_t ns_ = 0;
};

}  // namespace quasi
