// The portable kernels: no SIMD, the same code on every machine.
#pragma once

#include "aead/kernel.h"

namespace quasi::aead::scalar {

extern const Kernel kAes128Gcm;
extern const Kernel kAes256Gcm;
extern const Kernel kChaCha20Poly1305;
extern const HeaderKernel kAes128Header;
extern const HeaderKernel kAes256Header;
extern const HeaderKernel kChaCha20Header;

}  // namespace quasi::aead::scalar
