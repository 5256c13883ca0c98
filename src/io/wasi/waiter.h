// Calls into the host that have not returned yet, and waiting for any of them: a
// waitable set of the component model. One host call starts each; the set blocks once
// for all.
#pragma once

#include <cstdint>

#include "io/wasi/bindings.h"
#include "quasi/time.h"

namespace quasi::io {

/// Now, on the host's monotonic clock.
[[nodiscard]] Instant host_now();

class Waiter {
 public:
  Waiter();
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// A call that was started: true when it returned at once; otherwise it is waited for
  /// from now on and `task` names it (never 0).
  [[nodiscard]] bool started(quasi_subtask_status_t status, std::uint32_t& task);
  /// Gives up a call that has not returned. True when it returned after all.
  bool cancel(std::uint32_t task);

  /// The next call that returned, without blocking; 0 when there is none. Costs a
  /// microsecond: the host looks after all that is under way.
  [[nodiscard]] std::uint32_t poll();
  /// The next call that returned; 0 when the deadline passed first.
  [[nodiscard]] std::uint32_t wait(Instant deadline);
  /// Blocks until that call returned; others that return meanwhile go to `others`.
  template <class Others>
  void wait_for(std::uint32_t task, Others&& others) {
    for (;;) {
      const std::uint32_t returned = wait(Instant::never());
      if (returned == task) return;
      others(returned);
    }
  }

 private:
  /// The call that this event says has returned, no longer waited for; 0 if none.
  [[nodiscard]] std::uint32_t take(const quasi_event_t& event);
  void set_timer(Instant deadline);

  quasi_waitable_set_t set_;
  std::uint32_t timer_ = 0;  // 0: none is set
  Instant timer_end_;
};

}  // namespace quasi::io
