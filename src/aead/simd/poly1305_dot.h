// Poly1305 on i32x4.dot_i16x8: four blocks in four lanes, numbers in ten limbs of
// 13 bits, two limbs a 32-bit lane. One instruction makes two products and adds
// them, on every host the same (64-bit lane products are slow on many).
//
// h = (h + m) r^4 in every lane; in the last step lanes take r^4, r^3, r^2, r, and
// their sum is the hash. Messages are filled up in front: lanes without a block
// add nothing, not even the bit 2^128.
//
// Limbs. r's are balanced: |c| <= 4,101, so that 5 c (for 2^130 = 5) fits 16 bits.
// h's are kept 8,192 too high: after carrying they are in 0 .. 8,191 and a bit, and
// a message limb is added less 8,192, which is OR-ing its high bits full. So
// factors x = h + m are centred round 0.
//
// Bounds. Carrying leaves stored limbs in [-120, 8,311], see carry(). Then |x| <=
// 8,312, a sum of products is at most 8,312 (9 * 5 * 4,101 + 4,101) < 1.57 * 10^9,
// and with the bias and a carry below 2^18 it stays under 2^31.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aead/poly1305.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

class Poly1305Dot {
 public:
  /// `key`: 32 bytes. `blocks`: how many will be fed in all, at least one.
  Poly1305Dot(const std::uint8_t* key, std::size_t blocks) {
    std::memcpy(pad_, key + 16, 16);
    expand(key);
    groups_left_ = (blocks + 3) / 4;
    filled_ = (4 - blocks % 4) % 4 * 16;
    first_top_ = load(kTops[filled_ / 16]);
    std::memset(buffer_, 0, filled_);
    for (V& limb : h_) limb = splat32(kBias);
  }
  ~Poly1305Dot() { secure_wipe(this, sizeof *this); }

  /// Whole blocks.
  QUASI_INLINE void blocks(const std::uint8_t* p, std::size_t count) {
    if (filled_ != 0) {
      std::size_t n = 4 - filled_ / 16;
      if (n > count) n = count;
      for (std::size_t i = 0; i < n; ++i) store(buffer_ + filled_ + 16 * i, load(p + 16 * i));
      filled_ += 16 * n;
      p += 16 * n;
      count -= n;
      if (filled_ < 64) return;
      filled_ = 0;
      groups(buffer_, 1);
    }
    if (count >= 4) {
      groups(p, count / 4);
      p += count / 4 * 64;
      count %= 4;
    }
    for (std::size_t i = 0; i < count; ++i) store(buffer_ + 16 * i, load(p + 16 * i));
    filled_ = 16 * count;
  }

  /// When all announced blocks have been fed.
  void finish(std::uint8_t* tag) {
    // Sum of lanes, then limbs of 26 bits, made positive by adding 64 p.
    constexpr std::int64_t kModulus[5] = {0x3fffffb, 0x3ffffff, 0x3ffffff, 0x3ffffff, 0x3ffffff};
    std::int64_t limbs[10];
    for (unsigned i = 0; i < 10; ++i) {
      V sum = add32(h_[i], shuffle32<2, 3, 0, 1>(h_[i], h_[i]));
      sum = add32(sum, shuffle32<1, 0, 3, 2>(sum, sum));
      limbs[i] = static_cast<std::int32_t>(lane32<0>(sum)) - std::int64_t{4 * kBias};
    }
    std::int64_t carry = 0;
    std::uint64_t h[5];
    for (unsigned i = 0; i < 5; ++i) {
      const std::int64_t v = limbs[2 * i] + 8192 * limbs[2 * i + 1] + 64 * kModulus[i] + carry;
      carry = v >> 26;
      h[i] = static_cast<std::uint64_t>(v) & 0x3ffffff;
    }
    h[0] += 5 * static_cast<std::uint64_t>(carry);
    for (unsigned i = 0; i < 4; ++i) {
      h[i + 1] += h[i] >> 26;
      h[i] &= 0x3ffffff;
    }
    finish_poly1305(tag, h[0] | h[1] << 26 | h[2] << 52, h[2] >> 12 | h[3] << 14 | h[4] << 40,
                    h[4] >> 24, pad_);
  }

 private:
  static constexpr std::uint32_t kBias = 8192;
  static constexpr std::uint32_t kHigh = 0xffffe000U;            // -8,192
  static constexpr std::uint32_t kHighTop = 0xffffe000U + 2048;  // and 2^128, bit 11 of limb 9
  /// Limb 9 of a first group that lacks 0 .. 3 blocks in front.
  alignas(16) static constexpr std::uint32_t kTops[4][4] = {
      {kHighTop, kHighTop, kHighTop, kHighTop},
      {kHigh, kHighTop, kHighTop, kHighTop},
      {kHigh, kHigh, kHighTop, kHighTop},
      {kHigh, kHigh, kHigh, kHighTop}};

  /// Pairs of limbs (c_s, c_{s-1}) for s = -8 .. 9, with c_{s} = 5 c_{s+10} below 0.
  struct Factors {
    V pairs[18];
  };

  /// Balanced limbs of r^4, r^3, r^2, r in lanes 0 .. 3.
  void expand(const std::uint8_t* key) {
    std::uint64_t powers[4][5];  // powers[3] = r
    Poly1305Narrow::split(powers[3], load_le<std::uint64_t>(key) & kClamp0,
                          load_le<std::uint64_t>(key + 8) & kClamp1);
    for (unsigned i = 3; i-- > 0;) {
      std::memcpy(powers[i], powers[i + 1], sizeof powers[i]);
      Poly1305Narrow::multiply(powers[i], powers[3]);
    }
    V limbs[10], carries[10];
    for (unsigned i = 0; i < 5; ++i) {
      const V x = make32(
          static_cast<std::uint32_t>(powers[0][i]), static_cast<std::uint32_t>(powers[1][i]),
          static_cast<std::uint32_t>(powers[2][i]), static_cast<std::uint32_t>(powers[3][i]));
      limbs[2 * i] = x & splat32(8191);
      limbs[2 * i + 1] = shr32(x, 13);
    }
    for (unsigned i = 0; i < 10; ++i) carries[i] = sar32(add32(limbs[i], splat32(4096)), 13);
    V five[10];
    for (unsigned i = 0; i < 10; ++i) {
      const V in = i != 0 ? carries[i - 1] : add32(carries[9], shl32(carries[9], 2));
      limbs[i] = add32(sub32(limbs[i], shl32(carries[i], 13)), in);
      five[i] = add32(limbs[i], shl32(limbs[i], 2));
    }
    for (unsigned s = 0; s < 18; ++s) {
      const V c = s >= 8 ? limbs[s - 8] : five[s + 2];
      const V before = s >= 9 ? limbs[s - 9] : five[s + 1];
      mixed_.pairs[s] = (c & splat32(0xffff)) | shl32(before, 16);
      fourth_.pairs[s] = shuffle32<0, 0, 0, 0>(mixed_.pairs[s], mixed_.pairs[s]);
    }
    secure_wipe(powers, sizeof powers);
  }

  /// `count` groups of four blocks; knows which group is the last.
  QUASI_INLINE void groups(const std::uint8_t* p, std::size_t count) {
    groups_left_ -= count;
    const std::size_t last = groups_left_ == 0 ? 1 : 0;
    if (count > last) {
      run(h_, fourth_, p, count - last, first_top_);
      first_top_ = load(kTops[0]);
    }
    if (last != 0) run(h_, mixed_, p + 64 * (count - 1), 1, first_top_);
  }

  static QUASI_INLINE void carry(V& from, V& to) {
    to = add32(to, sar32(from, 13));
    from = from & splat32(8191);
  }

  /// `top`: limb 9's high bits for the first group.
  static QUASI_NOINLINE void run(V (&state)[10], const Factors& factors, const std::uint8_t* p,
                                 std::size_t count, V top) {
    V h[10];
    QUASI_UNROLL
    for (unsigned i = 0; i < 10; ++i) h[i] = state[i];
    QUASI_NO_UNROLL
    for (; count > 0; --count, p += 64) {
      V a = load(p), b = load(p + 16), c = load(p + 32), d = load(p + 48);
      transpose32(a, b, c, d);
      const V high = splat32(kHigh);
      h[0] = add32(h[0], a | high);
      h[1] = add32(h[1], shr32(a, 13) | high);
      h[2] = add32(h[2], shr32(a, 26) | shl32(b, 6) | high);
      h[3] = add32(h[3], shr32(b, 7) | high);
      h[4] = add32(h[4], shr32(b, 20) | shl32(c, 12) | high);
      h[5] = add32(h[5], shr32(c, 1) | high);
      h[6] = add32(h[6], shr32(c, 14) | high);
      h[7] = add32(h[7], shr32(c, 27) | shl32(d, 5) | high);
      h[8] = add32(h[8], shr32(d, 8) | high);
      h[9] = add32(h[9], shr32(d, 21) | top);
      top = load(kTops[0]);
      V x[5];
      QUASI_UNROLL
      for (unsigned i = 0; i < 5; ++i)
        x[i] = (h[2 * i] & splat32(0xffff)) | shl32(h[2 * i + 1], 16);
      const auto limb = [&](unsigned i) QUASI_INLINE_LAMBDA {
        V sum = splat32(kBias);
        QUASI_UNROLL
        for (unsigned j = 0; j < 5; ++j)
          sum = add32(sum, dot16(x[j], load(&factors.pairs[8 + i - 2 * j])));
        h[i] = sum;
      };
      // Two chains of carries, 0 to 4 and 5 to 9; then 4 to 5 and 9 to 0 (times 5: below
      // 5 * 2^17.6), and once more from 5 and 0. What limbs 1 and 6 then get is at most 120.
      limb(0);
      limb(5);
      QUASI_UNROLL
      for (unsigned i = 1; i < 5; ++i) {
        limb(i);
        limb(5 + i);
        carry(h[i - 1], h[i]);
        carry(h[4 + i], h[5 + i]);
      }
      carry(h[4], h[5]);
      const V out = sar32(h[9], 13);
      h[9] = h[9] & splat32(8191);
      h[0] = add32(h[0], add32(out, shl32(out, 2)));
      carry(h[5], h[6]);
      carry(h[0], h[1]);
    }
    QUASI_UNROLL
    for (unsigned i = 0; i < 10; ++i) state[i] = h[i];
  }

  V h_[10];
  Factors fourth_, mixed_;
  V first_top_;
  alignas(16) std::uint8_t buffer_[64];
  std::size_t filled_, groups_left_;
  std::uint8_t pad_[16];
};

}  // namespace quasi::aead::simd
