// The AES key schedule (FIPS 197 §5.2) in constant time: the S-box is the gate
// circuit, not a table. Gives round keys as plain bytes; each kernel rearranges
// them for itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quasi/bytes.h"

namespace quasi::aead {

inline constexpr unsigned kAes128Rounds = 10;
inline constexpr unsigned kAes256Rounds = 14;

/// 16 bytes for the initial key addition and for each round.
template <unsigned kRounds>
struct AesRoundKeys {
  alignas(16) std::uint8_t bytes[kRounds + 1][16];
  ~AesRoundKeys() { secure_wipe(bytes, sizeof bytes); }
};

void expand_aes_key(AesRoundKeys<kAes128Rounds>& out, const std::uint8_t* key);
void expand_aes_key(AesRoundKeys<kAes256Rounds>& out, const std::uint8_t* key);

}  // namespace quasi::aead
