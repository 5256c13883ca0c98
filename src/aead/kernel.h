// What an implementation of an algorithm gives: a row of functions over a state
// that it lays out itself. The lists of rows are in registry.cc. A state may be
// moved by memcpy: kernels keep no pointers in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aead/attributes.h"
#include "quasi/aead.h"

namespace quasi::aead {

/// Jobs that reach a kernel have been checked: buffers are equal or disjoint, sizes in range.
/// The kernel sets every verdict.
struct Kernel {
  const char* name;
  Algorithm algorithm;
  std::size_t state_size;
  bool (*supported)();
  void (*expand)(void* state, const std::uint8_t* key);
  void (*seal)(const void* state, std::span<Job> jobs);
  void (*open)(const void* state, std::span<Job> jobs);
};

struct HeaderKernel {
  const char* name;
  Algorithm algorithm;
  std::size_t state_size;
  bool (*supported)();
  void (*expand)(void* state, const std::uint8_t* key);
  void (*mask)(const void* state, std::span<MaskJob> jobs);
};

/// What is left of a message whose tag was wrong.
QUASI_INLINE void zero_output(const Job& job) {
  if (job.size != 0) secure_wipe(job.out, job.size);
}

/// `supported` of kernels that every machine runs.
inline bool always_supported() { return true; }

/// Builds a Kernel from a type with State, expand, seal and open.
template <class K>
constexpr Kernel make_kernel(const char* name, Algorithm algorithm,
                             bool (*supported)() = always_supported) {
  static_assert(sizeof(typename K::State) <= AeadKey::kStateSize);
  static_assert(alignof(typename K::State) <= 64);
  return Kernel{name,
                algorithm,
                sizeof(typename K::State),
                supported,
                [](void* state, const std::uint8_t* key) {
                  K::expand(*static_cast<typename K::State*>(state), key);
                },
                [](const void* state, std::span<Job> jobs) {
                  K::seal(*static_cast<const typename K::State*>(state), jobs);
                },
                [](const void* state, std::span<Job> jobs) {
                  K::open(*static_cast<const typename K::State*>(state), jobs);
                }};
}

template <class K>
constexpr HeaderKernel make_header_kernel(const char* name, Algorithm algorithm,
                                          bool (*supported)() = always_supported) {
  static_assert(sizeof(typename K::State) <= HeaderKey::kStateSize);
  static_assert(alignof(typename K::State) <= 64);
  return HeaderKernel{name,
                      algorithm,
                      sizeof(typename K::State),
                      supported,
                      [](void* state, const std::uint8_t* key) {
                        K::expand(*static_cast<typename K::State*>(state), key);
                      },
                      [](const void* state, std::span<MaskJob> jobs) {
                        K::mask(*static_cast<const typename K::State*>(state), jobs);
                      }};
}

}  // namespace quasi::aead
