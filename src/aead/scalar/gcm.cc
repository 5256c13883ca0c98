// AES-GCM (NIST SP 800-38D) and AES header masks (RFC 9001 §5.4.3) on 64-bit words.
#include <algorithm>
#include <cstring>

#include "aead/scalar/aes64.h"
#include "aead/scalar/ghash64.h"
#include "aead/scalar/kernels.h"

namespace quasi::aead::scalar {
namespace {

template <unsigned kRounds>
struct Gcm {
  struct State {
    Aes64Key<kRounds> aes;
    GhashKey64 ghash;
  };

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    expand_aes64(state.aes, round_keys);
    std::uint64_t q[8] = {};
    encrypt_aes64(state.aes, q);
    std::uint8_t h[16];
    store_block(h, q, 0);
    expand_ghash64(state.ghash, h);
    secure_wipe(h, sizeof h);
  }

  /// Four keystream blocks, from `counter` on.
  static void keystream(std::uint8_t (&out)[64], const State& state, const Job& job,
                        std::uint32_t counter) {
    std::uint64_t q[8];
    for (unsigned b = 0; b < 4; ++b)
      load_block(q, b, load_le<std::uint32_t>(job.nonce.data()),
                 load_le<std::uint32_t>(job.nonce.data() + 4),
                 load_le<std::uint32_t>(job.nonce.data() + 8), std::byteswap(counter + b));
    encrypt_aes64(state.aes, q);
    for (unsigned b = 0; b < 4; ++b) store_block(out + 16 * b, q, b);
  }

  static void crypt(const State& state, const Job& job, std::uint8_t (&tag_mask)[16]) {
    std::uint8_t stream[64];
    // Counter 1 masks the tag (§7.1 step 2), the message starts at 2.
    keystream(stream, state, job, 1);
    std::memcpy(tag_mask, stream, 16);
    std::size_t done = std::min<std::size_t>(job.size, 48);
    for (std::size_t i = 0; i < done; ++i)
      job.out[i] = static_cast<std::uint8_t>(job.in[i] ^ stream[16 + i]);
    std::uint32_t counter = 5;
    for (; done < job.size; counter += 4) {
      keystream(stream, state, job, counter);
      const std::size_t count = std::min<std::size_t>(job.size - done, 64);
      if (count == 64) {
        for (unsigned i = 0; i < 64; i += 8)
          store_le(job.out + done + i,
                   load_le<std::uint64_t>(job.in + done + i) ^ load_le<std::uint64_t>(stream + i));
      } else {
        for (std::size_t i = 0; i < count; ++i)
          job.out[done + i] = static_cast<std::uint8_t>(job.in[done + i] ^ stream[i]);
      }
      done += count;
    }
    secure_wipe(stream, sizeof stream);
  }

  static void authenticate(std::uint8_t (&out)[16], const State& state, const Job& job,
                           const std::uint8_t* ciphertext) {
    Ghash64 hash(state.ghash);
    hash.padded(job.aad, job.aad_size);
    hash.padded(ciphertext, job.size);
    hash.lengths(job.aad_size, job.size);
    hash.finish(out);
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      std::uint8_t mask[16], hash[16];
      crypt(state, job, mask);
      authenticate(hash, state, job, job.out);
      for (unsigned i = 0; i < 16; ++i) job.tag[i] = static_cast<std::uint8_t>(hash[i] ^ mask[i]);
      job.ok = true;
    }
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      std::uint8_t mask[16], hash[16];
      authenticate(hash, state, job, job.in);
      crypt(state, job, mask);
      for (unsigned i = 0; i < 16; ++i) hash[i] = static_cast<std::uint8_t>(hash[i] ^ mask[i]);
      job.ok = constant_time_equal(hash, Bytes(job.tag, 16));
      if (!job.ok) zero_output(job);
      secure_wipe(hash, sizeof hash);
    }
  }
};

template <unsigned kRounds>
struct Header {
  using State = Aes64Key<kRounds>;

  static void expand(State& state, const std::uint8_t* key) {
    AesRoundKeys<kRounds> round_keys;
    expand_aes_key(round_keys, key);
    expand_aes64(state, round_keys);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    while (!jobs.empty()) {
      const std::size_t count = std::min<std::size_t>(jobs.size(), 4);
      std::uint64_t q[8] = {};
      for (unsigned b = 0; b < count; ++b) {
        const std::uint8_t* s = jobs[b].sample;
        load_block(q, b, load_le<std::uint32_t>(s), load_le<std::uint32_t>(s + 4),
                   load_le<std::uint32_t>(s + 8), load_le<std::uint32_t>(s + 12));
      }
      encrypt_aes64(state, q);
      for (unsigned b = 0; b < count; ++b) store_block(jobs[b].mask.data(), q, b);
      jobs = jobs.subspan(count);
    }
  }
};

}  // namespace

constexpr Kernel kAes128Gcm = make_kernel<Gcm<kAes128Rounds>>("scalar", Algorithm::aes_128_gcm);
constexpr Kernel kAes256Gcm = make_kernel<Gcm<kAes256Rounds>>("scalar", Algorithm::aes_256_gcm);
constexpr HeaderKernel kAes128Header =
    make_header_kernel<Header<kAes128Rounds>>("scalar", Algorithm::aes_128_gcm);
constexpr HeaderKernel kAes256Header =
    make_header_kernel<Header<kAes256Rounds>>("scalar", Algorithm::aes_256_gcm);

}  // namespace quasi::aead::scalar
