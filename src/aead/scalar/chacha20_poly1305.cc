// ChaCha20-Poly1305 (RFC 8439 §2.8) and ChaCha20 header masks (RFC 9001 §5.4.4)
// on integers.
#include <cstring>

#include "aead/poly1305.h"
#include "aead/scalar/chacha20.h"
#include "aead/scalar/kernels.h"

namespace quasi::aead::scalar {
namespace {

struct ChaCha20Poly1305 {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static void load_nonce(std::uint32_t (&out)[3], const Job& job) {
    std::memcpy(out, job.nonce.data(), sizeof out);
  }

  static void authenticate(std::uint8_t (&tag)[16], const State& state, const Job& job,
                           const std::uint8_t* ciphertext) {
    std::uint32_t nonce[3], block[16];
    load_nonce(nonce, job);
    chacha_block(block, state, 0, nonce);  // §2.6: the one-time key
    std::uint8_t key[32];
    std::memcpy(key, block, sizeof key);
    Poly1305Scalar poly(key);
    poly1305_padded(poly, job.aad, job.aad_size);
    poly1305_padded(poly, ciphertext, job.size);
    poly1305_lengths(poly, job.aad_size, job.size);
    poly.finish(tag);
    secure_wipe(block, sizeof block);
    secure_wipe(key, sizeof key);
  }

  static void crypt(const State& state, const Job& job) {
    std::uint32_t nonce[3];
    load_nonce(nonce, job);
    chacha_xor(job.out, job.in, job.size, state, 1, nonce);
  }

  static void seal(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      crypt(state, job);
      std::uint8_t tag[16];
      authenticate(tag, state, job, job.out);
      std::memcpy(job.tag, tag, 16);
      job.ok = true;
    }
  }

  static void open(const State& state, std::span<Job> jobs) {
    for (Job& job : jobs) {
      std::uint8_t tag[16];
      authenticate(tag, state, job, job.in);
      job.ok = constant_time_equal(tag, Bytes(job.tag, 16));
      if (job.ok) {
        crypt(state, job);
      } else {
        zero_output(job);
      }
      secure_wipe(tag, sizeof tag);
    }
  }
};

struct Header {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    for (MaskJob& job : jobs) {
      // RFC 9001 §5.4.4: the sample is the counter and then the nonce.
      const auto counter = load_le<std::uint32_t>(job.sample);
      std::uint32_t nonce[3], block[16];
      std::memcpy(nonce, job.sample + 4, sizeof nonce);
      chacha_block(block, state, counter, nonce);
      std::memcpy(job.mask.data(), block, kMaskSize);
      secure_wipe(block, sizeof block);
    }
  }
};

}  // namespace

constexpr Kernel kChaCha20Poly1305 =
    make_kernel<ChaCha20Poly1305>("scalar", Algorithm::chacha20_poly1305);
constexpr HeaderKernel kChaCha20Header =
    make_header_kernel<Header>("scalar", Algorithm::chacha20_poly1305);

}  // namespace quasi::aead::scalar
