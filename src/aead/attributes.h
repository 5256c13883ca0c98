// Attributes and integer types that the kernels share.
#pragma once

#include <cstdint>

/// Inlined even at -O0 and across target attributes: kernels are built from such pieces.
#define QUASI_INLINE inline __attribute__((always_inline))
/// The same for a lambda: after its parameters.
#define QUASI_INLINE_LAMBDA __attribute__((always_inline))
#define QUASI_NOINLINE __attribute__((noinline))

/// Rolled loops are deliberate: see docs/kernels.md, "What Wasmtime's compiler does".
#if defined(__clang__)
#define QUASI_NO_UNROLL _Pragma("clang loop unroll(disable) vectorize(disable)")
#define QUASI_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QUASI_NO_UNROLL _Pragma("GCC unroll 1")
#define QUASI_UNROLL _Pragma("GCC unroll 32")
#endif

namespace quasi::aead {
__extension__ using uint128 = unsigned __int128;
}  // namespace quasi::aead
