// Whether this machine runs the 128-bit kernels.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include "aead/simd/kernels.h"

namespace quasi::aead::simd {

bool supported() {
#if defined(__x86_64__) && !defined(__wasm__)
  return __builtin_cpu_supports("ssse3") != 0 && __builtin_cpu_supports("sse4.1") != 0;
#else
  return true;
#endif
}

}  // namespace quasi::aead::simd

#endif  // QUASI_KERNELS_SCALAR_ONLY
