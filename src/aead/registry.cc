// Which kernels are in this program, and which of them this machine can run.
#include <array>
#include <cstddef>

#include "aead/kernel.h"
#include "aead/scalar/kernels.h"

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

// Fastest first.
template <class K>
List<K> make_list(std::initializer_list<const K*> candidates) {
  List<K> list;
  for (const K* kernel : candidates) list.add(*kernel);
  return list;
}

}  // namespace

std::span<const Kernel* const> kernels(Algorithm algorithm) {
  static const auto aes_128 = make_list<Kernel>({&scalar::kAes128Gcm});
  static const auto aes_256 = make_list<Kernel>({&scalar::kAes256Gcm});
  static const auto chacha = make_list<Kernel>({&scalar::kChaCha20Poly1305});
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
  static const auto aes_128 = make_list<HeaderKernel>({&scalar::kAes128Header});
  static const auto aes_256 = make_list<HeaderKernel>({&scalar::kAes256Header});
  static const auto chacha = make_list<HeaderKernel>({&scalar::kChaCha20Header});
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
