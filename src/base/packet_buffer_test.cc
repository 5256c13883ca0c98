// The pool of packet buffers: counting, reuse, and who gives a block back.
#include "quasi/packet_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace quasi {
namespace {

TEST(PacketBuffer, BlocksAreAlignedAndOfTheirSize) {
  BufferPool pool(1500);
  EXPECT_GE(pool.block_size(), 1500U);
  const BufferRef a = pool.allocate();
  const BufferRef b = pool.allocate();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a.capacity(), pool.block_size());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
  // Both can be written wholly without touching the other.
  std::memset(a.data(), 0x11, a.capacity());
  std::memset(b.data(), 0x22, b.capacity());
  EXPECT_EQ(a.data()[a.capacity() - 1], 0x11);
  EXPECT_EQ(b.data()[0], 0x22);
}

TEST(PacketBuffer, EmptyReference) {
  const BufferRef empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.capacity(), 0U);
}

TEST(PacketBuffer, TheLastReferenceGivesTheBlockBack) {
  BufferPool pool(64);
  BufferRef a = pool.allocate();
  std::uint8_t* const where = a.data();
  EXPECT_EQ(pool.in_use(), 1U);
  BufferRef b = a;
  a = BufferRef();
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(b.data(), where);
  BufferRef c = std::move(b);
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move): moved-from is empty by contract
  EXPECT_EQ(pool.in_use(), 1U);
  c = BufferRef();
  EXPECT_EQ(pool.in_use(), 0U);
  // And it is what the next caller gets.
  EXPECT_EQ(pool.allocate().data(), where);
  EXPECT_EQ(pool.allocations(), 1U);
}

TEST(PacketBuffer, AssigningToItselfKeepsTheBlock) {
  BufferPool pool(64);
  BufferRef a = pool.allocate();
  const BufferRef& same = a;
  a = same;
  EXPECT_TRUE(a);
  EXPECT_EQ(pool.in_use(), 1U);
}

TEST(PacketBuffer, SteadyStateAsksTheAllocatorForNothing) {
  BufferPool pool(256, 8);
  std::vector<BufferRef> held(8);
  for (int round = 0; round < 100; ++round) {
    for (BufferRef& ref : held) ref = pool.allocate();
    for (BufferRef& ref : held) ref = BufferRef();
  }
  EXPECT_EQ(pool.allocations(), 8U);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(PacketBuffer, KeepsNoMoreThanItWasTold) {
  BufferPool pool(256, 2);
  {
    std::vector<BufferRef> held;
    for (int i = 0; i < 5; ++i) held.push_back(pool.allocate());
    EXPECT_EQ(pool.in_use(), 5U);
  }
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_EQ(pool.allocations(), 5U);
  std::vector<BufferRef> held;
  for (int i = 0; i < 5; ++i) held.push_back(pool.allocate());
  EXPECT_EQ(pool.allocations(), 8U);  // two were kept, three are new
}

}  // namespace
}  // namespace quasi
