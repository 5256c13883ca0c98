// Bit-sliced AES on eight 64-bit words, four blocks at a time, for machines and
// Wasm engines without SIMD. Fixsliced (Adomnicai, Peyrin 2020): ShiftRows is
// never carried out; the state after r rounds is kept r row shifts behind, and
// MixColumns reaches for its bytes where they are.
//
// Layout. Word i holds bit i of all 64 bytes. Byte (row, column) of block b is at
// bit 16 * row + 4 * column + b:
//
//   bit   63       48 47       32 31       16 15 12 11  8 7   4 3   0
//        |   row 3   |   row 2   |   row 1   | c 3 | c 2 | c 1 | c 0 |  row 0
//                                              each column: blocks 3 2 1 0
//
// so "one row on" is a rotation by 16, and "m columns on" rotates each 16-bit
// field by 4 m. This order makes the columns cheap and the rows free; with the
// columns outermost every MixColumns would need masks twice.
#pragma once

#include <bit>
#include <cstdint>

#include "aead/aes_schedule.h"
#include "aead/attributes.h"
#include "aead/sbox_circuit.h"
#include "quasi/bytes.h"

namespace quasi::aead::scalar {

template <unsigned kRounds>
struct Aes64Key {
  std::uint64_t planes[kRounds + 1][8];
};

/// Swaps the bits of `b` under `mask` with those of `a` under `mask << shift`.
QUASI_INLINE void swap_bits(std::uint64_t& a, std::uint64_t& b, unsigned shift,
                            std::uint64_t mask) {
  const std::uint64_t t = ((a >> shift) ^ b) & mask;
  b ^= t;
  a ^= t << shift;
}

/// Transposes the 8 x 8 bit matrices that the k-th bytes of the words form; its own inverse.
QUASI_INLINE void transpose_bits(std::uint64_t (&q)[8]) {
  for (unsigned i = 0; i < 8; i += 2) swap_bits(q[i], q[i + 1], 1, 0x5555555555555555U);
  for (unsigned i = 0; i < 8; i += 4) {
    swap_bits(q[i], q[i + 2], 2, 0x3333333333333333U);
    swap_bits(q[i + 1], q[i + 3], 2, 0x3333333333333333U);
  }
  for (unsigned i = 0; i < 4; ++i) swap_bits(q[i], q[i + 4], 4, 0x0f0f0f0f0f0f0f0fU);
}

/// Byte k of `a` to byte 2 k, byte k of `b` to byte 2 k + 1.
QUASI_INLINE std::uint64_t interleave_bytes(std::uint32_t a, std::uint32_t b) {
  const auto spread = [](std::uint64_t x) {
    x = (x | x << 16) & 0x0000ffff0000ffffU;
    return (x | x << 8) & 0x00ff00ff00ff00ffU;
  };
  return spread(a) | spread(b) << 8;
}

QUASI_INLINE std::uint32_t gather_even_bytes(std::uint64_t x) {
  x &= 0x00ff00ff00ff00ffU;
  x = (x | x >> 8) & 0x0000ffff0000ffffU;
  return static_cast<std::uint32_t>(x | x >> 16);
}

/// Words before the bit transposition: q[b] has columns 0 and 2 of block b, q[4 + b] 1 and 3.
QUASI_INLINE void load_block(std::uint64_t (&q)[8], unsigned b, std::uint32_t c0, std::uint32_t c1,
                             std::uint32_t c2, std::uint32_t c3) {
  q[b] = interleave_bytes(c0, c2);
  q[4 + b] = interleave_bytes(c1, c3);
}

/// Output (row, column) <- input (row + kRow, column + kColumn).
template <unsigned kRow, unsigned kColumn>
QUASI_INLINE std::uint64_t reach(std::uint64_t x) {
  x = std::rotr(x, 16 * kRow);
  if constexpr (kColumn % 4 != 0) {
    constexpr unsigned kShift = 4 * (kColumn % 4);
    constexpr std::uint64_t kLow = 0x0001000100010001U * ((1U << (16 - kShift)) - 1);
    x = (x >> kShift & kLow) | (x << (16 - kShift) & ~kLow);
  }
  return x;
}

/// MixColumns while kBehind (mod 4) row shifts are pending.
template <unsigned kBehind>
QUASI_INLINE void mix_columns(std::uint64_t (&q)[8]) {
  std::uint64_t next[8], sum[8];
  for (unsigned i = 0; i < 8; ++i) {
    next[i] = reach<1, kBehind>(q[i]);
    sum[i] = q[i] ^ next[i];
  }
  for (unsigned i = 0; i < 8; ++i) {
    // 2 (s0 + s1) + s1 + (s2 + s3); doubling moves a plane up and feeds 0x1b.
    std::uint64_t v = next[i] ^ reach<2, 2 * kBehind>(sum[i]) ^ sum[(i + 7) % 8];
    if (i == 1 || i == 3 || i == 4) v ^= sum[7];
    q[i] = v;
  }
}

/// Carries out the two row shifts that are pending after 10 or 14 rounds.
QUASI_INLINE std::uint64_t shift_rows_twice(std::uint64_t x) {
  constexpr std::uint64_t kOddRows = 0xffff0000ffff0000U;
  const std::uint64_t turned = (x >> 8 & 0x00ff00ff00ff00ffU) | (x << 8 & 0xff00ff00ff00ff00U);
  return (x & ~kOddRows) | (turned & kOddRows);
}

template <unsigned kRounds>
void expand_aes64(Aes64Key<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
  for (unsigned r = 0; r <= kRounds; ++r) {
    // Keys of inner rounds are turned back by the pending row shifts, and carry the S-box's
    // constant of the round before.
    const unsigned behind = r == kRounds ? 0 : r % 4;
    std::uint8_t block[16];
    for (unsigned column = 0; column < 4; ++column)
      for (unsigned row = 0; row < 4; ++row)
        block[row + 4 * column] = static_cast<std::uint8_t>(
            round_keys.bytes[r][row + 4 * ((column + 4 * row - behind * row) % 4)] ^
            (r == 0 ? 0 : 0x63));
    std::uint64_t q[8];
    for (unsigned b = 0; b < 4; ++b)
      load_block(q, b, load_le<std::uint32_t>(block), load_le<std::uint32_t>(block + 4),
                 load_le<std::uint32_t>(block + 8), load_le<std::uint32_t>(block + 12));
    transpose_bits(q);
    for (unsigned i = 0; i < 8; ++i) key.planes[r][i] = q[i];
    secure_wipe(block, sizeof block);
  }
}

QUASI_INLINE void add_key(std::uint64_t (&q)[8], const std::uint64_t (&key)[8]) {
  for (unsigned i = 0; i < 8; ++i) q[i] ^= key[i];
}

/// Encrypts four blocks laid out by load_block(); leaves them so.
template <unsigned kRounds>
QUASI_NOINLINE void encrypt_aes64(const Aes64Key<kRounds>& key, std::uint64_t (&q)[8]) {
  transpose_bits(q);
  add_key(q, key.planes[0]);
  static_assert(kRounds % 4 == 2);
  unsigned r = 1;
  const auto round = [&]<unsigned kBehind>() {
    sbox_without_constant(q);
    mix_columns<kBehind>(q);
    add_key(q, key.planes[r++]);
  };
  QUASI_NO_UNROLL
  for (unsigned i = 0; i < kRounds / 4; ++i) {
    round.template operator()<1>();
    round.template operator()<2>();
    round.template operator()<3>();
    round.template operator()<0>();
  }
  round.template operator()<1>();
  sbox_without_constant(q);
  for (auto& word : q) word = shift_rows_twice(word);
  add_key(q, key.planes[kRounds]);
  transpose_bits(q);
}

/// Writes block b as 16 bytes.
QUASI_INLINE void store_block(std::uint8_t* out, const std::uint64_t (&q)[8], unsigned b) {
  store_le(out, gather_even_bytes(q[b]));
  store_le(out + 4, gather_even_bytes(q[4 + b]));
  store_le(out + 8, gather_even_bytes(q[b] >> 8));
  store_le(out + 12, gather_even_bytes(q[4 + b] >> 8));
}

}  // namespace quasi::aead::scalar
