// AES-GCM with VAES and VPCLMULQDQ on 512-bit vectors.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

#include "aead/x86/target_vaes512.h"
// After the target: its order matters.

#include "aead/x86/gcm.h"
#include "aead/x86/widths.h"

namespace quasi::aead::x86 {

constexpr Kernel kVaes512Aes128Gcm = make_kernel<Gcm<Width512, kAes128Rounds, 8>>(
    "vaes512", Algorithm::aes_128_gcm, supports_vaes512);
constexpr Kernel kVaes512Aes256Gcm = make_kernel<Gcm<Width512, kAes256Rounds, 8>>(
    "vaes512", Algorithm::aes_256_gcm, supports_vaes512);

}  // namespace quasi::aead::x86

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
