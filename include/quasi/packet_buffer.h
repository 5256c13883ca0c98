// Buffers that datagrams land in, are decrypted in, and are read from by the
// application: fixed-size blocks from a pool, shared by counted references.
// One block holds one datagram, or a train of them that the host delivered at
// once. Not thread-safe: a pool and its references belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace quasi {

class BufferPool;

/// Header of a block; its bytes follow at data().
struct BufferBlock {
  BufferPool* pool = nullptr;
  std::uint32_t references = 0;
  std::uint32_t capacity = 0;
  [[nodiscard]] std::uint8_t* data() { return reinterpret_cast<std::uint8_t*>(this) + kDataOffset; }
  static constexpr std::size_t kDataOffset = 64;
};

/// A counted reference to a block. Copies share the block; the last one gives it back.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(BufferBlock* block) : block_(block) {
    if (block_ != nullptr) ++block_->references;
  }
  BufferRef(const BufferRef& other) : BufferRef(other.block_) {}
  BufferRef(BufferRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BufferRef() { release(); }

  [[nodiscard]] std::uint8_t* data() const { return block_->data(); }
  [[nodiscard]] std::uint32_t capacity() const { return block_ == nullptr ? 0 : block_->capacity; }
  explicit operator bool() const { return block_ != nullptr; }

 private:
  void release();
  BufferBlock* block_ = nullptr;
};

/// Hands out blocks of one size and keeps those that come back. The pool must
/// outlive every reference to its blocks.
class BufferPool {
 public:
  /// `block_size`: bytes of data a block. `keep`: free blocks that are kept for reuse.
  explicit BufferPool(std::uint32_t block_size, std::size_t keep = 4096);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A block of block_size() bytes, or an empty reference when memory is exhausted.
  [[nodiscard]] BufferRef allocate();
  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }
  /// Blocks that somebody holds now.
  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  /// Times that memory was asked of the allocator: constant in a steady state.
  [[nodiscard]] std::uint64_t allocations() const { return allocations_; }

 private:
  friend class BufferRef;
  void give_back(BufferBlock* block);

  std::uint32_t block_size_;
  std::size_t keep_;
  std::size_t in_use_ = 0;
  std::uint64_t allocations_ = 0;
  std::vector<BufferBlock*> free_;
};

inline void BufferRef::release() {
  if (block_ != nullptr && --block_->references == 0) block_->pool->give_back(block_);
}

}  // namespace quasi
