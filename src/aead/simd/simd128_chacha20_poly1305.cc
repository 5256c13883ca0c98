// ChaCha20-Poly1305 (RFC 8439 §2.8) in portable Wasm SIMD: four blocks of ChaCha20
// a pass, and Poly1305 on 16-bit products, one after the other.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/simd/chacha20.h"
#include "aead/simd/chacha20_burst.h"
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
  QUASI_UNROLL
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

  static void crypt(const State& state, const Job& job, const std::uint8_t* tail_stream) {
    std::size_t done = 0;
    for (std::uint32_t counter = 1; job.size - done >= 256; done += 256, counter += 4)
      pass(state, job.nonce.data(), counter, job.in + done, job.out + done);
    if (done < job.size) xor_bytes(job.out + done, job.in + done, tail_stream, job.size - done);
  }

  /// Calls `each(job, key block, tail stream)`; the odd blocks of a burst share their passes.
  template <class Each>
  static void for_each(const State& state, std::span<Job> jobs, const Each& each) {
    while (!jobs.empty()) {
      const std::size_t count = std::min(jobs.size(), OddBlocks::kBurst);
      const OddBlocks odd(state, jobs.first(count));
      for (std::size_t i = 0; i < count; ++i) each(jobs[i], odd.poly_key(i), odd.tail(i));
      jobs = jobs.subspan(count);
    }
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for_each(state, jobs, [&](Job& job, const std::uint8_t* key, const std::uint8_t* tail) {
      std::uint8_t tag[16];
      crypt(state, job, tail);
      authenticate(tag, key, job, job.out);
      std::memcpy(job.tag, tag, sizeof tag);
      job.ok = true;
    });
  }

  static void open(const State& state, std::span<Job> jobs) {
    for_each(state, jobs, [&](Job& job, const std::uint8_t* key, const std::uint8_t* tail) {
      std::uint8_t tag[16];
      authenticate(tag, key, job, job.in);
      job.ok = constant_time_equal(tag, Bytes(job.tag, 16));
      if (job.ok)
        crypt(state, job, tail);
      else
        zero_output(job);
      secure_wipe(tag, sizeof tag);
    });
  }
};

}  // namespace

constexpr Kernel kChaCha20Poly1305 =
    make_kernel<ChaCha20Poly1305>("simd128", Algorithm::chacha20_poly1305, supported);

}  // namespace quasi::aead::simd

#endif  // QUASI_KERNELS_SCALAR_ONLY
