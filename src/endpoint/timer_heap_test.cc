// The heap against a plain map, over a seeded random sequence of operations.
#include "endpoint/timer_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace quasi::endpoint {
namespace {

TEST(TimerHeap, AgreesWithAMap) {
  constexpr unsigned kSeed = 20261201;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  TimerHeap heap;
  std::map<std::uint32_t, std::int64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 200);
    switch (random() % 4) {
      case 0:
      case 1: {
        const auto at = static_cast<std::int64_t>(random() % 1000);
        heap.set(id, Instant::from_ns(at));
        model[id] = at;
        break;
      }
      case 2:
        heap.set(id, Instant::never());
        model.erase(id);
        break;
      default: {
        std::int64_t earliest = INT64_MAX;
        for (const auto& [key, at] : model) earliest = std::min(earliest, at);
        ASSERT_EQ(heap.next().ns(), earliest);
        std::uint32_t popped = 0;
        if (earliest > 500) {
          ASSERT_FALSE(heap.pop_due(Instant::from_ns(500), popped));
          break;
        }
        ASSERT_TRUE(heap.pop_due(Instant::from_ns(500), popped));
        ASSERT_EQ(model.at(popped), earliest);
        model.erase(popped);
      }
    }
    ASSERT_EQ(heap.size(), model.size());
  }
}

}  // namespace
}  // namespace quasi::endpoint
