#ifndef QUASI_KERNELS_SCALAR_ONLY

#include "aead/simd/poly1305_dot.h"

#include <gtest/gtest.h>

#include "aead/test_support.h"

namespace quasi::aead::simd {
namespace {

using Buffer = std::vector<std::uint8_t>;

Buffer dot_tag(const Buffer& key, const Buffer& message, std::size_t cut) {
  Poly1305Dot poly(key.data(), message.size() / 16);
  poly.blocks(message.data(), cut);
  poly.blocks(message.data() + 16 * cut, message.size() / 16 - cut);
  Buffer tag(16);
  poly.finish(tag.data());
  return tag;
}

Buffer wide_tag(const Buffer& key, const Buffer& message) {
  Poly1305Wide poly(key.data());
  poly.blocks(message.data(), message.size() / 16);
  Buffer tag(16);
  poly.finish(tag.data());
  return tag;
}

// The bounds in poly1305_dot.h, met by keys and messages that press against them.
TEST(Poly1305Dot, AgreesWithTheWideFormForExtremes) {
  testing::Random random(21);
  const Buffer patterns = testing::hex("00 01 1f 20 7f 80 aa 55 e0 f0 fe ff");
  for (std::size_t blocks = 1; blocks <= 90; blocks += blocks < 20 ? 1 : 7) {
    for (const std::uint8_t k : patterns) {
      for (const std::uint8_t m : patterns) {
        const Buffer key(32, k), message(16 * blocks, m);
        ASSERT_EQ(dot_tag(key, message, 0), wide_tag(key, message));
      }
    }
    const Buffer key = random.bytes(32), message = random.bytes(16 * blocks);
    for (std::size_t cut = 0; cut <= blocks; ++cut)
      ASSERT_EQ(dot_tag(key, message, cut), wide_tag(key, message));
  }
}

TEST(Poly1305Dot, AgreesForLongRandomMessages) {
  testing::Random random(22);
  for (int i = 0; i < 20; ++i) {
    const Buffer key = random.bytes(32);
    Buffer message = random.bytes(16 * (500 + random.below(500)));
    for (auto& byte : message)
      if (random.below(3) != 0) byte = 0xff;
    ASSERT_EQ(dot_tag(key, message, 1), wide_tag(key, message));
  }
}

}  // namespace
}  // namespace quasi::aead::simd

#endif
