// Helpers of this module's tests: hex, reproducible random bytes, and loops over
// every algorithm and kernel.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quasi/aead.h"

namespace quasi::aead::testing {

inline constexpr Algorithm kAlgorithms[] = {Algorithm::aes_128_gcm, Algorithm::aes_256_gcm,
                                            Algorithm::chacha20_poly1305};

inline std::vector<std::uint8_t> hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  unsigned value = 0;
  bool half = false;
  for (const char c : text) {
    unsigned digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else {
      continue;  // blanks
    }
    value = value << 4 | digit;
    if (half) bytes.push_back(static_cast<std::uint8_t>(value));
    half = !half;
  }
  return bytes;
}

/// xorshift64*: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dU;
  }
  /// 0 .. bound - 1.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>((next() >> 16) % bound); }
  void fill(MutableBytes out) {
    for (auto& byte : out) byte = static_cast<std::uint8_t>(next() >> 56);
  }
  std::vector<std::uint8_t> bytes(std::size_t size) {
    std::vector<std::uint8_t> out(size);
    fill(out);
    return out;
  }

 private:
  std::uint64_t state_;
};

}  // namespace quasi::aead::testing
