// Memory held by received stream data (see recv_buffer_account.h).
#include "connection/recv_buffer_account.h"

#include <algorithm>

namespace quasi::connection {

bool RecvAccount::pin(const BufferRef& block, std::size_t size) {
  const std::uint32_t capacity = block.capacity();
  const bool is_train = capacity > kTrainBlock;
  if (is_train) {
    // The newest trains are the likeliest; the budget keeps the list short.
    const auto known = std::find_if(trains_.rbegin(), trains_.rend(),
                                    [&](const Train& t) { return t.block == block.data(); });
    if (known != trains_.rend()) {
      ++known->views;
      return true;
    }
  }
  if (pinned_ + capacity > limits::kPinnedFloor + limits::kPinnedRatio * (buffered_ + size)) {
    return false;
  }
  if (is_train) trains_.push_back({.block = block.data(), .views = 1});
  pinned_ += capacity;
  return true;
}

void RecvAccount::unpin(const BufferRef& block) {
  const std::uint32_t capacity = block.capacity();
  if (capacity > kTrainBlock) {
    // What is consumed next is mostly what came first.
    const auto train = std::find_if(trains_.begin(), trains_.end(),
                                    [&](const Train& t) { return t.block == block.data(); });
    if (train == trains_.end() || --train->views != 0) return;
    trains_.erase(train);
  }
  pinned_ -= capacity;
}

}  // namespace quasi::connection
