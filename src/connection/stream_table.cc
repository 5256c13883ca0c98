// The table of a connection's streams (see stream_table.h).
#include "connection/stream_table.h"

#include <bit>
#include <utility>

namespace quasi::connection {

void StreamTable::put(std::unique_ptr<Stream> stream) {
  std::size_t i = home(stream->id);
  while (slots_[i] != nullptr) i = next(i);
  slots_[i] = std::move(stream);
}

void StreamTable::grow() {
  std::vector<std::unique_ptr<Stream>> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  old.swap(slots_);
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(slots_.size()));
  for (auto& stream : old) {
    if (stream != nullptr) put(std::move(stream));
  }
}

Stream& StreamTable::insert(StreamId id, BufferPool& blocks, RecvAccount& account) {
  if (size_ * 2 >= slots_.size()) grow();
  std::unique_ptr<Stream> stream;
  if (spare_.empty()) {
    stream = std::make_unique<Stream>(blocks, account);
  } else {
    stream = std::move(spare_.back());
    spare_.pop_back();
  }
  stream->id = id;
  stream->events = 0;
  stream->urgency = Stream::kDefaultUrgency;
  stream->incremental = true;
  Stream& result = *stream;
  put(std::move(stream));
  ++size_;
  return result;
}

void StreamTable::erase(Stream& stream) {
  if (last_ == &stream) last_ = nullptr;
  std::size_t hole = home(stream.id);
  while (slots_[hole].get() != &stream) hole = next(hole);
  std::unique_ptr<Stream> closed = std::move(slots_[hole]);
  // Moves back what linear probing had pushed past the hole.
  for (std::size_t i = next(hole); slots_[i] != nullptr; i = next(i)) {
    const std::size_t mask = slots_.size() - 1;
    const std::size_t distance_from_home = (i - home(slots_[i]->id)) & mask;
    if (distance_from_home >= ((i - hole) & mask)) {
      slots_[hole] = std::move(slots_[i]);
      hole = i;
    }
  }
  --size_;
  closed->send.close();
  closed->recv.close();
  if (spare_.size() < kMaxSpare) spare_.push_back(std::move(closed));
}

}  // namespace quasi::connection
