#include "connection/recv_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "connection/allocation_count.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using testing::byte_at;
using testing::make_packet;
using testing::Packet;

class RecvBufferTest : public ::testing::Test {
 protected:
  // A slot holds one datagram, a train 64 KiB of them.
  BufferPool slots_{2048, 64};
  BufferPool trains_{65536, 64};
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  RecvAccount account_;
  RecvBuffer buffer_{blocks_, account_};

  void put(std::uint64_t offset, std::size_t size) {
    const Packet p = make_packet(slots_, offset, size);
    ASSERT_TRUE(buffer_.insert(offset, p.data, p.block));
  }
  // Reads and checks everything that is readable; returns how much that was.
  std::uint64_t drain() {
    std::uint64_t total = 0;
    while (buffer_.readable_size() != 0) {
      std::array<Bytes, 4> spans;
      const std::size_t count = buffer_.readable(spans);
      EXPECT_NE(count, 0U);
      std::uint64_t offset = buffer_.read_offset();
      std::size_t size = 0;
      for (const Bytes span : std::span(spans).first(count)) {
        for (const std::uint8_t b : span) {
          if (b != byte_at(offset)) {
            ADD_FAILURE() << "wrong byte at " << offset;
            return total;
          }
          ++offset;
        }
        size += span.size();
      }
      buffer_.consume(size);
      total += size;
    }
    return total;
  }
  void expect_nothing_held() {
    EXPECT_EQ(account_.buffered(), 0U);
    EXPECT_EQ(account_.pinned(), 0U);
    EXPECT_EQ(account_.page_bytes(), 0U);
    EXPECT_EQ(slots_.in_use(), 0U);
    EXPECT_EQ(trains_.in_use(), 0U);
    EXPECT_EQ(blocks_.in_use(), 0U);
  }
};

TEST_F(RecvBufferTest, InOrderDataIsLentWhereItLies) {
  const Packet a = make_packet(slots_, 0, 1200);
  const Packet b = make_packet(slots_, 1200, 1300);
  ASSERT_TRUE(buffer_.insert(0, a.data, a.block));
  ASSERT_TRUE(buffer_.insert(1200, b.data, b.block));
  std::array<Bytes, 8> spans;
  ASSERT_EQ(buffer_.readable(spans), 2U);
  EXPECT_EQ(spans[0].data(), a.data.data());
  EXPECT_EQ(spans[0].size(), 1200U);
  EXPECT_EQ(spans[1].data(), b.data.data());
  EXPECT_EQ(account_.copied(), 0U);
  EXPECT_EQ(account_.buffered(), 2500U);
  buffer_.consume(1000);
  EXPECT_EQ(buffer_.readable().data(), a.data.data() + 1000);
  buffer_.consume(200);
  EXPECT_EQ(buffer_.readable().data(), b.data.data());
  buffer_.consume(5000);  // more than there is
  EXPECT_EQ(buffer_.read_offset(), 2500U);
}

TEST_F(RecvBufferTest, ConsumingReleasesPacketBuffers) {
  put(0, 1200);
  put(1200, 1200);
  EXPECT_EQ(slots_.in_use(), 2U);
  buffer_.consume(1199);
  EXPECT_EQ(slots_.in_use(), 2U);
  buffer_.consume(1);
  EXPECT_EQ(slots_.in_use(), 1U);
  buffer_.consume(1200);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, HolesAreFilledInAnyOrder) {
  put(2400, 1200);
  put(1200, 1200);
  EXPECT_EQ(buffer_.readable_size(), 0U);
  EXPECT_EQ(buffer_.reordered_view_count(), 2U);
  put(0, 1200);
  EXPECT_EQ(buffer_.readable_size(), 3600U);
  EXPECT_EQ(account_.copied(), 0U);
  EXPECT_EQ(drain(), 3600U);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, OverlapsAreTrimmedAndDuplicatesHoldNothing) {
  put(0, 500);
  put(200, 600);  // 300 bytes are new
  put(0, 800);    // nothing is
  EXPECT_EQ(slots_.in_use(), 2U);
  EXPECT_EQ(buffer_.contiguous_end(), 800U);
  put(1000, 500);
  put(1800, 500);
  put(900, 1500);  // 900..1000, 1500..1800 and 2300..2400 are new
  EXPECT_EQ(account_.buffered(), 800U + 1500U);
  put(800, 1500);  // 800..900 is
  EXPECT_EQ(buffer_.readable_size(), 2400U);
  EXPECT_EQ(drain(), 2400U);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, FirstBytesWin) {
  std::vector<std::uint8_t> other(1000, 0xEE);
  put(100, 200);
  ASSERT_TRUE(buffer_.insert(0, other, BufferRef()));
  std::vector<std::uint8_t> out(1000);
  ASSERT_EQ(buffer_.read(out), 1000U);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], i >= 100 && i < 300 ? byte_at(i) : 0xEE) << i;
  }
}

// a late copy of what was consumed must not cost what was buffered since.
TEST_F(RecvBufferTest, LateDuplicateKeepsLaterData) {
  put(0, 1000);
  EXPECT_EQ(drain(), 1000U);
  put(2000, 1000);
  put(500, 500);
  put(0, 1000);
  EXPECT_EQ(buffer_.readable_size(), 0U);
  put(1000, 1000);
  EXPECT_EQ(drain(), 2000U);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, TinyPiecesStayInPlaceWhileTheyAreFew) {
  for (std::size_t i = 0; i < limits::kMaxTinyViews; ++i) put(i * 10, 10);
  EXPECT_EQ(account_.copied(), 0U);
  EXPECT_EQ(buffer_.page_count(), 0U);
  for (std::size_t i = limits::kMaxTinyViews; i < 2000; ++i) put(i * 10, 10);
  EXPECT_EQ(account_.copied(), 20'000 - limits::kMaxTinyViews * 10);
  // Neighbours in a page are one view.
  EXPECT_LE(buffer_.view_count(), limits::kMaxTinyViews + 6);
  EXPECT_LE(slots_.in_use(), limits::kMaxTinyViews);
  EXPECT_EQ(drain(), 20'000U);
  expect_nothing_held();
}

// one-byte pieces at even offsets, then the odd ones. Each costs O(1); memory
// stays near the size of the data.
TEST_F(RecvBufferTest, EvenThenOddBytes) {
  constexpr std::uint64_t kSize = 262'144;
  for (std::uint64_t i = 2; i < kSize; i += 2) put(i, 1);
  EXPECT_EQ(buffer_.readable_size(), 0U);
  EXPECT_EQ(buffer_.reordered_view_count(), 0U);
  EXPECT_LE(account_.page_bytes(), kSize + kSize / 8 + limits::kStreamBlockSize);
  EXPECT_EQ(slots_.in_use(), 0U);
  put(0, 1);
  for (std::uint64_t i = 1; i < kSize; i += 2) put(i, 1);
  EXPECT_EQ(buffer_.readable_size(), kSize);
  EXPECT_LE(buffer_.view_count(), kSize / limits::kStreamPage + limits::kMaxTinyViews);
  EXPECT_EQ(drain(), kSize);
  expect_nothing_held();
}

// the holes filled backwards.
TEST_F(RecvBufferTest, HolesFilledInReverse) {
  constexpr std::uint64_t kSize = 262'144;
  for (std::uint64_t i = 1; i < kSize; i += 2) put(i, 1);
  for (std::uint64_t i = kSize; i >= 2; i -= 2) put(i - 2, 1);
  EXPECT_EQ(buffer_.readable_size(), kSize);
  EXPECT_EQ(drain(), kSize);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, FullSizedPiecesInReverseStayViews) {
  constexpr std::size_t kPiece = 1200;
  constexpr std::uint64_t kCount = 2000;
  for (std::uint64_t i = kCount; i-- > 1;) put(i * kPiece, kPiece);
  EXPECT_EQ(buffer_.reordered_view_count(), kCount - 1);
  put(0, kPiece);
  EXPECT_EQ(account_.copied(), 0U);
  EXPECT_EQ(drain(), kCount * kPiece);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, ViewsOutOfOrderAreCapped) {
  // Many in each train, so that the cap on pinned bytes is not what stops them.
  constexpr std::uint64_t kStep = 400;
  constexpr std::size_t kPiece = 200;
  const std::uint64_t count = limits::kMaxReorderedViews + 500;
  BufferRef train;
  std::size_t used = trains_.block_size();
  for (std::uint64_t i = 1; i <= count; ++i) {
    if (used + kPiece > trains_.block_size()) {
      train = trains_.allocate();
      used = 0;
    }
    std::uint8_t* at = train.data() + used;
    used += kPiece;
    for (std::size_t k = 0; k < kPiece; ++k) at[k] = byte_at(i * kStep + k);
    ASSERT_TRUE(buffer_.insert(i * kStep, Bytes(at, kPiece), train));
  }
  train = BufferRef();
  EXPECT_EQ(buffer_.reordered_view_count(), limits::kMaxReorderedViews);
  EXPECT_EQ(account_.copied(), 500 * kPiece);
  for (std::uint64_t i = 0; i <= count; ++i) put(i * kStep, kStep);
  EXPECT_EQ(drain(), (count + 1) * kStep);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, TinyPiecesAreCopiedWhenMuchIsPinned) {
  RecvBuffer other(blocks_, account_);
  for (std::uint64_t i = 0; i <= limits::kPinnedFloor / 2 / 2048; ++i) {
    const Packet p = make_packet(slots_, i * 1200, 1200);
    ASSERT_TRUE(other.insert(i * 1200, p.data, p.block));
  }
  put(0, 10);
  EXPECT_EQ(account_.copied(), 10U);
  other.release();
  put(10, 10);
  EXPECT_EQ(account_.copied(), 10U);
}

// a window full of one-byte pieces, each alone in a buffer of its own.
TEST_F(RecvBufferTest, PinnedBytesStayInProportion) {
  constexpr std::uint64_t kWindow = 1 << 20;
  for (std::uint64_t i = 0; i < kWindow; ++i) {
    const Packet p = make_packet(i % 2 == 0 ? trains_ : slots_, i, 1);
    ASSERT_TRUE(buffer_.insert(i, p.data, p.block));
  }
  EXPECT_LE(account_.pinned() + account_.page_bytes(), 3 * kWindow);
  EXPECT_LE(slots_.in_use() * 2048 + trains_.in_use() * 65536, 2 * kWindow);
  EXPECT_EQ(drain(), kWindow);
  expect_nothing_held();
}

// The same with pieces large enough to be views of 64 KiB blocks.
TEST_F(RecvBufferTest, TrainsWithLittleInThemAreCopiedOut) {
  constexpr std::uint64_t kPieces = 1000;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    const Packet p = make_packet(trains_, i * 200, 200);
    ASSERT_TRUE(buffer_.insert(i * 200, p.data, p.block));
  }
  EXPECT_LE(trains_.in_use() * 65536, limits::kPinnedFloor + limits::kPinnedRatio * kPieces * 200);
  EXPECT_EQ(drain(), kPieces * 200);
  expect_nothing_held();
}

TEST_F(RecvBufferTest, TrainCountsOnceHoweverManyViewsItHas) {
  const BufferRef train = trains_.allocate();
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t k = 0; k < 1200; ++k) train.data()[i * 1300 + k] = byte_at(i * 1200 + k);
    ASSERT_TRUE(buffer_.insert(i * 1200, Bytes(train.data() + i * 1300, 1200), train));
  }
  EXPECT_EQ(account_.pinned(), 65536U);
  buffer_.consume(39 * 1200);
  EXPECT_EQ(account_.pinned(), 65536U);
  EXPECT_EQ(drain(), 1200U);
  EXPECT_EQ(account_.pinned(), 0U);
}

// nothing is sized from an offset but a pointer for each 4 KiB of the window.
TEST_F(RecvBufferTest, FarOffsetTakesOnePage) {
  put((8U << 20) - 1, 1);
  EXPECT_EQ(buffer_.page_count(), 1U);
  EXPECT_EQ(account_.page_bytes(), limits::kStreamBlockSize);
}

TEST_F(RecvBufferTest, CryptoBuffersCopyWhatComesOutOfOrder) {
  RecvBuffer crypto(blocks_, account_, true);
  const Packet late = make_packet(slots_, 1200, 1200);
  ASSERT_TRUE(crypto.insert(1200, late.data, late.block));
  EXPECT_EQ(account_.copied(), 1200U);
  EXPECT_EQ(account_.pinned(), 0U);
}

TEST_F(RecvBufferTest, ReleaseGivesEverythingBack) {
  put(0, 1200);
  put(1200, 20);
  put(5000, 1200);
  put(9000, 20);
  buffer_.consume(100);
  buffer_.release();
  EXPECT_EQ(buffer_.readable_size(), 0U);
  expect_nothing_held();
  buffer_.restart();
  put(0, 1200);
  EXPECT_EQ(drain(), 1200U);
}

TEST_F(RecvBufferTest, ReadCopiesAndConsumes) {
  put(0, 1000);
  put(1000, 1000);
  std::vector<std::uint8_t> out(1500);
  EXPECT_EQ(buffer_.read(out), 1500U);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], byte_at(i));
  EXPECT_EQ(buffer_.read(out), 500U);
  EXPECT_EQ(buffer_.read(out), 0U);
}

TEST_F(RecvBufferTest, InOrderPathAllocatesAndCopiesNothing) {
  constexpr std::size_t kPiece = 1250;
  std::uint64_t offset = 0;
  const auto burst = [&] {
    for (int i = 0; i < 40; ++i) {
      Packet p{slots_.allocate(), {}};
      p.data = Bytes(p.block.data() + 40, kPiece);
      ASSERT_TRUE(buffer_.insert(offset, p.data, p.block));
      offset += kPiece;
    }
    std::array<Bytes, 16> spans;
    while (const std::size_t count = buffer_.readable(spans)) {
      std::size_t size = 0;
      for (const Bytes s : std::span(spans).first(count)) size += s.size();
      buffer_.consume(size);
    }
  };
  burst();
  const std::uint64_t allocations = allocation_count();
  const std::uint64_t pool_allocations = slots_.allocations() + blocks_.allocations();
  for (int i = 0; i < 100; ++i) burst();
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(slots_.allocations() + blocks_.allocations(), pool_allocations);
  EXPECT_EQ(account_.copied(), 0U);
}

// Against a plain array of bytes: random pieces, whose bytes tell which insertion
// they are from, so that "first bytes win" is checked too.
void run_model(std::uint64_t seed, std::size_t largest, bool copy_reordered) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  constexpr std::uint64_t kWindow = 60'000;
  constexpr std::size_t kTotal = 400'000;
  std::mt19937_64 random(seed);
  BufferPool slots(2048, 16);
  BufferPool trains(65536, 16);
  BufferPool blocks(limits::kStreamBlockSize, 16);
  RecvAccount account;
  {
    RecvBuffer buffer(blocks, account, copy_reordered);
    std::vector<int> model(kTotal, -1);
    std::uint64_t consumed = 0;
    std::uint64_t present = 0;  // beyond consumed
    BufferRef train = trains.allocate();
    std::size_t train_used = 0;
    while (consumed < kTotal) {
      const std::uint64_t window_end = std::min<std::uint64_t>(kTotal, consumed + kWindow);
      // Mostly near the front, so that progress is made, and sometimes anywhere.
      std::uint64_t offset = 0;
      switch (random() % 4) {
        case 0:
          offset = buffer.contiguous_end();
          break;
        case 1:
          offset = buffer.contiguous_end() + random() % 2000;
          break;
        case 2:
          offset = consumed + random() % kWindow;
          break;
        default:
          offset = buffer.contiguous_end() - std::min(buffer.contiguous_end(), random() % 2000);
          break;
      }
      offset = std::min(offset, window_end);
      const std::uint64_t size =
          std::min<std::uint64_t>(random() % (largest + 1), window_end - offset);
      const auto version = static_cast<std::uint8_t>(random());
      BufferRef block;
      std::uint8_t* at = nullptr;
      if (size <= 1900 && random() % 2 == 0) {
        block = slots.allocate();
        at = block.data() + 50;
      } else {
        if (train_used + size > 65536) {
          train = trains.allocate();
          train_used = 0;
        }
        block = train;
        at = train.data() + train_used;
        train_used += size;
      }
      for (std::uint64_t i = 0; i < size; ++i) at[i] = version;
      ASSERT_TRUE(buffer.insert(offset, Bytes(at, static_cast<std::size_t>(size)), block));
      for (auto i = static_cast<std::size_t>(offset); i < offset + size; ++i) {
        if (i < consumed || model[i] >= 0) continue;
        model[i] = version;
        ++present;
      }
      auto contiguous = static_cast<std::size_t>(buffer.read_offset());
      while (contiguous < kTotal && model[contiguous] >= 0) ++contiguous;
      ASSERT_EQ(buffer.contiguous_end(), contiguous);
      ASSERT_EQ(account.buffered(), present);
      if (random() % 4 != 0) continue;
      std::array<Bytes, 3> spans;
      const std::size_t count = buffer.readable(spans);
      auto check = static_cast<std::size_t>(buffer.read_offset());
      for (const Bytes span : std::span(spans).first(count)) {
        for (const std::uint8_t b : span) ASSERT_EQ(b, model[check++]);
      }
      ASSERT_LE(check, contiguous);
      const std::uint64_t take = check == consumed ? 0 : random() % (check - consumed) + 1;
      buffer.consume(take);
      consumed += take;
      present -= take;
      ASSERT_EQ(buffer.read_offset(), consumed);
    }
  }
  EXPECT_EQ(account.buffered(), 0U);
  EXPECT_EQ(account.pinned(), 0U);
  EXPECT_EQ(account.page_bytes(), 0U);
  EXPECT_EQ(slots.in_use(), 0U);
  EXPECT_EQ(blocks.in_use(), 0U);
}

TEST(RecvBufferModel, LargePieces) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) run_model(seed, 2500, false);
}
TEST(RecvBufferModel, MixedPieces) {
  for (std::uint64_t seed = 100; seed <= 107; ++seed) run_model(seed, 400, false);
}
TEST(RecvBufferModel, TinyPieces) {
  for (std::uint64_t seed = 200; seed <= 201; ++seed) run_model(seed, 60, false);
}
TEST(RecvBufferModel, CopyingReordered) {
  for (std::uint64_t seed = 300; seed <= 303; ++seed) run_model(seed, 2500, true);
}

}  // namespace
}  // namespace quasi::connection
