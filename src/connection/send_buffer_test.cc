#include "connection/send_buffer.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "connection/allocation_count.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using testing::byte_at;
using testing::pattern;

class SendBufferTest : public ::testing::Test {
 protected:
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  SendBuffer buffer_{blocks_};

  void write(std::size_t size) {
    ASSERT_EQ(buffer_.write(pattern(buffer_.end_offset(), size)), size);
  }
  static void expect_bytes(const DataChunk& chunk) {
    EXPECT_EQ(chunk.spans[0].size() + chunk.spans[1].size(), chunk.size);
    std::vector<std::uint8_t> bytes(chunk.size);
    chunk.copy_to(bytes.data());
    EXPECT_EQ(bytes, pattern(chunk.offset, chunk.size));
  }
};

TEST_F(SendBufferTest, FreshDataComesInOrderAcrossBlocks) {
  write(20'000);
  std::uint64_t offset = 0;
  while (buffer_.has_fresh()) {
    const DataChunk chunk = buffer_.take_fresh(1300);
    EXPECT_EQ(chunk.offset, offset);
    EXPECT_TRUE(chunk.fresh);
    expect_bytes(chunk);
    offset += chunk.size;
  }
  EXPECT_EQ(offset, 20'000U);
  EXPECT_EQ(buffer_.take_fresh(1300).size, 0U);
}

TEST_F(SendBufferTest, AcknowledgedBlocksAreReleased) {
  write(3 * limits::kStreamBlockSize);
  (void)buffer_.take_fresh(limits::kStreamBlockSize);
  (void)buffer_.take_fresh(limits::kStreamBlockSize);
  EXPECT_EQ(blocks_.in_use(), 3U);
  buffer_.on_acked(limits::kStreamBlockSize, limits::kStreamBlockSize);
  EXPECT_EQ(blocks_.in_use(), 3U);
  EXPECT_EQ(buffer_.acked_end(), 0U);
  buffer_.on_acked(0, limits::kStreamBlockSize);
  EXPECT_EQ(blocks_.in_use(), 1U);
  EXPECT_EQ(buffer_.acked_end(), 2 * limits::kStreamBlockSize);
  EXPECT_EQ(buffer_.held(), limits::kStreamBlockSize);
}

TEST_F(SendBufferTest, LostDataIsSentAgainUnlessAcknowledgedMeanwhile) {
  write(10'000);
  for (int i = 0; i < 10; ++i) (void)buffer_.take_fresh(1000);
  buffer_.on_acked(3000, 1000);
  buffer_.on_lost(2000, 3000);
  ASSERT_TRUE(buffer_.has_lost());
  const DataChunk first = buffer_.take_lost(5000);
  EXPECT_EQ(first.offset, 2000U);
  EXPECT_EQ(first.size, 1000U);
  EXPECT_FALSE(first.fresh);
  expect_bytes(first);
  const DataChunk part = buffer_.take_lost(400);
  EXPECT_EQ(part.offset, 4000U);
  EXPECT_EQ(part.size, 400U);
  buffer_.on_acked(4000, 1000);  // the lost packet was only late
  EXPECT_FALSE(buffer_.has_lost());
}

TEST_F(SendBufferTest, LossIsIdempotent) {
  write(3000);
  (void)buffer_.take_fresh(3000);
  buffer_.on_lost(0, 1000);
  buffer_.on_lost(0, 1000);
  buffer_.on_lost(500, 1000);
  EXPECT_EQ(buffer_.take_lost(9000).size, 1500U);
  EXPECT_FALSE(buffer_.has_lost());
  buffer_.on_acked(0, 3000);
  buffer_.on_lost(0, 3000);
  EXPECT_FALSE(buffer_.has_lost());
  EXPECT_TRUE(buffer_.all_acked());
}

TEST_F(SendBufferTest, RangesNeverSentAreIgnored) {
  write(3000);
  (void)buffer_.take_fresh(1000);
  buffer_.on_acked(2000, 1000);
  buffer_.on_acked(500, 1500);
  buffer_.on_lost(900, 2000);
  EXPECT_FALSE(buffer_.has_lost());  // 900..1000 is acknowledged
}

TEST_F(SendBufferTest, ReleaseKeepsWhatWasSent) {
  write(9000);
  (void)buffer_.take_fresh(4000);
  buffer_.release();
  EXPECT_EQ(buffer_.next_offset(), 4000U);
  EXPECT_FALSE(buffer_.has_fresh());
  EXPECT_EQ(blocks_.in_use(), 0U);
  buffer_.on_lost(0, 4000);
  buffer_.on_acked(0, 1000);
  EXPECT_FALSE(buffer_.has_lost());
}

TEST_F(SendBufferTest, SteadyStateAllocatesNothing) {
  std::vector<std::uint8_t> data(6000, 7);
  const auto round = [&] {
    ASSERT_EQ(buffer_.write(data), data.size());
    while (buffer_.has_fresh()) (void)buffer_.take_fresh(1250);
    const std::uint64_t begin = buffer_.acked_end();
    buffer_.on_lost(begin + 1250, 1250);
    (void)buffer_.take_lost(1250);
    buffer_.on_acked(begin + 2500, 3500);
    buffer_.on_acked(begin, 2500);
    ASSERT_TRUE(buffer_.all_acked());
  };
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t allocations = allocation_count();
  const std::uint64_t blocks = blocks_.allocations();
  for (int i = 0; i < 1000; ++i) round();
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(blocks_.allocations(), blocks);
}

// Packets that are acknowledged, lost or late at random, against one state a byte.
TEST(SendBufferModel, RandomAcksAndLosses) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    BufferPool blocks(limits::kStreamBlockSize, 16);
    SendBuffer buffer(blocks);
    enum class Byte : std::uint8_t { fresh, flying, lost, acked };
    std::vector<Byte> model;
    struct Sent {
      std::size_t offset = 0;
      std::size_t size = 0;
    };
    std::vector<Sent> flying;    // not yet acknowledged nor lost
    std::vector<Sent> declared;  // lost; may still be acknowledged late
    constexpr std::size_t kTotal = 200'000;
    while (!(model.size() == kTotal && buffer.all_acked())) {
      switch (random() % 6) {
        case 0: {
          const std::size_t size =
              std::min(kTotal - model.size(), static_cast<std::size_t>(random() % 7000));
          ASSERT_EQ(buffer.write(pattern(model.size(), size)), size);
          model.resize(model.size() + size, Byte::fresh);
          break;
        }
        case 1:
        case 2: {
          const std::uint64_t max = random() % 1500;
          const bool lost = buffer.has_lost();
          const DataChunk chunk = lost ? buffer.take_lost(max) : buffer.take_fresh(max);
          std::vector<std::uint8_t> bytes(chunk.size);
          chunk.copy_to(bytes.data());
          ASSERT_EQ(bytes, pattern(chunk.offset, chunk.size));
          for (std::size_t i = 0; i < chunk.size; ++i) {
            Byte& state = model[static_cast<std::size_t>(chunk.offset) + i];
            ASSERT_EQ(state, lost ? Byte::lost : Byte::fresh) << chunk.offset + i;
            state = Byte::flying;
          }
          if (chunk.size != 0)
            flying.push_back({static_cast<std::size_t>(chunk.offset), chunk.size});
          break;
        }
        default: {
          const bool late = random() % 8 == 0;
          auto& from = late ? declared : flying;
          if (from.empty()) break;
          const auto i = static_cast<std::size_t>(random() % from.size());
          const Sent packet = from[i];
          from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
          if (late || random() % 4 != 0) {
            buffer.on_acked(packet.offset, packet.size);
            for (std::size_t k = 0; k < packet.size; ++k) {
              model[packet.offset + k] = Byte::acked;
            }
          } else {
            buffer.on_lost(packet.offset, packet.size);
            for (std::size_t k = 0; k < packet.size; ++k) {
              Byte& state = model[packet.offset + k];
              if (state != Byte::acked) state = Byte::lost;
            }
            declared.push_back(packet);
          }
          break;
        }
      }
      const auto floor = static_cast<std::size_t>(buffer.acked_end());
      ASSERT_LE(floor, model.size());
      ASSERT_TRUE(floor == model.size() || model[floor] != Byte::acked);
      ASSERT_TRUE(floor == 0 || model[floor - 1] == Byte::acked);
    }
    EXPECT_EQ(blocks.in_use(), 0U);
  }
}

}  // namespace
}  // namespace quasi::connection
