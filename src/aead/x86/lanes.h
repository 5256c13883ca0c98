// ChaCha20 on 8 and 16 lanes: vector i is word i of as many blocks. One set of
// names over AVX2 and AVX-512, for chacha20_poly1305.h.
#pragma once

#include "aead/x86/shared.h"

namespace quasi::aead::x86 {
namespace {  // a copy for each file: every file has its own instruction set

/// Eight blocks in AVX2 registers.
struct Lanes256 {
  using V = __m256i;
  static constexpr std::size_t kLanes = 8;

  static QUASI_INLINE V splat(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static QUASI_INLINE V load(const std::uint32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static QUASI_INLINE void store(std::uint32_t* p, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static QUASI_INLINE V count() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static QUASI_INLINE V add(V a, V b) { return _mm256_add_epi32(a, b); }
  static QUASI_INLINE V exclusive_or(V a, V b) { return _mm256_xor_si256(a, b); }
  template <int kBits>
  static QUASI_INLINE V rotate(V v) {
#if defined(QUASI_X86_AVX512)
    return _mm256_rol_epi32(v, kBits);
#else
    if constexpr (kBits == 16) {
      return _mm256_shuffle_epi8(
          v, _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6,
                              7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    } else if constexpr (kBits == 8) {
      return _mm256_shuffle_epi8(
          v, _mm256_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14, 3, 0, 1, 2, 7,
                              4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14));
    } else {
      return _mm256_or_si256(_mm256_slli_epi32(v, kBits), _mm256_srli_epi32(v, 32 - kBits));
    }
#endif
  }

  /// Turns lanes into blocks: block b is the 64 bytes half[b][0], half[b][1].
  struct Blocks {
    V half[kLanes][2];

    /// out = in xor block b.
    QUASI_INLINE void exclusive_or_to(unsigned b, std::uint8_t* out, const std::uint8_t* in) const {
      for (unsigned i = 0; i < 2; ++i) {
        const V text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + 32 * i));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32 * i),
                            _mm256_xor_si256(text, half[b][i]));
      }
    }
  };
  static QUASI_INLINE void to_blocks(const V (&x)[16], Blocks& blocks) {
    // In each half register: lanes to words, 4 x 4. rows[g][j] has words 4 g .. of block j, and
    // of block 4 + j above.
    V rows[4][4];
    QUASI_UNROLL
    for (unsigned g = 0; g < 4; ++g) {
      const V a = _mm256_unpacklo_epi32(x[4 * g], x[4 * g + 1]);
      const V b = _mm256_unpackhi_epi32(x[4 * g], x[4 * g + 1]);
      const V c = _mm256_unpacklo_epi32(x[4 * g + 2], x[4 * g + 3]);
      const V d = _mm256_unpackhi_epi32(x[4 * g + 2], x[4 * g + 3]);
      rows[g][0] = _mm256_unpacklo_epi64(a, c);
      rows[g][1] = _mm256_unpackhi_epi64(a, c);
      rows[g][2] = _mm256_unpacklo_epi64(b, d);
      rows[g][3] = _mm256_unpackhi_epi64(b, d);
    }
    QUASI_UNROLL
    for (unsigned j = 0; j < 4; ++j) {
      blocks.half[j][0] = _mm256_permute2x128_si256(rows[0][j], rows[1][j], 0x20);
      blocks.half[j][1] = _mm256_permute2x128_si256(rows[2][j], rows[3][j], 0x20);
      blocks.half[4 + j][0] = _mm256_permute2x128_si256(rows[0][j], rows[1][j], 0x31);
      blocks.half[4 + j][1] = _mm256_permute2x128_si256(rows[2][j], rows[3][j], 0x31);
    }
  }
};

#if defined(QUASI_X86_AVX512)
/// Sixteen blocks in AVX-512 registers.
struct Lanes512 {
  using V = __m512i;
  static constexpr std::size_t kLanes = 16;

  static QUASI_INLINE V splat(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static QUASI_INLINE V load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  static QUASI_INLINE void store(std::uint32_t* p, V v) { _mm512_storeu_si512(p, v); }
  static QUASI_INLINE V count() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  static QUASI_INLINE V add(V a, V b) { return _mm512_add_epi32(a, b); }
  static QUASI_INLINE V exclusive_or(V a, V b) { return _mm512_xor_si512(a, b); }
  template <int kBits>
  static QUASI_INLINE V rotate(V v) {
    return _mm512_rol_epi32(v, kBits);
  }

  struct Blocks {
    V block[kLanes];

    QUASI_INLINE void exclusive_or_to(unsigned b, std::uint8_t* out, const std::uint8_t* in) const {
      _mm512_storeu_si512(out, _mm512_xor_si512(_mm512_loadu_si512(in), block[b]));
    }
  };
  static QUASI_INLINE void to_blocks(const V (&x)[16], Blocks& blocks) {
    V rows[4][4];
    QUASI_UNROLL
    for (unsigned g = 0; g < 4; ++g) {
      const V a = _mm512_unpacklo_epi32(x[4 * g], x[4 * g + 1]);
      const V b = _mm512_unpackhi_epi32(x[4 * g], x[4 * g + 1]);
      const V c = _mm512_unpacklo_epi32(x[4 * g + 2], x[4 * g + 3]);
      const V d = _mm512_unpackhi_epi32(x[4 * g + 2], x[4 * g + 3]);
      rows[g][0] = _mm512_unpacklo_epi64(a, c);
      rows[g][1] = _mm512_unpackhi_epi64(a, c);
      rows[g][2] = _mm512_unpacklo_epi64(b, d);
      rows[g][3] = _mm512_unpackhi_epi64(b, d);
    }
    // Then 4 x 4 among quarters: quarter q of rows[g][j] is words 4 g .. of block 4 q + j.
    QUASI_UNROLL
    for (unsigned j = 0; j < 4; ++j) {
      const V a = _mm512_shuffle_i32x4(rows[0][j], rows[1][j], 0x88);
      const V b = _mm512_shuffle_i32x4(rows[2][j], rows[3][j], 0x88);
      const V c = _mm512_shuffle_i32x4(rows[0][j], rows[1][j], 0xdd);
      const V d = _mm512_shuffle_i32x4(rows[2][j], rows[3][j], 0xdd);
      blocks.block[j] = _mm512_shuffle_i32x4(a, b, 0x88);
      blocks.block[4 + j] = _mm512_shuffle_i32x4(c, d, 0x88);
      blocks.block[8 + j] = _mm512_shuffle_i32x4(a, b, 0xdd);
      blocks.block[12 + j] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
  }
};
#endif

}  // namespace
}  // namespace quasi::aead::x86
