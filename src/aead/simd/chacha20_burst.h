// Blocks of ChaCha20 that fill no pass of their own: for every packet of a burst
// the Poly1305 key block (counter 0), and the last 1 to 4 blocks of its message.
// They go into lanes one after another, whoever they belong to, and their keystream
// is kept. All other passes are then four whole blocks of one packet.
//
//     packets of 1,350 bytes    key  20 whole blocks, five passes   21  22
//     lanes                     A:key A:21 A:22 B:key | B:21 B:22 C:key C:21 | ...
//
// Three lanes a packet instead of a pass for each: 5.75 passes a packet instead of
// 6, and packets of any size waste at most the lanes of the burst's last pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "aead/simd/chacha20.h"
#include "quasi/aead.h"

namespace quasi::aead::simd {

/// The odd blocks of up to kBurst jobs.
class OddBlocks {
 public:
  static constexpr std::size_t kBurst = 8;

  OddBlocks(const ChaChaKey& key, std::span<const Job> jobs) {
    std::size_t lanes = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Job& job = jobs[i];
      first_[i] = static_cast<std::uint8_t>(lanes);
      const std::size_t whole = job.size / 256 * 256;
      const std::size_t tail_blocks = (job.size - whole + 63) / 64;
      add(lanes++, job, 0);
      for (std::size_t b = 0; b < tail_blocks; ++b)
        add(lanes++, job, static_cast<std::uint32_t>(1 + whole / 64 + b));
    }
    while (lanes % 4 != 0) add(lanes++, jobs[0], 0);
    lanes_ = lanes;
    for (std::size_t lane = 0; lane < lanes; lane += 4) pass(key, lane);
  }
  ~OddBlocks() { secure_wipe(stream_, 64 * lanes_); }
  OddBlocks(const OddBlocks&) = delete;
  OddBlocks& operator=(const OddBlocks&) = delete;

  /// 32 bytes (RFC 8439 §2.6).
  [[nodiscard]] const std::uint8_t* poly_key(std::size_t job) const { return stream_[first_[job]]; }
  /// Keystream of the last size % 256 bytes.
  [[nodiscard]] const std::uint8_t* tail(std::size_t job) const { return stream_[first_[job] + 1]; }

 private:
  static constexpr std::size_t kLanes = 5 * kBurst;

  QUASI_INLINE void add(std::size_t lane, const Job& job, std::uint32_t counter) {
    words_[0][lane] = counter;
    for (unsigned i = 0; i < 3; ++i)
      words_[1 + i][lane] = load_le<std::uint32_t>(job.nonce.data() + 4 * i);
  }

  QUASI_NOINLINE void pass(const ChaChaKey& key, std::size_t lane) {
    const chacha::Start start{
        load(words_[0] + lane),
        {load(words_[1] + lane), load(words_[2] + lane), load(words_[3] + lane)}};
    V x[16];
    chacha::set_up(x, key, start);
    QUASI_NO_UNROLL
    for (unsigned i = 0; i < 10; ++i) chacha::double_round(x);
    chacha::finish_store(x, key, start, stream_[lane]);
  }

  alignas(16) std::uint32_t words_[4][kLanes];
  alignas(16) std::uint8_t stream_[kLanes][64];
  std::uint8_t first_[kBurst];
  std::size_t lanes_;
};

}  // namespace quasi::aead::simd
