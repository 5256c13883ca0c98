#include "connection/stream_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/limits.h"
#include "connection/allocation_count.h"

namespace quasi::connection {
namespace {

class StreamTableTest : public ::testing::Test {
 protected:
  BufferPool blocks_{limits::kStreamBlockSize, 16};
  RecvAccount account_;
};

TEST_F(StreamTableTest, AgreesWithMap) {
  // The last multiplier is as bad as one can be: all IDs collide.
  for (const std::uint64_t seed :
       {std::uint64_t{0x9e3779b97f4a7c15}, std::uint64_t{12345}, std::uint64_t{1}}) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    StreamTable table(seed);
    std::map<StreamId, Stream*> model;
    StreamId next = 0;
    for (int step = 0; step < 20'000; ++step) {
      if (random() % 2 == 0 && model.size() < 300) {
        next += 1 + random() % 3;
        EXPECT_EQ(table.find(next), nullptr);
        model[next] = &table.insert(next, blocks_, account_);
      } else if (!model.empty()) {
        auto it = model.lower_bound(random() % (next + 1));
        if (it == model.end()) it = model.begin();
        ASSERT_EQ(table.find(it->first), it->second);
        table.erase(*it->second);
        EXPECT_EQ(table.find(it->first), nullptr);
        model.erase(it);
      }
      ASSERT_EQ(table.size(), model.size());
      if (step % 50 == 0) {
        for (const auto& [id, stream] : model) ASSERT_EQ(table.find(id), stream);
        std::size_t count = 0;
        table.for_each([&](Stream& s) { count += model.count(s.id); });
        ASSERT_EQ(count, model.size());
      }
    }
  }
}

TEST_F(StreamTableTest, StreamsAreRecycled) {
  StreamTable table(7);
  const auto round = [&](StreamId id) {
    Stream& stream = table.insert(id, blocks_, account_);
    stream.urgency = 0;
    stream.events = Stream::kSent;
    table.erase(stream);
  };
  round(0);
  const std::uint64_t before = allocation_count();
  for (StreamId id = 4; id < 4000; id += 4) round(id);
  EXPECT_EQ(allocation_count(), before);
  const Stream& fresh = table.insert(5000, blocks_, account_);
  EXPECT_EQ(fresh.urgency, Stream::kDefaultUrgency);
  EXPECT_EQ(fresh.events, 0U);
}

}  // namespace
}  // namespace quasi::connection
