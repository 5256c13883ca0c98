// Readers and writers in both directions: bounds, soft failure, rewinding.
#include "wire/cursor.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::from_hex;
using testing::to_hex;

TEST(Cursor, OneSerializerGivesBothImages) {
  const auto serialize = [](auto& writer) {
    writer.varint(8);
    writer.varint(15293);
    writer.u8(0xab);
    writer.bytes(std::array<std::uint8_t, 3>{1, 2, 3});
  };
  std::array<std::uint8_t, 16> room{};
  Writer<Forward> forward(room);
  serialize(forward);
  EXPECT_EQ(to_hex(forward.output()),
            "08"
            "7bbd"
            "ab"
            "010203");
  Writer<Reverse> reverse(room);
  serialize(reverse);
  EXPECT_EQ(to_hex(reverse.output()),
            "010203"
            "ab"
            "eef5"
            "20");
  EXPECT_EQ(reverse.output().data(), room.data() + 16 - 7);
}

template <class D>
void fails_softly() {
  std::array<std::uint8_t, 5> room{};
  Writer<D> writer(room);
  writer.varint(100);
  EXPECT_EQ(writer.written(), 2U);
  const auto mark = writer.mark();
  writer.u8(7);
  writer.u32(1);  // does not fit
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.written(), 3U);
  writer.u8(8);  // would fit, but something is missing before it
  EXPECT_EQ(writer.written(), 3U);
  writer.rewind(mark);
  EXPECT_TRUE(writer.ok());
  EXPECT_EQ(writer.remaining(), 3U);
  EXPECT_EQ(writer.reserve(3).size(), 3U);
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer.reserve(0).empty());
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer.reserve(1).empty());
  EXPECT_FALSE(writer.ok());

  Writer<D> too_large(room);
  too_large.varint(kMaxVarint + 1);
  EXPECT_FALSE(too_large.ok());
  Writer<D> too_narrow(room);
  too_narrow.sized_varint(64, 1);
  EXPECT_FALSE(too_narrow.ok());
  EXPECT_EQ(too_narrow.written(), 0U);
}
TEST(Cursor, WriterFailsSoftlyForward) { fails_softly<Forward>(); }
TEST(Cursor, WriterFailsSoftlyReverse) { fails_softly<Reverse>(); }

template <class D>
void reads_back() {
  std::array<std::uint8_t, 64> room{};
  Writer<D> writer(room);
  writer.varint(494878333);
  writer.u16(0x1234);
  writer.u32(0x56789abc);
  writer.counted_bytes(std::array<std::uint8_t, 2>{9, 8});
  writer.zeros(21);
  writer.u8(1);
  ASSERT_TRUE(writer.ok());

  Reader<D> reader(writer.output());
  std::uint64_t number = 0;
  std::uint16_t two = 0;
  std::uint32_t four = 0;
  std::uint8_t one = 0;
  Bytes bytes;
  EXPECT_TRUE(reader.varint(number));
  EXPECT_TRUE(reader.u16(two));
  EXPECT_TRUE(reader.u32(four));
  EXPECT_TRUE(reader.counted_bytes(bytes));
  EXPECT_EQ(number, 494878333U);
  EXPECT_EQ(two, 0x1234);
  EXPECT_EQ(four, 0x56789abcU);
  EXPECT_EQ(to_hex(bytes), "0908");
  EXPECT_EQ(reader.skip_run(0), 21U);
  EXPECT_EQ(reader.consumed(), 4U + 2 + 4 + 3 + 21);
  EXPECT_TRUE(reader.u8(one));
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.u8(one));
  EXPECT_FALSE(reader.varint(number));
  EXPECT_FALSE(reader.u16(two));
  EXPECT_EQ(reader.skip_run(1), 0U);
}
TEST(Cursor, ReadsBackForward) { reads_back<Forward>(); }
TEST(Cursor, ReadsBackReverse) { reads_back<Reverse>(); }

TEST(Cursor, FailedReadsMoveNothing) {
  const auto forward = from_hex("05aabb");
  Reader<Forward> reader(forward);
  Bytes bytes;
  EXPECT_FALSE(reader.counted_bytes(bytes));
  EXPECT_FALSE(reader.bytes(kMaxVarint, bytes));
  EXPECT_FALSE(reader.skip(4));
  EXPECT_EQ(reader.remaining(), 3U);
  const auto reverse = from_hex("aabb14");
  Reader<Reverse> backwards(reverse);
  EXPECT_FALSE(backwards.counted_bytes(bytes));
  EXPECT_EQ(backwards.remaining(), 3U);
  EXPECT_EQ(to_hex(backwards.rest()), "aabb14");
}

}  // namespace
}  // namespace quasi::wire
