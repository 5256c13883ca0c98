// A set of 64-bit numbers kept as sorted, disjoint, half-open ranges that never
// touch: received packet numbers, received or acknowledged stream bytes. The
// number of ranges is capped, because the peer chooses how it fragments them.
// Lookup is a binary search; a change moves ranges towards the nearer end of a
// ring, so the patterns that occur (append, fill the oldest hole, trim from
// below) cost O(1) and the worst costs O(cap). Allocates only when it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace quasi {

/// [begin, end), never empty inside an IntervalSet.
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  /// `max_intervals` >= 1: more ranges than that are never kept.
  explicit IntervalSet(std::size_t max_intervals) : max_(max_intervals) {}

  /// Adds [begin, end), merging with what it overlaps or touches. Returns how
  /// many numbers were not in the set before, or nothing (and changes nothing)
  /// when that would need more than max_intervals ranges.
  [[nodiscard]] std::optional<std::uint64_t> insert(std::uint64_t begin, std::uint64_t end) {
    // What comes in order grows the last range.
    if (size_ > 0 && begin < end && slot(size_ - 1).end == begin) {
      slot(size_ - 1).end = end;
      return end - begin;
    }
    return insert_anywhere(begin, end);
  }
  /// The same, but at the cap the lowest range makes room. Returns the end of
  /// the range that was forgotten, or 0.
  std::uint64_t insert_dropping_lowest(std::uint64_t begin, std::uint64_t end);

  /// Removes [begin, end). False (and nothing changes) when cutting a range in
  /// two would need more than max_intervals ranges.
  [[nodiscard]] bool erase(std::uint64_t begin, std::uint64_t end);
  /// Removes everything below `bound`. Cannot fail.
  void erase_below(std::uint64_t bound);
  /// Removes everything that is in `other`; false when the cap stopped it half way.
  [[nodiscard]] bool subtract(const IntervalSet& other);
  void clear() { head_ = size_ = 0; }

  [[nodiscard]] bool contains(std::uint64_t value) const;
  /// Whether all of [begin, end) is in the set; true for an empty range.
  [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const;
  /// Whether any of [begin, end) is in the set.
  [[nodiscard]] bool intersects(std::uint64_t begin, std::uint64_t end) const;
  /// How many numbers of [begin, end) are in the set.
  [[nodiscard]] std::uint64_t count(std::uint64_t begin, std::uint64_t end) const;
  /// The first number >= `from` that is not in the set.
  [[nodiscard]] std::uint64_t first_missing(std::uint64_t from) const;
  /// The part of [begin, end) that comes first and is not in the set, if any.
  [[nodiscard]] std::optional<Interval> first_gap(std::uint64_t begin, std::uint64_t end) const;
  /// Index of the first range whose end is above `value`; size() if there is none.
  [[nodiscard]] std::size_t find(std::uint64_t value) const;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Number of ranges.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t max_intervals() const { return max_; }
  /// Ranges in ascending order; for descending order count `i` down from size() - 1.
  [[nodiscard]] const Interval& operator[](std::size_t i) const { return slot(i); }
  [[nodiscard]] const Interval& front() const { return slot(0); }
  [[nodiscard]] const Interval& back() const { return slot(size_ - 1); }
  void pop_front() {
    head_ = (head_ + 1) & mask();
    --size_;
  }
  void pop_back() { --size_; }

  class Iterator {
   public:
    using value_type = Interval;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const IntervalSet* set, std::size_t i) : set_(set), i_(i) {}
    const Interval& operator*() const { return (*set_)[i_]; }
    const Interval* operator->() const { return &(*set_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++i_;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }

   private:
    const IntervalSet* set_ = nullptr;
    std::size_t i_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

 private:
  [[nodiscard]] std::size_t mask() const { return ring_.size() - 1; }
  [[nodiscard]] const Interval& slot(std::size_t i) const { return ring_[(head_ + i) & mask()]; }
  [[nodiscard]] Interval& slot(std::size_t i) { return ring_[(head_ + i) & mask()]; }
  [[nodiscard]] std::optional<std::uint64_t> insert_anywhere(std::uint64_t begin,
                                                             std::uint64_t end);
  void open_slot(std::size_t i);
  void close_slots(std::size_t i, std::size_t count);
  void grow();

  std::vector<Interval> ring_;  // a power of two long, or empty
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::size_t max_;
};

}  // namespace quasi
