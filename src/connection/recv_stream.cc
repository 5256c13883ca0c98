// The receiving part of a stream (see recv_stream.h).
#include "connection/recv_stream.h"

#include <algorithm>

#include "base/limits.h"

namespace quasi::connection {
namespace {
constexpr std::uint64_t kResetStreamType = 0x04;
}

void RecvStream::open(std::uint64_t window, std::uint64_t max_window) {
  buffer_.restart();
  window_.open(window, max_window);
  highest_ = reset_code_ = stop_code_ = 0;
  final_size_ = kUnknown;
  state_ = State::recv;
  stopped_ = stop_wanted_ = false;
}

Result<std::uint64_t> RecvStream::check_stream(std::uint64_t offset, std::uint64_t size, bool fin,
                                               std::uint64_t frame_type) const {
  // RFC 9000 §19.8: no byte of a stream has an offset above 2^62-1.
  if (offset > limits::kMaxVarint || size > limits::kMaxVarint - offset) {
    return fail(TransportErrorCode::frame_encoding_error,
                "a STREAM frame ends beyond the largest offset", frame_type);
  }
  const std::uint64_t end = offset + size;
  // RFC 9000 §4.5
  if (final_size_ != kUnknown ? (end > final_size_ || (fin && end != final_size_))
                              : (fin && end < highest_)) {
    return fail(TransportErrorCode::final_size_error,
                "a STREAM frame contradicts the final size of its stream", frame_type);
  }
  if (end <= highest_) return std::uint64_t{0};
  if (end > window_.limit()) {
    return fail(TransportErrorCode::flow_control_error,
                "the peer sent more data on a stream than MAX_STREAM_DATA allows", frame_type);
  }
  return end - highest_;
}

Result<RecvStream::Outcome> RecvStream::on_stream(std::uint64_t offset, Bytes data, bool fin,
                                                  const BufferRef& owner) {
  Outcome outcome;
  const std::uint64_t end = offset + data.size();
  const std::uint64_t growth = end > highest_ ? end - highest_ : 0;
  highest_ += growth;
  if (state_ != State::recv && state_ != State::size_known) return outcome;  // all is known
  const bool end_is_news = fin && final_size_ == kUnknown;
  if (end_is_news) {
    final_size_ = end;
    state_ = State::size_known;
  }
  if (stopped_) {
    outcome.discarded = growth;
    settle();
    return outcome;
  }
  const std::uint64_t before = buffer_.contiguous_end();
  if (!buffer_.insert(offset, data, owner)) {
    return fail(TransportErrorCode::internal_error, "no memory left for stream data");
  }
  const std::uint64_t after = buffer_.contiguous_end();
  outcome.readable = after != before || (end_is_news && after == final_size_);
  settle();
  return outcome;
}

Result<std::uint64_t> RecvStream::check_reset(std::uint64_t final_size) const {
  // RFC 9000 §4.5: the final size never changes, and no data lies beyond it.
  if (final_size_ != kUnknown ? final_size != final_size_ : final_size < highest_) {
    return fail(TransportErrorCode::final_size_error,
                "RESET_STREAM contradicts the final size of its stream", kResetStreamType);
  }
  if (final_size <= highest_) return std::uint64_t{0};
  if (final_size > window_.limit()) {
    return fail(TransportErrorCode::flow_control_error,
                "RESET_STREAM has a final size above what MAX_STREAM_DATA allows",
                kResetStreamType);
  }
  return final_size - highest_;
}

RecvStream::Outcome RecvStream::on_reset(std::uint64_t error_code, std::uint64_t final_size) {
  Outcome outcome;
  // RFC 9000 §3.2: once all data is here a reset may be ignored.
  if (state_ != State::recv && state_ != State::size_known) return outcome;
  // What a stop discarded was credited up to highest_ already.
  outcome.discarded = final_size - (stopped_ ? highest_ : buffer_.read_offset());
  outcome.reset = !stopped_;
  highest_ = final_size_ = final_size;
  reset_code_ = error_code;
  stop_wanted_ = false;
  buffer_.release();
  state_ = stopped_ ? State::reset_read : State::reset_recvd;
  return outcome;
}

std::uint64_t RecvStream::consume(std::uint64_t count) {
  count = std::min(count, buffer_.readable_size());
  buffer_.consume(count);
  window_.on_consumed(count);
  settle();
  return count;
}

std::uint64_t RecvStream::stop_sending(std::uint64_t error_code) {
  if (stopped_ || is_terminal() || state_ == State::reset_recvd) return 0;
  stopped_ = true;
  stop_code_ = error_code;
  stop_wanted_ = true;  // unless settle() finds that the end is known (RFC 9000 §3.5)
  const std::uint64_t discarded = highest_ - buffer_.read_offset();
  buffer_.release();
  settle();
  return discarded;
}

std::optional<std::uint64_t> RecvStream::final_size() const {
  if (final_size_ == kUnknown) return std::nullopt;
  return final_size_;
}

std::uint64_t RecvStream::take_stop_sending() {
  stop_wanted_ = false;
  return stop_code_;
}

void RecvStream::on_stop_sending_lost() {
  if (stopped_ && state_ == State::recv) stop_wanted_ = true;
}

void RecvStream::settle() {
  if (final_size_ == kUnknown) return;
  if (stopped_ && (state_ == State::size_known || state_ == State::data_recvd)) {
    // The end is known and accounted for: nothing that comes later matters.
    state_ = State::data_read;
    stop_wanted_ = false;
    return;
  }
  if (state_ == State::size_known && buffer_.contiguous_end() == final_size_) {
    state_ = State::data_recvd;
  }
  if (state_ == State::data_recvd && buffer_.read_offset() == final_size_) {
    state_ = State::data_read;
  }
}

}  // namespace quasi::connection
