// Intrusive doubly-linked lists: an object is in a list or not, enters and leaves in
// O(1), and nothing is allocated. The lists of a StreamMap are these.
#pragma once

#include <cstdint>

namespace quasi::connection {

template <class T>
struct ListHook {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

template <class T, ListHook<T> T::* kHook>
class IntrusiveList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] T* front() const { return first_; }
  [[nodiscard]] static bool contains(const T& item) { return (item.*kHook).linked; }

  void push_back(T& item) {
    ListHook<T>& hook = item.*kHook;
    hook = {.previous = last_, .next = nullptr, .linked = true};
    (last_ == nullptr ? first_ : (last_->*kHook).next) = &item;
    last_ = &item;
  }
  void remove(T& item) {
    ListHook<T>& hook = item.*kHook;
    (hook.previous == nullptr ? first_ : (hook.previous->*kHook).next) = hook.next;
    (hook.next == nullptr ? last_ : (hook.next->*kHook).previous) = hook.previous;
    hook = {};
  }
  void move_to_back(T& item) {
    if (last_ == &item) return;
    remove(item);
    push_back(item);
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace quasi::connection
