// GHASH (NIST SP 800-38D §6.4) with 64-bit integer multiplications, in constant
// time. A carry-less product of two words comes from integer products of words
// with holes: one bit in four kept, so that carries fall into the holes. The low
// half of a product is had so; the high half is the low half of the product of
// the bit-reversed words, reversed (the idea is Pornin's, in BearSSL).
//
// GHASH orders bits the wrong way round: bit 0 of the first byte is x^0 .. x^127
// is the last bit. Blocks are read big-endian into (hi, lo), which makes them
// bit-reflected polynomials: products come out one bit low and are shifted up.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aead/attributes.h"
#include "quasi/bytes.h"

namespace quasi::aead::scalar {

/// Bits 0..63 of the carry-less product.
QUASI_INLINE std::uint64_t clmul_low(std::uint64_t x, std::uint64_t y) {
  constexpr std::uint64_t kBits = 0x1111111111111111U;
  std::uint64_t xs[4], ys[4];
  for (unsigned i = 0; i < 4; ++i) {
    xs[i] = x & kBits << i;
    ys[i] = y & kBits << i;
  }
  std::uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    // Sixteen one-bit products meet in a position at most: a sum below 2^4 beside it would
    // carry only from the top one, which is past bit 63.
    std::uint64_t sum = 0;
    for (unsigned j = 0; j < 4; ++j) sum ^= xs[j] * ys[(4 + i - j) % 4];
    result |= sum & kBits << i;
  }
  return result;
}

QUASI_INLINE std::uint64_t reverse_bits(std::uint64_t x) {
  const auto swap = [&x](std::uint64_t mask, unsigned n) { x = (x & mask) << n | (x >> n & mask); };
  swap(0x5555555555555555U, 1);
  swap(0x3333333333333333U, 2);
  swap(0x0f0f0f0f0f0f0f0fU, 4);
  return std::byteswap(x);
}

/// H as its two words, their sum, and the same reversed.
struct GhashKey64 {
  std::uint64_t words[3];
  std::uint64_t reversed[3];
};

inline void expand_ghash64(GhashKey64& key, const std::uint8_t* h) {
  key.words[1] = load_be<std::uint64_t>(h);
  key.words[0] = load_be<std::uint64_t>(h + 8);
  key.words[2] = key.words[0] ^ key.words[1];
  for (unsigned i = 0; i < 3; ++i) key.reversed[i] = reverse_bits(key.words[i]);
}

class Ghash64 {
 public:
  explicit Ghash64(const GhashKey64& key) : key_(key) {}

  void blocks(const std::uint8_t* p, std::size_t count) {
    std::uint64_t lo = lo_, hi = hi_;
    QUASI_NO_UNROLL
    for (; count > 0; --count, p += 16) {
      hi ^= load_be<std::uint64_t>(p);
      lo ^= load_be<std::uint64_t>(p + 8);
      multiply(lo, hi);
    }
    lo_ = lo;
    hi_ = hi;
  }

  /// Any number of bytes, padded with zeros to whole blocks.
  void padded(const std::uint8_t* p, std::size_t size) {
    blocks(p, size / 16);
    if (size % 16 != 0) {
      std::uint8_t last[16] = {};
      std::memcpy(last, p + (size - size % 16), size % 16);
      blocks(last, 1);
    }
  }

  void lengths(std::uint64_t aad_size, std::uint64_t size) {
    std::uint8_t last[16];
    store_be(last, aad_size * 8);
    store_be(last + 8, size * 8);
    blocks(last, 1);
  }

  void finish(std::uint8_t* out) const {
    store_be(out, hi_);
    store_be(out + 8, lo_);
  }

 private:
  QUASI_INLINE void multiply(std::uint64_t& lo, std::uint64_t& hi) const {
    // Karatsuba: three products, each with a low and a (reversed) high half.
    const std::uint64_t words[3] = {lo, hi, lo ^ hi};
    std::uint64_t low[3], high[3];
    for (unsigned i = 0; i < 3; ++i) low[i] = clmul_low(words[i], key_.words[i]);
    const std::uint64_t lo_reversed = reverse_bits(lo), hi_reversed = reverse_bits(hi);
    const std::uint64_t reversed[3] = {lo_reversed, hi_reversed, lo_reversed ^ hi_reversed};
    for (unsigned i = 0; i < 3; ++i) high[i] = clmul_low(reversed[i], key_.reversed[i]);
    low[2] ^= low[0] ^ low[1];
    high[2] ^= high[0] ^ high[1];
    for (auto& word : high) word = reverse_bits(word) >> 1;
    std::uint64_t v0 = low[0], v1 = high[0] ^ low[2], v2 = low[1] ^ high[2], v3 = high[1];

    // One bit up, because the operands are reflected.
    v3 = v3 << 1 | v2 >> 63;
    v2 = v2 << 1 | v1 >> 63;
    v1 = v1 << 1 | v0 >> 63;
    v0 <<= 1;
    // x^128 = x^7 + x^2 + x + 1, reflected: fold the two low words into the high ones.
    v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
    v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
    v3 ^= v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
    v2 ^= v1 << 63 ^ v1 << 62 ^ v1 << 57;
    lo = v2;
    hi = v3;
  }

  const GhashKey64& key_;
  std::uint64_t lo_ = 0, hi_ = 0;
};

}  // namespace quasi::aead::scalar
