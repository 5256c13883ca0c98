// Flow-control windows (see flow_control.h).
#include "connection/flow_control.h"

#include <algorithm>

#include "base/limits.h"

namespace quasi::connection {

void ReceiveWindow::open(std::uint64_t window, std::uint64_t max_window) {
  window_ = std::min(window, limits::kMaxReceiveWindow);
  max_window_ = std::clamp(max_window, window_, limits::kMaxReceiveWindow);
  limit_ = window_;
  consumed_ = 0;
  last_update_ = Instant();
  updated_before_ = false;
  lost_ = false;
}

std::uint64_t ReceiveWindow::target() const {
  // RFC 9000 §4.1: limits are varints; and never take back what was granted.
  return std::max(limit_, std::min(consumed_ + window_, limits::kMaxVarint));
}

bool ReceiveWindow::wants_update() const {
  return lost_ || target() - limit_ >= std::max<std::uint64_t>(window_ / 2, 1);
}

std::uint64_t ReceiveWindow::update(Instant now, Duration rtt) {
  if (target() - limit_ >= std::max<std::uint64_t>(window_ / 2, 1)) {
    if (updated_before_ && now - last_update_ < rtt * 2) {
      window_ = std::min(window_ * 2, max_window_);
    }
    last_update_ = now;
    updated_before_ = true;
  }
  limit_ = target();
  lost_ = false;
  return limit_;
}

void ReceiveWindow::ensure(std::uint64_t window) {
  window_ = std::max(window_, std::min(window, max_window_));
}

Status ConnectionReceiveWindow::on_received(std::uint64_t count, std::uint64_t frame_type) {
  if (count > limit() - received_) {
    return fail(TransportErrorCode::flow_control_error,
                "the peer sent more data than MAX_DATA allows", frame_type);
  }
  received_ += count;
  return {};
}

bool SendWindow::raise(std::uint64_t limit) {
  if (limit <= limit_) return false;
  limit_ = limit;
  blocked_ = Blocked::no;
  return true;
}

}  // namespace quasi::connection
