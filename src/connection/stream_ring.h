// A circular array that grows by doubling and keeps its storage: queues of stream
// segments, which are appended at one end and released at the other, and now and
// then get one in the middle. Unlike std::deque it allocates nothing once it has
// reached its working size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace quasi::connection {

template <class T>
class Ring {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[index(i)]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[index(i)]; }
  [[nodiscard]] T& front() { return items_[head_]; }
  [[nodiscard]] const T& front() const { return items_[head_]; }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }

  void push_back(T item) {
    if (size_ == capacity_) grow();
    items_[index(size_)] = std::move(item);
    ++size_;
  }
  void push_front(T item) {
    if (size_ == capacity_) grow();
    head_ = (head_ + capacity_ - 1) & (capacity_ - 1);
    items_[head_] = std::move(item);
    ++size_;
  }
  void pop_front() {
    items_[head_] = T();
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
  }
  void pop_back() {
    back() = T();
    --size_;
  }
  /// Puts `item` before position `at` (0..size()), moving the shorter side.
  void insert(std::size_t at, T item) {
    if (at * 2 < size_) {
      push_front(T());
      for (std::size_t i = 0; i < at; ++i) (*this)[i] = std::move((*this)[i + 1]);
    } else {
      push_back(T());
      for (std::size_t i = size_ - 1; i > at; --i) (*this)[i] = std::move((*this)[i - 1]);
    }
    (*this)[at] = std::move(item);
  }
  void clear() {
    while (size_ != 0) pop_back();
    head_ = 0;
  }
  /// clear(), and gives back storage for more than `keep` items.
  void clear_and_trim(std::size_t keep) {
    clear();
    if (capacity_ > keep) {
      items_.reset();
      capacity_ = 0;
    }
  }

 private:
  static constexpr std::size_t kFirstCapacity = 8;

  [[nodiscard]] std::size_t index(std::size_t i) const { return (head_ + i) & (capacity_ - 1); }
  void grow() {
    const std::size_t bigger = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    auto items = std::make_unique<T[]>(bigger);
    for (std::size_t i = 0; i < size_; ++i) items[i] = std::move((*this)[i]);
    items_ = std::move(items);
    capacity_ = bigger;
    head_ = 0;
  }

  std::unique_ptr<T[]> items_;
  std::size_t capacity_ = 0;  // zero or a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace quasi::connection
