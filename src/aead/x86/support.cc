// What this CPU (and its operating system) can run.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

namespace quasi::aead::x86 {

bool supports_aesni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}

bool supports_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

bool supports_avx512() {
  return supports_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0;
}

bool supports_vaes256() {
  return supports_aesni() && supports_avx2() && __builtin_cpu_supports("vaes") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}

bool supports_vaes512() { return supports_vaes256() && supports_avx512(); }

}  // namespace quasi::aead::x86

#endif
