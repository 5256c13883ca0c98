// Reassembly of stream data (see recv_buffer.h).
#include "connection/recv_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace quasi::connection {

// A block of the pool: bytes of the stream at their natural place, and a bit for
// each that is there.
struct RecvBuffer::Page {
  static constexpr std::size_t kSize = limits::kStreamPage;
  static constexpr std::size_t kWords = kSize / 64;

  std::uint8_t bytes[kSize];
  std::uint64_t present[kWords];

  [[nodiscard]] static std::uint64_t index_of(std::uint64_t offset) { return offset / kSize; }
  [[nodiscard]] static std::size_t position_of(std::uint64_t offset) { return offset % kSize; }
  [[nodiscard]] static Page* in(const BufferRef& block) {
    return block ? reinterpret_cast<Page*>(block.data()) : nullptr;
  }

  /// The first position in [from, to) whose bit is `set`, or `to`.
  [[nodiscard]] std::size_t find(bool set, std::size_t from, std::size_t to) const {
    while (from < to) {
      const std::uint64_t word = set ? present[from / 64] : ~present[from / 64];
      const std::uint64_t rest = word >> (from % 64);
      if (rest != 0) {
        return std::min(to, from + static_cast<std::size_t>(std::countr_zero(rest)));
      }
      from = (from / 64 + 1) * 64;
    }
    return to;
  }
  void mark(std::size_t from, std::size_t to) {
    while (from < to) {
      const std::size_t word_end = std::min(to, (from / 64 + 1) * 64);
      const std::size_t count = word_end - from;
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      present[from / 64] |= ones << (from % 64);
      from = word_end;
    }
  }
};

RecvBuffer::RecvBuffer(BufferPool& blocks, RecvAccount& account, bool copy_reordered)
    : blocks_(&blocks), account_(&account), copy_reordered_(copy_reordered) {
  static_assert(sizeof(Page) == limits::kStreamBlockSize);
}

RecvBuffer::~RecvBuffer() { release(); }

bool RecvBuffer::insert(std::uint64_t offset, Bytes data, const BufferRef& owner) {
  if (offset < contiguous_end_) {
    const std::uint64_t known = contiguous_end_ - offset;
    if (known >= data.size()) return true;
    data = data.subspan(static_cast<std::size_t>(known));
    offset = contiguous_end_;
  }
  if (data.empty()) return true;

  const std::uint64_t end = offset + data.size();
  if (offset == contiguous_end_ && (views_.empty() || views_.front().offset >= end) &&
      !pages_touch(offset, end) && keep_in_order(data.size(), owner)) [[likely]] {
    ring_.push_back({data.data(), static_cast<std::uint32_t>(data.size()), owner});
    account_->add_buffered(data.size());
    contiguous_end_ = end;
  } else if (!insert_reordered(offset, data, owner)) {
    return false;
  }
  if (views_.empty() && page_bytes_ahead_ == 0) [[likely]]
    return true;
  advance();
  return true;
}

bool RecvBuffer::keep_in_order(std::size_t size, const BufferRef& owner) {
  if (!owner) return false;
  if (size < limits::kMinStreamView &&
      (ring_.size() >= limits::kMaxTinyViews || !account_->has_ample_room())) {
    return false;
  }
  return account_->pin(owner, size);
}

bool RecvBuffer::keep_reordered(std::uint64_t offset, std::size_t size, const BufferRef& owner) {
  return owner && !copy_reordered_ && size >= limits::kMinStreamView &&
         views_.size() < limits::kMaxReorderedViews && !pages_touch(offset, offset + size) &&
         account_->pin(owner, size);
}

// Puts `data` into the holes between what is there already.
bool RecvBuffer::insert_reordered(std::uint64_t offset, Bytes data, const BufferRef& owner) {
  std::size_t at = first_view_ending_after(offset);
  while (!data.empty()) {
    const std::uint64_t end = offset + data.size();
    const bool meets = at < views_.size() && views_[at].offset < end;
    const std::uint64_t hole_end = meets ? views_[at].offset : end;
    if (offset < hole_end) {
      const Bytes piece = data.first(static_cast<std::size_t>(hole_end - offset));
      if (keep_reordered(offset, piece.size(), owner)) {
        views_.insert(at,
                      {offset, {piece.data(), static_cast<std::uint32_t>(piece.size()), owner}});
        account_->add_buffered(piece.size());
        ++at;
      } else if (!copy_to_pages(offset, piece)) {
        return false;
      }
    }
    if (!meets) break;
    const std::uint64_t next = std::min(end, views_[at].end());
    data = data.subspan(static_cast<std::size_t>(next - offset));
    offset = next;
    ++at;
  }
  return true;
}

std::size_t RecvBuffer::first_view_ending_after(std::uint64_t offset) const {
  if (views_.empty() || views_.back().end() <= offset) return views_.size();
  std::size_t low = 0;
  std::size_t high = views_.size() - 1;  // views_[high] ends after offset
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (views_[middle].end() > offset) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

RecvBuffer::Page* RecvBuffer::page_at(std::uint64_t index) const {
  if (index < first_page_ || index - first_page_ >= pages_.size()) return nullptr;
  return Page::in(pages_[static_cast<std::size_t>(index - first_page_)]);
}

RecvBuffer::Page* RecvBuffer::make_page(std::uint64_t index) {
  if (pages_.empty()) first_page_ = Page::index_of(contiguous_end_);
  // Flow control bounds the index; new data is never before contiguous_end_.
  while (index - first_page_ >= pages_.size()) pages_.push_back(BufferRef());
  BufferRef& block = pages_[static_cast<std::size_t>(index - first_page_)];
  if (!block) {
    block = blocks_->allocate();
    if (!block) return nullptr;
    std::memset(Page::in(block)->present, 0, sizeof(Page::present));
    account_->add_page(limits::kStreamBlockSize);
    ++page_count_;
  }
  return Page::in(block);
}

bool RecvBuffer::pages_touch(std::uint64_t begin, std::uint64_t end) const {
  if (page_bytes_ahead_ == 0) return false;
  while (begin < end) {
    const std::uint64_t index = Page::index_of(begin);
    const std::uint64_t stop = std::min(end, (index + 1) * Page::kSize);
    if (const Page* page = page_at(index)) {
      const std::size_t from = Page::position_of(begin);
      const std::size_t to = from + static_cast<std::size_t>(stop - begin);
      if (page->find(true, from, to) < to) return true;
    }
    begin = stop;
  }
  return false;
}

bool RecvBuffer::copy_to_pages(std::uint64_t offset, Bytes data) {
  while (!data.empty()) {
    Page* page = make_page(Page::index_of(offset));
    if (page == nullptr) return false;
    const std::size_t begin = Page::position_of(offset);
    const std::size_t count = std::min(data.size(), Page::kSize - begin);
    const std::size_t end = begin + count;
    for (std::size_t at = page->find(false, begin, end); at < end;) {
      const std::size_t hole_end = page->find(true, at, end);
      std::memcpy(page->bytes + at, data.data() + (at - begin), hole_end - at);
      page->mark(at, hole_end);
      page_bytes_ahead_ += hole_end - at;
      account_->add_buffered(hole_end - at);
      account_->add_copied(hole_end - at);
      at = page->find(false, hole_end, end);
    }
    data = data.subspan(count);
    offset += count;
  }
  return true;
}

// Moves into the ring what now follows without a hole. Views and pages never
// overlap, so that at most one of them goes on at contiguous_end_.
void RecvBuffer::advance() {
  for (;;) {
    if (!views_.empty() && views_.front().offset == contiguous_end_) {
      contiguous_end_ = views_.front().end();
      ring_.push_back(std::move(views_.front().view));
      views_.pop_front();
      continue;
    }
    if (page_bytes_ahead_ == 0) return;
    const Page* page = page_at(Page::index_of(contiguous_end_));
    if (page == nullptr) return;
    const std::size_t begin = Page::position_of(contiguous_end_);
    const std::size_t end = page->find(false, begin, Page::kSize);
    if (end == begin) return;
    append_page_run(page->bytes + begin, end - begin);
    contiguous_end_ += end - begin;
    page_bytes_ahead_ -= end - begin;
  }
}

void RecvBuffer::append_page_run(const std::uint8_t* data, std::size_t size) {
  if (!ring_.empty()) {
    View& last = ring_.back();
    if (!last.owner && last.data + last.size == data) {
      last.size += static_cast<std::uint32_t>(size);
      return;
    }
  }
  ring_.push_back({data, static_cast<std::uint32_t>(size), BufferRef()});
}

Bytes RecvBuffer::readable() const {
  if (ring_.empty()) return {};
  return {ring_.front().data, ring_.front().size};
}

std::size_t RecvBuffer::readable(std::span<Bytes> out) const {
  const std::size_t count = std::min(out.size(), ring_.size());
  for (std::size_t i = 0; i < count; ++i) out[i] = {ring_[i].data, ring_[i].size};
  return count;
}

std::size_t RecvBuffer::read(MutableBytes out) {
  std::size_t done = 0;
  while (done < out.size() && !ring_.empty()) {
    const Bytes next = readable();
    const std::size_t count = std::min(next.size(), out.size() - done);
    std::memcpy(out.data() + done, next.data(), count);
    consume(count);
    done += count;
  }
  return done;
}

void RecvBuffer::consume(std::uint64_t count) {
  count = std::min(count, readable_size());
  read_offset_ += count;
  account_->sub_buffered(static_cast<std::size_t>(count));
  while (count != 0) {
    View& view = ring_.front();
    if (count < view.size) {
      view.data += count;
      view.size -= static_cast<std::uint32_t>(count);
      break;
    }
    count -= view.size;
    if (view.owner) account_->unpin(view.owner);
    ring_.pop_front();
  }
  if (!pages_.empty()) drop_read_pages();
}

void RecvBuffer::drop_read_pages() {
  // With nothing left to read in pages, even the one that is being filled can go.
  const bool all = page_bytes_ahead_ == 0 && readable_size() == 0;
  while (!pages_.empty() && (all || (first_page_ + 1) * Page::kSize <= read_offset_)) {
    drop_first_page();
  }
}

void RecvBuffer::drop_first_page() {
  if (pages_.front()) {
    account_->sub_page(limits::kStreamBlockSize);
    --page_count_;
  }
  pages_.pop_front();
  ++first_page_;
}

void RecvBuffer::release() {
  account_->sub_buffered(static_cast<std::size_t>(readable_size()) + page_bytes_ahead_);
  for (; !ring_.empty(); ring_.pop_front()) {
    if (ring_.front().owner) account_->unpin(ring_.front().owner);
  }
  for (; !views_.empty(); views_.pop_front()) {
    account_->sub_buffered(views_.front().view.size);
    account_->unpin(views_.front().view.owner);
  }
  while (!pages_.empty()) drop_first_page();
  page_bytes_ahead_ = 0;
  read_offset_ = contiguous_end_;
}

void RecvBuffer::restart() {
  constexpr std::size_t kKeep = 64;  // what a stream of ordinary size needs again
  release();
  ring_.clear_and_trim(kKeep);
  views_.clear_and_trim(kKeep);
  pages_.clear_and_trim(kKeep);
  read_offset_ = contiguous_end_ = first_page_ = 0;
}

}  // namespace quasi::connection
