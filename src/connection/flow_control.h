// Flow control of a stream or a connection, one class a direction (RFC 9000 §4).
// ReceiveWindow says how much the peer may send, and tunes itself: a window that is
// used up within two round trips was too small and is doubled, up to its maximum.
// SendWindow says how much we may send, and whether a BLOCKED frame is due. Both
// keep wanted state; neither ever queues a frame.
#pragma once

#include <cstdint>

#include "quasi/result.h"
#include "quasi/time.h"

namespace quasi::connection {

class ReceiveWindow {
 public:
  /// `window`, `max_window`: bytes; the initial limit that the peer was told is `window`.
  void open(std::uint64_t window, std::uint64_t max_window);

  /// The limit that the peer knows of (MAX_DATA, MAX_STREAM_DATA).
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t window() const { return window_; }
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  /// The application took, or we discarded, `count` bytes.
  void on_consumed(std::uint64_t count) { consumed_ += count; }
  /// Half of the window is used, or the frame that raised the limit was lost.
  [[nodiscard]] bool wants_update() const;
  /// The new limit to send now, never above 2^62-1; clears wants_update(). Doubles the
  /// window first when half of it went within two `rtt` (zero: not yet known).
  [[nodiscard]] std::uint64_t update(Instant now, Duration rtt);
  /// The frame that carried `limit` was lost: send the newest limit again.
  void on_update_lost(std::uint64_t limit) { lost_ = lost_ || limit == limit_; }
  /// Raises the window to at least `window` (still at most the maximum).
  void ensure(std::uint64_t window);

 private:
  [[nodiscard]] std::uint64_t target() const;

  std::uint64_t window_ = 0;
  std::uint64_t max_window_ = 0;
  std::uint64_t limit_ = 0;
  std::uint64_t consumed_ = 0;
  Instant last_update_;
  bool updated_before_ = false;
  bool lost_ = false;
};

/// ReceiveWindow of a connection: also counts what arrived on all its streams.
class ConnectionReceiveWindow : public ReceiveWindow {
 public:
  /// Highest offsets grew by `count` bytes; FLOW_CONTROL_ERROR when over the limit.
  [[nodiscard]] Status on_received(std::uint64_t count, std::uint64_t frame_type);
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  std::uint64_t received_ = 0;
};

class SendWindow {
 public:
  void open(std::uint64_t limit) {
    limit_ = limit;
    used_ = 0;
    blocked_ = Blocked::no;
  }
  /// MAX_DATA, MAX_STREAM_DATA; lower values are ignored (RFC 9000 §4.1). True: raised.
  bool raise(std::uint64_t limit);
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t available() const { return limit_ - used_; }
  void use(std::uint64_t count) { used_ += count; }

  /// There is data to send and no room for it: say so once a limit (RFC 9000 §4.1).
  void note_blocked() {
    if (blocked_ == Blocked::no) blocked_ = Blocked::wanted;
  }
  [[nodiscard]] bool wants_blocked() const { return blocked_ == Blocked::wanted; }
  /// The limit that the BLOCKED frame carries; it counts as sent.
  [[nodiscard]] std::uint64_t take_blocked() {
    blocked_ = Blocked::sent;
    return limit_;
  }
  void on_blocked_lost(std::uint64_t limit) {
    if (limit == limit_ && blocked_ == Blocked::sent) blocked_ = Blocked::wanted;
  }

 private:
  enum class Blocked : std::uint8_t { no, wanted, sent };
  std::uint64_t limit_ = 0;
  std::uint64_t used_ = 0;
  Blocked blocked_ = Blocked::no;
};

}  // namespace quasi::connection
