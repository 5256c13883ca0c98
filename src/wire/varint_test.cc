// Varints of both directions against the published examples, at every boundary,
// and truncated.
#include "wire/varint.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::from_hex;
using testing::to_hex;

template <class D>
std::string encode(std::uint64_t value, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  D::encode(out.data(), value, size);
  return to_hex(out);
}

/// The value if all of `hex` is one varint, else nothing.
template <class D>
std::optional<std::uint64_t> decode(std::string_view hex) {
  const auto bytes = from_hex(hex);
  std::uint64_t value = 0;
  if (D::decode(bytes.data(), bytes.data() + bytes.size(), value) != bytes.size()) {
    return std::nullopt;
  }
  return value;
}

// RFC 9000 A.1.
TEST(Varint, ForwardExamples) {
  EXPECT_EQ(decode<Forward>("c2197c5eff14e88c"), 151288809941952652U);
  EXPECT_EQ(decode<Forward>("9d7f3e7d"), 494878333U);
  EXPECT_EQ(decode<Forward>("7bbd"), 15293U);
  EXPECT_EQ(decode<Forward>("25"), 37U);
  EXPECT_EQ(decode<Forward>("4025"), 37U);  // not minimal, and legal
  EXPECT_EQ(encode<Forward>(151288809941952652U, 8), "c2197c5eff14e88c");
  EXPECT_EQ(encode<Forward>(494878333U, 4), "9d7f3e7d");
  EXPECT_EQ(encode<Forward>(15293U, 2), "7bbd");
  EXPECT_EQ(encode<Forward>(37U, 1), "25");
  EXPECT_EQ(encode<Forward>(37U, 2), "4025");
}

TEST(Varint, ReverseExamples) {
  const struct {
    std::uint64_t value;
    const char* hex;
  } examples[] = {
      {0, "00"},
      {1, "04"},
      {37, "94"},
      {63, "fc"},
      {64, "0101"},
      {15293, "eef5"},
      {16383, "fffd"},
      {16384, "00010002"},
      {494878333, "75fcf9f6"},
      {151288809941952652U, "0865f17bfc53a233"},
  };
  for (const auto& example : examples) {
    EXPECT_EQ(decode<Reverse>(example.hex), example.value);
    EXPECT_EQ(encode<Reverse>(example.value, varint_size(example.value)), example.hex);
  }
  EXPECT_EQ(decode<Reverse>("0095"), 37U);  // not minimal, and legal
}

template <class D>
void round_trip_everywhere() {
  for (unsigned bits = 0; bits <= 62; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      if (value > kMaxVarint) continue;
      for (std::size_t size = varint_size(value); size <= 8; size *= 2) {
        const std::string hex = encode<D>(value, size);
        EXPECT_EQ(decode<D>(hex), value) << hex;
        for (std::size_t cut = 1; cut <= size; ++cut) {
          const std::string part =
              D::kReversed ? hex.substr(2 * cut) : hex.substr(0, hex.size() - 2 * cut);
          const auto bytes = from_hex(part);
          std::uint64_t ignored = 0;
          EXPECT_EQ(D::decode(bytes.data(), bytes.data() + bytes.size(), ignored), 0U) << hex;
        }
      }
    }
  }
}

TEST(Varint, RoundTripsAndTruncationForward) { round_trip_everywhere<Forward>(); }
TEST(Varint, RoundTripsAndTruncationReverse) { round_trip_everywhere<Reverse>(); }

TEST(Varint, Sizes) {
  EXPECT_EQ(varint_size(0), 1U);
  EXPECT_EQ(varint_size(63), 1U);
  EXPECT_EQ(varint_size(64), 2U);
  EXPECT_EQ(varint_size(16383), 2U);
  EXPECT_EQ(varint_size(16384), 4U);
  EXPECT_EQ(varint_size((1U << 30) - 1), 4U);
  EXPECT_EQ(varint_size(1U << 30), 8U);
  EXPECT_EQ(varint_size(kMaxVarint), 8U);
}

}  // namespace
}  // namespace quasi::wire
