// Truncated packet numbers (RFC 9000 §17.1, A.2, A.3). The widths are in bits, so
// that VReverso's, which lose two bits to a length, and its truncated stream
// offsets are coded by the same functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/varint.h"

namespace quasi::wire {

/// Bytes (1 to 4) that packet number `full` needs, so that a peer which has
/// acknowledged `largest_acked` (nothing yet: empty) decodes it, whatever was
/// lost in between. `spare_bits` of the field are not the packet number's.
[[nodiscard]] constexpr std::size_t packet_number_length(std::uint64_t full,
                                                         std::optional<std::uint64_t> largest_acked,
                                                         std::size_t spare_bits = 0) {
  const std::uint64_t unacked = largest_acked ? full - *largest_acked : full + 1;
  // A.2: one bit more than log2 of the distance.
  const auto bits = static_cast<std::size_t>(std::bit_width(unacked - 1)) + 1 + spare_bits;
  return std::clamp<std::size_t>((bits + 7) / 8, 1, 4);
}

/// Decodes `truncated`, the lowest `bits` (8 to 32) of a number of which `expected`
/// is the likeliest value (RFC 9000 A.3: the largest received, plus one).
[[nodiscard]] constexpr std::uint64_t decode_truncated(std::uint64_t expected,
                                                       std::uint64_t truncated, std::size_t bits) {
  const std::uint64_t window = std::uint64_t{1} << bits;
  const std::uint64_t half = window / 2;
  const std::uint64_t candidate = (expected & ~(window - 1)) | truncated;
  if (candidate + half <= expected && candidate < (kMaxVarint + 1) - window) {
    return candidate + window;
  }
  if (candidate > expected + half && candidate >= window) return candidate - window;
  return candidate;
}

}  // namespace quasi::wire
