// AES-GCM and AES header masks, bit-sliced, in portable Wasm SIMD.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include "aead/simd/aes_sliced.h"
#include "aead/simd/gcm.h"
#include "aead/simd/kernels.h"

namespace quasi::aead::simd {
namespace {

struct Engine {
  template <unsigned kRounds>
  using CounterKey = AesSlicedCounterKey<kRounds>;

  template <unsigned kRounds>
  static void expand(CounterKey<kRounds>& key, const AesRoundKeys<kRounds>& round_keys) {
    sliced::expand(key, round_keys);
  }

  template <unsigned kRounds>
  static V encrypt_one(const CounterKey<kRounds>& key, V block) {
    V x[8] = {block, block, block, block, block, block, block, block};
    sliced::encrypt(key.aes, x);
    return x[0];
  }

  using Base = sliced::Base;

  template <unsigned kRounds>
  static QUASI_INLINE void begin(const CounterKey<kRounds>& key, V nonce, Base& base) {
    base.nonce = nonce;
    sliced::rebase(key, base, 0);
  }

  template <unsigned kRounds>
  static QUASI_INLINE void counter_mode(const CounterKey<kRounds>& key, Base& base,
                                        std::uint32_t counter, const std::uint8_t* in,
                                        std::uint8_t* out, std::size_t groups) {
    sliced::counter_mode(key, base, counter, in, out, groups);
  }
};

// Planes of the round keys, one after another, would make a header key of 1,920 bytes.
template <unsigned kRounds>
struct Header {
  using State = AesSlicedKey<kRounds>;

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    sliced::expand(state, round_keys);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    while (!jobs.empty()) {
      const std::size_t count = std::min<std::size_t>(jobs.size(), 8);
      V x[8];
      for (std::size_t i = 0; i < 8; ++i) x[i] = load(jobs[std::min(i, count - 1)].sample);
      sliced::encrypt(state, x);
      for (std::size_t i = 0; i < count; ++i) store(jobs[i].mask.data(), x[i]);
      jobs = jobs.subspan(count);
    }
  }
};

// 24 powers, so that the key fits AeadKey beside 4 KiB of counter differences.
constexpr unsigned kPowers = 24;

}  // namespace

constexpr Kernel kAes128Gcm = make_kernel<Gcm<Engine, StrictSwizzle, kAes128Rounds, kPowers>>(
    "simd128", Algorithm::aes_128_gcm, supported);
constexpr Kernel kAes256Gcm = make_kernel<Gcm<Engine, StrictSwizzle, kAes256Rounds, kPowers>>(
    "simd128", Algorithm::aes_256_gcm, supported);
constexpr HeaderKernel kAes128Header =
    make_header_kernel<Header<kAes128Rounds>>("simd128", Algorithm::aes_128_gcm, supported);
constexpr HeaderKernel kAes256Header =
    make_header_kernel<Header<kAes256Rounds>>("simd128", Algorithm::aes_256_gcm, supported);

}  // namespace quasi::aead::simd

#endif  // QUASI_KERNELS_SCALAR_ONLY
