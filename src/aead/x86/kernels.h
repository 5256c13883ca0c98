// Kernels for x86-64, chosen at run time. Left out of Native-Port builds, which
// show what the 128-bit Wasm kernels do.
#pragma once

#include "aead/kernel.h"

#if defined(__x86_64__) && !defined(QUASI_NATIVE_PORT) && !defined(QUASI_KERNELS_SCALAR_ONLY) && \
    !defined(__wasm__)
#define QUASI_HAS_X86_KERNELS 1

namespace quasi::aead::x86 {

// AES-NI and PCLMULQDQ, one block a vector.
extern const Kernel kAesniAes128Gcm;
extern const Kernel kAesniAes256Gcm;
extern const HeaderKernel kAesniAes128Header;
extern const HeaderKernel kAesniAes256Header;
// VAES and VPCLMULQDQ with AVX2, two blocks a vector.
extern const Kernel kVaes256Aes128Gcm;
extern const Kernel kVaes256Aes256Gcm;
// The same with AVX-512, four blocks a vector.
extern const Kernel kVaes512Aes128Gcm;
extern const Kernel kVaes512Aes256Gcm;
// Eight lanes of ChaCha20, and sixteen.
extern const Kernel kAvx2ChaCha20Poly1305;
extern const HeaderKernel kAvx2ChaCha20Header;
extern const Kernel kAvx512ChaCha20Poly1305;
extern const HeaderKernel kAvx512ChaCha20Header;

bool supports_aesni();
bool supports_vaes256();
bool supports_vaes512();
bool supports_avx2();
bool supports_avx512();

}  // namespace quasi::aead::x86

#endif
