// Which kernels are in this program, and which of them this machine can run.
#include <array>
#include <cstddef>

#include "aead/kernel.h"
#include "aead/scalar/kernels.h"
#ifndef QUASI_KERNELS_SCALAR_ONLY
#include "aead/simd/kernels.h"
#endif
#if !defined(QUASI_WASM)
#include "aead/x86/kernels.h"
#endif

namespace quasi::aead {
namespace {

template <class K>
struct List {
  std::array<const K*, 8> kernels{};
  std::size_t size = 0;

  void add(const K& kernel) {
    if (kernel.supported()) kernels[size++] = &kernel;
  }
  [[nodiscard]] std::span<const K* const> view() const { return {kernels.data(), size}; }
};

// Rows of kernels that this build has.
#ifdef QUASI_HAS_RELAXED_KERNELS
#define QUASI_RELAXED(kernel) &simd::kRelaxed##kernel,
#else
#define QUASI_RELAXED(kernel)
#endif

#ifndef QUASI_KERNELS_SCALAR_ONLY
#define QUASI_SIMD(kernel) &simd::k##kernel,
#else
#define QUASI_SIMD(kernel)
#endif

#ifdef QUASI_HAS_X86_KERNELS
#define QUASI_X86(kernel) &x86::k##kernel,
#else
#define QUASI_X86(kernel)
#endif

// Fastest first.
template <class K>
List<K> make_list(std::initializer_list<const K*> candidates) {
  List<K> list;
  for (const K* kernel : candidates) list.add(*kernel);
  return list;
}

}  // namespace

std::span<const Kernel* const> kernels(Algorithm algorithm) {
  static const auto aes_128 = make_list<Kernel>(
      {QUASI_X86(Vaes512Aes128Gcm) QUASI_X86(Vaes256Aes128Gcm) QUASI_X86(AesniAes128Gcm)
           QUASI_RELAXED(Aes128Gcm) QUASI_SIMD(Aes128Gcm) &
       scalar::kAes128Gcm});
  static const auto aes_256 = make_list<Kernel>(
      {QUASI_X86(Vaes512Aes256Gcm) QUASI_X86(Vaes256Aes256Gcm) QUASI_X86(AesniAes256Gcm)
           QUASI_RELAXED(Aes256Gcm) QUASI_SIMD(Aes256Gcm) &
       scalar::kAes256Gcm});
  static const auto chacha =
      make_list<Kernel>({QUASI_X86(Avx512ChaCha20Poly1305) QUASI_X86(Avx2ChaCha20Poly1305)
                             QUASI_RELAXED(ChaCha20Poly1305) QUASI_SIMD(ChaCha20Poly1305) &
                         scalar::kChaCha20Poly1305});
  switch (algorithm) {
    case Algorithm::aes_128_gcm:
      return aes_128.view();
    case Algorithm::aes_256_gcm:
      return aes_256.view();
    case Algorithm::chacha20_poly1305:
      break;
  }
  return chacha.view();
}

std::span<const HeaderKernel* const> header_kernels(Algorithm algorithm) {
  static const auto aes_128 = make_list<HeaderKernel>(
      {QUASI_X86(AesniAes128Header) QUASI_RELAXED(Aes128Header) QUASI_SIMD(Aes128Header) &
       scalar::kAes128Header});
  static const auto aes_256 = make_list<HeaderKernel>(
      {QUASI_X86(AesniAes256Header) QUASI_RELAXED(Aes256Header) QUASI_SIMD(Aes256Header) &
       scalar::kAes256Header});
  static const auto chacha = make_list<HeaderKernel>(
      {QUASI_X86(Avx512ChaCha20Header) QUASI_X86(Avx2ChaCha20Header) QUASI_SIMD(ChaCha20Header) &
       scalar::kChaCha20Header});
  switch (algorithm) {
    case Algorithm::aes_128_gcm:
      return aes_128.view();
    case Algorithm::aes_256_gcm:
      return aes_256.view();
    case Algorithm::chacha20_poly1305:
      break;
  }
  return chacha.view();
}

}  // namespace quasi::aead
