// Byte spans and the few primitives that every layer needs on them: big- and
// little-endian loads and stores, a comparison that takes constant time, and a
// wipe that the compiler may not remove.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace quasi {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

template <class T>
[[nodiscard]] inline T load_le(const std::uint8_t* p) {
  static_assert(std::endian::native == std::endian::little, "quasi targets little-endian machines");
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store_le(std::uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
[[nodiscard]] inline T load_be(const std::uint8_t* p) {
  return std::byteswap(load_le<T>(p));
}
template <class T>
inline void store_be(std::uint8_t* p, T v) {
  store_le<T>(p, std::byteswap(v));
}

/// Compares two equally long byte strings in time that depends only on their
/// length. Strings of different lengths are unequal (lengths are public).
[[nodiscard]] bool constant_time_equal(Bytes a, Bytes b);

/// Overwrites `size` bytes at `p` with zeros; never optimised away.
void secure_wipe(void* p, std::size_t size);

}  // namespace quasi
