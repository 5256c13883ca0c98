// AES-GCM (NIST SP 800-38D) over a counter-mode engine and table GHASH.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/aes_schedule.h"
#include "aead/kernel.h"
#include "aead/simd/ghash_tables.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

/// Engine: CounterKey<kRounds>, expand(), encrypt_one(), and Base with begin() for a message and
/// counter_mode() for groups of 8 blocks of it.
template <class Engine, class Swizzle, unsigned kRounds, unsigned kPowers>
struct Gcm {
  struct State {
    typename Engine::template CounterKey<kRounds> aes;
    GhashTables<kPowers> ghash;
  };

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    Engine::expand(state.aes, round_keys);
    alignas(16) std::uint8_t h[16];
    store(h, Engine::encrypt_one(state.aes, zero()));
    expand_ghash_tables<Swizzle>(state.ghash, h);
    secure_wipe(h, sizeof h);
  }

  /// Encrypts or decrypts, and gives the block that masks the tag (counter 1).
  static V crypt(const State& state, const Job& job) {
    alignas(16) static constexpr std::uint8_t kZeros[128] = {};
    alignas(16) std::uint8_t stream[128];
    store(stream, zero());
    std::memcpy(stream, job.nonce.data(), kNonceSize);
    typename Engine::Base base;
    Engine::begin(state.aes, load(stream), base);
    // Counters 0 to 7: 0 is not used, 1 masks the tag, the message starts at 2.
    Engine::counter_mode(state.aes, base, 0, kZeros, stream, 1);
    const V tag_mask = load(stream + 16);
    std::size_t done = std::min<std::size_t>(job.size, 96);
    xor_bytes(job.out, job.in, stream + 32, done);
    const std::size_t groups = (job.size - done) / 128;
    if (groups != 0) {
      Engine::counter_mode(state.aes, base, 8, job.in + done, job.out + done, groups);
      done += 128 * groups;
    }
    if (done < job.size) {
      Engine::counter_mode(state.aes, base, static_cast<std::uint32_t>(8 + 8 * groups), kZeros,
                           stream, 1);
      xor_bytes(job.out + done, job.in + done, stream, job.size - done);
    }
    wipe(stream);
    return tag_mask;
  }

  static QUASI_NOINLINE V authenticate(const State& state, const Job& job,
                                       const std::uint8_t* ciphertext) {
    const std::size_t aad_blocks = job.aad_size / 16, blocks = job.size / 16;
    const std::size_t aad_rest = job.aad_size % 16, rest = job.size % 16;
    GhashStream<Swizzle, kPowers> hash(state.ghash,
                                       aad_blocks + (aad_rest != 0) + blocks + (rest != 0) + 1);
    if (aad_rest == 0) {
      if (aad_blocks != 0) hash.feed(job.aad, aad_blocks);
    } else {
      // The last blocks of the AAD, three of them at most, go together: every feed has its price.
      const std::size_t together = std::min<std::size_t>(aad_blocks, 2);
      const std::size_t before = aad_blocks - together;
      if (before != 0) hash.feed(job.aad, before);
      alignas(16) std::uint8_t end[48];
      const std::uint8_t* aad = job.aad + 16 * before;
      for (std::size_t i = 0; i < together; ++i) store(end + 16 * i, load(aad + 16 * i));
      store(end + 16 * together, zero());
      copy_short(end + 16 * together, aad + 16 * together, aad_rest);
      hash.feed(end, together + 1);
    }
    alignas(16) std::uint8_t last[32];
    if (blocks != 0) hash.feed(ciphertext, blocks);
    // The padded rest and the lengths in one go.
    std::uint8_t* lengths = last;
    if (rest != 0) {
      store(last, zero());
      copy_short(last, ciphertext + 16 * blocks, rest);
      lengths += 16;
    }
    store_be(lengths, std::uint64_t{job.aad_size} * 8);
    store_be(lengths + 8, std::uint64_t{job.size} * 8);
    hash.feed(last, rest != 0 ? 2 : 1);
    return hash.result();
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      const V mask = crypt(state, job);
      store(job.tag, authenticate(state, job, job.out) ^ mask);
      job.ok = true;
    }
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      V tag = authenticate(state, job, job.in);
      tag = tag ^ crypt(state, job) ^ load(job.tag);
      // All zeros when the tag was right.
      job.ok = (lane64<0>(tag) | lane64<1>(tag)) == 0;
      if (!job.ok) zero_output(job);
    }
  }
};

/// Header masks (RFC 9001 §5.4.3), eight at a time.
template <class Engine, unsigned kRounds>
struct AesHeader {
  using State = typename Engine::template BlockKey<kRounds>;

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    Engine::expand(state, round_keys);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) { Engine::mask(state, jobs); }
};

}  // namespace quasi::aead::simd
