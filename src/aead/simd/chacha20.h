// ChaCha20 (RFC 8439) with four blocks in four lanes: vector i is word i of four
// blocks. A column round and a diagonal round are then the same operations on
// other vectors, and no lane moves before the end. Rotations by 16 and 8 are byte
// shuffles with constant lanes; 12 and 7 are two shifts and an OR.
#pragma once

#include <cstdint>

#include "aead/scalar/chacha20.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

struct ChaChaKey {
  alignas(16) std::uint32_t words[8];
};

namespace chacha {

template <unsigned kBits>
QUASI_INLINE V rotate(V v) {
  if constexpr (kBits == 16) {
    return shuffle8<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(v, v);
  } else if constexpr (kBits == 8) {
    return shuffle8<3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14>(v, v);
  } else {
    return shl32(v, kBits) | shr32(v, 32 - kBits);
  }
}

QUASI_INLINE void quarter_round(V& a, V& b, V& c, V& d) {
  a = add32(a, b);
  d = rotate<16>(d ^ a);
  c = add32(c, d);
  b = rotate<12>(b ^ c);
  a = add32(a, b);
  d = rotate<8>(d ^ a);
  c = add32(c, d);
  b = rotate<7>(b ^ c);
}

QUASI_INLINE void double_round(V (&x)[16]) {
  quarter_round(x[0], x[4], x[8], x[12]);
  quarter_round(x[1], x[5], x[9], x[13]);
  quarter_round(x[2], x[6], x[10], x[14]);
  quarter_round(x[3], x[7], x[11], x[15]);
  quarter_round(x[0], x[5], x[10], x[15]);
  quarter_round(x[1], x[6], x[11], x[12]);
  quarter_round(x[2], x[7], x[8], x[13]);
  quarter_round(x[3], x[4], x[9], x[14]);
}

/// The starting words of four blocks.
struct Start {
  V counter, nonce[3];
};

QUASI_INLINE void set_up(V (&x)[16], const ChaChaKey& key, const Start& start) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 4; ++i) x[i] = splat32(kChaChaConstants[i]);
  QUASI_UNROLL
  for (unsigned i = 0; i < 8; ++i) x[4 + i] = splat32(key.words[i]);
  x[12] = start.counter;
  QUASI_UNROLL
  for (unsigned i = 0; i < 3; ++i) x[13 + i] = start.nonce[i];
}

/// Adds the starting words to rows 4 kRow .. 4 kRow + 3 and turns lanes into blocks: afterwards
/// x[4 kRow + b] is bytes 16 kRow .. 16 kRow + 15 of block b.
template <unsigned kRow>
QUASI_INLINE void finish_row(V (&x)[16], const ChaChaKey& key, const Start& start) {
  QUASI_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    V first;
    if constexpr (kRow == 0)
      first = splat32(kChaChaConstants[i]);
    else if constexpr (kRow < 3)
      first = splat32(key.words[4 * (kRow - 1) + i]);
    else
      first = i == 0 ? start.counter : start.nonce[i == 0 ? 0 : i - 1];
    x[4 * kRow + i] = add32(x[4 * kRow + i], first);
  }
  transpose32(x[4 * kRow], x[4 * kRow + 1], x[4 * kRow + 2], x[4 * kRow + 3]);
}

/// out = in xor the 256 bytes of four blocks.
QUASI_INLINE void finish_xor(V (&x)[16], const ChaChaKey& key, const Start& start,
                             const std::uint8_t* in, std::uint8_t* out) {
  const auto row = [&]<unsigned kRow>() QUASI_INLINE_LAMBDA {
    finish_row<kRow>(x, key, start);
    QUASI_UNROLL
    for (unsigned b = 0; b < 4; ++b) {
      const unsigned at = 64 * b + 16 * kRow;
      store(out + at, load(in + at) ^ x[4 * kRow + b]);
    }
  };
  row.template operator()<0>();
  row.template operator()<1>();
  row.template operator()<2>();
  row.template operator()<3>();
}

/// The 256 bytes of four blocks.
QUASI_INLINE void finish_store(V (&x)[16], const ChaChaKey& key, const Start& start,
                               std::uint8_t* out) {
  const auto row = [&]<unsigned kRow>() QUASI_INLINE_LAMBDA {
    finish_row<kRow>(x, key, start);
    QUASI_UNROLL
    for (unsigned b = 0; b < 4; ++b) store(out + 64 * b + 16 * kRow, x[4 * kRow + b]);
  };
  row.template operator()<0>();
  row.template operator()<1>();
  row.template operator()<2>();
  row.template operator()<3>();
}

QUASI_INLINE Start start_of(std::uint32_t counter, const std::uint8_t* nonce) {
  return Start{make32(counter, counter + 1, counter + 2, counter + 3),
               {splat32(load_le<std::uint32_t>(nonce)), splat32(load_le<std::uint32_t>(nonce + 4)),
                splat32(load_le<std::uint32_t>(nonce + 8))}};
}

}  // namespace chacha
}  // namespace quasi::aead::simd
