// ChaCha20-Poly1305 (RFC 8439 §2.8) in portable Wasm SIMD: four blocks of ChaCha20
// a pass, and Poly1305 on 16-bit products, one after the other.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/simd/chacha20.h"
#include "aead/simd/kernels.h"
#include "aead/simd/poly1305_dot.h"

namespace quasi::aead::simd {
namespace {

/// Four blocks from `counter`: out = in xor keystream, 256 bytes.
QUASI_NOINLINE void pass(const ChaChaKey& key, const std::uint8_t* nonce, std::uint32_t counter,
                         const std::uint8_t* in, std::uint8_t* out) {
  const chacha::Start start = chacha::start_of(counter, nonce);
  V x[16];
  chacha::set_up(x, key, start);
  QUASI_NO_UNROLL
  for (unsigned i = 0; i < 10; ++i) chacha::double_round(x);
  chacha::finish_xor(x, key, start, in, out);
}

struct ChaCha20Poly1305 {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static QUASI_NOINLINE void authenticate(std::uint8_t (&tag)[16], const std::uint8_t* key,
                                          const Job& job, const std::uint8_t* ciphertext) {
    Poly1305Dot poly(key, (job.aad_size + 15) / 16 + (job.size + 15) / 16 + 1);
    poly1305_padded(poly, job.aad, job.aad_size);
    poly1305_padded(poly, ciphertext, job.size);
    poly1305_lengths(poly, job.aad_size, job.size);
    poly.finish(tag);
  }

  /// kSeal: encrypts and writes the tag to `tag`; else hashes first.
  template <bool kSeal>
  static void run(const State& state, const Job& job, std::uint8_t (&tag)[16]) {
    alignas(16) static constexpr std::uint8_t kZeros[256] = {};
    alignas(16) std::uint8_t stream[256];
    std::uint8_t poly_key[32];
    const std::uint8_t* nonce = job.nonce.data();
    // Block 0 is the Poly1305 key, the message starts with block 1.
    pass(state, nonce, 0, kZeros, stream);
    std::memcpy(poly_key, stream, sizeof poly_key);
    if constexpr (!kSeal) authenticate(tag, poly_key, job, job.in);
    std::size_t done = std::min<std::size_t>(job.size, 192);
    xor_bytes(job.out, job.in, stream + 64, done);
    std::uint32_t counter = 4;
    for (; job.size - done >= 256; done += 256, counter += 4)
      pass(state, nonce, counter, job.in + done, job.out + done);
    if (done < job.size) {
      pass(state, nonce, counter, kZeros, stream);
      xor_bytes(job.out + done, job.in + done, stream, job.size - done);
    }
    if constexpr (kSeal) authenticate(tag, poly_key, job, job.out);
    secure_wipe(stream, sizeof stream);
    secure_wipe(poly_key, sizeof poly_key);
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      std::uint8_t tag[16];
      run<true>(state, job, tag);
      std::memcpy(job.tag, tag, sizeof tag);
      job.ok = true;
    }
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      std::uint8_t tag[16];
      run<false>(state, job, tag);
      job.ok = constant_time_equal(tag, Bytes(job.tag, 16));
      if (!job.ok) zero_output(job);
      secure_wipe(tag, sizeof tag);
    }
  }
};

}  // namespace

constexpr Kernel kChaCha20Poly1305 =
    make_kernel<ChaCha20Poly1305>("simd128", Algorithm::chacha20_poly1305, supported);

}  // namespace quasi::aead::simd

#endif  // QUASI_KERNELS_SCALAR_ONLY
