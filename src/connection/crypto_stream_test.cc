#include "connection/crypto_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/limits.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using testing::byte_at;
using testing::make_packet;
using testing::Packet;
using testing::pattern;

class CryptoStreamTest : public ::testing::Test {
 protected:
  BufferPool slots_{2048, 64};
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  RecvAccount account_;
  CryptoStream stream_{blocks_, account_};

  Status receive(std::uint64_t offset, std::size_t size) {
    const Packet p = make_packet(slots_, offset, size);
    return stream_.on_crypto(offset, p.data, p.block);
  }
  std::uint64_t drain() {
    std::uint64_t total = 0;
    for (Bytes next = stream_.readable(); !next.empty(); next = stream_.readable()) {
      for (const std::uint8_t b : next) EXPECT_EQ(b, byte_at(read_++));
      total += next.size();
      stream_.consume(next.size());
    }
    return total;
  }
  std::uint64_t read_ = 0;
};

//
TEST_F(CryptoStreamTest, TooFarBeyondWhatWasRead) {
  EXPECT_TRUE(receive(limits::kCryptoBuffer - 1, 1).has_value());
  const Status s = receive(limits::kCryptoBuffer, 1);
  ASSERT_FALSE(s.has_value());
  EXPECT_EQ(s.error().code, TransportErrorCode::crypto_buffer_exceeded);
  EXPECT_EQ(s.error().frame_type, 0x06U);
  EXPECT_FALSE(receive(limits::kMaxVarint, 1).has_value());
  EXPECT_FALSE(receive(~std::uint64_t{0}, 1).has_value());
}

//
TEST_F(CryptoStreamTest, FarOffsetAllocatesNothing) {
  EXPECT_FALSE(receive(0xFFFFF, 1).has_value());
  EXPECT_EQ(blocks_.in_use(), 0U);
  EXPECT_EQ(slots_.in_use(), 0U);
}

// a flight of 9 KB whose first datagram comes last; and one of the largest size.
TEST_F(CryptoStreamTest, FirstDatagramOfALongFlightLost) {
  for (std::uint64_t offset = 1000; offset < 9000; offset += 1000) {
    ASSERT_TRUE(receive(offset, 1000).has_value());
  }
  EXPECT_TRUE(stream_.readable().empty());
  ASSERT_TRUE(receive(0, 1000).has_value());
  EXPECT_EQ(drain(), 9000U);
  for (std::uint64_t offset = 9000 + 1000; offset + 1000 <= 9000 + limits::kCryptoBuffer;
       offset += 1000) {
    ASSERT_TRUE(receive(offset, 1000).has_value());
  }
  ASSERT_TRUE(receive(9000, 1000).has_value());
  EXPECT_EQ(drain(), limits::kCryptoBuffer / 1000 * 1000);
  EXPECT_EQ(slots_.in_use(), 0U);
}

TEST_F(CryptoStreamTest, LimitMovesWithReading) {
  ASSERT_TRUE(receive(0, 100).has_value());
  EXPECT_TRUE(stream_.has_unread());
  EXPECT_FALSE(receive(limits::kCryptoBuffer, 1).has_value());
  EXPECT_EQ(drain(), 100U);
  EXPECT_FALSE(stream_.has_unread());
  EXPECT_TRUE(receive(limits::kCryptoBuffer, 1).has_value());
}

// at the size that CRYPTO allows.
TEST_F(CryptoStreamTest, OneByteFrames) {
  for (std::uint64_t i = 1; i < limits::kCryptoBuffer; i += 2) {
    ASSERT_TRUE(receive(i, 1).has_value());
  }
  EXPECT_LE(account_.page_bytes(), limits::kCryptoBuffer * 5 / 4);
  for (std::uint64_t i = limits::kCryptoBuffer; i >= 2; i -= 2) {
    ASSERT_TRUE(receive(i - 2, 1).has_value());
  }
  EXPECT_EQ(drain(), limits::kCryptoBuffer);
  EXPECT_EQ(blocks_.in_use(), 0U);
}

TEST_F(CryptoStreamTest, WrittenBytesAreSentAndSentAgain) {
  ASSERT_TRUE(stream_.write(pattern(0, 3000)).has_value());
  EXPECT_TRUE(stream_.wants_to_send());
  EXPECT_EQ(stream_.next_offset(), 0U);
  const DataChunk a = stream_.next_chunk(1000);
  const DataChunk b = stream_.next_chunk(5000);
  EXPECT_EQ(b.size, 2000U);
  EXPECT_FALSE(stream_.wants_to_send());
  stream_.on_acked(b.offset, b.size);
  stream_.resend_all();
  EXPECT_EQ(stream_.next_offset(), 0U);
  const DataChunk again = stream_.next_chunk(5000);
  EXPECT_EQ(again.size, 1000U);
  EXPECT_FALSE(stream_.all_acked());
  stream_.on_acked(a.offset, a.size);
  EXPECT_TRUE(stream_.all_acked());
  EXPECT_EQ(blocks_.in_use(), 0U);
}

TEST_F(CryptoStreamTest, ReleaseDropsBothDirections) {
  ASSERT_TRUE(stream_.write(pattern(0, 3000)).has_value());
  ASSERT_TRUE(receive(100, 1000).has_value());
  stream_.release();
  EXPECT_FALSE(stream_.wants_to_send());
  EXPECT_EQ(blocks_.in_use(), 0U);
  EXPECT_EQ(account_.buffered(), 0U);
}

}  // namespace
}  // namespace quasi::connection
