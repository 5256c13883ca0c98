// GHASH without multiplication: a byte times a fixed element is two look-ups of
// its nibbles in 16-byte tables, and a byte shuffle does sixteen look-ups at once.
//
// For a power P of H there are 32 tables: byte k of n P, and of n x^4 P, for the
// sixteen values n of a nibble, k = 0..15. With x a block, lane j of
//
//     S_k  +=  table_high[k][x >> 4]  +  table_low[k][x & 15]
//
// is byte k of (byte j of x) * P, which belongs 8 (j + k) bits up. No lane moves
// until the end: S_k sums over the blocks, each with its own power, and once every
// kPowers blocks the sixteen sums are turned by k lanes and added:
//
//     S_0   b0  b1  b2  ... b15                    lane j of S_k goes to j + k;
//     S_1       b0  b1  ... b14 b15                past lane 15 it wraps, and
//     S_2           b0  ... b13 b14 b15            counts x^128 = 1 + x + x^2 + x^7
//
// Wrapped lanes added in place are the 1; their shifts by 1, 2 and 7 bits are the
// rest. At most 15 lanes wrap, so the shifts stay inside 128 bits.
//
// In GHASH's order x^0 is the top bit of byte 0: a high nibble's bit 3 is x^0, and
// multiplication by x shifts the string of bytes right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aead/simd/v128.h"
#include "quasi/bytes.h"

namespace quasi::aead::simd {

/// Tables for kPowers powers of H, the highest first, so that the last blocks of a message
/// always meet the last tables. Quarter q holds k = 4 q .. 4 q + 3: a pass over a quarter keeps
/// four sums in registers.
template <unsigned kPowers>
struct GhashTables {
  // [quarter][power][2 (k % 4) + (0 high nibble, 1 low nibble)][nibble]
  alignas(16) std::uint8_t bytes[4][kPowers][8][16];
};

namespace ghash {

QUASI_INLINE V reverse_bytes(V v) {
  return shuffle8<15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0>(v, v);
}

/// v x: right by one bit, and 0xe1 into byte 0 when a bit fell out.
QUASI_INLINE V times_x(V v) {
  const V bits = v & splat8(1);  // each byte's lowest bit goes to the next byte's top
  const V moved = shuffle8<15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>(bits, bits);
  const V mask = negate8(moved);
  alignas(16) static constexpr std::uint8_t kCarry[16] = {0xe1, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                          0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                          0x80, 0x80, 0x80, 0x80};
  return shr8(v, 1) ^ (mask & load(kCarry));
}

QUASI_INLINE V unpack_low8(V a, V b) {
  return shuffle8<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
}
QUASI_INLINE V unpack_high8(V a, V b) {
  return shuffle8<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b);
}

/// Sixteen rows to sixteen columns, by four rounds of interleaving rows i and i + 8.
QUASI_INLINE void transpose8(V (&rows)[16]) {
  for (unsigned step = 0; step < 4; ++step) {
    V t[16];
    for (unsigned i = 0; i < 8; ++i) {
      t[2 * i] = unpack_low8(rows[i], rows[i + 8]);
      t[2 * i + 1] = unpack_high8(rows[i], rows[i + 8]);
    }
    for (unsigned i = 0; i < 16; ++i) rows[i] = t[i];
  }
}

/// The sixteen tables of one nibble: byte k of n P for all n. b3 = P, b2 = P x, ...
template <unsigned kPowers>
QUASI_NOINLINE void nibble_tables(GhashTables<kPowers>& tables, unsigned power, unsigned nibble,
                                  V b3, V b2, V b1, V b0) {
  V rows[16];
  rows[0] = zero();
  rows[1] = b0;
  rows[2] = b1;
  rows[3] = b1 ^ b0;
  for (unsigned i = 0; i < 4; ++i) rows[4 + i] = b2 ^ rows[i];
  for (unsigned i = 0; i < 8; ++i) rows[8 + i] = b3 ^ rows[i];
  transpose8(rows);
  for (unsigned k = 0; k < 16; ++k)
    store(tables.bytes[k / 4][power][2 * (k % 4) + nibble], rows[k]);
}

template <unsigned kPowers>
void power_tables(GhashTables<kPowers>& tables, unsigned power, V p) {
  V times[8];
  times[0] = p;
  for (unsigned i = 1; i < 8; ++i) times[i] = times_x(times[i - 1]);
  nibble_tables(tables, power, 0, times[0], times[1], times[2], times[3]);
  nibble_tables(tables, power, 1, times[4], times[5], times[6], times[7]);
}

/// Turns and adds the sixteen sums, and reduces.
QUASI_INLINE V reduce(const std::uint8_t (&sums)[16][16]) {
  V total = load(sums[0]), wrapped = zero();
  const auto add = [&]<unsigned kK>() QUASI_INLINE_LAMBDA {
    const V s = load(sums[kK]);
    // Lane j comes from lane j - k; lanes below k have wrapped.
    const auto turn = [&]<int... kJ>(std::integer_sequence<int, kJ...>) QUASI_INLINE_LAMBDA {
      total = total ^ shuffle8<((kJ + 16 - static_cast<int>(kK)) % 16)...>(s, s);
      wrapped =
          wrapped ^
          shuffle8<(kJ < static_cast<int>(kK) ? kJ + 16 - static_cast<int>(kK) : 16)...>(s, zero());
    };
    turn(std::make_integer_sequence<int, 16>{});
  };
  [&]<unsigned... kK>(std::integer_sequence<unsigned, kK...>) QUASI_INLINE_LAMBDA {
    (add.template operator()<kK + 1>(), ...);
  }(std::make_integer_sequence<unsigned, 15>{});
  // Shift the string of bytes right: as one 128-bit number, bytes reversed.
  const V r = reverse_bytes(wrapped);
  const V shifted = shr64(r, 1) ^ shr64(r, 2) ^ shr64(r, 7);
  const V carries = shl64(r, 63) ^ shl64(r, 62) ^ shl64(r, 57);
  return total ^ reverse_bytes(shifted ^ shuffle64<1, 2>(carries, zero()));
}

/// Adds `count` >= 1 blocks to the sums, the first with table `power` and the next with those
/// that follow. kFresh: the sums start at zero, and y is added to the first block.
template <class Swizzle, bool kFresh, unsigned kPowers>
QUASI_INLINE void accumulate(const GhashTables<kPowers>& tables, std::uint8_t (&sums)[16][16],
                             const std::uint8_t* blocks, std::size_t count, unsigned power, V y) {
  const V nibble = splat8(0x0f);
  QUASI_NO_UNROLL
  for (unsigned q = 0; q < 4; ++q) {
    const std::uint8_t* t = tables.bytes[q][power][0];
    const std::uint8_t* p = blocks;
    std::uint8_t* s = sums[4 * q];
    std::size_t left = count;
    V a0, a1, a2, a3;
    const auto block = [&](V x, unsigned offset) QUASI_INLINE_LAMBDA {
      const V high = shr8(x, 4), low = x & nibble;
      const std::uint8_t* u = t + offset;
      a0 = a0 ^ Swizzle::of(load(u), high) ^ Swizzle::of(load(u + 16), low);
      a1 = a1 ^ Swizzle::of(load(u + 32), high) ^ Swizzle::of(load(u + 48), low);
      a2 = a2 ^ Swizzle::of(load(u + 64), high) ^ Swizzle::of(load(u + 80), low);
      a3 = a3 ^ Swizzle::of(load(u + 96), high) ^ Swizzle::of(load(u + 112), low);
    };
    if constexpr (kFresh) {
      const V x = load(p) ^ y;
      const V high = shr8(x, 4), low = x & nibble;
      a0 = Swizzle::of(load(t), high) ^ Swizzle::of(load(t + 16), low);
      a1 = Swizzle::of(load(t + 32), high) ^ Swizzle::of(load(t + 48), low);
      a2 = Swizzle::of(load(t + 64), high) ^ Swizzle::of(load(t + 80), low);
      a3 = Swizzle::of(load(t + 96), high) ^ Swizzle::of(load(t + 112), low);
      --left;
      p += 16;
      t += 128;
    } else {
      a0 = load(s);
      a1 = load(s + 16);
      a2 = load(s + 32);
      a3 = load(s + 48);
    }
    // Exits between the four units keep Wasmtime's compiler from running them together, which
    // would spill (docs/kernels.md).
    if (left > 0) {
      QUASI_NO_UNROLL
      for (; true;) {
        block(load(p), 0);
        if (left == 1) [[unlikely]]
          break;
        block(load(p + 16), 128);
        if (left == 2) [[unlikely]]
          break;
        block(load(p + 32), 256);
        if (left == 3) [[unlikely]]
          break;
        block(load(p + 48), 384);
        if (left == 4) [[unlikely]]
          break;
        left -= 4;
        p += 64;
        t += 512;
      }
    }
    store(s, a0);
    store(s + 16, a1);
    store(s + 32, a2);
    store(s + 48, a3);
  }
}

}  // namespace ghash

/// Makes the tables from H.
template <class Swizzle, unsigned kPowers>
void expand_ghash_tables(GhashTables<kPowers>& tables, const std::uint8_t* h) {
  V power = load(h);
  ghash::power_tables(tables, kPowers - 1, power);
  alignas(16) std::uint8_t sums[16][16], block[16];
  QUASI_NO_UNROLL
  for (unsigned i = 1; i < kPowers; ++i) {
    store(block, power);
    ghash::accumulate<Swizzle, true>(tables, sums, block, 1, kPowers - 1, zero());
    power = ghash::reduce(sums);
    ghash::power_tables(tables, kPowers - 1 - i, power);
  }
  secure_wipe(sums, sizeof sums);
  secure_wipe(block, sizeof block);
}

/// GHASH of a message whose number of blocks is known.
template <class Swizzle, unsigned kPowers>
class GhashStream {
 public:
  /// `blocks`: how many will be fed in all.
  GhashStream(const GhashTables<kPowers>& tables, std::size_t blocks)
      : tables_(tables), power_((kPowers - static_cast<unsigned>(blocks % kPowers)) % kPowers) {}

  QUASI_INLINE void feed(const std::uint8_t* p, std::size_t count) {
    QUASI_NO_UNROLL
    while (count > 0) {
      std::size_t n = kPowers - power_;
      if (n > count) n = count;
      if (fresh_)
        ghash::accumulate<Swizzle, true>(tables_, sums_, p, n, power_, y_);
      else
        ghash::accumulate<Swizzle, false>(tables_, sums_, p, n, power_, zero());
      fresh_ = false;
      power_ += static_cast<unsigned>(n);
      p += 16 * n;
      count -= n;
      if (power_ == kPowers) {
        y_ = ghash::reduce(sums_);
        power_ = 0;
        fresh_ = true;
      }
    }
  }

  /// The hash, once every announced block has been fed.
  [[nodiscard]] V result() const { return y_; }

 private:
  const GhashTables<kPowers>& tables_;
  V y_ = zero();
  unsigned power_;
  bool fresh_ = true;
  alignas(16) std::uint8_t sums_[16][16];
};

}  // namespace quasi::aead::simd
