// Indexed binary heap of deadlines (see timer_heap.h).
#include "endpoint/timer_heap.h"

namespace quasi::endpoint {

void TimerHeap::set(std::uint32_t id, Instant deadline) {
  if (id >= position_.size()) position_.resize(id + std::size_t{1}, kAbsent);
  const std::uint32_t at = position_[id];
  if (deadline.is_never()) {
    if (at != kAbsent) remove(at);
    return;
  }
  if (at == kAbsent) {
    heap_.push_back({});
    place(heap_.size() - 1, Entry{deadline, id});
    sift_up(heap_.size() - 1);
    return;
  }
  heap_[at].deadline = deadline;
  sift_up(at);
  sift_down(position_[id]);
}

bool TimerHeap::pop_due(Instant now, std::uint32_t& id) {
  if (heap_.empty() || heap_.front().deadline > now) return false;
  id = heap_.front().id;
  remove(0);
  return true;
}

void TimerHeap::remove(std::size_t at) {
  position_[heap_[at].id] = kAbsent;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  place(at, last);
  sift_up(at);
  sift_down(position_[last.id]);
}

void TimerHeap::sift_up(std::size_t at) {
  const Entry entry = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (heap_[parent].deadline <= entry.deadline) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, entry);
}

void TimerHeap::sift_down(std::size_t at) {
  const Entry entry = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].deadline < heap_[child].deadline) ++child;
    if (heap_[child].deadline >= entry.deadline) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, entry);
}

}  // namespace quasi::endpoint
