// 128-bit vectors for the kernels that are written once: wasm_simd128.h in Wasm,
// the same intrinsics through SIMDe in native builds. Only what the kernels need,
// under names that say the lane width. XOR, AND and OR are the operators ^ & |.
#pragma once

#include <cstdint>
#include <cstring>

#include "aead/attributes.h"

#if defined(__wasm__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

namespace quasi::aead::simd {

using V = v128_t;

QUASI_INLINE V load(const void* p) { return wasm_v128_load(p); }
QUASI_INLINE void store(void* p, V v) { wasm_v128_store(p, v); }
QUASI_INLINE V zero() { return wasm_i32x4_splat(0); }

QUASI_INLINE V splat8(std::uint8_t x) { return wasm_i8x16_splat(static_cast<std::int8_t>(x)); }
QUASI_INLINE V splat32(std::uint32_t x) { return wasm_i32x4_splat(static_cast<std::int32_t>(x)); }
QUASI_INLINE V make32(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  const std::uint32_t lanes[4] = {a, b, c, d};
  return load(lanes);
}

QUASI_INLINE V add32(V a, V b) { return wasm_i32x4_add(a, b); }
QUASI_INLINE V sub32(V a, V b) { return wasm_i32x4_sub(a, b); }
QUASI_INLINE V shl32(V a, unsigned n) { return wasm_i32x4_shl(a, n); }
QUASI_INLINE V shr32(V a, unsigned n) { return wasm_u32x4_shr(a, n); }
QUASI_INLINE V sar32(V a, unsigned n) { return wasm_i32x4_shr(a, n); }
QUASI_INLINE V shl64(V a, unsigned n) { return wasm_i64x2_shl(a, n); }
QUASI_INLINE V shr64(V a, unsigned n) { return wasm_u64x2_shr(a, n); }
QUASI_INLINE V shr8(V a, unsigned n) { return wasm_u8x16_shr(a, n); }
QUASI_INLINE V equal8(V a, V b) { return wasm_i8x16_eq(a, b); }
QUASI_INLINE V negate8(V a) { return wasm_i8x16_neg(a); }
/// Sums of products of pairs of signed 16-bit lanes.
QUASI_INLINE V dot16(V a, V b) { return wasm_i32x4_dot_i16x8(a, b); }
template <int kLane>
QUASI_INLINE V replace32(V a, std::uint32_t x) {
  return wasm_i32x4_replace_lane(a, kLane, static_cast<std::int32_t>(x));
}
template <int kLane>
QUASI_INLINE std::uint32_t lane32(V a) {
  return static_cast<std::uint32_t>(wasm_i32x4_extract_lane(a, kLane));
}
template <int kLane>
QUASI_INLINE std::uint64_t lane64(V a) {
  return static_cast<std::uint64_t>(wasm_i64x2_extract_lane(a, kLane));
}

// Shuffles by constant lanes: 0.. of a, and then those of b. In Wasm through the intrinsic:
// LLVM's generic shuffle would forget that a and b are one vector, and Wasmtime then emits a
// two-input permutation instead of PSHUFB.
#if defined(__wasm__)
template <int k0, int k1, int k2, int k3, int k4, int k5, int k6, int k7, int k8, int k9, int k10,
          int k11, int k12, int k13, int k14, int k15>
QUASI_INLINE V shuffle8(V a, V b) {
  return wasm_i8x16_shuffle(a, b, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14,
                            k15);
}
template <int k0, int k1, int k2, int k3>
QUASI_INLINE V shuffle32(V a, V b) {
  return wasm_i32x4_shuffle(a, b, k0, k1, k2, k3);
}
template <int k0, int k1>
QUASI_INLINE V shuffle64(V a, V b) {
  return wasm_i64x2_shuffle(a, b, k0, k1);
}
#else
namespace lanes {
using U8 = std::uint8_t __attribute__((vector_size(16)));
using U32 = std::uint32_t __attribute__((vector_size(16)));
using U64 = std::uint64_t __attribute__((vector_size(16)));
}  // namespace lanes
template <int... kLanes>
QUASI_INLINE V shuffle8(V a, V b) {
  static_assert(sizeof...(kLanes) == 16);
  return (V)__builtin_shufflevector((lanes::U8)a, (lanes::U8)b, kLanes...);
}
template <int... kLanes>
QUASI_INLINE V shuffle32(V a, V b) {
  static_assert(sizeof...(kLanes) == 4);
  return (V)__builtin_shufflevector((lanes::U32)a, (lanes::U32)b, kLanes...);
}
template <int... kLanes>
QUASI_INLINE V shuffle64(V a, V b) {
  static_assert(sizeof...(kLanes) == 2);
  return (V)__builtin_shufflevector((lanes::U64)a, (lanes::U64)b, kLanes...);
}
#endif

/// Bytes of `table` by the indices in `index`. Indices are 0..15; or have bit 7 set, which gives
/// 0 in every engine.
struct StrictSwizzle {
  static QUASI_INLINE V of(V table, V index) {
#if defined(__aarch64__)  // one instruction, where SIMDe 0.7 takes two halves
    return vreinterpretq_s32_u8(
        vqtbl1q_u8(vreinterpretq_u8_s32(table), vreinterpretq_u8_s32(index)));
#else
    return wasm_i8x16_swizzle(table, index);
#endif
  }
};
/// The same in one instruction: engines differ only for indices 16..127, which never occur.
struct RelaxedSwizzle {
  static QUASI_INLINE V of(V table, V index) {
#if defined(__wasm_relaxed_simd__)
    return wasm_i8x16_relaxed_swizzle(table, index);
#elif defined(__SSSE3__)
    return _mm_shuffle_epi8(table, index);
#else
    return StrictSwizzle::of(table, index);
#endif
  }
};

/// Transposes the 4 x 4 matrix of 32-bit lanes with rows a, b, c, d.
QUASI_INLINE void transpose32(V& a, V& b, V& c, V& d) {
  const V t0 = shuffle32<0, 4, 1, 5>(a, b), t1 = shuffle32<2, 6, 3, 7>(a, b);
  const V t2 = shuffle32<0, 4, 1, 5>(c, d), t3 = shuffle32<2, 6, 3, 7>(c, d);
  a = shuffle64<0, 2>(t0, t2);
  b = shuffle64<1, 3>(t0, t2);
  c = shuffle64<0, 2>(t1, t3);
  d = shuffle64<1, 3>(t1, t3);
}

/// Overwrites a buffer of whole vectors; in Wasm without the call that memory.fill is.
template <std::size_t kSize>
QUASI_INLINE void wipe(std::uint8_t (&bytes)[kSize]) {
  static_assert(kSize % 16 == 0);
  QUASI_UNROLL
  for (std::size_t i = 0; i < kSize; i += 16) store(bytes + i, zero());
  asm volatile("" : : "r"(bytes) : "memory");  // NOLINT(hicpp-no-assembler): keeps the stores
}

/// Copies 0 to 15 bytes. Every access is inside the buffers.
QUASI_INLINE void copy_short(std::uint8_t* out, const std::uint8_t* in, std::size_t size) {
  QUASI_NO_UNROLL
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
}

/// out = in xor stream, for any size.
QUASI_INLINE void xor_bytes(std::uint8_t* out, const std::uint8_t* in, const std::uint8_t* stream,
                            std::size_t size) {
  std::size_t i = 0;
  QUASI_NO_UNROLL
  for (; i + 16 <= size; i += 16) store(out + i, load(in + i) ^ load(stream + i));
  QUASI_NO_UNROLL
  for (; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] ^ stream[i]);
}

}  // namespace quasi::aead::simd
