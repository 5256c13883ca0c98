#include "connection/stream_ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>

namespace quasi::connection {
namespace {

TEST(StreamRing, AgreesWithDeque) {
  constexpr std::uint64_t kSeed = 20'260'301;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  Ring<std::uint64_t> ring;
  std::deque<std::uint64_t> model;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t value = random();
    switch (random() % 8) {
      case 0:
      case 1:
        ring.push_back(value);
        model.push_back(value);
        break;
      case 2:
        ring.push_front(value);
        model.push_front(value);
        break;
      case 3:
      case 4:
        if (model.empty()) break;
        ring.pop_front();
        model.pop_front();
        break;
      case 5:
        if (model.empty()) break;
        ring.pop_back();
        model.pop_back();
        break;
      case 6: {
        const std::size_t at = random() % (model.size() + 1);
        ring.insert(at, value);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), value);
        break;
      }
      default:
        if (step % 1000 == 0) {
          ring.clear_and_trim(16);
          model.clear();
        }
        break;
    }
    ASSERT_EQ(ring.size(), model.size());
    if (model.empty()) continue;
    ASSERT_EQ(ring.front(), model.front());
    ASSERT_EQ(ring.back(), model.back());
    const std::size_t i = random() % model.size();
    ASSERT_EQ(ring[i], model[i]);
    if (step % 100 == 0) {
      for (std::size_t k = 0; k < model.size(); ++k) ASSERT_EQ(ring[k], model[k]);
    }
  }
}

}  // namespace
}  // namespace quasi::connection
