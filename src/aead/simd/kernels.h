// The 128-bit kernels. "simd128" needs portable Wasm SIMD only; "relaxed" also
// relaxed swizzles and, for ChaCha20-Poly1305, 64 x 64 -> 128 multiplications.
// Native builds have both, through SIMDe.
#pragma once

#include "aead/kernel.h"

namespace quasi::aead::simd {

extern const Kernel kAes128Gcm;
extern const Kernel kAes256Gcm;
extern const Kernel kChaCha20Poly1305;
extern const HeaderKernel kAes128Header;
extern const HeaderKernel kAes256Header;
extern const HeaderKernel kChaCha20Header;

#if !defined(QUASI_WASM) || defined(QUASI_RELAXED_SIMD)
#define QUASI_HAS_RELAXED_KERNELS 1
extern const Kernel kRelaxedAes128Gcm;
extern const Kernel kRelaxedAes256Gcm;
extern const Kernel kRelaxedChaCha20Poly1305;
extern const HeaderKernel kRelaxedAes128Header;
extern const HeaderKernel kRelaxedAes256Header;
#endif

/// Natively the byte shuffle is SSSE3's; every Wasm engine that loads the module has it.
bool supported();

}  // namespace quasi::aead::simd
