// Bit-sliced AES on eight vectors, eight blocks at a time, in portable SIMD. The
// S-box is the gate circuit, so the only shuffles have constant lanes.
//
// Layout. Plane i holds bit i of every byte: byte p of the plane belongs to
// position p of the blocks, and its eight bits to the eight blocks.
//
//     plane i        byte 0      byte 1    ...   byte 15       positions as in
//     bit b          block b     block b         block b       aes_positions.h
//
// A plane keeps the blocks' byte order, so "one row on, m columns on" is a byte
// shuffle and fixslicing costs nothing: ShiftRows is part of the shuffles that
// MixColumns needs anyhow. (With bits of one byte side by side, as in 64-bit
// fixslicing, every such step would be masks and shifts.) To and from planes is an
// 8 x 8 bit transposition in each byte column: twelve masked swaps.
//
// Counter cache. Eight counters in a row differ from the nonce's block in byte 15
// only, and round 1 spreads that to four bytes whatever the nonce: per key, 32
// differences of all planes for the 32 groups of eight counters below 256.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "aead/aes_schedule.h"
#include "aead/sbox_circuit.h"
#include "aead/simd/aes_positions.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

template <unsigned kRounds>
struct AesSlicedKey {
  alignas(16) std::uint8_t planes[kRounds + 1][8][16];
};

template <unsigned kRounds>
struct AesSlicedCounterKey {
  AesSlicedKey<kRounds> aes;
  alignas(16) std::uint8_t differences[32][8][16];
};

namespace sliced {

QUASI_INLINE void swap_bits(V& a, V& b, unsigned shift, V mask) {
  const V t = (shr64(a, shift) ^ b) & mask;
  b = b ^ t;
  a = a ^ shl64(t, shift);
}

/// Eight blocks to planes and back.
QUASI_INLINE void transpose(V (&q)[8]) {
  const V m1 = splat8(0x55), m2 = splat8(0x33), m4 = splat8(0x0f);
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; i += 2) swap_bits(q[i], q[i + 1], 1, m1);
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; i += 4) {
    swap_bits(q[i], q[i + 2], 2, m2);
    swap_bits(q[i + 1], q[i + 3], 2, m2);
  }
  QUASI_UNROLL
  for (unsigned i = 0; i < 4; ++i) swap_bits(q[i], q[i + 4], 4, m4);
}

/// Planes of eight copies of one block.
QUASI_INLINE void broadcast(V (&q)[8], V block) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    const V bit = splat8(static_cast<std::uint8_t>(1U << i));
    q[i] = equal8(block & bit, bit);
  }
}

QUASI_INLINE void load_planes(V (&q)[8], const std::uint8_t (&from)[8][16]) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) q[i] = load(from[i]);
}
QUASI_INLINE void store_planes(std::uint8_t (&to)[8][16], const V (&q)[8]) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) store(to[i], q[i]);
}
QUASI_INLINE void add_planes(V (&q)[8], const std::uint8_t (&key)[8][16]) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) q[i] = q[i] ^ load(key[i]);
}

/// SubBytes, and MixColumns with kBehind row shifts pending.
template <unsigned kBehind>
QUASI_INLINE void round(V (&q)[8], const std::uint8_t (&key)[8][16]) {
  sbox_without_constant(q);
  V next[8], sum[8];
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    next[i] = shuffle_by<reach_positions(1, kBehind)>(q[i]);
    sum[i] = q[i] ^ next[i];
  }
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) {
    // 2 (s0 + s1) + s1 + (s2 + s3); doubling moves a plane up and feeds 0x1b.
    V v = next[i] ^ sum[(i + 7) % 8];
    if (i == 1 || i == 3 || i == 4) v = v ^ sum[7];
    q[i] = v ^ shuffle_by<reach_positions(2, 2 * kBehind)>(sum[i]) ^ load(key[i]);
  }
}

/// Rounds 2 .. kRounds, and back to blocks.
template <unsigned kRounds>
QUASI_INLINE void rounds_from_2(const AesSlicedKey<kRounds>& key, V (&q)[8]) {
  static_assert(kRounds % 4 == 2);
  // The exits inside are never taken. They keep Wasmtime's compiler from running rounds into one
  // another, which spills, and cost less than masks from memory in a loop of single rounds.
  unsigned end = kRounds;
  asm("" : "+r"(end));  // NOLINT(hicpp-no-assembler): no instruction, hides the number
  unsigned r = 2;
  QUASI_NO_UNROLL
  for (; true;) {
    round<2>(q, key.planes[r]);
    if (++r == end) [[unlikely]]
      break;
    round<3>(q, key.planes[r]);
    if (++r == end) [[unlikely]]
      break;
    round<0>(q, key.planes[r]);
    if (++r == end) [[unlikely]]
      break;
    round<1>(q, key.planes[r]);
    if (++r == end) break;
  }
  sbox_without_constant(q);
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i)
    q[i] = shuffle_by<shift_row_positions(2)>(q[i]) ^ load(key.planes[kRounds][i]);
  transpose(q);
}

template <unsigned kRounds>
QUASI_NOINLINE void first_round(const AesSlicedKey<kRounds>& key, V (&q)[8]) {
  add_planes(q, key.planes[0]);
  round<1>(q, key.planes[1]);
}

template <unsigned kRounds>
void expand(AesSlicedKey<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
  for (unsigned r = 0; r <= kRounds; ++r) {
    alignas(16) std::uint8_t turned[16];
    turned_round_key(turned, round_keys, r);
    V q[8];
    broadcast(q, load(turned));
    store_planes(key.planes[r], q);
    secure_wipe(turned, sizeof turned);
  }
}

template <unsigned kRounds>
void expand(AesSlicedCounterKey<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
  expand(key.aes, round_keys);
  V base[8];
  broadcast(base, zero());
  first_round(key.aes, base);
  for (unsigned group = 0; group < 32; ++group) {
    V q[8];
    for (unsigned b = 0; b < 8; ++b) q[b] = replace32<3>(zero(), (8 * group + b) << 24);
    transpose(q);
    first_round(key.aes, q);
    for (unsigned i = 0; i < 8; ++i) store(key.differences[group][i], q[i] ^ base[i]);
  }
}

/// Encrypts eight blocks.
template <unsigned kRounds>
QUASI_NOINLINE void encrypt(const AesSlicedKey<kRounds>& key, V (&x)[8]) {
  transpose(x);
  first_round(key, x);
  rounds_from_2(key, x);
}

/// What 256 counters share: planes after round 1, but for the counter's low byte.
struct Base {
  V nonce;  // zeros in its last four bytes
  alignas(16) std::uint8_t planes[8][16];
};

template <unsigned kRounds>
QUASI_NOINLINE void rebase(const AesSlicedCounterKey<kRounds>& key, Base& base,
                           std::uint32_t counter) {
  V q[8];
  broadcast(q, replace32<3>(base.nonce, std::byteswap(counter & ~255U)));
  first_round(key.aes, q);
  store_planes(base.planes, q);
}

/// out = in xor keystream, for `groups` groups of eight blocks; `counter` is a multiple of 8 and
/// goes on from the call before.
template <unsigned kRounds>
QUASI_NOINLINE void counter_mode(const AesSlicedCounterKey<kRounds>& key, Base& base,
                                 std::uint32_t counter, const std::uint8_t* in, std::uint8_t* out,
                                 std::size_t groups) {
  QUASI_NO_UNROLL
  for (; groups > 0; --groups, in += 128, out += 128, counter += 8) {
    if ((counter & 255) == 0 && counter != 0) rebase(key, base, counter);
    V q[8];
    load_planes(q, base.planes);
    add_planes(q, key.differences[(counter & 255) / 8]);
    rounds_from_2(key.aes, q);
    QUASI_UNROLL
    for (unsigned i = 0; i < 8; ++i) store(out + 16 * i, load(in + 16 * i) ^ q[i]);
  }
}

}  // namespace sliced
}  // namespace quasi::aead::simd
