#include "endpoint/index_queue.h"

#include <gtest/gtest.h>

namespace quasi::endpoint {
namespace {

TEST(IndexQueue, KeepsTheOrderWhileItWrapsAndGrows) {
  IndexQueue queue;
  std::uint32_t in = 0;
  std::uint32_t out = 0;
  for (std::uint32_t round = 0; round < 100; ++round) {
    for (std::uint32_t i = 0; i < round % 13 + 1; ++i) queue.push_back(in++);
    for (std::uint32_t i = 0; i < round % 7 && !queue.empty(); ++i) {
      ASSERT_EQ(queue.front(), out++);
      queue.pop_front();
    }
    ASSERT_EQ(queue.size(), in - out);
  }
  while (!queue.empty()) {
    ASSERT_EQ(queue.front(), out++);
    queue.pop_front();
  }
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace quasi::endpoint
