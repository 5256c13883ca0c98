// AES-GCM with VAES and VPCLMULQDQ on 256-bit vectors.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

#include "aead/x86/target_vaes256.h"
// After the target: its order matters.

#include "aead/x86/gcm.h"
#include "aead/x86/widths.h"

namespace quasi::aead::x86 {

constexpr Kernel kVaes256Aes128Gcm = make_kernel<Gcm<Width256, kAes128Rounds, 8>>(
    "vaes256", Algorithm::aes_128_gcm, supports_vaes256);
constexpr Kernel kVaes256Aes256Gcm = make_kernel<Gcm<Width256, kAes256Rounds, 8>>(
    "vaes256", Algorithm::aes_256_gcm, supports_vaes256);

}  // namespace quasi::aead::x86

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
