// Vectors of one, two and four AES blocks behind one set of names, for gcm.h. Each
// width is there when the file that includes this is compiled for it.
#pragma once

#include "aead/x86/shared.h"

namespace quasi::aead::x86 {
namespace {  // a copy for each file: every file has its own instruction set

/// One block of 1 to 16 bytes, padded with zeros.
QUASI_INLINE __m128i load_short(const std::uint8_t* p, std::size_t size) {
  if (size == 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  alignas(16) std::uint8_t bytes[16] = {};
  std::memcpy(bytes, p, size);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Counters are kept as little-endian words in lane 3 of each block, the nonce below them.
QUASI_INLINE __m128i counter_start128(const std::uint8_t* nonce) {
  std::uint32_t words[4];
  std::memcpy(words, nonce, 12);
  words[3] = 1;
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
}

struct Width128 {
  using V = __m128i;
  static QUASI_INLINE V zero() { return _mm_setzero_si128(); }
  static QUASI_INLINE V xor2(V a, V b) { return _mm_xor_si128(a, b); }
  static QUASI_INLINE V xor3(V a, V b, V c) { return _mm_xor_si128(a, _mm_xor_si128(b, c)); }
  template <int kHalves>
  static QUASI_INLINE V clmul(V a, V b) {
    return _mm_clmulepi64_si128(a, b, kHalves);
  }
  static QUASI_INLINE V aesenc(V x, V k) { return _mm_aesenc_si128(x, k); }
  static QUASI_INLINE V aesenclast(V x, V k) { return _mm_aesenclast_si128(x, k); }
  static QUASI_INLINE V load(const std::uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static QUASI_INLINE void store(std::uint8_t* p, V v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static QUASI_INLINE V broadcast(const std::uint8_t* p) { return load(p); }
  static QUASI_INLINE V add32(V a, V b) { return _mm_add_epi32(a, b); }
  static QUASI_INLINE V counter_start(const std::uint8_t* nonce) { return counter_start128(nonce); }
  static QUASI_INLINE V counter_step() { return _mm_set_epi32(1, 0, 0, 0); }
  static QUASI_INLINE V counter_blocks(V v) {
    return _mm_shuffle_epi8(v, _mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  }
  static QUASI_INLINE V reverse_blocks(V v) {
    return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  }
  static QUASI_INLINE __m128i fold(V v) { return v; }
  static QUASI_INLINE __m128i lane_0(V v) { return v; }
  static QUASI_INLINE V in_lane_0(__m128i v) { return v; }
  static QUASI_INLINE __m128i load_block(const std::uint8_t* p, std::size_t size) {
    return load_short(p, size);
  }
  static QUASI_INLINE V load_part(const std::uint8_t* p, std::size_t size) {
    return load_short(p, size);
  }
  static QUASI_INLINE void store_part(std::uint8_t* p, V v, std::size_t size) {
    alignas(16) std::uint8_t bytes[16];
    store(bytes, v);
    std::memcpy(p, bytes, size);
  }
  static QUASI_INLINE V keep_part(V v, std::size_t size) {
    alignas(16) std::uint8_t bytes[16];
    store(bytes, v);
    return load_short(bytes, size);
  }
  // There is nothing after lane 0.
  static QUASI_INLINE V load_after_lane_0(const std::uint8_t*, std::size_t) { return zero(); }
  static QUASI_INLINE void store_after_lane_0(std::uint8_t*, V, std::size_t) {}
  static QUASI_INLINE V keep_after_lane_0(V, std::size_t) { return zero(); }
};

#if defined(QUASI_X86_VAES256)
struct Width256 {
  using V = __m256i;
  static QUASI_INLINE V zero() { return _mm256_setzero_si256(); }
  static QUASI_INLINE V xor2(V a, V b) { return _mm256_xor_si256(a, b); }
  static QUASI_INLINE V xor3(V a, V b, V c) { return _mm256_xor_si256(a, _mm256_xor_si256(b, c)); }
  template <int kHalves>
  static QUASI_INLINE V clmul(V a, V b) {
    return _mm256_clmulepi64_epi128(a, b, kHalves);
  }
  static QUASI_INLINE V aesenc(V x, V k) { return _mm256_aesenc_epi128(x, k); }
  static QUASI_INLINE V aesenclast(V x, V k) { return _mm256_aesenclast_epi128(x, k); }
  static QUASI_INLINE V load(const std::uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static QUASI_INLINE void store(std::uint8_t* p, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static QUASI_INLINE V broadcast(const std::uint8_t* p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static QUASI_INLINE V add32(V a, V b) { return _mm256_add_epi32(a, b); }
  static QUASI_INLINE V counter_start(const std::uint8_t* nonce) {
    return _mm256_add_epi32(_mm256_broadcastsi128_si256(counter_start128(nonce)),
                            _mm256_set_epi32(1, 0, 0, 0, 0, 0, 0, 0));
  }
  static QUASI_INLINE V counter_step() { return _mm256_set_epi32(2, 0, 0, 0, 2, 0, 0, 0); }
  static QUASI_INLINE V counter_blocks(V v) {
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_set_epi8(
                                      12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
  }
  static QUASI_INLINE V reverse_blocks(V v) {
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_set_epi8(
                                      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
  }
  static QUASI_INLINE __m128i fold(V v) {
    return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  }
  static QUASI_INLINE __m128i lane_0(V v) { return _mm256_castsi256_si128(v); }
  static QUASI_INLINE V in_lane_0(__m128i v) { return _mm256_zextsi128_si256(v); }
  static QUASI_INLINE __m128i load_block(const std::uint8_t* p, std::size_t size) {
    return load_short(p, size);
  }
  static QUASI_INLINE V load_part(const std::uint8_t* p, std::size_t size) {
    alignas(32) std::uint8_t bytes[32] = {};
    std::memcpy(bytes, p, size);
    return load(bytes);
  }
  static QUASI_INLINE void store_part(std::uint8_t* p, V v, std::size_t size) {
    alignas(32) std::uint8_t bytes[32];
    store(bytes, v);
    std::memcpy(p, bytes, size);
  }
  static QUASI_INLINE V keep_part(V v, std::size_t size) {
    alignas(32) std::uint8_t bytes[32];
    store(bytes, v);
    return load_part(bytes, size);
  }
  static QUASI_INLINE V load_after_lane_0(const std::uint8_t* p, std::size_t size) {
    if (size == 0) return zero();
    return _mm256_inserti128_si256(zero(), load_short(p, size), 1);
  }
  static QUASI_INLINE void store_after_lane_0(std::uint8_t* p, V v, std::size_t size) {
    alignas(16) std::uint8_t bytes[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), _mm256_extracti128_si256(v, 1));
    if (size != 0) std::memcpy(p, bytes, size);
  }
  static QUASI_INLINE V keep_after_lane_0(V v, std::size_t size) {
    alignas(16) std::uint8_t bytes[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), _mm256_extracti128_si256(v, 1));
    return load_after_lane_0(bytes, size);
  }
};
#endif

#if defined(QUASI_X86_VAES512)
struct Width512 {
  using V = __m512i;
  static QUASI_INLINE V zero() { return _mm512_setzero_si512(); }
  static QUASI_INLINE V xor2(V a, V b) { return _mm512_xor_si512(a, b); }
  static QUASI_INLINE V xor3(V a, V b, V c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
  template <int kHalves>
  static QUASI_INLINE V clmul(V a, V b) {
    return _mm512_clmulepi64_epi128(a, b, kHalves);
  }
  static QUASI_INLINE V aesenc(V x, V k) { return _mm512_aesenc_epi128(x, k); }
  static QUASI_INLINE V aesenclast(V x, V k) { return _mm512_aesenclast_epi128(x, k); }
  static QUASI_INLINE V load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static QUASI_INLINE void store(std::uint8_t* p, V v) { _mm512_storeu_si512(p, v); }
  static QUASI_INLINE V broadcast(const std::uint8_t* p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static QUASI_INLINE V add32(V a, V b) { return _mm512_add_epi32(a, b); }
  static QUASI_INLINE V counter_start(const std::uint8_t* nonce) {
    return _mm512_add_epi32(_mm512_broadcast_i32x4(counter_start128(nonce)),
                            _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
  }
  static QUASI_INLINE V counter_step() { return _mm512_broadcast_i32x4(_mm_set_epi32(4, 0, 0, 0)); }
  static QUASI_INLINE V counter_blocks(V v) {
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8,
                                                                      7, 6, 5, 4, 3, 2, 1, 0)));
  }
  static QUASI_INLINE V reverse_blocks(V v) {
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                                      10, 11, 12, 13, 14, 15)));
  }
  static QUASI_INLINE __m128i fold(V v) {
    const __m256i half =
        _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  }
  static QUASI_INLINE __m128i lane_0(V v) { return _mm512_castsi512_si128(v); }
  static QUASI_INLINE V in_lane_0(__m128i v) { return _mm512_zextsi128_si512(v); }
  /// Bits 0 .. size - 1. Masked loads and stores touch no other byte.
  static QUASI_INLINE __mmask64 first_bytes(std::size_t size) {
    return size >= 64 ? ~__mmask64{0} : (__mmask64{1} << size) - 1;
  }
  static QUASI_INLINE __m128i load_block(const std::uint8_t* p, std::size_t size) {
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>(first_bytes(size)), p);
  }
  static QUASI_INLINE V load_part(const std::uint8_t* p, std::size_t size) {
    return _mm512_maskz_loadu_epi8(first_bytes(size), p);
  }
  static QUASI_INLINE void store_part(std::uint8_t* p, V v, std::size_t size) {
    _mm512_mask_storeu_epi8(p, first_bytes(size), v);
  }
  static QUASI_INLINE V keep_part(V v, std::size_t size) {
    return _mm512_maskz_mov_epi8(first_bytes(size), v);
  }
  static QUASI_INLINE __m512i_u* before(const std::uint8_t* p) {
    // Sixteen bytes before the buffer, as a number: no such object need exist.
    return reinterpret_cast<__m512i_u*>(reinterpret_cast<std::uintptr_t>(p) - 16);
  }
  static QUASI_INLINE V load_after_lane_0(const std::uint8_t* p, std::size_t size) {
    return _mm512_maskz_loadu_epi8(first_bytes(size) << 16, before(p));
  }
  static QUASI_INLINE void store_after_lane_0(std::uint8_t* p, V v, std::size_t size) {
    _mm512_mask_storeu_epi8(before(p), first_bytes(size) << 16, v);
  }
  static QUASI_INLINE V keep_after_lane_0(V v, std::size_t size) {
    return _mm512_maskz_mov_epi8(first_bytes(size) << 16, v);
  }
};
#endif

}  // namespace
}  // namespace quasi::aead::x86
