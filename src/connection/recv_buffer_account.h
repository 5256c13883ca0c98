// What the streams of one connection hold of received memory: how many bytes of
// data, and how many bytes of packet buffers these keep from being reused. A view
// of 100 bytes may pin a block of 64 KiB; when the pinned bytes leave proportion to
// the data, further data is copied out instead (hostile case R-47).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/limits.h"
#include "quasi/packet_buffer.h"

namespace quasi::connection {

class RecvAccount {
 public:
  /// Charges a view of `size` bytes in `block`; false: copy the bytes instead.
  [[nodiscard]] bool pin(const BufferRef& block, std::size_t size);
  /// Takes back one pin(); the view must still hold the block.
  void unpin(const BufferRef& block);

  void add_buffered(std::size_t size) { buffered_ += size; }
  void sub_buffered(std::size_t size) { buffered_ -= size; }
  void add_copied(std::size_t size) { copied_ += size; }
  void add_page(std::size_t size) { page_bytes_ += size; }
  void sub_page(std::size_t size) { page_bytes_ -= size; }

  /// Bytes of stream data held (received, not yet consumed).
  [[nodiscard]] std::uint64_t buffered() const { return buffered_; }
  /// Bytes of packet buffers that views keep.
  [[nodiscard]] std::uint64_t pinned() const { return pinned_; }
  /// Bytes of blocks that hold copied-out data.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }
  /// Bytes copied out since the connection began: 0 on the in-order path.
  [[nodiscard]] std::uint64_t copied() const { return copied_; }
  /// Whether tiny pieces, too, may stay where they are: little is pinned at all.
  [[nodiscard]] bool has_ample_room() const { return pinned_ < limits::kPinnedFloor / 2; }

 private:
  // Blocks above this size hold trains of datagrams and are counted once, however
  // many views they have; smaller ones hold one datagram and are counted by view.
  static constexpr std::uint32_t kTrainBlock = 4096;
  struct Train {
    const std::uint8_t* block = nullptr;
    std::uint32_t views = 0;
  };

  std::uint64_t buffered_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t copied_ = 0;
  std::vector<Train> trains_;  // few: bounded by the pin budget over the block size
};

}  // namespace quasi::connection
