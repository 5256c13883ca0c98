// ChaCha20-Poly1305 and ChaCha20 header masks on AVX-512: sixteen lanes, and eight
// for what is left of a packet.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

#include "aead/x86/target_avx512.h"
// After the target: its order matters.

#include "aead/x86/chacha20_poly1305.h"

namespace quasi::aead::x86 {

constexpr Kernel kAvx512ChaCha20Poly1305 = make_kernel<ChaCha20Poly1305<Lanes512, Lanes256, 2, 2>>(
    "avx512", Algorithm::chacha20_poly1305, supports_avx512);
constexpr HeaderKernel kAvx512ChaCha20Header = make_header_kernel<ChaCha20Header<Lanes512>>(
    "avx512", Algorithm::chacha20_poly1305, supports_avx512);

}  // namespace quasi::aead::x86

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
