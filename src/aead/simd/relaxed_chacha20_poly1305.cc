// ChaCha20-Poly1305 (RFC 8439 §2.8) with vector ChaCha20 and scalar Poly1305 woven
// together: while four blocks of keystream run in the vector units, the integer
// multipliers hash two blocks of ciphertext a double round. Both halves stand
// inside the same rolled loop, because Wasmtime's compiler would pull straight-line
// code apart again.
//
// What a pass hashes. Opening: the 256 bytes that it is about to overwrite, so that
// in place is no different; and, in the two rounds that are left over, the end of
// the packet before. Sealing: the 256 bytes that the pass before wrote; the first
// pass of a packet takes the end of the packet before.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/poly1305.h"
#include "aead/simd/chacha20.h"
#include "aead/simd/chacha20_burst.h"
#include "aead/simd/kernels.h"

#ifdef QUASI_HAS_RELAXED_KERNELS

namespace quasi::aead::simd {
namespace {

/// Bytes to hash, in pairs of blocks.
struct Pending {
  Poly1305Wide* poly = nullptr;
  const std::uint8_t* p = nullptr;
  std::size_t pairs = 0;
};

constexpr unsigned kRounds = 10;  // double rounds

/// Four blocks from `counter`: out = in xor keystream, 256 bytes. Hashes up to ten pairs of
/// `first` and `second` on the way, and moves them on.
QUASI_NOINLINE void pass(const ChaChaKey& key, const std::uint8_t* nonce, std::uint32_t counter,
                         const std::uint8_t* in, std::uint8_t* out, Pending* first,
                         Pending* second) {
  const chacha::Start start = chacha::start_of(counter, nonce);
  V x[16];
  chacha::set_up(x, key, start);
  unsigned i = 0;
  QUASI_NO_UNROLL
  for (Pending* pending = first; pending != nullptr;
       pending = pending == second ? nullptr : second) {
    if (pending->pairs == 0) continue;
    std::uint64_t h0 = pending->poly->h0_, h1 = pending->poly->h1_, h2 = pending->poly->h2_;
    const std::uint64_t r0 = pending->poly->r0_, r1 = pending->poly->r1_, s1 = pending->poly->s1_;
    const std::uint8_t* p = pending->p;
    const auto pairs = static_cast<unsigned>(std::min<std::size_t>(pending->pairs, kRounds - i));
    const unsigned end = i + pairs;
    QUASI_NO_UNROLL
    for (; i < end; ++i, p += 32) {
      const auto m0 = load_le<std::uint64_t>(p), m1 = load_le<std::uint64_t>(p + 8);
      const auto m2 = load_le<std::uint64_t>(p + 16), m3 = load_le<std::uint64_t>(p + 24);
      Poly1305Wide::step(h0, h1, h2, r0, r1, s1, m0, m1);
      Poly1305Wide::step(h0, h1, h2, r0, r1, s1, m2, m3);
      chacha::double_round(x);
    }
    pending->poly->h0_ = h0;
    pending->poly->h1_ = h1;
    pending->poly->h2_ = h2;
    pending->p = p;
    pending->pairs -= pairs;
  }
  QUASI_NO_UNROLL
  for (; i < kRounds; ++i) chacha::double_round(x);
  chacha::finish_xor(x, key, start, in, out);
}

/// One job on its way: what of its ciphertext waits to be hashed.
struct Packet {
  Job* job = nullptr;
  const std::uint8_t* tail_stream = nullptr;
  const std::uint8_t* end = nullptr;  // of the ciphertext
  Pending pending;
};

struct ChaCha20Poly1305 {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  /// Hashes what is left, and the lengths.
  static void finish(Packet& packet, std::uint8_t* tag) {
    Poly1305Wide& poly = *packet.pending.poly;
    poly1305_padded(poly, packet.pending.p,
                    static_cast<std::size_t>(packet.end - packet.pending.p));
    poly1305_lengths(poly, packet.job->aad_size, packet.job->size);
    poly.finish(tag);
  }

  static void close_sealed(Packet& packet) {
    if (packet.job == nullptr) return;
    std::uint8_t tag[16];
    finish(packet, tag);
    std::memcpy(packet.job->tag, tag, sizeof tag);
    packet.job->ok = true;
    packet.job = nullptr;
  }

  static void close_opened(Packet& packet) {
    if (packet.job == nullptr) return;
    Job& job = *packet.job;
    std::uint8_t tag[16];
    finish(packet, tag);
    const std::size_t tail = job.size % 256, whole = job.size - tail;
    if (tail != 0) xor_bytes(job.out + whole, job.in + whole, packet.tail_stream, tail);
    job.ok = constant_time_equal(tag, Bytes(job.tag, 16));
    if (!job.ok) zero_output(job);
    secure_wipe(tag, sizeof tag);
    packet.job = nullptr;
  }

  template <bool kSeal>
  static void run_burst(const State& state, std::span<Job> jobs) {
    const OddBlocks odd(state, jobs);
    Poly1305Wide polys[2] = {Poly1305Wide(odd.poly_key(0)), Poly1305Wide(odd.poly_key(0))};
    Packet packets[2];
    const auto close = [](Packet& packet) {
      if constexpr (kSeal)
        close_sealed(packet);
      else
        close_opened(packet);
    };
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = jobs[i];
      Packet& packet = packets[i & 1];
      Packet& before = packets[~i & 1];
      Poly1305Wide& poly = polys[i & 1];
      if (i != 0) poly = Poly1305Wide(odd.poly_key(i));
      poly1305_padded(poly, job.aad, job.aad_size);
      const std::uint8_t* ciphertext = kSeal ? job.out : job.in;
      Pending& pending = packet.pending;
      pending = Pending{&poly, ciphertext, 0};
      packet.tail_stream = odd.tail(i);
      packet.end = ciphertext + job.size;
      packet.job = &job;

      const std::size_t passes = job.size / 256;
      std::uint32_t counter = 1;
      std::size_t at = 0;
      for (std::size_t k = 0; k < passes; ++k, counter += 4, at += 256) {
        if constexpr (kSeal) {
          Pending* hashed = k == 0 ? &before.pending : &pending;
          pass(state, job.nonce.data(), counter, job.in + at, job.out + at, hashed, hashed);
          pending.pairs += 8;
        } else {
          pending.pairs = 8;
          pass(state, job.nonce.data(), counter, job.in + at, job.out + at, &pending,
               &before.pending);
        }
        if (k == 0) close(before);
      }
      close(before);  // there was no pass
      const std::size_t tail = job.size % 256;
      if constexpr (kSeal) {
        if (tail != 0) xor_bytes(job.out + at, job.in + at, packet.tail_stream, tail);
      }
      pending.pairs += tail / 32;
    }
    close(packets[(jobs.size() - 1) & 1]);
  }

  template <bool kSeal>
  static void run(const State& state, std::span<Job> jobs) {
    for (; jobs.size() > OddBlocks::kBurst; jobs = jobs.subspan(OddBlocks::kBurst))
      run_burst<kSeal>(state, jobs.first(OddBlocks::kBurst));
    run_burst<kSeal>(state, jobs);
  }

  static void seal(const State& state, std::span<Job> jobs) { run<true>(state, jobs); }
  static void open(const State& state, std::span<Job> jobs) { run<false>(state, jobs); }
};

}  // namespace

constexpr Kernel kRelaxedChaCha20Poly1305 =
    make_kernel<ChaCha20Poly1305>("relaxed", Algorithm::chacha20_poly1305, supported);

}  // namespace quasi::aead::simd

#endif

#endif  // QUASI_KERNELS_SCALAR_ONLY
