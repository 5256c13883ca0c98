// AES-GCM with AES and carry-less multiplication instructions, written once for
// vectors of one, two and four blocks (widths.h).
//
// GHASH is computed as POLYVAL (RFC 8452, appendix A): blocks byte-reversed, H
// times x, and reduction by x^-128, so that nothing is shifted bit by bit.
//
// One reduction a packet. The key has 96 powers of H: enough for every QUIC
// packet. Each block meets the power that belongs to its place from the end, all
// products are summed unreduced, and the sum is reduced once. Longer messages go in
// chunks, each starting from the reduced sum of those before.
//
// Where blocks go. Counter 1 makes the block that masks the tag, and the message
// starts at counter 2; so the message is laid one block late, and block 0 of the
// first vector is free. It holds the hash of the AAD: its power is just the one
// that the last AAD block has.
//
//     counter      1        2        3      ...    B        (length)
//     vector 0  [ tag mask | block 1 | block 2 | block 3 ]  vector 1  [ ...
//     hashed    [ AAD's y  | block 1 | block 2 | block 3 ]            [ ...
//     power        B + 1      B        B - 1  ...      2        1
#pragma once

#include "aead/x86/shared.h"

namespace quasi::aead::x86 {
namespace {  // a copy for each file: every file has its own instruction set

inline constexpr std::size_t kPowers = 96;

template <unsigned kRounds>
struct GcmState {
  alignas(64) std::uint8_t round_keys[kRounds + 1][16];
  /// POLYVAL powers, H^96 first and H^1 last; then zeros, which the unused lanes of a last
  /// vector meet.
  alignas(64) std::uint8_t powers[kPowers + 4][16];
};

QUASI_INLINE __m128i load128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
QUASI_INLINE void store128(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }

QUASI_INLINE __m128i reverse_bytes(__m128i v) {
  return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/// x^-128 (lo + x^64 mid + x^128 hi) modulo x^128 + x^127 + x^126 + x^121 + 1: Montgomery's way,
/// 64 bits a step, with 0xc2... = x^63 + x^62 + x^57.
QUASI_INLINE __m128i reduce(__m128i lo, __m128i mid, __m128i hi) {
  const __m128i poly = _mm_set_epi64x(0, static_cast<long long>(0xc200000000000000U));
  lo = _mm_xor_si128(lo, _mm_slli_si128(mid, 8));
  hi = _mm_xor_si128(hi, _mm_srli_si128(mid, 8));
  lo = _mm_xor_si128(_mm_shuffle_epi32(lo, 0x4e), _mm_clmulepi64_si128(lo, poly, 0x00));
  lo = _mm_xor_si128(_mm_shuffle_epi32(lo, 0x4e), _mm_clmulepi64_si128(lo, poly, 0x00));
  return _mm_xor_si128(hi, lo);
}

QUASI_INLINE __m128i multiply(__m128i a, __m128i b) {
  return reduce(_mm_clmulepi64_si128(a, b, 0x00),
                _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)),
                _mm_clmulepi64_si128(a, b, 0x11));
}

/// W: a width from widths.h. kGroup: vectors in flight.
template <class W, unsigned kRounds, unsigned kGroup>
struct Gcm {
  using V = typename W::V;
  using State = GcmState<kRounds>;
  static constexpr std::size_t kBytes = sizeof(V);
  static constexpr std::size_t kBlocks = kBytes / 16;

  static QUASI_INLINE __m128i encrypt_block(const State& state, __m128i x) {
    x = _mm_xor_si128(x, load128(state.round_keys[0]));
    for (unsigned r = 1; r < kRounds; ++r) x = _mm_aesenc_si128(x, load128(state.round_keys[r]));
    return _mm_aesenclast_si128(x, load128(state.round_keys[kRounds]));
  }

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    std::memcpy(state.round_keys, round_keys.bytes, sizeof state.round_keys);

    // POLYVAL's key is x H: one bit up, with the polynomial when a bit falls out.
    const __m128i h = reverse_bytes(encrypt_block(state, _mm_setzero_si128()));
    const __m128i carries = _mm_srli_epi64(h, 63);
    const __m128i doubled = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(carries, 8));
    const __m128i top = _mm_sub_epi64(_mm_setzero_si128(),
                                      _mm_unpackhi_epi64(carries, carries));  // all ones or zeros
    const __m128i poly = _mm_set_epi64x(static_cast<long long>(0xc200000000000000U), 1);
    const __m128i first = _mm_xor_si128(doubled, _mm_and_si128(top, poly));
    __m128i power = first;
    store128(state.powers[kPowers - 1], power);
    for (std::size_t i = 1; i < kPowers; ++i) {
      power = multiply(power, first);
      store128(state.powers[kPowers - 1 - i], power);
    }
    std::memset(state.powers[kPowers], 0, 4 * 16);
  }

  // Sums of products, one 128-bit lane each.
  struct Sums {
    V lo, mid, hi;

    // Not member initialisers: implicit constructors would not be compiled for the target.
    QUASI_INLINE void clear() { lo = mid = hi = W::zero(); }
    QUASI_INLINE void add(V x, V power) {
      lo = W::xor2(lo, W::template clmul<0x00>(x, power));
      mid = W::xor3(mid, W::template clmul<0x01>(x, power), W::template clmul<0x10>(x, power));
      hi = W::xor2(hi, W::template clmul<0x11>(x, power));
    }
    QUASI_INLINE __m128i value() const { return reduce(W::fold(lo), W::fold(mid), W::fold(hi)); }
  };

  /// What goes through a message: counters, place in the powers, sums.
  struct Stream {
    V counters;  // as little-endian words; W::counter_blocks() turns them
    const std::uint8_t* power;
    Sums sums;
    V first;  // added to the next vector that is hashed: y in lane 0
  };

  template <unsigned kCount>
  static QUASI_INLINE void keystream(const State& state, Stream& s, V (&x)[kCount]) {
    V k = W::broadcast(state.round_keys[0]);
    QUASI_UNROLL
    for (unsigned i = 0; i < kCount; ++i) {
      x[i] = W::xor2(W::counter_blocks(s.counters), k);
      s.counters = W::add32(s.counters, W::counter_step());
    }
    QUASI_UNROLL
    for (unsigned r = 1; r < kRounds; ++r) {
      k = W::broadcast(state.round_keys[r]);
      QUASI_UNROLL
      for (unsigned i = 0; i < kCount; ++i) x[i] = W::aesenc(x[i], k);
    }
    k = W::broadcast(state.round_keys[kRounds]);
    QUASI_UNROLL
    for (unsigned i = 0; i < kCount; ++i) x[i] = W::aesenclast(x[i], k);
  }

  static QUASI_INLINE void hash(Stream& s, V ciphertext) {
    s.sums.add(W::xor2(W::reverse_blocks(ciphertext), s.first), W::load(s.power));
    s.first = W::zero();
    s.power += kBytes;
  }

  /// Whole vectors.
  template <bool kSeal, unsigned kCount>
  static QUASI_INLINE void whole(const State& state, Stream& s, const std::uint8_t* in,
                                 std::uint8_t* out) {
    V x[kCount];
    keystream<kCount>(state, s, x);
    QUASI_UNROLL
    for (unsigned i = 0; i < kCount; ++i) {
      const V text = W::load(in + i * kBytes);
      const V result = W::xor2(text, x[i]);
      W::store(out + i * kBytes, result);
      hash(s, kSeal ? result : text);
    }
  }

  /// y for lane 0: the AAD's hash without its last multiplication by H.
  static QUASI_INLINE __m128i hash_aad(const State& state, const Job& job) {
    if (job.aad_size == 0) return _mm_setzero_si128();
    const __m128i h = load128(state.powers[kPowers - 1]);
    const std::uint8_t* p = job.aad;
    std::size_t left = job.aad_size;
    __m128i y = _mm_setzero_si128();
    for (; left > 16; left -= 16, p += 16)
      y = multiply(_mm_xor_si128(y, reverse_bytes(load128(p))), h);
    return _mm_xor_si128(y, reverse_bytes(W::load_block(p, left)));
  }

  /// Encrypts or decrypts one message; gives the whole tag.
  template <bool kSeal>
  static QUASI_INLINE __m128i crypt(const State& state, const Job& job) {
    // Blocks from the virtual one on, and those of the chunk at hand.
    std::size_t blocks = 1 + (job.size + 15) / 16;
    constexpr std::size_t kChunk = (kPowers - 1) / kBlocks * kBlocks;
    std::size_t chunk = blocks > kChunk ? kChunk : blocks;
    Stream s;
    s.sums.clear();
    s.counters = W::counter_start(job.nonce.data());
    s.first = W::in_lane_0(hash_aad(state, job));
    // The last chunk's last block meets H^2, the length H^1; other chunks end at H^1.
    s.power = state.powers[kPowers - chunk - (chunk == blocks ? 1 : 0)];

    // The first vector: the tag's mask and the first kBlocks - 1 blocks.
    const std::size_t head = job.size < kBytes - 16 ? job.size : kBytes - 16;
    __m128i tag;
    {
      V x[1];
      keystream<1>(state, s, x);
      tag = W::lane_0(x[0]);
      const V text = W::load_after_lane_0(job.in, head);
      const V result = W::xor2(text, x[0]);
      W::store_after_lane_0(job.out, result, head);
      hash(s, kSeal ? W::keep_after_lane_0(result, head) : text);
    }
    const std::uint8_t* in = job.in + head;
    std::uint8_t* out = job.out + head;
    std::size_t left = job.size - head;
    std::size_t chunk_vectors = chunk / kBlocks - (chunk < kBlocks ? 0 : 1);
    for (;;) {
      // Whole vectors of this chunk.
      std::size_t vectors = left / kBytes;
      if (vectors > chunk_vectors) vectors = chunk_vectors;
      left -= vectors * kBytes;
      const auto advance = [&]<unsigned kCount>() QUASI_INLINE_LAMBDA {
        whole<kSeal, kCount>(state, s, in, out);
        in += kCount * kBytes;
        out += kCount * kBytes;
        vectors -= kCount;
      };
      while (vectors >= kGroup) advance.template operator()<kGroup>();
      if constexpr (kGroup > 4) {
        if (vectors >= 4) advance.template operator()<4>();
      }
      if (vectors >= 2) advance.template operator()<2>();
      if (vectors >= 2) advance.template operator()<2>();
      if (vectors >= 1) advance.template operator()<1>();
      if (chunk == blocks) break;
      blocks -= chunk;
      chunk = blocks > kChunk ? kChunk : blocks;
      s.power = state.powers[kPowers - chunk - (chunk == blocks ? 1 : 0)];
      s.first = W::in_lane_0(s.sums.value());
      s.sums.clear();
      chunk_vectors = chunk / kBlocks;
    }
    if (left != 0) {
      V x[1];
      keystream<1>(state, s, x);
      const V text = W::load_part(in, left);
      const V result = W::xor2(text, x[0]);
      W::store_part(out, result, left);
      hash(s, kSeal ? W::keep_part(result, left) : text);
    }
    const __m128i lengths = _mm_set_epi64x(static_cast<long long>(job.aad_size * 8),
                                           static_cast<long long>(job.size * 8));
    const __m128i h = load128(state.powers[kPowers - 1]);
    s.sums.add(W::in_lane_0(lengths), W::in_lane_0(h));
    return _mm_xor_si128(tag, reverse_bytes(s.sums.value()));
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      store128(job.tag, crypt<true>(state, job));
      job.ok = true;
    }
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      const __m128i tag = load128(job.tag);
      const __m128i difference = _mm_xor_si128(crypt<false>(state, job), tag);
      job.ok = _mm_testz_si128(difference, difference) != 0;
      if (!job.ok) zero_output(job);
    }
  }
};

}  // namespace
}  // namespace quasi::aead::x86
