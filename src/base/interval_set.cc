// Ranges in a ring: see interval_set.h.
#include "base/interval_set.h"

#include <algorithm>

namespace quasi {

std::size_t IntervalSet::find(std::uint64_t value) const {
  // The two ends are asked for most: above everything, or in the last range.
  if (size_ == 0 || slot(size_ - 1).end <= value) return size_;
  std::size_t low = 0;
  std::size_t high = size_ - 1;  // invariant: slot(high).end > value
  if (size_ > 1 && slot(size_ - 2).end <= value) return high;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (slot(middle).end > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void IntervalSet::grow() {
  std::vector<Interval> bigger(ring_.empty() ? 4 : ring_.size() * 2);
  for (std::size_t i = 0; i < size_; ++i) bigger[i] = slot(i);
  ring_.swap(bigger);
  head_ = 0;
}

// Makes room for a new range at index i by moving the shorter side outwards.
void IntervalSet::open_slot(std::size_t i) {
  if (size_ == ring_.size()) grow();
  if (i < size_ - i) {
    head_ = (head_ - 1) & mask();
    ++size_;
    for (std::size_t k = 0; k < i; ++k) slot(k) = slot(k + 1);
  } else {
    ++size_;
    for (std::size_t k = size_ - 1; k > i; --k) slot(k) = slot(k - 1);
  }
}

// Removes `count` ranges from index i on by moving the shorter side inwards.
void IntervalSet::close_slots(std::size_t i, std::size_t count) {
  if (count == 0) return;
  if (i < size_ - i - count) {
    for (std::size_t k = i; k-- > 0;) slot(k + count) = slot(k);
    head_ = (head_ + count) & mask();
  } else {
    for (std::size_t k = i + count; k < size_; ++k) slot(k - count) = slot(k);
  }
  size_ -= count;
}

std::optional<std::uint64_t> IntervalSet::insert_anywhere(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  // First range that overlaps or touches on the left: its end is >= begin.
  const std::size_t first = begin == 0 ? 0 : find(begin - 1);
  if (first == size_ || slot(first).begin > end) {
    if (size_ >= max_) return std::nullopt;
    open_slot(first);
    slot(first) = {begin, end};
    return end - begin;
  }
  // Everything up to `last` (exclusive) overlaps or touches.
  std::uint64_t already = 0;
  std::size_t last = first;
  while (last < size_ && slot(last).begin <= end) {
    const Interval& r = slot(last);
    const std::uint64_t from = std::max(r.begin, begin);
    const std::uint64_t to = std::min(r.end, end);
    if (from < to) already += to - from;
    ++last;
  }
  Interval& merged = slot(first);
  merged.end = std::max(slot(last - 1).end, end);
  merged.begin = std::min(merged.begin, begin);
  close_slots(first + 1, last - first - 1);
  return end - begin - already;
}

std::uint64_t IntervalSet::insert_dropping_lowest(std::uint64_t begin, std::uint64_t end) {
  if (insert(begin, end)) return 0;
  // Full. A range below all others would itself be the lowest: forget it instead.
  if (end <= slot(0).begin) return end;
  const std::uint64_t dropped = slot(0).end;
  pop_front();
  (void)insert(begin, end);
  return dropped;
}

bool IntervalSet::erase(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return true;
  std::size_t first = find(begin);
  if (first == size_ || slot(first).begin >= end) return true;
  if (slot(first).begin < begin && slot(first).end > end) {
    if (size_ >= max_) return false;
    const Interval whole = slot(first);
    open_slot(first);
    slot(first) = {whole.begin, begin};
    slot(first + 1) = {end, whole.end};
    return true;
  }
  if (slot(first).begin < begin) {
    slot(first).end = begin;
    ++first;
  }
  std::size_t last = first;
  while (last < size_ && slot(last).end <= end) ++last;
  if (last < size_ && slot(last).begin < end) slot(last).begin = end;
  close_slots(first, last - first);
  return true;
}

void IntervalSet::erase_below(std::uint64_t bound) {
  while (size_ > 0 && slot(0).end <= bound) pop_front();
  if (size_ > 0 && slot(0).begin < bound) slot(0).begin = bound;
}

bool IntervalSet::subtract(const IntervalSet& other) {
  if (this == &other) {
    clear();
    return true;
  }
  if (empty() || other.empty()) return true;
  for (std::size_t i = other.find(front().begin); i < other.size(); ++i) {
    if (empty() || other[i].begin >= back().end) break;
    if (!erase(other[i].begin, other[i].end)) return false;
  }
  return true;
}

bool IntervalSet::contains(std::uint64_t value) const {
  const std::size_t i = find(value);
  return i < size_ && slot(i).begin <= value;
}

bool IntervalSet::contains(std::uint64_t begin, std::uint64_t end) const {
  if (begin >= end) return true;
  const std::size_t i = find(begin);
  return i < size_ && slot(i).begin <= begin && slot(i).end >= end;
}

bool IntervalSet::intersects(std::uint64_t begin, std::uint64_t end) const {
  if (begin >= end) return false;
  const std::size_t i = find(begin);
  return i < size_ && slot(i).begin < end;
}

std::uint64_t IntervalSet::count(std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t total = 0;
  for (std::size_t i = find(begin); i < size_ && slot(i).begin < end; ++i) {
    total += std::min(slot(i).end, end) - std::max(slot(i).begin, begin);
  }
  return total;
}

std::uint64_t IntervalSet::first_missing(std::uint64_t from) const {
  const std::size_t i = find(from);
  return i < size_ && slot(i).begin <= from ? slot(i).end : from;
}

std::optional<Interval> IntervalSet::first_gap(std::uint64_t begin, std::uint64_t end) const {
  std::size_t i = find(begin);
  if (i < size_ && slot(i).begin <= begin) begin = slot(i++).end;
  if (begin >= end) return std::nullopt;
  if (i < size_ && slot(i).begin < end) end = slot(i).begin;
  return Interval{begin, end};
}

}  // namespace quasi
