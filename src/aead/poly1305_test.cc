#include "aead/poly1305.h"

#include <gtest/gtest.h>

#include "aead/test_support.h"

namespace quasi::aead {
namespace {

using Buffer = std::vector<std::uint8_t>;

template <class Poly>
Buffer tag_of(const Buffer& key, const Buffer& message) {
  Poly poly(key.data());
  poly1305_padded(poly, message.data(), message.size());
  Buffer tag(16);
  poly.finish(tag.data());
  return tag;
}

template <class Poly>
class Poly1305 : public ::testing::Test {};
using Forms = ::testing::Types<Poly1305Wide, Poly1305Narrow, Poly1305Pair>;
TYPED_TEST_SUITE(Poly1305, Forms);

// Whole blocks only, as in an AEAD. Numbers worked out by hand: r = 1 makes the tag the sum of
// the blocks (each with its 2^128) modulo p.
TYPED_TEST(Poly1305, SumsOfBlocksNearTheModulus) {
  Buffer key(32);
  key[0] = 1;
  // 2^129 - 1 + 2^129 - 1 = 2^130 - 2 = 3 modulo p.
  EXPECT_EQ(tag_of<TypeParam>(key, Buffer(32, 0xff)),
            testing::hex("03000000000000000000000000000000"));
  // 2^128, 2^128, 2^129 - 5, 2^128: together 5 * 2^128 - 5 = 2^128 modulo p, and the tag is its
  // low 128 bits.
  Buffer message(64);
  for (std::size_t i = 32; i < 48; ++i) message[i] = 0xff;
  message[32] = 0xfb;
  EXPECT_EQ(tag_of<TypeParam>(key, message), Buffer(16, 0));
}

TYPED_TEST(Poly1305, AgreesWithTheWideForm) {
  testing::Random random(11);
  for (std::size_t blocks = 0; blocks < 40; ++blocks) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      Buffer key = random.bytes(32), message = random.bytes(16 * blocks);
      if (repeat == 1) key.assign(32, 0xff);
      if (repeat >= 6) message.assign(message.size(), 0xff);
      EXPECT_EQ(tag_of<TypeParam>(key, message), tag_of<Poly1305Wide>(key, message));
    }
  }
}

}  // namespace
}  // namespace quasi::aead
