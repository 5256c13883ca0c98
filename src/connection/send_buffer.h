// Data that the application wrote to one stream (or TLS to one CRYPTO stream), from
// write() until it is acknowledged:
//
//   released        acked_end_            next_             end_
//   ----------------|==sent: acked, lost or in flight==|==fresh==|
//
// Bytes are copied once, into 4.5 KiB blocks of a pool; packets are built from spans
// of these. What has to be sent is wanted state: the lost ranges, then what is fresh.
//
// The seam for lent data: segments have their own lengths and owners, so that bytes
// which the caller lends until they are acknowledged become just another segment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/interval_set.h"
#include "base/limits.h"
#include "connection/stream_ring.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"

namespace quasi::connection {

/// Stream data for one frame: `size` bytes in at most two spans.
struct DataChunk {
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::array<Bytes, 2> spans{};
  bool fin = false;
  bool fresh = false;  // never sent before

  /// Writes the bytes to `out`, which has room for `size`.
  void copy_to(std::uint8_t* out) const {
    for (const Bytes& s : spans) {
      if (!s.empty()) std::memcpy(out, s.data(), s.size());
      out += s.size();
    }
  }
};

class SendBuffer {
 public:
  explicit SendBuffer(BufferPool& blocks) : blocks_(&blocks) {}
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  /// Copies data to the end; takes less when memory is exhausted. The cap is the caller's.
  [[nodiscard]] std::size_t write(Bytes data);

  /// Bytes written since the beginning; the offset of the next write.
  [[nodiscard]] std::uint64_t end_offset() const { return end_; }
  /// First offset never sent.
  [[nodiscard]] std::uint64_t next_offset() const { return next_; }
  /// Everything before is acknowledged.
  [[nodiscard]] std::uint64_t acked_end() const { return acked_end_; }
  /// Bytes held: written and not yet released.
  [[nodiscard]] std::uint64_t held() const { return end_ - acked_end_; }
  [[nodiscard]] bool all_acked() const { return acked_end_ == end_; }

  [[nodiscard]] bool has_lost() const { return !lost_.empty(); }
  [[nodiscard]] bool has_fresh() const { return next_ < end_; }
  /// The first lost range; only if has_lost().
  [[nodiscard]] Interval next_lost() const { return lost_.front(); }

  /// The first lost bytes (has_lost()), at most `max`: they count as sent again.
  [[nodiscard]] DataChunk take_lost(std::uint64_t max);
  /// The next fresh bytes, at most `max`.
  [[nodiscard]] DataChunk take_fresh(std::uint64_t max);

  /// A packet with these bytes was acknowledged, or declared lost. Either may come
  /// twice or late; ranges never sent are ignored.
  void on_acked(std::uint64_t offset, std::uint64_t size);
  void on_lost(std::uint64_t offset, std::uint64_t size);

  /// Drops all data that is held (after a reset).
  void release();
  /// Like new, for another stream.
  void restart();

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    BufferRef block;
    [[nodiscard]] std::uint64_t end() const { return offset + size; }
  };

  [[nodiscard]] std::size_t segment_of(std::uint64_t offset) const;
  [[nodiscard]] DataChunk view(std::uint64_t offset, std::uint64_t max) const;

  BufferPool* blocks_;
  std::uint64_t end_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t acked_end_ = 0;
  Ring<Segment> segments_;
  // Not capped: neither has more ranges than packets are on their way or blocks held.
  IntervalSet acked_{std::numeric_limits<std::size_t>::max()};  // beyond acked_end_
  IntervalSet lost_{std::numeric_limits<std::size_t>::max()};   // disjoint from acked_
};

}  // namespace quasi::connection
