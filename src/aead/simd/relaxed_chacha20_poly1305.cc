// ChaCha20-Poly1305 (RFC 8439 §2.8) with vector ChaCha20 and scalar Poly1305 woven
// together: while four blocks of keystream run in the vector units, the integer
// multipliers hash two blocks of earlier ciphertext a double round. Both halves
// stand inside the same rolled loop, because Wasmtime's compiler would pull
// straight-line code apart again.
//
// The Poly1305 key block (counter 0) shares the first pass with the first three
// blocks of the message. Sealing hashes what the pass before wrote; opening can
// run ahead, since the ciphertext is all there.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/poly1305.h"
#include "aead/simd/chacha20.h"
#include "aead/simd/kernels.h"

#ifdef QUASI_HAS_RELAXED_KERNELS

namespace quasi::aead::simd {
namespace {

alignas(16) constexpr std::uint8_t kZeros[256] = {};

/// Four blocks from `counter`: out = in xor keystream, 256 bytes; and 2 * `weave` Poly1305
/// blocks at `hashed`, 0 <= weave <= 10.
QUASI_NOINLINE void pass(const ChaChaKey& key, const std::uint8_t* nonce, std::uint32_t counter,
                         const std::uint8_t* in, std::uint8_t* out, Poly1305Wide& poly,
                         const std::uint8_t* hashed, unsigned weave) {
  const chacha::Start start = chacha::start_of(counter, nonce);
  V x[16];
  chacha::set_up(x, key, start);
  unsigned i = 0;
  if (weave != 0) {
    std::uint64_t h0 = poly.h0_, h1 = poly.h1_, h2 = poly.h2_;
    const std::uint64_t r0 = poly.r0_, r1 = poly.r1_, s1 = poly.s1_;
    QUASI_NO_UNROLL
    for (; i < weave; ++i, hashed += 32) {
      const auto m0 = load_le<std::uint64_t>(hashed), m1 = load_le<std::uint64_t>(hashed + 8);
      const auto m2 = load_le<std::uint64_t>(hashed + 16), m3 = load_le<std::uint64_t>(hashed + 24);
      Poly1305Wide::step(h0, h1, h2, r0, r1, s1, m0, m1);
      Poly1305Wide::step(h0, h1, h2, r0, r1, s1, m2, m3);
      chacha::double_round(x);
    }
    poly.h0_ = h0;
    poly.h1_ = h1;
    poly.h2_ = h2;
  }
  QUASI_NO_UNROLL
  for (; i < 10; ++i) chacha::double_round(x);
  chacha::finish_xor(x, key, start, in, out);
}

template <bool kSeal>
void run(const ChaChaKey& key, Job& job, std::uint8_t (&tag)[16]) {
  alignas(16) std::uint8_t stream[256];
  const std::uint8_t* nonce = job.nonce.data();
  // `poly` has no key yet, and is given nothing to hash.
  Poly1305Wide unused(kZeros);
  pass(key, nonce, 0, kZeros, stream, unused, nullptr, 0);
  Poly1305Wide poly(stream);
  poly1305_padded(poly, job.aad, job.aad_size);

  const std::size_t size = job.size;
  const std::uint8_t* ciphertext = kSeal ? job.out : job.in;
  std::size_t done = std::min<std::size_t>(size, 192), hashed = 0;
  // In place, opening overwrites the ciphertext: it is hashed before.
  if constexpr (!kSeal) {
    const std::size_t first = done & ~std::size_t{15};
    if (first != 0) poly.blocks(ciphertext, first / 16);
    hashed = first;
    if (done != first) {  // the whole message ends here
      poly1305_padded(poly, ciphertext + first, done - first);
      hashed = done;
    }
  }
  xor_bytes(job.out, job.in, stream + 64, done);
  for (std::uint32_t counter = 4; done < size; counter += 4) {
    const std::size_t take = std::min<std::size_t>(size - done, 256);
    unsigned weave;
    if constexpr (kSeal) {
      // What earlier passes wrote, at most eight pairs: as much as a pass adds.
      weave = static_cast<unsigned>(std::min<std::size_t>((done - hashed) / 32, 8));
    } else {
      // Exactly this pass's bytes, before they are overwritten.
      weave = static_cast<unsigned>(take / 32);
    }
    if (take == 256) {
      pass(key, nonce, counter, job.in + done, job.out + done, poly, ciphertext + hashed, weave);
      hashed += 32 * weave;
    } else {
      pass(key, nonce, counter, kZeros, stream, poly, ciphertext + hashed, weave);
      hashed += 32 * weave;
      if constexpr (!kSeal) {
        poly1305_padded(poly, ciphertext + hashed, size - hashed);
        hashed = size;
      }
      xor_bytes(job.out + done, job.in + done, stream, take);
    }
    done += take;
  }
  poly1305_padded(poly, ciphertext + hashed, size - hashed);
  poly1305_lengths(poly, job.aad_size, size);
  poly.finish(tag);
  secure_wipe(stream, sizeof stream);
}

struct ChaCha20Poly1305 {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
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

constexpr Kernel kRelaxedChaCha20Poly1305 =
    make_kernel<ChaCha20Poly1305>("relaxed", Algorithm::chacha20_poly1305, supported);

}  // namespace quasi::aead::simd

#endif

#endif  // QUASI_KERNELS_SCALAR_ONLY
