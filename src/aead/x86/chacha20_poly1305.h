// ChaCha20-Poly1305 (RFC 8439 §2.8) on 8 or 16 lanes, with integer Poly1305 woven
// into the rounds: the vector units make keystream while the multipliers hash.
//
// A burst. The Poly1305 keys of all packets come from shared passes, one packet a
// lane; so a packet's message starts at lane 0 of its own passes, and every pass
// has something to hash: opening, the bytes that it is about to overwrite;
// sealing, what the pass before wrote, the last pass of the packet before
// included. One or two packets alone take their key from the first lane of their
// first pass instead.
#pragma once

#include "aead/x86/lanes.h"
#include "aead/x86/shared.h"

namespace quasi::aead::x86 {
namespace {  // a copy for each file: every file has its own instruction set

struct ChaChaState {
  std::uint32_t words[8];
};

/// Bytes that wait to be hashed, in pairs of blocks.
struct Pending {
  Poly1305Wide* poly = nullptr;
  const std::uint8_t* p = nullptr;
  std::size_t pairs = 0;
};

template <class L>
struct ChaChaPass {
  using V = typename L::V;
  static constexpr std::size_t kBytes = 64 * L::kLanes;

  struct Start {
    V counter, nonce[3];
  };

  static QUASI_INLINE Start start_of(const Job& job, std::uint32_t counter) {
    Start start;
    start.counter = L::add(L::splat(counter), L::count());
    for (unsigned i = 0; i < 3; ++i)
      start.nonce[i] = L::splat(load_le<std::uint32_t>(job.nonce.data() + 4 * i));
    return start;
  }

  static QUASI_INLINE void quarter_round(V& a, V& b, V& c, V& d) {
    a = L::add(a, b);
    d = L::template rotate<16>(L::exclusive_or(d, a));
    c = L::add(c, d);
    b = L::template rotate<12>(L::exclusive_or(b, c));
    a = L::add(a, b);
    d = L::template rotate<8>(L::exclusive_or(d, a));
    c = L::add(c, d);
    b = L::template rotate<7>(L::exclusive_or(b, c));
  }

  static QUASI_INLINE void double_round(V (&x)[16]) {
    QUASI_UNROLL
    for (unsigned i = 0; i < 4; ++i) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
    QUASI_UNROLL
    for (unsigned i = 0; i < 4; ++i)
      quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
  }

  /// The rounds, with up to 10 * kPairs pairs of blocks hashed on the way.
  template <unsigned kPairs>
  static QUASI_INLINE void rounds(const ChaChaState& key, const Start& start, V (&x)[16],
                                  Pending& pending) {
    QUASI_UNROLL
    for (unsigned i = 0; i < 4; ++i) x[i] = L::splat(kChaChaConstants[i]);
    QUASI_UNROLL
    for (unsigned i = 0; i < 8; ++i) x[4 + i] = L::splat(key.words[i]);
    x[12] = start.counter;
    QUASI_UNROLL
    for (unsigned i = 0; i < 3; ++i) x[13 + i] = start.nonce[i];
    unsigned i = 0;
    if (kPairs != 0 && pending.pairs >= kPairs) {
      std::uint64_t h0 = pending.poly->h0_, h1 = pending.poly->h1_, h2 = pending.poly->h2_;
      const std::uint64_t r0 = pending.poly->r0_, r1 = pending.poly->r1_, s1 = pending.poly->s1_;
      const std::uint8_t* p = pending.p;
      const unsigned woven =
          static_cast<unsigned>(std::min<std::size_t>(pending.pairs / kPairs, 10));
      QUASI_NO_UNROLL
      for (; i < woven; ++i) {
        QUASI_UNROLL
        for (unsigned j = 0; j < 2 * kPairs; ++j)
          Poly1305Wide::step(h0, h1, h2, r0, r1, s1, load_le<std::uint64_t>(p + 16 * j),
                             load_le<std::uint64_t>(p + 16 * j + 8));
        p += 32 * kPairs;
        double_round(x);
      }
      pending.poly->h0_ = h0;
      pending.poly->h1_ = h1;
      pending.poly->h2_ = h2;
      pending.p = p;
      pending.pairs -= woven * kPairs;
    }
    QUASI_NO_UNROLL
    for (; i < 10; ++i) double_round(x);
    QUASI_UNROLL
    for (unsigned j = 0; j < 4; ++j) x[j] = L::add(x[j], L::splat(kChaChaConstants[j]));
    QUASI_UNROLL
    for (unsigned j = 0; j < 8; ++j) x[4 + j] = L::add(x[4 + j], L::splat(key.words[j]));
    x[12] = L::add(x[12], start.counter);
    QUASI_UNROLL
    for (unsigned j = 0; j < 3; ++j) x[13 + j] = L::add(x[13 + j], start.nonce[j]);
  }

  /// out = in xor the pass's first `size` bytes.
  template <unsigned kPairs>
  static QUASI_NOINLINE void crypt(const ChaChaState& key, const Job& job, std::uint32_t counter,
                                   const std::uint8_t* in, std::uint8_t* out, std::size_t size,
                                   Pending& pending) {
    const Start start = start_of(job, counter);
    V x[16];
    rounds<kPairs>(key, start, x, pending);
    typename L::Blocks blocks;
    L::to_blocks(x, blocks);
    if (size >= kBytes) [[likely]] {
      QUASI_UNROLL
      for (unsigned b = 0; b < L::kLanes; ++b) blocks.exclusive_or_to(b, out + 64 * b, in + 64 * b);
      return;
    }
    // Through memory, so that the blocks need not be chosen among registers.
    alignas(64) std::uint8_t stream[kBytes];
    alignas(64) static constexpr std::uint8_t kZeros[64] = {};
    QUASI_UNROLL
    for (unsigned b = 0; b < L::kLanes; ++b) blocks.exclusive_or_to(b, stream + 64 * b, kZeros);
    exclusive_or_short(out, in, stream, size);
    secure_wipe(stream, sizeof stream);
  }

  static QUASI_INLINE void exclusive_or_short(std::uint8_t* out, const std::uint8_t* in,
                                              const std::uint8_t* stream, std::size_t size) {
    std::size_t i = 0;
    QUASI_NO_UNROLL
    for (; i + 32 <= size; i += 32) {
      const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
      const __m256i k = _mm256_load_si256(reinterpret_cast<const __m256i*>(stream + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_xor_si256(text, k));
    }
    QUASI_NO_UNROLL
    for (; i + 8 <= size; i += 8)
      store_le(out + i, load_le<std::uint64_t>(in + i) ^ load_le<std::uint64_t>(stream + i));
    QUASI_NO_UNROLL
    for (; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] ^ stream[i]);
  }

  /// The one-time keys (RFC 8439 §2.6) of up to kLanes jobs: block 0 of each.
  static QUASI_NOINLINE void one_time_keys(const ChaChaState& key, std::span<const Job> jobs,
                                           std::uint8_t (*out)[32]) {
    alignas(64) std::uint32_t nonces[3][L::kLanes] = {};
    for (std::size_t lane = 0; lane < jobs.size(); ++lane)
      for (unsigned i = 0; i < 3; ++i)
        nonces[i][lane] = load_le<std::uint32_t>(jobs[lane].nonce.data() + 4 * i);
    const Start start{L::splat(0), {L::load(nonces[0]), L::load(nonces[1]), L::load(nonces[2])}};
    V x[16];
    Pending nothing;
    rounds<0>(key, start, x, nothing);
    alignas(64) std::uint32_t words[8][L::kLanes];
    for (unsigned i = 0; i < 8; ++i) L::store(words[i], x[i]);
    for (std::size_t lane = 0; lane < jobs.size(); ++lane)
      for (unsigned i = 0; i < 8; ++i) store_le(out[lane] + 4 * i, words[i][lane]);
    secure_wipe(words, sizeof words);
  }
};

/// kPairs: pairs of blocks hashed a double round.
template <class Wide, class Narrow, unsigned kWidePairs, unsigned kNarrowPairs>
struct ChaCha20Poly1305 {
  using State = ChaChaState;
  using WidePass = ChaChaPass<Wide>;
  using NarrowPass = ChaChaPass<Narrow>;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static QUASI_INLINE void flush(Pending& pending) {
    if (pending.pairs == 0) return;
    pending.poly->blocks(pending.p, 2 * pending.pairs);
    pending.p += 32 * pending.pairs;
    pending.pairs = 0;
  }

  /// One pass; gives the bytes done.
  static QUASI_INLINE std::size_t pass(const State& state, const Job& job, std::size_t done,
                                       Pending& pending) {
    const std::size_t left = job.size - done;
    const auto counter = static_cast<std::uint32_t>(1 + done / 64);
    if (left > NarrowPass::kBytes) {
      const std::size_t take = std::min(left, WidePass::kBytes);
      WidePass::template crypt<kWidePairs>(state, job, counter, job.in + done, job.out + done, take,
                                           pending);
      return take;
    }
    NarrowPass::template crypt<kNarrowPairs>(state, job, counter, job.in + done, job.out + done,
                                             left, pending);
    return left;
  }

  static QUASI_INLINE void finish(Poly1305Wide& poly, const Job& job, const std::uint8_t* rest,
                                  std::size_t rest_size, std::uint8_t* tag) {
    poly1305_padded(poly, rest, rest_size);
    poly1305_lengths(poly, job.aad_size, job.size);
    poly.finish(tag);
  }

  static constexpr std::size_t kBurst = Wide::kLanes;

  /// Up to kBurst jobs.
  static void seal_burst(const State& state, std::span<Job> jobs) {
    alignas(64) std::uint8_t keys[kBurst][32];
    one_time_keys(state, jobs, keys);
    // A packet's last bytes are hashed while the next packet is encrypted.
    Poly1305Wide polys[2] = {Poly1305Wide(keys[0]), Poly1305Wide(keys[0])};
    Pending pending;
    const Job* previous = nullptr;
    const auto close = [&](const Job& job) {
      flush(pending);
      const auto rest = static_cast<std::size_t>(job.out + job.size - pending.p);
      finish(*pending.poly, job, pending.p, rest, job.tag);
    };
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = jobs[i];
      Poly1305Wide& poly = polys[i & 1];
      poly = Poly1305Wide(keys[i]);
      poly1305_padded(poly, job.aad, job.aad_size);
      const std::uint8_t* hashed = job.out;
      std::size_t done = 0;
      while (done < job.size) {
        if (previous == nullptr) {
          pending.poly = &poly;
          pending.p = hashed;
          pending.pairs = (done - static_cast<std::size_t>(hashed - job.out)) / 32;
        }
        done += pass(state, job, done, pending);
        if (previous != nullptr) {
          close(*previous);
          previous = nullptr;
        } else {
          flush(pending);
          hashed = pending.p;
        }
      }
      if (previous != nullptr) close(*previous);  // an empty message follows
      previous = &job;
      pending.poly = &poly;
      pending.p = hashed;
      pending.pairs =
          (job.size - (job.size == 0 ? 0 : static_cast<std::size_t>(hashed - job.out))) / 32;
      if (job.size == 0) pending.p = job.out;
      job.ok = true;
    }
    if (previous != nullptr) close(*previous);
    secure_wipe(keys, sizeof keys);
  }

  static void open_burst(const State& state, std::span<Job> jobs) {
    alignas(64) std::uint8_t keys[kBurst][32];
    one_time_keys(state, jobs, keys);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = jobs[i];
      Poly1305Wide poly(keys[i]);
      poly1305_padded(poly, job.aad, job.aad_size);
      // In place, a pass overwrites what it decrypts: that is hashed within the pass, and the
      // last bytes before it.
      std::size_t done = 0;
      std::uint8_t tag[16];
      if (job.size == 0) finish(poly, job, nullptr, 0, tag);
      while (done < job.size) {
        const std::size_t left = job.size - done;
        const std::size_t take =
            std::min(left, left > NarrowPass::kBytes ? WidePass::kBytes : NarrowPass::kBytes);
        Pending pending{&poly, job.in + done, take / 32};
        std::uint8_t last[32];
        const std::size_t rest = take % 32;
        if (rest != 0) std::memcpy(last, job.in + done + take - rest, rest);
        if (job.in == job.out) {
          // What a pass cannot weave must be hashed before it writes.
          const std::size_t most = 10 * (left > NarrowPass::kBytes ? kWidePairs : kNarrowPairs);
          if (pending.pairs > most) {
            const std::size_t early = pending.pairs - most;
            poly.blocks(pending.p, 2 * early);
            pending.p += 32 * early;
            pending.pairs -= early;
          }
          const std::size_t woven = pending.pairs /
                                    (left > NarrowPass::kBytes ? kWidePairs : kNarrowPairs) *
                                    (left > NarrowPass::kBytes ? kWidePairs : kNarrowPairs);
          const std::size_t early = pending.pairs - woven;
          if (early != 0) {
            poly.blocks(pending.p, 2 * early);
            pending.p += 32 * early;
            pending.pairs = woven;
          }
        }
        done += pass(state, job, done, pending);
        flush(pending);
        if (done == job.size) finish(poly, job, last, rest, tag);
      }
      job.ok = constant_time_equal(tag, Bytes(job.tag, 16));
      if (!job.ok) zero_output(job);
      secure_wipe(tag, sizeof tag);
    }
    secure_wipe(keys, sizeof keys);
  }

  static QUASI_INLINE void one_time_keys(const State& state, std::span<const Job> jobs,
                                         std::uint8_t (*keys)[32]) {
    if (jobs.size() > Narrow::kLanes)
      WidePass::one_time_keys(state, jobs, keys);
    else
      NarrowPass::one_time_keys(state, jobs, keys);
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (; jobs.size() > kBurst; jobs = jobs.subspan(kBurst)) seal_burst(state, jobs.first(kBurst));
    seal_burst(state, jobs);
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (; jobs.size() > kBurst; jobs = jobs.subspan(kBurst)) open_burst(state, jobs.first(kBurst));
    open_burst(state, jobs);
  }
};

/// Header masks (RFC 9001 §5.4.4), one sample a lane.
template <class L>
struct ChaCha20Header {
  using State = ChaChaState;
  using Pass = ChaChaPass<L>;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    while (!jobs.empty()) {
      const std::size_t count = std::min<std::size_t>(jobs.size(), L::kLanes);
      alignas(64) std::uint32_t samples[4][L::kLanes] = {};
      for (std::size_t lane = 0; lane < count; ++lane)
        for (unsigned i = 0; i < 4; ++i)
          samples[i][lane] = load_le<std::uint32_t>(jobs[lane].sample + 4 * i);
      const typename Pass::Start start{
          L::load(samples[0]), {L::load(samples[1]), L::load(samples[2]), L::load(samples[3])}};
      typename L::V x[16];
      Pending nothing;
      Pass::template rounds<0>(state, start, x, nothing);
      alignas(64) std::uint32_t words[4][L::kLanes];
      for (unsigned i = 0; i < 4; ++i) L::store(words[i], x[i]);
      for (std::size_t lane = 0; lane < count; ++lane)
        for (unsigned i = 0; i < 4; ++i) store_le(jobs[lane].mask.data() + 4 * i, words[i][lane]);
      jobs = jobs.subspan(count);
    }
  }
};

}  // namespace
}  // namespace quasi::aead::x86
