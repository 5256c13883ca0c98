// Loads, stores, the constant-time comparison and the wipe.
#include "quasi/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace quasi {
namespace {

TEST(Bytes, LoadsAndStoresBothByteOrders) {
  const std::array<std::uint8_t, 9> in = {0xff, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(load_be<std::uint16_t>(in.data() + 1), 0x0102);
  EXPECT_EQ(load_le<std::uint16_t>(in.data() + 1), 0x0201);
  EXPECT_EQ(load_be<std::uint32_t>(in.data() + 1), 0x01020304U);
  EXPECT_EQ(load_le<std::uint64_t>(in.data() + 1), 0x0807060504030201U);

  std::array<std::uint8_t, 9> out = {};
  store_be<std::uint64_t>(out.data() + 1, 0x0102030405060708U);
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(std::equal(in.begin() + 1, in.end(), out.begin() + 1));
  store_le<std::uint32_t>(out.data(), 0x0a0b0c0dU);
  EXPECT_EQ(out[0], 0x0d);
  EXPECT_EQ(out[3], 0x0a);
  EXPECT_EQ(out[4], 4);
}

TEST(Bytes, ConstantTimeEqualSeesEveryBitOfEveryByte) {
  std::array<std::uint8_t, 33> a = {};
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i * 37);
  std::array<std::uint8_t, 33> b = a;
  EXPECT_TRUE(constant_time_equal(a, b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      b[i] = static_cast<std::uint8_t>(a[i] ^ (1U << bit));
      EXPECT_FALSE(constant_time_equal(a, b)) << i << " " << bit;
    }
    b[i] = a[i];
  }
}

TEST(Bytes, ConstantTimeEqualComparesLengths) {
  const std::array<std::uint8_t, 4> a = {1, 2, 3, 4};
  EXPECT_FALSE(constant_time_equal(a, Bytes(a).first(3)));
  EXPECT_FALSE(constant_time_equal(Bytes(), a));
  EXPECT_TRUE(constant_time_equal(Bytes(), Bytes()));
}

TEST(Bytes, SecureWipeTouchesItsRangeOnly) {
  std::array<std::uint8_t, 8> a;
  a.fill(0xaa);
  secure_wipe(a.data() + 2, 4);
  EXPECT_EQ(a, (std::array<std::uint8_t, 8>{0xaa, 0xaa, 0, 0, 0, 0, 0xaa, 0xaa}));
}

}  // namespace
}  // namespace quasi
