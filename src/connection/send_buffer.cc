// Written and unacknowledged stream data (see send_buffer.h).
#include "connection/send_buffer.h"

#include <algorithm>
#include <cstring>

namespace quasi::connection {

std::size_t SendBuffer::write(Bytes data) {
  std::size_t done = 0;
  while (done < data.size()) {
    if (segments_.empty() || segments_.back().size == segments_.back().block.capacity()) {
      BufferRef block = blocks_->allocate();
      if (!block) break;
      segments_.push_back({.offset = end_, .size = 0, .block = std::move(block)});
    }
    Segment& last = segments_.back();
    const std::size_t count =
        std::min<std::size_t>(data.size() - done, last.block.capacity() - last.size);
    std::memcpy(last.block.data() + last.size, data.data() + done, count);
    last.size += static_cast<std::uint32_t>(count);
    end_ += count;
    done += count;
  }
  return done;
}

// The segment that holds `offset` (which lies in [segments_.front().offset, end_)).
std::size_t SendBuffer::segment_of(std::uint64_t offset) const {
  // All blocks but the last are full, so the position follows from the size.
  const std::uint64_t guess = (offset - segments_.front().offset) / limits::kStreamBlockSize;
  if (guess < segments_.size()) {
    const Segment& s = segments_[static_cast<std::size_t>(guess)];
    if (s.offset <= offset && offset < s.end()) [[likely]]
      return static_cast<std::size_t>(guess);
  }
  std::size_t low = 0;
  std::size_t high = segments_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (segments_[middle].end() > offset) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

DataChunk SendBuffer::view(std::uint64_t offset, std::uint64_t max) const {
  DataChunk chunk;
  chunk.offset = offset;
  if (max == 0) return chunk;
  std::size_t at = segment_of(offset);
  for (Bytes& span : chunk.spans) {
    if (max == 0 || at == segments_.size()) break;
    const Segment& s = segments_[at++];
    const auto skip = static_cast<std::size_t>(offset + chunk.size - s.offset);
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(s.size - skip, max));
    span = Bytes(s.block.data() + skip, count);
    chunk.size += count;
    max -= count;
  }
  return chunk;
}

DataChunk SendBuffer::take_lost(std::uint64_t max) {
  const Interval range = lost_.front();
  const DataChunk chunk = view(range.begin, std::min(max, range.length()));
  lost_.erase_below(range.begin + chunk.size);
  return chunk;
}

DataChunk SendBuffer::take_fresh(std::uint64_t max) {
  DataChunk chunk = view(next_, std::min(max, end_ - next_));
  chunk.fresh = true;
  next_ += chunk.size;
  return chunk;
}

void SendBuffer::on_acked(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t begin = std::max(offset, acked_end_);
  const std::uint64_t end = std::min(offset + size, next_);
  if (begin >= end) return;
  if (!lost_.empty()) (void)lost_.erase(begin, end);
  if (begin != acked_end_) {
    (void)acked_.insert(begin, end);
    return;
  }
  acked_end_ = end;
  if (!acked_.empty()) {
    acked_end_ = std::max(acked_end_, acked_.first_missing(acked_end_));
    acked_.erase_below(acked_end_);
  }
  while (!segments_.empty() && segments_.front().end() <= acked_end_) segments_.pop_front();
}

void SendBuffer::on_lost(std::uint64_t offset, std::uint64_t size) {
  std::uint64_t begin = std::max(offset, acked_end_);
  const std::uint64_t end = std::min(offset + size, next_);
  // What another packet brought over meanwhile is not sent again.
  while (begin < end) {
    const auto gap = acked_.first_gap(begin, end);
    if (!gap) return;
    (void)lost_.insert(gap->begin, gap->end);
    begin = gap->end;
  }
}

void SendBuffer::release() {
  segments_.clear();
  acked_.clear();
  lost_.clear();
  end_ = acked_end_ = next_;
}

void SendBuffer::restart() {
  constexpr std::size_t kKeep = 64;
  segments_.clear_and_trim(kKeep);
  acked_.clear();
  lost_.clear();
  end_ = next_ = acked_end_ = 0;
}

}  // namespace quasi::connection
