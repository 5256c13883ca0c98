// The AES key schedule, without a table or a branch on the key (see aes_schedule.h).
#include "aead/aes_schedule.h"

#include <bit>
#include <cstring>

#include "aead/gf256.h"
#include "aead/sbox_circuit.h"

namespace quasi::aead {
namespace {

// S-box of the four bytes of a word. Plane i holds bit i of byte k at bit 8k.
std::uint32_t sub_word(std::uint32_t word) {
  std::uint32_t planes[8];
  for (unsigned i = 0; i < 8; ++i) planes[i] = word >> i & 0x01010101U;
  sbox_without_constant(planes);
  std::uint32_t result = 0x63636363U;
  for (unsigned i = 0; i < 8; ++i) result ^= planes[i] << i;
  return result;
}

template <unsigned kRounds>
void expand(AesRoundKeys<kRounds>& out, const std::uint8_t* key) {
  constexpr std::size_t kKeyWords = kRounds - 6;
  constexpr std::size_t kWords = 4 * (kRounds + 1);
  std::uint32_t words[kWords];
  std::memcpy(words, key, 4 * kKeyWords);
  std::uint8_t round_constant = 1;
  for (std::size_t i = kKeyWords; i < kWords; ++i) {
    std::uint32_t word = words[i - 1];
    if (i % kKeyWords == 0) {
      word = sub_word(std::rotr(word, 8)) ^ round_constant;  // little-endian RotWord
      round_constant = gf256::xtime(round_constant);
    } else if (kKeyWords > 6 && i % kKeyWords == 4) {
      word = sub_word(word);
    }
    words[i] = words[i - kKeyWords] ^ word;
  }
  std::memcpy(out.bytes, words, sizeof words);
  secure_wipe(words, sizeof words);
}

}  // namespace

void expand_aes_key(AesRoundKeys<kAes128Rounds>& out, const std::uint8_t* key) { expand(out, key); }
void expand_aes_key(AesRoundKeys<kAes256Rounds>& out, const std::uint8_t* key) { expand(out, key); }

}  // namespace quasi::aead
