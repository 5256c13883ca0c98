// AES-GCM with AES-NI and PCLMULQDQ; AES header masks eight at a time.
#include "aead/x86/kernels.h"

#ifdef QUASI_HAS_X86_KERNELS

#include "aead/x86/target_aesni.h"
// After the target: its order matters.

#include "aead/x86/gcm.h"
#include "aead/x86/widths.h"

namespace quasi::aead::x86 {
namespace {

template <unsigned kRounds>
struct Header {
  struct State {
    alignas(16) std::uint8_t round_keys[kRounds + 1][16];
  };

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    std::memcpy(state.round_keys, round_keys.bytes, sizeof state.round_keys);
  }

  template <unsigned kCount>
  static QUASI_INLINE void group(const State& state, MaskJob* jobs, std::size_t count) {
    __m128i x[kCount];
    __m128i k = load128(state.round_keys[0]);
    for (unsigned i = 0; i < kCount; ++i)
      x[i] = _mm_xor_si128(load128(jobs[std::min<std::size_t>(i, count - 1)].sample), k);
    for (unsigned r = 1; r < kRounds; ++r) {
      k = load128(state.round_keys[r]);
      for (unsigned i = 0; i < kCount; ++i) x[i] = _mm_aesenc_si128(x[i], k);
    }
    k = load128(state.round_keys[kRounds]);
    for (unsigned i = 0; i < kCount; ++i)
      if (i < count) store128(jobs[i].mask.data(), _mm_aesenclast_si128(x[i], k));
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    MaskJob* job = jobs.data();
    std::size_t left = jobs.size();
    while (left > 1) {
      const std::size_t count = std::min<std::size_t>(left, 8);
      group<8>(state, job, count);
      job += count;
      left -= count;
    }
    if (left == 1) group<1>(state, job, 1);
  }
};

}  // namespace

constexpr Kernel kAesniAes128Gcm =
    make_kernel<Gcm<Width128, kAes128Rounds, 8>>("aesni", Algorithm::aes_128_gcm, supports_aesni);
constexpr Kernel kAesniAes256Gcm =
    make_kernel<Gcm<Width128, kAes256Rounds, 8>>("aesni", Algorithm::aes_256_gcm, supports_aesni);
constexpr HeaderKernel kAesniAes128Header =
    make_header_kernel<Header<kAes128Rounds>>("aesni", Algorithm::aes_128_gcm, supports_aesni);
constexpr HeaderKernel kAesniAes256Header =
    make_header_kernel<Header<kAes256Rounds>>("aesni", Algorithm::aes_256_gcm, supports_aesni);

}  // namespace quasi::aead::x86

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
