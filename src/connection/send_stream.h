// The sending part of a stream: the states of RFC 9000 §3.1, the peer's limit, FIN,
// RESET_STREAM, and what STOP_SENDING brings about.
#pragma once

#include <cstddef>
#include <cstdint>

#include "connection/flow_control.h"
#include "connection/send_buffer.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"

namespace quasi::connection {

class SendStream {
 public:
  enum class State : std::uint8_t {
    ready,        // nothing sent yet
    send,         // data was sent
    data_sent,    // everything and the FIN were sent
    reset_sent,   // reset; RESET_STREAM is wanted or under way
    data_recvd,   // everything is acknowledged: terminal
    reset_recvd,  // RESET_STREAM is acknowledged: terminal
    none,         // the stream has no sending part
  };

  explicit SendStream(BufferPool& blocks) : buffer_(blocks) {}

  /// `limit`: the peer's initial_max_stream_data. `cap`: bytes held at most.
  void open(std::uint64_t limit, std::uint64_t cap);
  /// This stream only receives, or is gone: gives everything back.
  void close() {
    buffer_.restart();
    state_ = State::none;
  }

  /// Takes as much as there is room for; remembers when that was not all.
  [[nodiscard]] std::size_t write(Bytes data);
  [[nodiscard]] std::size_t writable() const;
  void finish();
  /// RESET_STREAM is wanted from now on; false when it is too late for one.
  bool reset(std::uint64_t error_code);
  /// STOP_SENDING: resets with the peer's code (RFC 9000 §3.5). True the first time.
  [[nodiscard]] bool on_stop_sending(std::uint64_t error_code);
  /// MAX_STREAM_DATA or transport parameters.
  void on_max_stream_data(std::uint64_t limit);
  /// As after a write() that took less than asked.
  void expect_writable() { write_was_short_ = true; }
  /// The last write() took less than asked and there is room again; clears that.
  [[nodiscard]] bool take_writable();

  /// Something can be sent that needs no flow-control credit: lost data, or a FIN alone.
  [[nodiscard]] bool wants_to_resend() const;
  /// Fresh data can be sent under the stream's limit.
  [[nodiscard]] bool wants_to_send() const;
  /// Where next_chunk() would begin: for the size of the frame's header.
  [[nodiscard]] std::uint64_t next_offset() const;
  /// How much next_chunk() could give with endless room (`credit`: the connection's).
  [[nodiscard]] std::uint64_t next_size(std::uint64_t credit) const;
  /// Up to `max` bytes for a frame, lost ones first, fresh ones within `credit`, the
  /// connection's. They count as sent. A chunk of size 0 without fin is nothing.
  [[nodiscard]] DataChunk next_chunk(std::uint64_t max, std::uint64_t credit);

  void on_acked(std::uint64_t offset, std::uint64_t size, bool fin);
  void on_lost(std::uint64_t offset, std::uint64_t size, bool fin);
  void on_reset_acked();
  void on_reset_lost();

  // Wanted frames.
  [[nodiscard]] bool wants_reset() const { return reset_wanted_; }
  struct Reset {
    std::uint64_t error_code = 0;
    std::uint64_t final_size = 0;
  };
  [[nodiscard]] Reset take_reset();
  [[nodiscard]] bool wants_blocked() const;
  [[nodiscard]] std::uint64_t take_blocked() { return window_.take_blocked(); }
  void on_blocked_lost(std::uint64_t limit) { window_.on_blocked_lost(limit); }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_terminal() const {
    return state_ == State::data_recvd || state_ == State::reset_recvd || state_ == State::none;
  }
  [[nodiscard]] bool can_write() const {
    return (state_ == State::ready || state_ == State::send) && !finished_;
  }
  [[nodiscard]] std::uint64_t stop_code() const { return stop_code_; }
  [[nodiscard]] const SendBuffer& buffer() const { return buffer_; }

 private:
  [[nodiscard]] bool is_sending() const {
    return state_ == State::ready || state_ == State::send || state_ == State::data_sent;
  }
  [[nodiscard]] bool wants_fin_alone() const;
  void note_if_blocked();

  SendBuffer buffer_;
  SendWindow window_;
  std::uint64_t cap_ = 0;
  std::uint64_t reset_code_ = 0;
  std::uint64_t stop_code_ = 0;
  State state_ = State::none;
  bool finished_ = false;  // the application wrote the end
  bool fin_sent_ = false;  // a frame with the FIN is under way
  bool fin_acked_ = false;
  bool reset_wanted_ = false;
  bool stopped_ = false;  // STOP_SENDING came
  bool write_was_short_ = false;
};

}  // namespace quasi::connection
