// The earliest deadline among many connections: a binary heap that knows where
// each connection's entry is, so that moving a deadline costs O(log n) and
// allocates nothing. Each connection has at most one entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "quasi/time.h"

namespace quasi::endpoint {

class TimerHeap {
 public:
  /// Sets the deadline of `id` (a small dense number); Instant::never() removes it.
  void set(std::uint32_t id, Instant deadline);
  /// Earliest deadline, or never.
  [[nodiscard]] Instant next() const {
    return heap_.empty() ? Instant::never() : heap_.front().deadline;
  }
  /// Takes the earliest entry if it is due; returns its id in `id`.
  [[nodiscard]] bool pop_due(Instant now, std::uint32_t& id);
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    Instant deadline;
    std::uint32_t id = 0;
  };
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  void place(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    position_[entry.id] = static_cast<std::uint32_t>(at);
  }
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void remove(std::size_t at);

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;  // by id
};

}  // namespace quasi::endpoint
