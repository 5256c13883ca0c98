// A queue of connections (dense numbers) that wait for their turn. Each number is in it
// once at most, so a ring that has grown to its size never asks for memory again, as a
// std::deque does every few hundred turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quasi::endpoint {

class IndexQueue {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  /// Requires !empty().
  [[nodiscard]] std::uint32_t front() const { return ring_[first_]; }
  void pop_front() {
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
  }
  void push_back(std::uint32_t index) {
    if (count_ == ring_.size()) grow();
    ring_[(first_ + count_) & (ring_.size() - 1)] = index;
    ++count_;
  }

 private:
  void grow() {
    std::vector<std::uint32_t> larger(ring_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) {
      larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
    }
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<std::uint32_t> ring_ = std::vector<std::uint32_t>(16);  // a power of two
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace quasi::endpoint
