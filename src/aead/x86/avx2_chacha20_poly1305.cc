// ChaCha20-Poly1305 and ChaCha20 header masks on AVX2.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

#include "aead/x86/target_avx2.h"
// After the target: its order matters.

#include "aead/x86/chacha20_poly1305.h"

namespace quasi::aead::x86 {

constexpr Kernel kAvx2ChaCha20Poly1305 = make_kernel<ChaCha20Poly1305<Lanes256, Lanes256, 2, 2>>(
    "avx2", Algorithm::chacha20_poly1305, supports_avx2);
constexpr HeaderKernel kAvx2ChaCha20Header = make_header_kernel<ChaCha20Header<Lanes256>>(
    "avx2", Algorithm::chacha20_poly1305, supports_avx2);

}  // namespace quasi::aead::x86

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
