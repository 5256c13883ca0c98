// Waiting for calls into the host (see waiter.h).
#include "io/wasi/waiter.h"

#include <algorithm>
#include <utility>

namespace quasi::io {

Instant host_now() {
  return Instant::from_ns(static_cast<std::int64_t>(wasi_clocks_monotonic_clock_now()));
}

Waiter::Waiter() : set_(quasi_waitable_set_new()) {}

Waiter::~Waiter() {
  if (timer_ != 0) (void)cancel(timer_);
  quasi_waitable_set_drop(set_);
}

bool Waiter::started(quasi_subtask_status_t status, std::uint32_t& task) {
  if (QUASI_SUBTASK_STATE(status) == QUASI_SUBTASK_RETURNED) return true;
  task = QUASI_SUBTASK_HANDLE(status);
  quasi_waitable_join(task, set_);
  return false;
}

bool Waiter::cancel(std::uint32_t task) {
  quasi_waitable_join(task, 0);
  const quasi_subtask_status_t status = quasi_subtask_cancel(task);
  quasi_subtask_drop(task);
  return QUASI_SUBTASK_STATE(status) == QUASI_SUBTASK_RETURNED;
}

std::uint32_t Waiter::take(const quasi_event_t& event) {
  if (event.event != QUASI_EVENT_SUBTASK) return 0;
  // STARTING to STARTED is an event too, and not the one that is waited for.
  if (QUASI_SUBTASK_STATE(event.code) != QUASI_SUBTASK_RETURNED) return 0;
  quasi_waitable_join(event.waitable, 0);
  quasi_subtask_drop(event.waitable);
  if (event.waitable == timer_) {
    timer_ = 0;
    return 0;
  }
  return event.waitable;
}

std::uint32_t Waiter::poll() {
  // Asking the set alone lets nothing happen: the host makes progress when we yield.
  quasi_thread_yield();
  for (;;) {
    quasi_event_t event{};
    quasi_waitable_set_poll(set_, &event);
    if (event.event == QUASI_EVENT_NONE) return 0;
    if (const std::uint32_t task = take(event); task != 0) return task;
  }
}

void Waiter::set_timer(Instant deadline) {
  // A timer that ends earlier stays: deadlines move away with nearly every packet, and
  // being woken once in vain is cheaper than a new timer each time.
  if (timer_ != 0 && timer_end_ <= deadline) return;
  if (timer_ != 0) (void)cancel(std::exchange(timer_, 0));
  timer_end_ = deadline;
  const std::uint64_t mark = static_cast<std::uint64_t>(std::max<std::int64_t>(deadline.ns(), 0));
  if (started(wasi_clocks_monotonic_clock_wait_until(mark), timer_)) timer_ = 0;
}

std::uint32_t Waiter::wait(Instant deadline) {
  for (;;) {
    if (!deadline.is_never()) {
      if (deadline <= host_now()) return poll();
      set_timer(deadline);
      if (timer_ == 0) return poll();  // it was over at once
    }
    quasi_event_t event{};
    quasi_waitable_set_wait(set_, &event);
    if (const std::uint32_t task = take(event); task != 0) return task;
  }
}

}  // namespace quasi::io
