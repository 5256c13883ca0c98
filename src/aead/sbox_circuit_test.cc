#include "aead/sbox_circuit.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "aead/aes_schedule.h"
#include "aead/gf256.h"
#include "aead/test_support.h"

namespace quasi::aead {
namespace {

TEST(SboxCircuit, IsTheSboxForAllInputs) {
  // 64 inputs a pass, input i of the pass in bit i of each plane.
  for (unsigned base = 0; base < 256; base += 64) {
    std::uint64_t planes[8] = {};
    for (unsigned i = 0; i < 64; ++i)
      for (unsigned bit = 0; bit < 8; ++bit)
        planes[bit] |= std::uint64_t{(base + i) >> bit & 1} << i;
    sbox_without_constant(planes);
    for (unsigned i = 0; i < 64; ++i) {
      unsigned value = 0;
      for (unsigned bit = 0; bit < 8; ++bit)
        value |= static_cast<unsigned>(planes[bit] >> i & 1) << bit;
      EXPECT_EQ(value ^ 0x63U, gf256::sbox(static_cast<std::uint8_t>(base + i)));
    }
  }
}

// FIPS 197, appendix A: the last round keys.
TEST(AesSchedule, Fips197) {
  AesRoundKeys<kAes128Rounds> keys_128;
  expand_aes_key(keys_128, testing::hex("2b7e151628aed2a6abf7158809cf4f3c").data());
  EXPECT_EQ(testing::hex("d014f9a8c9ee2589e13f0cc8b6630ca6"),
            std::vector<std::uint8_t>(keys_128.bytes[10], keys_128.bytes[10] + 16));
  AesRoundKeys<kAes256Rounds> keys_256;
  expand_aes_key(
      keys_256,
      testing::hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4").data());
  EXPECT_EQ(testing::hex("fe4890d1e6188d0b046df344706c631e"),
            std::vector<std::uint8_t>(keys_256.bytes[14], keys_256.bytes[14] + 16));
}

}  // namespace
}  // namespace quasi::aead
