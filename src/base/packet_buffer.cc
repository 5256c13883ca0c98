// The pool of packet buffers (see quasi/packet_buffer.h).
#include "quasi/packet_buffer.h"

#include <cstdlib>
#include <new>

namespace quasi {

BufferPool::BufferPool(std::uint32_t block_size, std::size_t keep)
    : block_size_((block_size + 63U) & ~63U), keep_(keep) {
  free_.reserve(keep_);
}

BufferPool::~BufferPool() {
  for (BufferBlock* block : free_) std::free(block);
}

BufferRef BufferPool::allocate() {
  BufferBlock* block = nullptr;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else {
    void* memory = std::aligned_alloc(64, BufferBlock::kDataOffset + block_size_);
    if (memory == nullptr) return {};
    ++allocations_;
    block = new (memory) BufferBlock{this, 0, block_size_};
  }
  ++in_use_;
  return BufferRef(block);
}

void BufferPool::give_back(BufferBlock* block) {
  --in_use_;
  if (free_.size() < keep_) {
    free_.push_back(block);
  } else {
    std::free(block);
  }
}

}  // namespace quasi
