// The streams of a connection: limits, frames from the peer, events (see
// stream_map.h; stream_map_send.cc has what is sent).
#include "connection/stream_map.h"

#include <algorithm>
#include <bit>

#include "wire/frame.h"

namespace quasi::connection {

namespace frame_type = wire::frame_type;

StreamMap::StreamMap(const StreamConfig& config, BufferPool& blocks)
    : config_(config), blocks_(&blocks), streams_(config.table_seed) {
  config_.max_streams_bidi = std::min(config.max_streams_bidi, limits::kMaxConcurrentStreams);
  config_.max_streams_uni = std::min(config.max_streams_uni, limits::kMaxConcurrentStreams);
  config_.stream_window = std::min(config.stream_window, limits::kMaxReceiveWindow);
  config_.connection_window = std::min(config.connection_window, limits::kMaxReceiveWindow);
  config_.send_buffer = std::min(config.send_buffer, limits::kMaxSendBuffer);
  receive_window_.open(config_.connection_window, config_.max_connection_window);
  send_window_.open(0);
  resets_.fill(~StreamId{0});
  for (const Direction direction : {Direction::bidirectional, Direction::unidirectional}) {
    Kind& theirs = kinds_[kind_of(direction, false)];
    theirs.concurrent =
        direction == Direction::bidirectional ? config_.max_streams_bidi : config_.max_streams_uni;
    theirs.limit = theirs.concurrent;
  }
}

std::size_t StreamMap::kind_of(Direction direction, bool ours) const {
  const bool by_server = (config_.side == Side::server) == ours;
  return (direction == Direction::unidirectional ? 2U : 0U) | (by_server ? 1U : 0U);
}

std::uint64_t StreamMap::initial_send_limit(StreamId id) const {
  if (is_unidirectional(id)) return peer_.initial_max_stream_data_uni;
  // RFC 9000 §18.2: "local" and "remote" are as the peer, who announced them, sees it.
  return is_ours(id) ? peer_.initial_max_stream_data_bidi_remote
                     : peer_.initial_max_stream_data_bidi_local;
}

Status StreamMap::set_peer_limits(const PeerStreamLimits& limits) {
  if (limits.initial_max_streams_bidi > limits::kMaxStreamCount ||
      limits.initial_max_streams_uni > limits::kMaxStreamCount) {
    return fail(TransportErrorCode::transport_parameter_error,
                "the peer's transport parameters allow more than 2^60 streams");
  }
  peer_ = limits;
  QUASI_TRY(on_max_data(limits.initial_max_data));
  QUASI_TRY(on_max_streams(Direction::bidirectional, limits.initial_max_streams_bidi));
  QUASI_TRY(on_max_streams(Direction::unidirectional, limits.initial_max_streams_uni));
  // Streams opened under remembered limits (0-RTT) get the new ones.
  streams_.for_each([&](Stream& stream) {
    stream.send.on_max_stream_data(initial_send_limit(stream.id));
    settle_turn(stream);
    settle_control(stream);
  });
  return {};
}

// ---- Which stream a frame is for ---------------------------------------------

Stream& StreamMap::create(StreamId id) {
  Stream& stream = streams_.insert(id, *blocks_, account_);
  const bool ours = is_ours(id);
  if (ours || !is_unidirectional(id)) {
    stream.send.open(initial_send_limit(id), config_.send_buffer);
  } else {
    stream.send.close();
  }
  if (!ours || !is_unidirectional(id)) {
    stream.recv.open(config_.stream_window, config_.max_stream_window);
  } else {
    stream.recv.close();
  }
  return stream;
}

Result<Stream*> StreamMap::find_or_open(StreamId id, std::uint64_t type) {
  if (Stream* stream = streams_.find(id)) [[likely]]
    return stream;
  Kind& kind = kinds_[kind_of(id)];
  const std::uint64_t index = id >> 2;
  if (index < kind.opened) return nullptr;
  if (is_ours(id)) {
    // RFC 9000 §19.4, §19.5, §19.8, §19.10
    return fail(TransportErrorCode::stream_state_error,
                "a frame is for a stream of ours that was not opened yet", type);
  }
  if (index >= kind.limit) {
    return fail(TransportErrorCode::stream_limit_error,
                "the peer opened more streams than MAX_STREAMS allows", type);
  }
  // RFC 9000 §3.2: opening a stream opens all lower ones of its kind.
  Stream* stream = nullptr;
  while (kind.opened <= index) {
    stream = &create(kind.opened << 2 | kind_of(id));
    ++kind.opened;
    add_event(*stream, Stream::kOpened);
  }
  return stream;
}

Result<Stream*> StreamMap::for_receiving(StreamId id, std::uint64_t type) {
  if (is_ours(id) && is_unidirectional(id)) {
    return fail(TransportErrorCode::stream_state_error,
                "the peer sends on a stream on which only we may send", type);
  }
  return find_or_open(id, type);
}

Result<Stream*> StreamMap::for_sending(StreamId id, std::uint64_t type) {
  if (!is_ours(id) && is_unidirectional(id)) {
    return fail(TransportErrorCode::stream_state_error,
                "a frame is about our sending on a stream on which only the peer may send", type);
  }
  return find_or_open(id, type);
}

// ---- Frames from the peer ----------------------------------------------------

void StreamMap::apply(Stream& stream, const RecvStream::Outcome& outcome) {
  // RFC 9000 §4.5: what is never read must not use up the connection's credit.
  receive_window_.on_consumed(outcome.discarded);
  if (outcome.readable) add_event(stream, Stream::kReadable);
  if (outcome.reset) {
    stream.events &= static_cast<std::uint8_t>(~Stream::kReadable);
    add_event(stream, Stream::kReset);
  }
}

Status StreamMap::on_stream(StreamId id, std::uint64_t offset, Bytes data, bool fin,
                            const BufferRef& owner, std::uint64_t type) {
  const auto found = for_receiving(id, type);
  if (!found) return std::unexpected(found.error());
  Stream* stream = *found;
  if (stream == nullptr) return {};
  const auto growth = stream->recv.check_stream(offset, data.size(), fin, type);
  if (!growth) return std::unexpected(growth.error());
  QUASI_TRY(receive_window_.on_received(*growth, type));
  const auto outcome = stream->recv.on_stream(offset, data, fin, owner);
  if (!outcome) return std::unexpected(outcome.error());
  apply(*stream, *outcome);
  // While the end is unknown, new data changes nothing that the lists depend on.
  if (stream->recv.state() != RecvStream::State::recv) settle(*stream);
  return {};
}

Status StreamMap::on_reset_stream(StreamId id, std::uint64_t error_code, std::uint64_t final_size) {
  const auto found = for_receiving(id, frame_type::kResetStream);
  if (!found) return std::unexpected(found.error());
  Stream* stream = *found;
  if (stream == nullptr) return {};
  const auto growth = stream->recv.check_reset(final_size);
  if (!growth) return std::unexpected(growth.error());
  QUASI_TRY(receive_window_.on_received(*growth, frame_type::kResetStream));
  apply(*stream, stream->recv.on_reset(error_code, final_size));
  settle(*stream);
  return {};
}

Status StreamMap::on_stop_sending(StreamId id, std::uint64_t error_code) {
  const auto found = for_sending(id, frame_type::kStopSending);
  if (!found) return std::unexpected(found.error());
  Stream* stream = *found;
  if (stream == nullptr) return {};
  const std::uint64_t held = stream->send.buffer().held();
  if (stream->send.on_stop_sending(error_code)) {
    settle_held(*stream, held);
    stream->events &= static_cast<std::uint8_t>(~Stream::kWritable);
    add_event(*stream, Stream::kStopped);
  }
  settle(*stream);
  return {};
}

Status StreamMap::on_max_data(std::uint64_t limit) {
  (void)send_window_.raise(limit);
  return {};
}

Status StreamMap::on_max_stream_data(StreamId id, std::uint64_t limit) {
  const auto found = for_sending(id, frame_type::kMaxStreamData);
  if (!found) return std::unexpected(found.error());
  Stream* stream = *found;
  if (stream == nullptr) return {};
  stream->send.on_max_stream_data(limit);
  settle(*stream);
  return {};
}

Status StreamMap::on_max_streams(Direction direction, std::uint64_t limit) {
  if (limit > limits::kMaxStreamCount) {  // RFC 9000 §19.11
    return fail(TransportErrorCode::frame_encoding_error, "MAX_STREAMS allows more than 2^60",
                direction == Direction::bidirectional ? frame_type::kMaxStreamsBidi
                                                      : frame_type::kMaxStreamsUni);
  }
  Kind& kind = kinds_[kind_of(direction, true)];
  if (limit <= kind.limit) return {};
  kind.limit = limit;
  (void)kind.blocked.raise(limit);
  kind.available = kind.available || kind.tell_available;
  kind.tell_available = false;
  return {};
}

Status StreamMap::on_stream_data_blocked(StreamId id) {
  const auto found = for_receiving(id, frame_type::kStreamDataBlocked);
  if (!found) return std::unexpected(found.error());
  return {};
}

Status StreamMap::on_streams_blocked(Direction direction, std::uint64_t limit) {
  if (limit > limits::kMaxStreamCount) {  // RFC 9000 §19.14
    return fail(TransportErrorCode::frame_encoding_error, "STREAMS_BLOCKED names more than 2^60",
                direction == Direction::bidirectional ? frame_type::kStreamsBlockedBidi
                                                      : frame_type::kStreamsBlockedUni);
  }
  return {};
}

// ---- The application's side: reading -----------------------------------------

std::size_t StreamMap::readable(StreamId id, std::span<Bytes> out) const {
  const Stream* stream = streams_.find(id);
  return stream == nullptr ? 0 : stream->recv.readable(out);
}

void StreamMap::consume(StreamId id, std::size_t count) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  receive_window_.on_consumed(stream->recv.consume(count));
  settle(*stream);
}

bool StreamMap::is_finished(StreamId id) const {
  if (const Stream* stream = streams_.find(id)) return stream->recv.is_finished();
  const bool was_opened = (id >> 2) < kinds_[kind_of(id)].opened;
  const bool can_receive = !is_ours(id) || !is_unidirectional(id);
  return was_opened && can_receive &&
         std::find(resets_.begin(), resets_.end(), id) == resets_.end();
}

void StreamMap::stop_sending(StreamId id, std::uint64_t error_code) {
  Stream* stream = streams_.find(id);
  if (stream == nullptr) return;
  const bool was_finished = stream->recv.is_terminal();
  receive_window_.on_consumed(stream->recv.stop_sending(error_code));
  stream->events &= static_cast<std::uint8_t>(~Stream::kReadable);
  if (!was_finished) remember_reset(id);
  settle(*stream);
}

void StreamMap::remember_reset(StreamId id) {
  resets_[next_reset_] = id;
  next_reset_ = (next_reset_ + 1) % resets_.size();
}

// ---- Events ------------------------------------------------------------------

void StreamMap::add_event(Stream& stream, Stream::EventBit event) {
  stream.events |= event;
  if (!stream.event_hook.linked) events_.push_back(stream);
}

bool StreamMap::has_event() const {
  return !events_.empty() ||
         std::any_of(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.available; });
}

std::optional<Event> StreamMap::poll_event() {
  for (const Direction direction : {Direction::bidirectional, Direction::unidirectional}) {
    Kind& kind = kinds_[kind_of(direction, true)];
    if (!kind.available) continue;
    kind.available = false;
    Event event;
    event.kind = Event::Kind::streams_available;
    event.stream = kind.opened << 2 | kind_of(direction, true);
    return event;
  }
  while (!events_.empty()) {
    Stream& stream = *events_.front();
    const auto bit = static_cast<std::uint8_t>(stream.events & -stream.events);
    stream.events &= static_cast<std::uint8_t>(~bit);
    Event event;
    event.stream = stream.id;
    switch (bit) {
      case Stream::kOpened:
        event.kind = Event::Kind::stream_opened;
        break;
      case Stream::kReadable:
        event.kind = Event::Kind::stream_readable;
        break;
      case Stream::kReset:
        event.kind = Event::Kind::stream_reset;
        event.error_code = stream.recv.reset_code();
        stream.recv.on_reset_reported();
        remember_reset(stream.id);
        break;
      case Stream::kStopped:
        event.kind = Event::Kind::stream_stopped;
        event.error_code = stream.send.stop_code();
        break;
      case Stream::kWritable:
        event.kind = Event::Kind::stream_writable;
        break;
      case Stream::kSent:
        event.kind = Event::Kind::stream_sent;
        break;
      default:  // what it was to tell has become moot
        settle(stream);
        continue;
    }
    settle(stream);
    return event;
  }
  return std::nullopt;
}

// ---- Keeping a stream in the right lists -------------------------------------

void StreamMap::settle(Stream& stream) {
  settle_turn(stream);
  settle_control(stream);
  if (stream.events == 0) {
    if (stream.event_hook.linked) events_.remove(stream);
    if (stream.send.is_terminal() && stream.recv.is_terminal()) close(stream);
  }
}

void StreamMap::close(Stream& stream) {
  const StreamId id = stream.id;
  leave_turn(stream);
  if (stream.control_hook.linked) control_.remove(stream);
  if (stream.wait_hook.linked) waiting_.remove(stream);
  streams_.erase(stream);
  if (!is_ours(id)) ++kinds_[kind_of(id)].closed;
}

}  // namespace quasi::connection
