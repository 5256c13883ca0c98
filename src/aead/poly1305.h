// Poly1305 (RFC 8439 §2.5) on integers, three forms with the same interface:
//
//   Poly1305Wide    two 64-bit limbs and a small third; 64 x 64 -> 128 products.
//                   For native machines and Wasm with wide arithmetic.
//   Poly1305Narrow  five 26-bit limbs; 32 x 32 -> 64 products. For plain Wasm,
//                   where a 128-bit product is a call of four multiplications.
//   Poly1305Pair    three 44-bit limbs and two blocks a step, (h + m) r^2 + m' r:
//                   half the steps on the chain of dependent multiplications.
//                   For native machines.
//
// h is a number modulo 2^130 - 5 that is not kept fully reduced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aead/attributes.h"
#include "quasi/bytes.h"

namespace quasi::aead {

/// h + key[16, 32) modulo 2^128, with h = h0 + 2^64 h1 + 2^128 h2, h2 < 8, reduced first.
QUASI_INLINE void finish_poly1305(std::uint8_t* tag, std::uint64_t h0, std::uint64_t h1,
                                  std::uint64_t h2, const std::uint8_t* pad) {
  // Once more around: 2^130 = 5, so that h < 2^130 + small.
  uint128 sum = uint128{h0} + (h2 >> 2) * 5;
  h0 = static_cast<std::uint64_t>(sum);
  sum = uint128{h1} + static_cast<std::uint64_t>(sum >> 64);
  h1 = static_cast<std::uint64_t>(sum);
  h2 = (h2 & 3) + static_cast<std::uint64_t>(sum >> 64);
  // g = h + 5 reaches 2^130 exactly when h >= p; then the low 128 bits of g are h - p's.
  sum = uint128{h0} + 5;
  const auto g0 = static_cast<std::uint64_t>(sum);
  sum = uint128{h1} + static_cast<std::uint64_t>(sum >> 64);
  const auto g1 = static_cast<std::uint64_t>(sum);
  const std::uint64_t g2 = h2 + static_cast<std::uint64_t>(sum >> 64);
  const std::uint64_t take_g = 0 - (g2 >> 2 & 1);
  h0 = (h0 & ~take_g) | (g0 & take_g);
  h1 = (h1 & ~take_g) | (g1 & take_g);
  sum = uint128{h0} + load_le<std::uint64_t>(pad);
  store_le(tag, static_cast<std::uint64_t>(sum));
  store_le(tag + 8, h1 + load_le<std::uint64_t>(pad + 8) + static_cast<std::uint64_t>(sum >> 64));
}

/// RFC 8439 §2.5: r's clamp.
inline constexpr std::uint64_t kClamp0 = 0x0ffffffc0fffffffU;
inline constexpr std::uint64_t kClamp1 = 0x0ffffffc0ffffffcU;

class Poly1305Wide {
 public:
  /// `key`: 32 bytes, r and then the pad that finish() adds.
  explicit Poly1305Wide(const std::uint8_t* key)
      : r0_(load_le<std::uint64_t>(key) & kClamp0), r1_(load_le<std::uint64_t>(key + 8) & kClamp1) {
    std::memcpy(pad_, key + 16, 16);
  }
  ~Poly1305Wide() { secure_wipe(this, sizeof *this); }

  /// One step, for kernels that weave it into other work: h = (h + m) r.
  /// r1 is a multiple of 4, so 5 r1 / 4 = s1 stands for r1 2^128 / 4 modulo p.
  /// Bounds: h0, h1 < 2^64, h2 <= 4 and r0, r1 < 2^60: each sum of products is below 2^127,
  /// and h2 <= 4 again afterwards.
  static QUASI_INLINE void step(std::uint64_t& h0, std::uint64_t& h1, std::uint64_t& h2,
                                std::uint64_t r0, std::uint64_t r1, std::uint64_t s1,
                                std::uint64_t m0, std::uint64_t m1) {
    uint128 sum = uint128{h0} + m0;
    h0 = static_cast<std::uint64_t>(sum);
    sum = uint128{h1} + m1 + static_cast<std::uint64_t>(sum >> 64);
    h1 = static_cast<std::uint64_t>(sum);
    h2 += static_cast<std::uint64_t>(sum >> 64) + 1;
    const uint128 d0 = uint128{h0} * r0 + uint128{h1} * s1;
    const uint128 d1 =
        uint128{h0} * r1 + uint128{h1} * r0 + h2 * s1 + static_cast<std::uint64_t>(d0 >> 64);
    const std::uint64_t d2 = h2 * r0 + static_cast<std::uint64_t>(d1 >> 64);
    // d2 2^128: its two low bits stay, the rest comes back times 5.
    sum = uint128{static_cast<std::uint64_t>(d0)} + ((d2 >> 2) + (d2 & ~std::uint64_t{3}));
    h0 = static_cast<std::uint64_t>(sum);
    sum = uint128{static_cast<std::uint64_t>(d1)} + static_cast<std::uint64_t>(sum >> 64);
    h1 = static_cast<std::uint64_t>(sum);
    h2 = (d2 & 3) + static_cast<std::uint64_t>(sum >> 64);
  }

  void blocks(const std::uint8_t* p, std::size_t count) {
    std::uint64_t h0 = h0_, h1 = h1_, h2 = h2_;
    const std::uint64_t r0 = r0_, r1 = r1_, s1 = s1_;
    QUASI_NO_UNROLL
    for (; count > 0; --count, p += 16)
      step(h0, h1, h2, r0, r1, s1, load_le<std::uint64_t>(p), load_le<std::uint64_t>(p + 8));
    h0_ = h0;
    h1_ = h1;
    h2_ = h2;
  }

  void finish(std::uint8_t* tag) const { finish_poly1305(tag, h0_, h1_, h2_, pad_); }

  /// The state, for woven kernels: they take it out and put it back.
  std::uint64_t r0_, r1_, s1_ = r1_ + (r1_ >> 2);
  std::uint64_t h0_ = 0, h1_ = 0, h2_ = 0;

 private:
  std::uint8_t pad_[16];
};

class Poly1305Narrow {
 public:
  explicit Poly1305Narrow(const std::uint8_t* key) {
    split(r_, load_le<std::uint64_t>(key) & kClamp0, load_le<std::uint64_t>(key + 8) & kClamp1);
    std::memcpy(pad_, key + 16, 16);
  }
  ~Poly1305Narrow() { secure_wipe(this, sizeof *this); }

  /// h = h r, limb by limb. Bounds: limbs of h below 2^27 + 2^26, of r below 2^26: each sum of
  /// five products, four of them times 5, is below 21 * 2^53.6 < 2^58.
  static QUASI_INLINE void multiply(std::uint64_t (&h)[5], const std::uint64_t (&r)[5]) {
    const std::uint64_t s1 = r[1] * 5, s2 = r[2] * 5, s3 = r[3] * 5, s4 = r[4] * 5;
    std::uint64_t d0 = h[0] * r[0] + h[1] * s4 + h[2] * s3 + h[3] * s2 + h[4] * s1;
    std::uint64_t d1 = h[0] * r[1] + h[1] * r[0] + h[2] * s4 + h[3] * s3 + h[4] * s2;
    std::uint64_t d2 = h[0] * r[2] + h[1] * r[1] + h[2] * r[0] + h[3] * s4 + h[4] * s3;
    std::uint64_t d3 = h[0] * r[3] + h[1] * r[2] + h[2] * r[1] + h[3] * r[0] + h[4] * s4;
    std::uint64_t d4 = h[0] * r[4] + h[1] * r[3] + h[2] * r[2] + h[3] * r[1] + h[4] * r[0];
    d1 += d0 >> 26;
    d2 += d1 >> 26;
    d3 += d2 >> 26;
    d4 += d3 >> 26;
    h[0] = (d0 & kLimb) + (d4 >> 26) * 5;
    h[1] = (d1 & kLimb) + (h[0] >> 26);
    h[0] &= kLimb;
    h[2] = d2 & kLimb;
    h[3] = d3 & kLimb;
    h[4] = d4 & kLimb;
  }

  static QUASI_INLINE void split(std::uint64_t (&out)[5], std::uint64_t lo, std::uint64_t hi) {
    out[0] = lo & kLimb;
    out[1] = lo >> 26 & kLimb;
    out[2] = (lo >> 52 | hi << 12) & kLimb;
    out[3] = hi >> 14 & kLimb;
    out[4] = hi >> 40;
  }

  void blocks(const std::uint8_t* p, std::size_t count) {
    std::uint64_t h[5] = {h_[0], h_[1], h_[2], h_[3], h_[4]};
    const std::uint64_t r[5] = {r_[0], r_[1], r_[2], r_[3], r_[4]};
    QUASI_NO_UNROLL
    for (; count > 0; --count, p += 16) {
      std::uint64_t m[5];
      split(m, load_le<std::uint64_t>(p), load_le<std::uint64_t>(p + 8));
      m[4] |= std::uint64_t{1} << 24;
      for (unsigned i = 0; i < 5; ++i) h[i] += m[i];
      multiply(h, r);
    }
    for (unsigned i = 0; i < 5; ++i) h_[i] = h[i];
  }

  void finish(std::uint8_t* tag) const {
    std::uint64_t h[5] = {h_[0], h_[1], h_[2], h_[3], h_[4]};
    for (unsigned i = 0; i < 4; ++i) {
      h[i + 1] += h[i] >> 26;
      h[i] &= kLimb;
    }
    // h4 may exceed 26 bits by a little; finish_poly1305 takes h2 = bits 128 and up.
    finish_poly1305(tag, h[0] | h[1] << 26 | h[2] << 52, h[2] >> 12 | h[3] << 14 | h[4] << 40,
                    h[4] >> 24, pad_);
  }

  /// Limbs, for kernels that work on them.
  std::uint64_t h_[5] = {};
  std::uint64_t r_[5];

 private:
  static constexpr std::uint64_t kLimb = (1U << 26) - 1;
  std::uint8_t pad_[16];
};

class Poly1305Pair {
 public:
  Poly1305Pair() = default;  // no key yet: only to be assigned to
  explicit Poly1305Pair(const std::uint8_t* key) {
    split(r_, load_le<std::uint64_t>(key) & kClamp0, load_le<std::uint64_t>(key + 8) & kClamp1);
    Sums sums{};
    sums.add(r_, r_);
    sums.carry(square_);
    std::memcpy(pad_, key + 16, 16);
  }
  ~Poly1305Pair() { secure_wipe(this, sizeof *this); }

  /// 2^88 l2 + 2^44 l1 + l0.
  struct Limbs {
    std::uint64_t l0, l1, l2;
  };

  /// Bounds: limbs of a below 2^46 and of b below 2^45: 20 times a limb of b is below 2^50, so
  /// each of the six products that meet in a sum is below 2^96.
  struct Sums {
    uint128 d0, d1, d2;

    QUASI_INLINE void add(const Limbs& a, const Limbs& b) {
      // 2^132 = 20 modulo p.
      const std::uint64_t s1 = b.l1 * 20, s2 = b.l2 * 20;
      d0 += uint128{a.l0} * b.l0 + uint128{a.l1} * s2 + uint128{a.l2} * s1;
      d1 += uint128{a.l0} * b.l1 + uint128{a.l1} * b.l0 + uint128{a.l2} * s2;
      d2 += uint128{a.l0} * b.l2 + uint128{a.l1} * b.l1 + uint128{a.l2} * b.l0;
    }
    QUASI_INLINE void carry(Limbs& h) {
      d1 += static_cast<std::uint64_t>(d0 >> 44);
      d2 += static_cast<std::uint64_t>(d1 >> 44);
      const std::uint64_t l0 =
          (static_cast<std::uint64_t>(d0) & kLimb) + static_cast<std::uint64_t>(d2 >> 42) * 5;
      h.l0 = l0 & kLimb;
      h.l1 = (static_cast<std::uint64_t>(d1) & kLimb) + (l0 >> 44);
      h.l2 = static_cast<std::uint64_t>(d2) & kTopLimb;
    }
  };

  static QUASI_INLINE void split(Limbs& out, std::uint64_t lo, std::uint64_t hi) {
    out.l0 = lo & kLimb;
    out.l1 = (lo >> 44 | hi << 20) & kLimb;
    out.l2 = hi >> 24;
  }

  static QUASI_INLINE Limbs message(const std::uint8_t* p) {
    Limbs m;
    split(m, load_le<std::uint64_t>(p), load_le<std::uint64_t>(p + 8));
    m.l2 |= std::uint64_t{1} << 40;
    return m;
  }

  /// Two blocks: h = (h + m) square + m' r.
  static QUASI_INLINE void step(Limbs& h, const Limbs& r, const Limbs& square,
                                const std::uint8_t* p) {
    Limbs a = message(p);
    const Limbs b = message(p + 16);
    a.l0 += h.l0;
    a.l1 += h.l1;
    a.l2 += h.l2;
    Sums sums{};
    sums.add(b, r);
    sums.add(a, square);
    sums.carry(h);
  }

  void blocks(const std::uint8_t* p, std::size_t count) {
    Limbs h = h_;
    const Limbs r = r_, square = square_;
    QUASI_NO_UNROLL
    for (; count >= 2; count -= 2, p += 32) step(h, r, square, p);
    if (count != 0) {
      Limbs a = message(p);
      a.l0 += h.l0;
      a.l1 += h.l1;
      a.l2 += h.l2;
      Sums sums{};
      sums.add(a, r);
      sums.carry(h);
    }
    h_ = h;
  }

  void finish(std::uint8_t* tag) const {
    std::uint64_t l0 = h_.l0, l1 = h_.l1, l2 = h_.l2;
    l2 += l1 >> 44;
    l1 &= kLimb;
    finish_poly1305(tag, l0 | l1 << 44, l1 >> 20 | l2 << 24, l2 >> 40, pad_);
  }

  /// The state, for woven kernels.
  Limbs h_{}, r_, square_;

 private:
  static constexpr std::uint64_t kLimb = (std::uint64_t{1} << 44) - 1;
  static constexpr std::uint64_t kTopLimb = (std::uint64_t{1} << 42) - 1;
  std::uint8_t pad_[16];
};

#if defined(QUASI_WASM) && !defined(QUASI_RELAXED_SIMD)
using Poly1305Scalar = Poly1305Narrow;
#else
using Poly1305Scalar = Poly1305Wide;
#endif

/// Bytes padded with zeros to whole blocks (RFC 8439 §2.8).
template <class Poly>
QUASI_INLINE void poly1305_padded(Poly& poly, const std::uint8_t* p, std::size_t size) {
  if (size >= 16) poly.blocks(p, size / 16);
  if (size % 16 != 0) {
    std::uint8_t last[16] = {};
    std::memcpy(last, p + (size - size % 16), size % 16);
    poly.blocks(last, 1);
  }
}

template <class Poly>
QUASI_INLINE void poly1305_lengths(Poly& poly, std::uint64_t aad_size, std::uint64_t size) {
  std::uint8_t last[16];
  store_le(last, aad_size);
  store_le(last + 8, size);
  poly.blocks(last, 1);
}

}  // namespace quasi::aead
