// Finds the streams of a connection by ID: open addressing with linear probing. The
// multiplier is a secret of the connection, so that a peer cannot choose IDs which
// collide. Owns the streams, and keeps some that were closed for reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "connection/stream.h"
#include "quasi/connection.h"

namespace quasi::connection {

class StreamTable {
 public:
  explicit StreamTable(std::uint64_t seed) : multiplier_(seed | 1) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Stream* find(StreamId id) const {
    if (last_ != nullptr && last_->id == id) [[likely]]
      return last_;
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(id);; i = next(i)) {
      Stream* stream = slots_[i].get();
      if (stream == nullptr) return nullptr;
      if (stream->id == id) return last_ = stream;
    }
  }
  /// A stream for an ID that is not in the table, with hooks and events cleared. The
  /// halves still have to be opened.
  Stream& insert(StreamId id, BufferPool& blocks, RecvAccount& account);
  /// Closes a stream that hangs in no list any more.
  void erase(Stream& stream);

  template <class F>
  void for_each(F&& f) const {
    for (const auto& slot : slots_) {
      if (slot != nullptr) f(*slot);
    }
  }

 private:
  static constexpr std::size_t kFirstSlots = 16;
  static constexpr std::size_t kMaxSpare = 64;  // closed streams kept for reuse

  [[nodiscard]] std::size_t home(StreamId id) const {
    return static_cast<std::size_t>((id * multiplier_) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void grow();
  void put(std::unique_ptr<Stream> stream);

  std::vector<std::unique_ptr<Stream>> slots_;  // a power of two, at most half full
  std::vector<std::unique_ptr<Stream>> spare_;
  std::uint64_t multiplier_;
  unsigned shift_ = 0;
  std::size_t size_ = 0;
  mutable Stream* last_ = nullptr;  // asked for last: a packet rarely changes streams
};

}  // namespace quasi::connection
