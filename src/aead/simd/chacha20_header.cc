// ChaCha20 header masks (RFC 9001 §5.4.4): four samples are four blocks with their
// own counters and nonces, one a lane. Only the first four words of each block are
// needed, so three quarters of the last step fall away.
#ifndef QUASI_KERNELS_SCALAR_ONLY

#include <algorithm>
#include <cstring>
#include <span>

#include "aead/simd/chacha20.h"
#include "aead/simd/kernels.h"

namespace quasi::aead::simd {
namespace {

struct Header {
  using State = ChaChaKey;

  static void expand(State& state, const std::uint8_t* key) {
    std::memcpy(state.words, key, sizeof state.words);
  }

  static void mask(const State& state, std::span<MaskJob> jobs) {
    while (!jobs.empty()) {
      const std::size_t count = std::min<std::size_t>(jobs.size(), 4);
      V sample[4];
      for (std::size_t i = 0; i < 4; ++i) sample[i] = load(jobs[std::min(i, count - 1)].sample);
      transpose32(sample[0], sample[1], sample[2], sample[3]);
      const chacha::Start start{sample[0], {sample[1], sample[2], sample[3]}};
      V x[16];
      chacha::set_up(x, state, start);
      QUASI_NO_UNROLL
      for (int i = 0; i < 10; ++i) chacha::double_round(x);
      chacha::finish_row<0>(x, state, start);
      for (std::size_t i = 0; i < count; ++i) store(jobs[i].mask.data(), x[i]);
      jobs = jobs.subspan(count);
    }
  }
};

}  // namespace

constexpr HeaderKernel kChaCha20Header =
    make_header_kernel<Header>("simd128", Algorithm::chacha20_poly1305, supported);

}  // namespace quasi::aead::simd

#endif  // QUASI_KERNELS_SCALAR_ONLY
