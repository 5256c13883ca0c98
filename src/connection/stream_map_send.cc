// What the streams of a connection send: whose turn it is, frames that are wanted,
// what became of them, and the application's side of writing (see stream_map.h).
#include <algorithm>
#include <bit>

#include "connection/stream_map.h"

namespace quasi::connection {

using recovery::RecordKind;
using recovery::SentRecord;

// ---- Turns -------------------------------------------------------------------

void StreamMap::leave_turn(Stream& stream) {
  if (stream.turn == Stream::Turn::resend) {
    resend_.remove(stream);
  } else if (stream.turn == Stream::Turn::fresh) {
    auto& list = fresh_[stream.urgency];
    list.remove(stream);
    if (list.empty()) fresh_urgencies_ &= static_cast<std::uint8_t>(~(1U << stream.urgency));
  }
  stream.turn = Stream::Turn::none;
}

void StreamMap::settle_turn(Stream& stream) {
  const Stream::Turn turn = stream.send.wants_to_resend() ? Stream::Turn::resend
                            : stream.send.wants_to_send() ? Stream::Turn::fresh
                                                          : Stream::Turn::none;
  if (turn == stream.turn) return;
  leave_turn(stream);
  stream.turn = turn;
  if (turn == Stream::Turn::resend) {
    resend_.push_back(stream);
  } else if (turn == Stream::Turn::fresh) {
    fresh_[stream.urgency].push_back(stream);
    fresh_urgencies_ |= static_cast<std::uint8_t>(1U << stream.urgency);
    // RFC 9000 §4.1: DATA_BLOCKED, once a limit.
    if (send_window_.available() == 0) send_window_.note_blocked();
  }
}

Stream* StreamMap::next_to_send() const {
  if (!resend_.empty()) return resend_.front();
  if (fresh_urgencies_ == 0 || send_window_.available() == 0) return nullptr;
  return fresh_[static_cast<std::size_t>(std::countr_zero(fresh_urgencies_))].front();
}

bool StreamMap::wants_to_send() const { return next_to_send() != nullptr; }

std::optional<StreamMap::NextData> StreamMap::peek_data() const {
  const Stream* stream = next_to_send();
  if (stream == nullptr) return std::nullopt;
  return NextData{.stream = stream->id,
                  .offset = stream->send.next_offset(),
                  .size = stream->send.next_size(send_window_.available()),
                  .resent = stream->send.buffer().has_lost()};
}

DataChunk StreamMap::take_data(std::uint64_t max) {
  Stream* stream = next_to_send();
  if (stream == nullptr) return {};
  const DataChunk chunk = stream->send.next_chunk(max, send_window_.available());
  if (chunk.fresh) {
    send_window_.use(chunk.size);
    if (stream->turn == Stream::Turn::fresh && stream->incremental && chunk.size != 0) {
      fresh_[stream->urgency].move_to_back(*stream);
    }
  }
  settle_turn(*stream);
  settle_control(*stream);
  if (fresh_urgencies_ != 0 && send_window_.available() == 0) send_window_.note_blocked();
  return chunk;
}

void StreamMap::set_priority(StreamId id, std::uint8_t urgency, bool incremental) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  leave_turn(*stream);
  stream->urgency = std::min<std::uint8_t>(urgency, kUrgencies - 1);
  stream->incremental = incremental;
  settle_turn(*stream);
}

// ---- Wanted frames -----------------------------------------------------------

void StreamMap::settle_control(Stream& stream) {
  const bool wanted = stream.send.wants_reset() || stream.send.wants_blocked() ||
                      stream.recv.wants_stop_sending() || stream.recv.wants_max_stream_data();
  if (wanted == stream.control_hook.linked) return;
  if (wanted) {
    control_.push_back(stream);
  } else {
    control_.remove(stream);
  }
}

bool StreamMap::wants_max_streams(const Kind& kind) const {
  if (kind.resend_limit) return true;
  // Before the peer runs out, and not for every stream that closes.
  const std::uint64_t target = std::min(kind.closed + kind.concurrent, limits::kMaxStreamCount);
  if (target <= kind.limit) return false;
  return kind.limit - kind.opened <= kind.concurrent / 2 ||
         target - kind.limit >= std::max<std::uint64_t>(kind.concurrent / 4, 1);
}

bool StreamMap::wants_control() const {
  if (!control_.empty() || receive_window_.wants_update()) return true;
  if (send_window_.available() == 0 && send_window_.wants_blocked()) return true;
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return wants_max_streams(kind) || kind.blocked.wants_blocked();
  });
}

std::optional<ControlFrame> StreamMap::take_control(Instant now, Duration rtt) {
  if (auto frame = take_connection_control(now, rtt)) return frame;
  if (control_.empty()) return std::nullopt;
  return take_stream_control(now, rtt);
}

std::optional<ControlFrame> StreamMap::take_connection_control(Instant now, Duration rtt) {
  const auto frame = [](RecordKind kind, std::uint64_t value) {
    return ControlFrame{.kind = kind, .stream = 0, .value = value, .error_code = 0};
  };
  if (receive_window_.wants_update()) {
    return frame(RecordKind::max_data, receive_window_.update(now, rtt));
  }
  if (send_window_.available() == 0 && send_window_.wants_blocked()) {
    return frame(RecordKind::data_blocked, send_window_.take_blocked());
  }
  for (const Direction direction : {Direction::bidirectional, Direction::unidirectional}) {
    const bool bidi = direction == Direction::bidirectional;
    Kind& theirs = kinds_[kind_of(direction, false)];
    if (wants_max_streams(theirs)) {
      theirs.resend_limit = false;
      theirs.limit = std::min(theirs.closed + theirs.concurrent, limits::kMaxStreamCount);
      return frame(bidi ? RecordKind::max_streams_bidi : RecordKind::max_streams_uni, theirs.limit);
    }
    Kind& ours = kinds_[kind_of(direction, true)];
    if (ours.blocked.wants_blocked()) {
      return frame(bidi ? RecordKind::streams_blocked_bidi : RecordKind::streams_blocked_uni,
                   ours.blocked.take_blocked());
    }
  }
  return std::nullopt;
}

ControlFrame StreamMap::take_stream_control(Instant now, Duration rtt) {
  Stream& stream = *control_.front();  // wants something, or settle() had taken it out
  ControlFrame frame;
  frame.stream = stream.id;
  if (stream.send.wants_reset()) {
    const SendStream::Reset reset = stream.send.take_reset();
    frame.kind = RecordKind::reset_stream;
    frame.error_code = reset.error_code;
    frame.value = reset.final_size;
  } else if (stream.recv.wants_stop_sending()) {
    frame.kind = RecordKind::stop_sending;
    frame.error_code = stream.recv.take_stop_sending();
  } else if (stream.recv.wants_max_stream_data()) {
    frame.kind = RecordKind::max_stream_data;
    frame.value = stream.recv.take_max_stream_data(now, rtt);
    // A stream may use its window alone only if the connection's has room for it.
    const std::uint64_t window = stream.recv.window().window();
    receive_window_.ensure(window + window / 2);
  } else {
    frame.kind = RecordKind::stream_data_blocked;
    frame.value = stream.send.take_blocked();
  }
  settle_control(stream);
  return frame;
}

// ---- What became of them -----------------------------------------------------

bool StreamMap::on_acked(const SentRecord& record) {
  switch (record.kind) {
    case RecordKind::stream:
    case RecordKind::reset_stream: {
      Stream* stream = streams_.find(record.id);
      if (stream == nullptr) return true;
      if (record.kind == RecordKind::reset_stream) {
        stream->send.on_reset_acked();
      } else {
        const bool was_terminal = stream->send.is_terminal();
        const std::uint64_t held = stream->send.buffer().held();
        stream->send.on_acked(record.offset, record.length, record.fin);
        settle_held(*stream, held);
        if (stream->send.is_terminal() && !was_terminal) add_event(*stream, Stream::kSent);
        if (stream->send.take_writable()) add_event(*stream, Stream::kWritable);
      }
      settle(*stream);
      return true;
    }
    case RecordKind::max_data:
    case RecordKind::max_stream_data:
    case RecordKind::max_streams_bidi:
    case RecordKind::max_streams_uni:
    case RecordKind::data_blocked:
    case RecordKind::stream_data_blocked:
    case RecordKind::streams_blocked_bidi:
    case RecordKind::streams_blocked_uni:
    case RecordKind::stop_sending:
      return true;  // nothing waits for these
    default:
      return false;
  }
}

bool StreamMap::on_lost(const SentRecord& record) {
  const auto with_stream = [&](auto&& action) {
    if (Stream* stream = streams_.find(record.id)) {
      action(*stream);
      settle(*stream);
    }
  };
  const auto max_streams_lost = [&](Direction direction) {
    Kind& kind = kinds_[kind_of(direction, false)];
    if (record.offset == kind.limit) kind.resend_limit = true;
  };
  const auto streams_blocked_lost = [&](Direction direction) {
    kinds_[kind_of(direction, true)].blocked.on_blocked_lost(record.offset);
  };
  switch (record.kind) {
    case RecordKind::stream:
      with_stream([&](Stream& s) { s.send.on_lost(record.offset, record.length, record.fin); });
      return true;
    case RecordKind::reset_stream:
      with_stream([](Stream& s) { s.send.on_reset_lost(); });
      return true;
    case RecordKind::stop_sending:
      with_stream([](Stream& s) { s.recv.on_stop_sending_lost(); });
      return true;
    case RecordKind::max_stream_data:
      with_stream([&](Stream& s) { s.recv.on_max_stream_data_lost(record.offset); });
      return true;
    case RecordKind::stream_data_blocked:
      with_stream([&](Stream& s) { s.send.on_blocked_lost(record.offset); });
      return true;
    case RecordKind::max_data:
      receive_window_.on_update_lost(record.offset);
      return true;
    case RecordKind::data_blocked:
      send_window_.on_blocked_lost(record.offset);
      return true;
    case RecordKind::max_streams_bidi:
      max_streams_lost(Direction::bidirectional);
      return true;
    case RecordKind::max_streams_uni:
      max_streams_lost(Direction::unidirectional);
      return true;
    case RecordKind::streams_blocked_bidi:
      streams_blocked_lost(Direction::bidirectional);
      return true;
    case RecordKind::streams_blocked_uni:
      streams_blocked_lost(Direction::unidirectional);
      return true;
    default:
      return false;
  }
}

// ---- The application's side: writing -----------------------------------------

std::optional<StreamId> StreamMap::open_stream(Direction direction) {
  const std::size_t which = kind_of(direction, true);
  Kind& kind = kinds_[which];
  if (kind.opened >= kind.limit) {
    kind.blocked.note_blocked();
    kind.tell_available = true;
    return std::nullopt;
  }
  const StreamId id = kind.opened << 2 | which;
  ++kind.opened;
  create(id);
  return id;
}

std::uint64_t StreamMap::send_room() const {
  const std::uint64_t total = config_.send_buffer * limits::kSendBuffersPerConnection;
  return total > held_ ? total - held_ : 0;
}

void StreamMap::settle_held(const Stream& stream, std::uint64_t before) {
  held_ = held_ + stream.send.buffer().held() - before;
  if (!waiting_.empty()) wake_waiting();
}

// Streams that found no room in the connection's buffer hear when there is some, all
// at once; whoever then comes too late waits behind the others.
void StreamMap::wake_waiting() {
  if (send_room() < std::max<std::uint64_t>(config_.send_buffer / 4, 1)) return;
  while (!waiting_.empty()) {
    Stream& stream = *waiting_.front();
    waiting_.remove(stream);
    if (stream.send.writable() != 0) {
      add_event(stream, Stream::kWritable);
    } else {
      stream.send.expect_writable();  // full itself: hears when its own data is acknowledged
    }
  }
}

std::size_t StreamMap::write(StreamId id, Bytes data) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr || !stream->send.can_write()) return 0;
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(send_room(), data.size()));
  const std::uint64_t held = stream->send.buffer().held();
  const std::size_t taken = stream->send.write(data.first(room));
  settle_held(*stream, held);
  if (taken == room && room < data.size() && !stream->wait_hook.linked) {
    waiting_.push_back(*stream);
  }
  settle_turn(*stream);
  settle_control(*stream);
  return taken;
}

std::size_t StreamMap::writable(StreamId id) const {
  const Stream* stream = streams_.find(id);
  if (stream == nullptr) return 0;
  return static_cast<std::size_t>(std::min<std::uint64_t>(stream->send.writable(), send_room()));
}

void StreamMap::finish(StreamId id) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  stream->send.finish();
  settle_turn(*stream);
}

void StreamMap::reset(StreamId id, std::uint64_t error_code) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  const std::uint64_t held = stream->send.buffer().held();
  if (stream->send.reset(error_code)) {
    settle_held(*stream, held);
    stream->events &= static_cast<std::uint8_t>(~Stream::kWritable);
  }
  settle(*stream);
}

}  // namespace quasi::connection
