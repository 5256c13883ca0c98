// The receiving part of a stream: the states of RFC 9000 §3.2, final-size and
// flow-control checks, STOP_SENDING, and the stream's window. Frames are checked
// before anything is stored, so that the connection's window can be checked between.
#pragma once

#include <cstdint>
#include <optional>

#include "connection/flow_control.h"
#include "connection/recv_buffer.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"
#include "quasi/result.h"

namespace quasi::connection {

class RecvStream {
 public:
  enum class State : std::uint8_t {
    recv,         // data may come, the end is not known
    size_known,   // the end is known, data is missing
    data_recvd,   // all data has arrived
    data_read,    // and was consumed: terminal
    reset_recvd,  // RESET_STREAM came; the application was not yet told
    reset_read,   // it was: terminal
    none,         // the stream has no receiving part
  };
  /// What a frame brought about.
  struct Outcome {
    std::uint64_t discarded = 0;  // bytes nobody will read: credit to the connection
    bool readable = false;        // more bytes, or the end, can be read
    bool reset = false;           // the application has to be told of a reset
  };

  RecvStream(BufferPool& blocks, RecvAccount& account) : buffer_(blocks, account) {}

  /// Starts with a `window` that the peer was told of.
  void open(std::uint64_t window, std::uint64_t max_window);
  /// This stream only sends, or is gone: gives everything back.
  void close() {
    buffer_.restart();
    state_ = State::none;
  }

  /// Checks a STREAM frame against final size and limit; by how much it raises the
  /// highest offset (to be checked against the connection's window), or the error.
  [[nodiscard]] Result<std::uint64_t> check_stream(std::uint64_t offset, std::uint64_t size,
                                                   bool fin, std::uint64_t frame_type) const;
  /// Takes a frame that check_stream() passed.
  [[nodiscard]] Result<Outcome> on_stream(std::uint64_t offset, Bytes data, bool fin,
                                          const BufferRef& owner);
  /// The same for RESET_STREAM.
  [[nodiscard]] Result<std::uint64_t> check_reset(std::uint64_t final_size) const;
  [[nodiscard]] Outcome on_reset(std::uint64_t error_code, std::uint64_t final_size);
  /// The application was told of the reset.
  void on_reset_reported() {
    if (state_ == State::reset_recvd) state_ = State::reset_read;
  }

  /// Views of what can be read (RecvBuffer::readable).
  [[nodiscard]] std::size_t readable(std::span<Bytes> out) const { return buffer_.readable(out); }
  [[nodiscard]] std::uint64_t readable_size() const { return buffer_.readable_size(); }
  /// Releases up to readable_size() bytes; returns how many that was.
  std::uint64_t consume(std::uint64_t count);
  /// STOP_SENDING is wanted from now on, unless the end is already here; what is
  /// unread is dropped. Returns the bytes to credit to the connection.
  [[nodiscard]] std::uint64_t stop_sending(std::uint64_t error_code);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_terminal() const {
    return state_ == State::data_read || state_ == State::reset_read || state_ == State::none;
  }
  /// All bytes up to the end were consumed.
  [[nodiscard]] bool is_finished() const { return state_ == State::data_read && !stopped_; }
  [[nodiscard]] std::optional<std::uint64_t> final_size() const;
  [[nodiscard]] std::uint64_t highest() const { return highest_; }
  [[nodiscard]] std::uint64_t reset_code() const { return reset_code_; }

  // Wanted frames.
  [[nodiscard]] bool wants_stop_sending() const { return stop_wanted_; }
  [[nodiscard]] std::uint64_t take_stop_sending();
  void on_stop_sending_lost();
  [[nodiscard]] bool wants_max_stream_data() const {
    return state_ == State::recv && !stopped_ && window_.wants_update();
  }
  [[nodiscard]] std::uint64_t take_max_stream_data(Instant now, Duration rtt) {
    return window_.update(now, rtt);
  }
  void on_max_stream_data_lost(std::uint64_t limit) { window_.on_update_lost(limit); }
  [[nodiscard]] const ReceiveWindow& window() const { return window_; }

 private:
  void settle();

  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  RecvBuffer buffer_;
  ReceiveWindow window_;
  std::uint64_t highest_ = 0;
  std::uint64_t final_size_ = kUnknown;
  std::uint64_t reset_code_ = 0;
  std::uint64_t stop_code_ = 0;
  State state_ = State::none;
  bool stopped_ = false;      // the application wants no more
  bool stop_wanted_ = false;  // a STOP_SENDING frame has to be sent
};

}  // namespace quasi::connection
