// IntervalSet against a plain bitmap, its cap, and the patterns that peers choose.
#include "base/interval_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace quasi {
namespace {

std::vector<Interval> all(const IntervalSet& set) { return {set.begin(), set.end()}; }

TEST(IntervalSet, MergesWhatOverlapsOrTouches) {
  IntervalSet set(16);
  EXPECT_EQ(set.insert(10, 20), 10u);
  EXPECT_EQ(set.insert(30, 40), 10u);
  EXPECT_EQ(set.insert(20, 25), 5u);  // touches on the left
  EXPECT_EQ(set.insert(28, 30), 2u);  // touches on the right
  EXPECT_EQ(all(set), (std::vector<Interval>{{10, 25}, {28, 40}}));
  EXPECT_EQ(set.insert(5, 50), 18u);
  EXPECT_EQ(all(set), (std::vector<Interval>{{5, 50}}));
  EXPECT_EQ(set.insert(6, 49), 0u);
  EXPECT_EQ(set.insert(7, 7), 0u);
  EXPECT_EQ(set.insert(9, 8), 0u);
  EXPECT_EQ(set.size(), 1u);
}

TEST(IntervalSet, KeepsTheLargestNumbers) {
  IntervalSet set(4);
  EXPECT_EQ(set.insert(UINT64_MAX - 1, UINT64_MAX), 1u);
  EXPECT_EQ(set.insert(0, 1), 1u);
  EXPECT_TRUE(set.contains(0));
  EXPECT_FALSE(set.contains(1));
  EXPECT_TRUE(set.contains(UINT64_MAX - 1));
  EXPECT_EQ(set.insert(0, UINT64_MAX), UINT64_MAX - 2);
  EXPECT_EQ(set.size(), 1u);
}

TEST(IntervalSet, EraseCutsAndRemoves) {
  IntervalSet set(16);
  (void)set.insert(0, 100);
  EXPECT_TRUE(set.erase(10, 20));
  EXPECT_TRUE(set.erase(15, 30));
  EXPECT_TRUE(set.erase(90, 200));
  EXPECT_EQ(all(set), (std::vector<Interval>{{0, 10}, {30, 90}}));
  set.erase_below(40);
  EXPECT_EQ(all(set), (std::vector<Interval>{{40, 90}}));
  EXPECT_TRUE(set.erase(0, 1000));
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.erase(0, 1));
}

TEST(IntervalSet, TheCapRefusesOrDropsTheLowest) {
  IntervalSet set(3);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(set.insert(10 * i, 10 * i + 1));
  EXPECT_FALSE(set.insert(50, 51));
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(set.insert(1, 2), 1u);  // merging needs no new range
  EXPECT_EQ(set.insert_dropping_lowest(50, 51), 2u);
  EXPECT_EQ(all(set), (std::vector<Interval>{{10, 11}, {20, 21}, {50, 51}}));
  // Lower than all that is kept: not worth more than the lowest.
  EXPECT_EQ(set.insert_dropping_lowest(5, 6), 6u);
  EXPECT_EQ(set.front().begin, 10u);

  IntervalSet whole(1);
  (void)whole.insert(0, 10);
  EXPECT_FALSE(whole.erase(4, 5));  // would make two
  EXPECT_EQ(all(whole), (std::vector<Interval>{{0, 10}}));
  EXPECT_TRUE(whole.erase(0, 5));
}

TEST(IntervalSet, AnswersQuestionsAboutRanges) {
  IntervalSet set(8);
  (void)set.insert(10, 20);
  (void)set.insert(30, 40);
  EXPECT_TRUE(set.contains(10, 20));
  EXPECT_TRUE(set.contains(15, 15));
  EXPECT_FALSE(set.contains(10, 21));
  EXPECT_FALSE(set.contains(15, 35));
  EXPECT_TRUE(set.intersects(19, 30));
  EXPECT_FALSE(set.intersects(20, 30));
  EXPECT_EQ(set.count(0, 100), 20u);
  EXPECT_EQ(set.count(15, 35), 10u);
  EXPECT_EQ(set.first_missing(5), 5u);
  EXPECT_EQ(set.first_missing(10), 20u);
  EXPECT_EQ(set.first_gap(0, 100), (Interval{0, 10}));
  EXPECT_EQ(set.first_gap(12, 100), (Interval{20, 30}));
  EXPECT_EQ(set.first_gap(12, 25), (Interval{20, 25}));
  EXPECT_EQ(set.first_gap(12, 18), std::nullopt);
  EXPECT_EQ(set.first_gap(35, 50), (Interval{40, 50}));
}

TEST(IntervalSet, SubtractRemovesTheOther) {
  IntervalSet a(16);
  IntervalSet b(16);
  (void)a.insert(0, 50);
  (void)a.insert(60, 100);
  (void)b.insert(10, 20);
  (void)b.insert(45, 70);
  (void)b.insert(99, 300);
  EXPECT_TRUE(a.subtract(b));
  EXPECT_EQ(all(a), (std::vector<Interval>{{0, 10}, {20, 45}, {70, 99}}));
  EXPECT_TRUE(a.subtract(a));
  EXPECT_TRUE(a.empty());
}

// Every operation against a bitmap of 256 numbers.
TEST(IntervalSet, BehavesLikeABitmap) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    constexpr std::size_t kUniverse = 256;
    const std::size_t cap = 1 + random() % 24;
    IntervalSet set(cap);
    std::vector<bool> model(kUniverse, false);
    const auto ranges_of = [](const std::vector<bool>& bits) {
      std::vector<Interval> out;
      for (std::size_t i = 0; i < bits.size(); ++i) {
        if (!bits[i]) continue;
        std::size_t j = i;
        while (j < bits.size() && bits[j]) ++j;
        out.push_back({i, j});
        i = j;
      }
      return out;
    };
    for (int step = 0; step < 3000; ++step) {
      const std::size_t begin = random() % kUniverse;
      const std::size_t end = std::min<std::size_t>(begin + random() % 24, kUniverse);
      std::vector<bool> wanted = model;
      const std::uint64_t what = random() % 10;
      if (what < 5) {
        std::uint64_t added = 0;
        for (std::size_t i = begin; i < end; ++i) {
          added += !wanted[i];
          wanted[i] = true;
        }
        const auto result = set.insert(begin, end);
        if (ranges_of(wanted).size() > cap) {
          ASSERT_FALSE(result);
        } else {
          ASSERT_EQ(result, added);
          model = wanted;
        }
      } else if (what < 8) {
        for (std::size_t i = begin; i < end; ++i) wanted[i] = false;
        const bool result = set.erase(begin, end);
        ASSERT_EQ(result, ranges_of(wanted).size() <= cap);
        if (result) model = wanted;
      } else if (what == 8) {
        const std::size_t bound = random() % 20;
        for (std::size_t i = 0; i < bound; ++i) model[i] = false;
        set.erase_below(bound);
      } else {
        for (std::size_t i = begin; i < end; ++i) wanted[i] = true;
        const auto dropped = static_cast<std::size_t>(set.insert_dropping_lowest(begin, end));
        for (std::size_t i = 0; i < dropped; ++i) wanted[i] = false;
        model = wanted;
      }
      ASSERT_EQ(all(set), ranges_of(model)) << "seed " << seed << " step " << step;
      const std::size_t probe = random() % kUniverse;
      ASSERT_EQ(set.contains(probe), model[probe]);
      std::uint64_t count = 0;
      bool every = true;
      for (std::size_t i = begin; i < end; ++i) {
        count += model[i];
        every = every && model[i];
      }
      ASSERT_EQ(set.count(begin, end), count);
      ASSERT_EQ(set.contains(begin, end), every);
      ASSERT_EQ(set.intersects(begin, end), count > 0);
    }
  }
}

// What a hostile peer would do to a reassembly buffer: numbers with
// holes, then the holes, forwards and backwards. A quadratic container needs
// minutes for this.
TEST(IntervalSet, HolesAndTheirFillingStayCheap) {
  constexpr std::uint64_t kRanges = 1u << 17;
  IntervalSet set(kRanges);
  for (std::uint64_t i = 0; i < kRanges; ++i) ASSERT_EQ(set.insert(2 * i, 2 * i + 1), 1u);
  ASSERT_EQ(set.size(), kRanges);
  for (std::uint64_t i = 0; i < kRanges; ++i) ASSERT_EQ(set.insert(2 * i + 1, 2 * i + 2), 1u);
  ASSERT_EQ(all(set), (std::vector<Interval>{{0, 2 * kRanges}}));
  set.clear();
  for (std::uint64_t i = kRanges; i-- > 0;) ASSERT_EQ(set.insert(2 * i, 2 * i + 1), 1u);
  for (std::uint64_t i = kRanges; i-- > 0;) ASSERT_EQ(set.insert(2 * i + 1, 2 * i + 2), 1u);
  ASSERT_EQ(all(set), (std::vector<Interval>{{0, 2 * kRanges}}));
}

TEST(IntervalSet, SurvivesMovesOfTheRingsHead) {
  IntervalSet set(8);
  std::uint64_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 3; ++k) {
      ASSERT_TRUE(set.insert(at, at + 1));
      at += 2;
    }
    set.pop_front();
    set.pop_back();
    set.pop_front();
    ASSERT_TRUE(set.empty());
  }
}

}  // namespace
}  // namespace quasi
