// AES-GCM and AES header masks by vector permutation, on relaxed swizzles.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include "aead/simd/aes_permute.h"
#include "aead/simd/gcm.h"
#include "aead/simd/kernels.h"
#include "aead/simd/mask_groups.h"

#ifdef QUASI_HAS_RELAXED_KERNELS

namespace quasi::aead::simd {
namespace {

using Permute = permute::Engine<RelaxedSwizzle>;

struct Engine {
  template <unsigned kRounds>
  using CounterKey = AesPermuteCounterKey<kRounds>;
  template <unsigned kRounds>
  using BlockKey = AesPermuteKey<kRounds>;

  template <class Key, unsigned kRounds>
  static void expand(Key& key, const AesRoundKeys<kRounds>& round_keys) {
    Permute::expand(key, round_keys);
  }

  template <unsigned kRounds>
  static V encrypt_one(const CounterKey<kRounds>& key, V block) {
    V x[1] = {block};
    Permute::encrypt<kRounds, 1>(key.aes, x);
    return x[0];
  }

  using Base = Permute::Base;

  template <unsigned kRounds>
  static QUASI_INLINE void begin(const CounterKey<kRounds>& key, V nonce, Base& base) {
    Permute::begin(key, nonce, base);
  }

  template <unsigned kRounds>
  static QUASI_INLINE void counter_mode(const CounterKey<kRounds>& key, Base& base,
                                        std::uint32_t counter, const std::uint8_t* in,
                                        std::uint8_t* out, std::size_t groups) {
    Permute::counter_mode(key, base, counter, in, out, groups);
  }

  template <unsigned kRounds>
  static void mask(const BlockKey<kRounds>& key, std::span<MaskJob> jobs) {
    mask_groups(jobs, [&key]<unsigned kBlocks>(V(&x)[kBlocks]) {
      Permute::encrypt<kRounds, kBlocks>(key, x);
    });
  }
};

// 32 powers: a packet of 1,350 bytes is 88 blocks, three reductions. 16 KiB a key.
constexpr unsigned kPowers = 32;

}  // namespace

constexpr Kernel kRelaxedAes128Gcm =
    make_kernel<Gcm<Engine, RelaxedSwizzle, kAes128Rounds, kPowers>>(
        "relaxed", Algorithm::aes_128_gcm, supported);
constexpr Kernel kRelaxedAes256Gcm =
    make_kernel<Gcm<Engine, RelaxedSwizzle, kAes256Rounds, kPowers>>(
        "relaxed", Algorithm::aes_256_gcm, supported);
constexpr HeaderKernel kRelaxedAes128Header = make_header_kernel<AesHeader<Engine, kAes128Rounds>>(
    "relaxed", Algorithm::aes_128_gcm, supported);
constexpr HeaderKernel kRelaxedAes256Header = make_header_kernel<AesHeader<Engine, kAes256Rounds>>(
    "relaxed", Algorithm::aes_256_gcm, supported);

}  // namespace quasi::aead::simd

#endif

#endif  // QUASI_KERNELS_SCALAR_ONLY
