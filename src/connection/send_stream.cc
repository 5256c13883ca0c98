// The sending part of a stream (see send_stream.h).
#include "connection/send_stream.h"

#include <algorithm>

namespace quasi::connection {

void SendStream::open(std::uint64_t limit, std::uint64_t cap) {
  buffer_.restart();
  window_.open(limit);
  cap_ = std::max<std::uint64_t>(cap, 1);
  reset_code_ = stop_code_ = 0;
  state_ = State::ready;
  finished_ = fin_sent_ = fin_acked_ = reset_wanted_ = stopped_ = write_was_short_ = false;
}

std::size_t SendStream::writable() const {
  if (!can_write() || buffer_.held() >= cap_) return 0;
  return static_cast<std::size_t>(cap_ - buffer_.held());
}

std::size_t SendStream::write(Bytes data) {
  const std::size_t taken = buffer_.write(data.first(std::min(data.size(), writable())));
  if (taken < data.size() && can_write()) write_was_short_ = true;
  note_if_blocked();
  return taken;
}

void SendStream::finish() {
  if (can_write()) finished_ = true;
}

bool SendStream::reset(std::uint64_t error_code) {
  if (!is_sending()) return false;
  state_ = State::reset_sent;
  reset_code_ = error_code;
  reset_wanted_ = true;
  buffer_.release();
  return true;
}

bool SendStream::on_stop_sending(std::uint64_t error_code) {
  if (stopped_ || !reset(error_code)) return false;
  stopped_ = true;
  stop_code_ = error_code;
  return true;
}

void SendStream::on_max_stream_data(std::uint64_t limit) {
  (void)window_.raise(limit);
  note_if_blocked();
}

bool SendStream::take_writable() {
  // Not for every few bytes: a quarter of the buffer at a time.
  if (!write_was_short_ || writable() < std::max<std::uint64_t>(cap_ / 4, 1)) return false;
  write_was_short_ = false;
  return true;
}

bool SendStream::wants_fin_alone() const { return finished_ && !fin_sent_ && !buffer_.has_fresh(); }

bool SendStream::wants_to_resend() const {
  return is_sending() && (buffer_.has_lost() || wants_fin_alone());
}

bool SendStream::wants_to_send() const {
  return is_sending() && buffer_.has_fresh() && window_.available() != 0;
}

std::uint64_t SendStream::next_offset() const {
  return buffer_.has_lost() ? buffer_.next_lost().begin : buffer_.next_offset();
}

std::uint64_t SendStream::next_size(std::uint64_t credit) const {
  if (!is_sending()) return 0;
  if (buffer_.has_lost()) return buffer_.next_lost().length();
  return std::min({buffer_.end_offset() - buffer_.next_offset(), window_.available(), credit});
}

DataChunk SendStream::next_chunk(std::uint64_t max, std::uint64_t credit) {
  DataChunk chunk;
  if (!is_sending()) return chunk;
  if (buffer_.has_lost()) {
    chunk = buffer_.take_lost(max);
  } else {
    chunk = buffer_.take_fresh(std::min({max, window_.available(), credit}));
    window_.use(chunk.size);
  }
  chunk.fin = finished_ && chunk.offset + chunk.size == buffer_.end_offset() &&
              (chunk.size != 0 || !fin_sent_);
  if (chunk.size == 0 && !chunk.fin) return chunk;
  if (state_ == State::ready) state_ = State::send;
  if (chunk.fin) {
    fin_sent_ = true;
    if (!buffer_.has_fresh()) state_ = State::data_sent;
  }
  note_if_blocked();
  return chunk;
}

void SendStream::on_acked(std::uint64_t offset, std::uint64_t size, bool fin) {
  if (!is_sending()) return;
  buffer_.on_acked(offset, size);
  if (fin) fin_acked_ = true;
  if (finished_ && fin_acked_ && buffer_.all_acked()) state_ = State::data_recvd;
}

void SendStream::on_lost(std::uint64_t offset, std::uint64_t size, bool fin) {
  if (!is_sending()) return;
  buffer_.on_lost(offset, size);
  if (fin && !fin_acked_) fin_sent_ = false;
}

void SendStream::on_reset_acked() {
  if (state_ != State::reset_sent) return;
  state_ = State::reset_recvd;
  reset_wanted_ = false;
}

void SendStream::on_reset_lost() {
  if (state_ == State::reset_sent) reset_wanted_ = true;
}

SendStream::Reset SendStream::take_reset() {
  reset_wanted_ = false;
  // RFC 9000 §4.5: everything sent counts, and nothing that was not.
  return {.error_code = reset_code_, .final_size = buffer_.next_offset()};
}

bool SendStream::wants_blocked() const {
  return is_sending() && buffer_.has_fresh() && window_.available() == 0 && window_.wants_blocked();
}

void SendStream::note_if_blocked() {
  if (is_sending() && buffer_.has_fresh() && window_.available() == 0) window_.note_blocked();
}

}  // namespace quasi::connection
