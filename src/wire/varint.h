// Variable-length integers in both byte orders: RFC 9000 §16, whose two length
// bits lead, and VReverso's, whose two length bits are the last ones of the last
// byte. Forward and Reverse are the two *directions* that the readers, writers,
// frame parser and frame writers of this folder are templates over.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"
#include "quasi/bytes.h"

namespace quasi::wire {

using limits::kMaxVarint;

/// Bytes of the shortest encoding of `value` (<= kMaxVarint): 1, 2, 4 or 8. The
/// same in both directions.
[[nodiscard]] constexpr std::size_t varint_size(std::uint64_t value) {
  if (value < (1U << 6)) return 1;
  if (value < (1U << 14)) return 2;
  return value < (1U << 30) ? 4 : 8;
}

/// QUIC v1: read and written left to right; `code << (bits - 2) | value`.
struct Forward {
  static constexpr bool kReversed = false;

  /// Decodes at the left end of [begin, end). Returns the encoded size, or 0
  /// when the range does not hold the whole integer.
  [[nodiscard]] static std::size_t decode(const std::uint8_t* begin, const std::uint8_t* end,
                                          std::uint64_t& value) {
    if (begin == end) [[unlikely]]
      return 0;
    const std::uint8_t first = *begin;
    const std::size_t size = std::size_t{1} << (first >> 6);
    if (static_cast<std::size_t>(end - begin) < size) [[unlikely]]
      return 0;
    switch (first >> 6) {
      case 0:
        value = first;
        break;
      case 1:
        value = (static_cast<std::uint64_t>(first & 0x3fU) << 8) | begin[1];
        break;
      case 2:
        value = load_be<std::uint32_t>(begin) & 0x3fff'ffffU;
        break;
      default:
        value = load_be<std::uint64_t>(begin) & kMaxVarint;
        break;
    }
    return size;
  }

  /// Encodes `value` into the `size` (1, 2, 4, 8) bytes at `place`; it must fit.
  static void encode(std::uint8_t* place, std::uint64_t value, std::size_t size) {
    switch (size) {
      case 1:
        *place = static_cast<std::uint8_t>(value);
        break;
      case 2:
        store_be(place, static_cast<std::uint16_t>(value | 0x4000U));
        break;
      case 4:
        store_be(place, static_cast<std::uint32_t>(value | 0x8000'0000U));
        break;
      default:
        store_be(place, value | 0xc000'0000'0000'0000U);
        break;
    }
  }
};

/// VReverso: read and written right to left; `value << 2 | code`, big-endian.
struct Reverse {
  static constexpr bool kReversed = true;

  /// Decodes at the right end of [begin, end); otherwise as Forward::decode.
  [[nodiscard]] static std::size_t decode(const std::uint8_t* begin, const std::uint8_t* end,
                                          std::uint64_t& value) {
    if (begin == end) [[unlikely]]
      return 0;
    const std::uint8_t last = end[-1];
    const std::size_t size = std::size_t{1} << (last & 3U);
    if (static_cast<std::size_t>(end - begin) < size) [[unlikely]]
      return 0;
    switch (last & 3U) {
      case 0:
        value = last >> 2;
        break;
      case 1:
        value = ((static_cast<std::uint64_t>(end[-2]) << 8) | last) >> 2;
        break;
      case 2:
        value = load_be<std::uint32_t>(end - 4) >> 2;
        break;
      default:
        value = load_be<std::uint64_t>(end - 8) >> 2;
        break;
    }
    return size;
  }

  /// Encodes `value` into the `size` (1, 2, 4, 8) bytes at `place`; it must fit.
  static void encode(std::uint8_t* place, std::uint64_t value, std::size_t size) {
    switch (size) {
      case 1:
        *place = static_cast<std::uint8_t>(value << 2);
        break;
      case 2:
        store_be(place, static_cast<std::uint16_t>(value << 2 | 1U));
        break;
      case 4:
        store_be(place, static_cast<std::uint32_t>(value << 2 | 2U));
        break;
      default:
        store_be(place, value << 2 | 3U);
        break;
    }
  }
};

}  // namespace quasi::wire
