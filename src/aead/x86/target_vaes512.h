// Everything below this include is compiled for: avx2, bmi2, aes, pclmul, vaes, vpclmulqdq,
// avx512f, avx512vl, avx512bw, avx512dq. The shared headers come first and stay at the baseline:
// were an inline function of theirs compiled for AVX, the linker might keep that copy for the whole
// program.
#include "aead/x86/shared.h"

#define QUASI_X86_VAES512 1
#if defined(__clang__)
#pragma clang attribute push(                                                                \
    __attribute__((                                                                          \
        target("avx2,bmi2,aes,pclmul,vaes,vpclmulqdq,avx512f,avx512vl,avx512bw,avx512dq"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,bmi2,aes,pclmul,vaes,vpclmulqdq,avx512f,avx512vl,avx512bw,avx512dq")
#endif
