// ChaCha20 (RFC 8439 §2.3) on 32-bit words, one block at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aead/attributes.h"
#include "quasi/bytes.h"

namespace quasi::aead {

/// "expand 32-byte k", RFC 8439 §2.3.
inline constexpr std::uint32_t kChaChaConstants[4] = {0x61707865U, 0x3320646eU, 0x79622d32U,
                                                      0x6b206574U};

namespace scalar {

struct ChaChaKey {
  std::uint32_t words[8];
};

QUASI_INLINE void quarter_round(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                std::uint32_t& d) {
  a += b;
  d = std::rotl(d ^ a, 16);
  c += d;
  b = std::rotl(b ^ c, 12);
  a += b;
  d = std::rotl(d ^ a, 8);
  c += d;
  b = std::rotl(b ^ c, 7);
}

/// The block of key, counter and nonce words, as 16 words.
inline void chacha_block(std::uint32_t (&out)[16], const ChaChaKey& key, std::uint32_t counter,
                         const std::uint32_t (&nonce)[3]) {
  std::uint32_t start[16];
  for (unsigned i = 0; i < 4; ++i) start[i] = kChaChaConstants[i];
  for (unsigned i = 0; i < 8; ++i) start[4 + i] = key.words[i];
  start[12] = counter;
  for (unsigned i = 0; i < 3; ++i) start[13 + i] = nonce[i];
  std::uint32_t x[16];
  std::memcpy(x, start, sizeof x);
  QUASI_NO_UNROLL
  for (int i = 0; i < 10; ++i) {
    for (unsigned j = 0; j < 4; ++j) quarter_round(x[j], x[4 + j], x[8 + j], x[12 + j]);
    for (unsigned j = 0; j < 4; ++j)
      quarter_round(x[j], x[4 + (j + 1) % 4], x[8 + (j + 2) % 4], x[12 + (j + 3) % 4]);
  }
  for (unsigned i = 0; i < 16; ++i) out[i] = x[i] + start[i];
}

/// out = in xor keystream from block `counter` on.
inline void chacha_xor(std::uint8_t* out, const std::uint8_t* in, std::size_t size,
                       const ChaChaKey& key, std::uint32_t counter,
                       const std::uint32_t (&nonce)[3]) {
  std::uint32_t block[16];
  for (; size >= 64; size -= 64, in += 64, out += 64) {
    chacha_block(block, key, counter++, nonce);
    for (unsigned i = 0; i < 16; ++i)
      store_le(out + 4 * i, load_le<std::uint32_t>(in + 4 * i) ^ block[i]);
  }
  if (size > 0) {
    chacha_block(block, key, counter, nonce);
    std::uint8_t bytes[64];
    std::memcpy(bytes, block, sizeof bytes);
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] ^ bytes[i]);
    secure_wipe(bytes, sizeof bytes);
  }
  secure_wipe(block, sizeof block);
}

}  // namespace scalar
}  // namespace quasi::aead
