// AES by vector permutation: the S-box is seven look-ups in 16-byte tables, each
// one byte shuffle (permute_tables.h). Eight independent blocks go through a
// rolled loop of rounds: Wasmtime's compiler does not schedule, and a loop is what
// keeps its registers from spilling.
//
// One round of one block: split into nibbles i, k (3 operations); io and jo (11);
// A = S(x) and B = 2 S(x), without constants, in the tower basis (6). Then
// MixColumns in three shuffles:
//
//     t     = B + A one row on                     2 a0 + a1
//     next  = t + t one row on + A one row back    2 a0 + 3 a1 + a2 + a3
//
// Counter cache. Between two multiples of 256 only byte 15 of the counter blocks
// varies, and its values are public. After round 1 it has reached the four bytes
// of one (shifted) column, the diagonal of the stored state:
//
//      .  .  .  .   round 1    0  .  .  .   round 2    each byte of the state
//      .  .  .  .   ------>    .  1  .  .   ------>    depends on one of 0..3,
//      .  .  .  .              .  .  2  .              with factor 1, 2 or 3
//      .  .  .  c              .  .  .  3
//
// So the four bytes' differences from counter 0 are a table of 256 x 4 bytes for
// each key, and in round 2 the four varying bytes of four blocks share one S-box
// evaluation; the other twelve bytes are computed once for 256 counters.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "aead/aes_schedule.h"
#include "aead/simd/aes_positions.h"
#include "aead/simd/permute_tables.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

template <unsigned kRounds>
struct AesPermuteKey {
  alignas(16) std::uint8_t round_keys[kRounds + 1][16];  // tower basis; the last in AES's
};

/// The key of counter mode: round keys and the differences after round 1.
template <unsigned kRounds>
struct AesPermuteCounterKey {
  AesPermuteKey<kRounds> aes;
  alignas(16) std::uint8_t differences[256][4];
};

namespace permute {

alignas(16) inline constexpr PermuteTables kTables = kPermuteTables;
alignas(16) inline constexpr std::array<Positions, 4> kRowOn = {
    reach_positions(1, 0), reach_positions(1, 1), reach_positions(1, 2), reach_positions(1, 3)};
alignas(16) inline constexpr std::array<Positions, 4> kRowBack = {
    reach_positions(3, 0), reach_positions(3, 3), reach_positions(3, 2), reach_positions(3, 1)};

/// Positions of the diagonal, over and over: four blocks' worth.
alignas(16) inline constexpr Positions kDiagonal = {0, 5, 10, 15, 0, 5, 10, 15,
                                                    0, 5, 10, 15, 0, 5, 10, 15};
/// All ones off the diagonal.
alignas(16) inline constexpr Positions kOffDiagonal = [] {
  Positions p;
  p.fill(0xff);
  for (unsigned i = 0; i < 4; ++i) p[position(i, i)] = 0;
  return p;
}();

/// Where round 2 finds, among the 16 varying bytes of four blocks, the one that each byte of
/// block b takes once (factors 1 and 3) or doubled (2 and 3); 0x80 for none.
struct Spread {
  std::array<Positions, 4> once, doubled;
};
alignas(16) inline constexpr Spread kSpread = [] {
  Spread spread{};
  for (unsigned b = 0; b < 4; ++b) {
    for (unsigned column = 0; column < 4; ++column) {
      for (unsigned row = 0; row < 4; ++row) {
        const unsigned p = position(row, column);
        spread.once[b][p] = spread.doubled[b][p] = 0x80;
        // MixColumns, two shifts behind: terms (row + t, column + 2 t), factors 2, 3, 1, 1.
        for (unsigned t = 0; t < 4; ++t) {
          const unsigned from_row = (row + t) % 4, from_column = (column + 2 * t) % 4;
          if (from_row != from_column) continue;
          const auto index = static_cast<std::uint8_t>(4 * b + from_row);
          if (t >= 1) spread.once[b][p] = index;
          if (t <= 1) spread.doubled[b][p] = index;
        }
      }
    }
  }
  return spread;
}();

template <class Swizzle>
struct Engine {
  struct Middle {  // tables of inner rounds, held in registers
    V invert = load(kTables.invert.data()), a_over = load(kTables.a_over.data());
    V s1_io = load(kTables.s1_io.data()), s1_jo = load(kTables.s1_jo.data());
    V s2_io = load(kTables.s2_io.data()), s2_jo = load(kTables.s2_jo.data());
    V nibble = splat8(0x0f);
  };

  static QUASI_INLINE V look_up(V table, V index) { return Swizzle::of(table, index); }

  static QUASI_INLINE V to_tower(V x) {
    return look_up(load(kTables.in_low.data()), x & splat8(0x0f)) ^
           look_up(load(kTables.in_high.data()), shr8(x, 4));
  }

  static QUASI_INLINE void invert(const Middle& m, V x, V& io, V& jo) {
    const V i = shr8(x, 4), k = x & m.nibble;
    const V j = i ^ k;
    const V ak = look_up(m.a_over, k);
    io = look_up(m.invert, look_up(m.invert, i) ^ ak) ^ j;
    jo = look_up(m.invert, look_up(m.invert, j) ^ ak) ^ i;
  }

  static QUASI_INLINE void sbox_and_double(const Middle& m, V x, V& once, V& doubled) {
    V io, jo;
    invert(m, x, io, jo);
    once = look_up(m.s1_io, io) ^ look_up(m.s1_jo, jo);
    doubled = look_up(m.s2_io, io) ^ look_up(m.s2_jo, jo);
  }

  static QUASI_INLINE V mix(V once, V doubled, V row_on, V row_back, V key) {
    const V t = doubled ^ look_up(once, row_on);
    return t ^ (look_up(once, row_back) ^ key) ^ look_up(t, row_on);
  }

  static QUASI_INLINE V round(const Middle& m, V x, V row_on, V row_back, V key) {
    V once, doubled;
    sbox_and_double(m, x, once, doubled);
    return mix(once, doubled, row_on, row_back, key);
  }

  static QUASI_INLINE V last_round(const Middle& m, V x, V key) {
    V io, jo;
    invert(m, x, io, jo);
    const V s = look_up(load(kTables.out_io.data()), io) ^ look_up(load(kTables.out_jo.data()), jo);
    return shuffle_by<shift_row_positions(2)>(s) ^ key;
  }

  /// Rounds first .. kRounds of kBlocks blocks.
  template <unsigned kRounds, unsigned kBlocks>
  static QUASI_INLINE void rounds(const AesPermuteKey<kRounds>& key, unsigned first,
                                  V (&x)[kBlocks]) {
    const Middle m;
    const std::uint8_t* p = key.round_keys[first];
    QUASI_NO_UNROLL
    for (unsigned r = first; r < kRounds; ++r, p += 16) {
      const V k = load(p), row_on = load(kRowOn[r & 3].data()),
              row_back = load(kRowBack[r & 3].data());
      QUASI_UNROLL
      for (unsigned i = 0; i < kBlocks; ++i) x[i] = round(m, x[i], row_on, row_back, k);
    }
    static_assert(kRounds % 4 == 2);  // two shifts are pending at the end
    const V k = load(key.round_keys[kRounds]);
    QUASI_UNROLL
    for (unsigned i = 0; i < kBlocks; ++i) x[i] = last_round(m, x[i], k);
  }

  /// Encrypts kBlocks independent blocks.
  template <unsigned kRounds, unsigned kBlocks>
  static QUASI_INLINE void encrypt(const AesPermuteKey<kRounds>& key, V (&x)[kBlocks]) {
    const V k = load(key.round_keys[0]);
    QUASI_UNROLL
    for (unsigned i = 0; i < kBlocks; ++i) x[i] = to_tower(x[i]) ^ k;
    rounds<kRounds, kBlocks>(key, 1, x);
  }

  template <unsigned kRounds>
  static void expand(AesPermuteKey<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
    for (unsigned r = 0; r <= kRounds; ++r) {
      alignas(16) std::uint8_t turned[16];
      turned_round_key(turned, round_keys, r);
      const V k = load(turned);
      store(key.round_keys[r], r == kRounds ? k : to_tower(k));
      secure_wipe(turned, sizeof turned);
    }
  }

  /// State after round 1 of a block.
  template <unsigned kRounds>
  static QUASI_INLINE V first_round(const AesPermuteKey<kRounds>& key, const Middle& m, V block) {
    return round(m, to_tower(block) ^ load(key.round_keys[0]), load(kRowOn[1].data()),
                 load(kRowBack[1].data()), load(key.round_keys[1]));
  }

  template <unsigned kRounds>
  static void expand(AesPermuteCounterKey<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
    expand(key.aes, round_keys);
    const Middle m;
    const V diagonal = load(kDiagonal.data());
    const V base = first_round(key.aes, m, zero());
    QUASI_NO_UNROLL
    for (unsigned c = 0; c < 256; ++c) {
      const V x = first_round(key.aes, m, replace32<3>(zero(), c << 24));
      const std::uint32_t difference = lane32<0>(look_up(x ^ base, diagonal));
      store_le(key.differences[c], difference);
    }
  }

  /// What 256 counters share: round 2 of the twelve fixed bytes, and the diagonal.
  struct Base {
    V nonce;  // zeros in its last four bytes
    V fixed, varying;
  };

  template <unsigned kRounds>
  static QUASI_INLINE void rebase(const AesPermuteCounterKey<kRounds>& key, Base& base,
                                  std::uint32_t counter) {
    const Middle m;
    const V x = first_round(key.aes, m, replace32<3>(base.nonce, std::byteswap(counter & ~255U)));
    base.varying = look_up(x, load(kDiagonal.data()));
    V once, doubled;
    sbox_and_double(m, x, once, doubled);
    const V mask = load(kOffDiagonal.data());
    base.fixed = mix(once & mask, doubled & mask, load(kRowOn[2].data()), load(kRowBack[2].data()),
                     load(key.aes.round_keys[2]));
  }

  /// The base of counters 0 to 255.
  template <unsigned kRounds>
  static QUASI_NOINLINE void begin(const AesPermuteCounterKey<kRounds>& key, V nonce, Base& base) {
    base.nonce = nonce;
    rebase(key, base, 0);
  }

  /// out = in xor keystream, for `groups` groups of eight blocks; `counter` is a multiple of 8 and
  /// goes on from the call before.
  template <unsigned kRounds>
  static QUASI_NOINLINE void counter_mode(const AesPermuteCounterKey<kRounds>& key, Base& base,
                                          std::uint32_t counter, const std::uint8_t* in,
                                          std::uint8_t* out, std::size_t groups) {
    const Middle m;
    V fixed = base.fixed, varying = base.varying;
    QUASI_NO_UNROLL
    for (; groups > 0; --groups, in += 128, out += 128, counter += 8) {
      if ((counter & 255) == 0 && counter != 0) {
        rebase(key, base, counter);
        fixed = base.fixed;
        varying = base.varying;
      }
      V x[8];
      QUASI_UNROLL
      for (unsigned g = 0; g < 2; ++g) {
        V once, doubled;
        sbox_and_double(m, varying ^ load(key.differences[(counter & 255) + 4 * g]), once, doubled);
        QUASI_UNROLL
        for (unsigned b = 0; b < 4; ++b)
          x[4 * g + b] = fixed ^ look_up(once, load(kSpread.once[b].data())) ^
                         look_up(doubled, load(kSpread.doubled[b].data()));
      }
      rounds<kRounds, 8>(key.aes, 3, x);
      QUASI_UNROLL
      for (unsigned i = 0; i < 8; ++i) store(out + 16 * i, load(in + 16 * i) ^ x[i]);
    }
  }
};

}  // namespace permute
}  // namespace quasi::aead::simd
