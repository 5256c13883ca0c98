// Puts the pieces of one stream (or CRYPTO stream) back in order without copying
// them: what arrives stays in its packet buffer and is lent out as views.
//
//   consumed          read_offset_        contiguous_end_          highest
//   ------------------|==ring_: views, in order==|   ..  views_ / pages_ .. |
//
// - In order: a ring of views, {pointer, size, BufferRef}. Appending and consuming
//   are O(1); nothing is allocated once the ring has its working size.
// - Out of order: a sorted ring of views; arrivals at its end cost O(1).
// - Pages: 4 KiB of stream at its natural place, with a bitmap of the bytes that are
//   there. Pieces too small for a packet buffer of their own (< 128 bytes), pieces
//   that would pin too much (see RecvAccount), and everything once 8,192 views are
//   out of order, are copied here. So one-byte frames at even offsets cost O(1)
//   each, and memory stays near the flow-control window whatever the peer does
//   (hostile cases ).
// Bytes that came first win; data held is never replaced.
//
// The seam for VReverso: RecvStream uses nothing of this class but insert(),
// readable(), consume(), contiguous_end() and release(). A contiguous buffer that
// the AEAD writes into offers the same and hands out one span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/limits.h"
#include "connection/recv_buffer_account.h"
#include "connection/stream_ring.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"

namespace quasi::connection {

class RecvBuffer {
 public:
  /// `blocks` gives pages: its block_size() must be limits::kStreamBlockSize. With
  /// `copy_reordered`, whatever comes out of order is copied (CRYPTO streams).
  RecvBuffer(BufferPool& blocks, RecvAccount& account, bool copy_reordered = false);
  ~RecvBuffer();
  RecvBuffer(const RecvBuffer&) = delete;
  RecvBuffer& operator=(const RecvBuffer&) = delete;

  /// Takes `data`, which lies in `owner` (an empty `owner` makes it copy). The caller
  /// has bounded offset + data.size() by flow control. False: out of memory.
  [[nodiscard]] bool insert(std::uint64_t offset, Bytes data, const BufferRef& owner);

  /// Everything before was consumed.
  [[nodiscard]] std::uint64_t read_offset() const { return read_offset_; }
  /// Everything before has arrived.
  [[nodiscard]] std::uint64_t contiguous_end() const { return contiguous_end_; }
  [[nodiscard]] std::uint64_t readable_size() const { return contiguous_end_ - read_offset_; }
  /// The first readable bytes that lie together; empty when there are none.
  [[nodiscard]] Bytes readable() const;
  /// Views of what is readable, in order; returns how many `out` got. They stay valid
  /// until consume() passes them.
  [[nodiscard]] std::size_t readable(std::span<Bytes> out) const;
  /// Copies and consumes up to out.size() bytes; returns how many.
  [[nodiscard]] std::size_t read(MutableBytes out);
  /// Releases the next `count` (at most readable_size()) bytes.
  void consume(std::uint64_t count);
  /// Drops all data that is held; what comes later must not be inserted.
  void release();
  /// Like new, for another stream.
  void restart();

  /// Pieces held, for tests: views in order, views out of order, pages.
  [[nodiscard]] std::size_t view_count() const { return ring_.size(); }
  [[nodiscard]] std::size_t reordered_view_count() const { return views_.size(); }
  [[nodiscard]] std::size_t page_count() const { return page_count_; }

 private:
  struct View {
    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    BufferRef owner;  // empty: the bytes lie in a page
  };
  struct ReorderedView {
    std::uint64_t offset = 0;
    View view;
    [[nodiscard]] std::uint64_t end() const { return offset + view.size; }
  };
  struct Page;

  [[nodiscard]] bool keep_in_order(std::size_t size, const BufferRef& owner);
  [[nodiscard]] bool keep_reordered(std::uint64_t offset, std::size_t size, const BufferRef& owner);
  [[nodiscard]] bool insert_reordered(std::uint64_t offset, Bytes data, const BufferRef& owner);
  [[nodiscard]] std::size_t first_view_ending_after(std::uint64_t offset) const;
  [[nodiscard]] Page* page_at(std::uint64_t index) const;
  [[nodiscard]] Page* make_page(std::uint64_t index);
  [[nodiscard]] bool pages_touch(std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] bool copy_to_pages(std::uint64_t offset, Bytes data);
  void append_page_run(const std::uint8_t* data, std::size_t size);
  void advance();
  void drop_read_pages();
  void drop_first_page();

  BufferPool* blocks_;
  RecvAccount* account_;
  bool copy_reordered_;
  std::uint64_t read_offset_ = 0;
  std::uint64_t contiguous_end_ = 0;
  Ring<View> ring_;
  Ring<ReorderedView> views_;
  Ring<BufferRef> pages_;             // by (offset / page size) - first_page_; may be empty
  std::size_t page_bytes_ahead_ = 0;  // bytes in pages beyond contiguous_end_
  std::uint64_t first_page_ = 0;      // index of pages_[0]
  std::size_t page_count_ = 0;
};

}  // namespace quasi::connection
