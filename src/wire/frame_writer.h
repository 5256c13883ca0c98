// Writes frames, in either direction of the wire: one text, in v1's field order.
// Each write() is atomic: when the frame does not fit it writes nothing, leaves
// the writer as it was and returns false. STREAM, CRYPTO and DATAGRAM frames can
// also be opened: the header is written for as much data as fits, and the caller
// copies that much into the span it gets back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/interval_set.h"
#include "quasi/bytes.h"
#include "wire/cursor.h"
#include "wire/frame.h"

namespace quasi::wire {

/// Most bytes that a frame of up to three varints takes.
inline constexpr std::size_t kMaxControlFrameSize = 1 + 8 + 8 + 8;

namespace detail {

/// Keeps what was written since `mark` if all of it fitted.
template <class D>
[[nodiscard]] bool finish(Writer<D>& writer, typename Writer<D>::Mark mark) {
  if (writer.ok()) [[likely]]
    return true;
  writer.rewind(mark);
  return false;
}

template <class D, class... Integers>
[[nodiscard]] bool write_varints(Writer<D>& writer, Integers... values) {
  const auto mark = writer.mark();
  (writer.varint(values), ...);
  return finish(writer, mark);
}

}  // namespace detail

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PaddingFrame& frame) {
  const auto mark = writer.mark();
  writer.zeros(frame.length);
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PingFrame&) {
  return detail::write_varints(writer, frame_type::kPing);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const ResetStreamFrame& frame) {
  return detail::write_varints(writer, frame_type::kResetStream, frame.stream_id, frame.error_code,
                               frame.final_size);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StopSendingFrame& frame) {
  return detail::write_varints(writer, frame_type::kStopSending, frame.stream_id, frame.error_code);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const CryptoFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kCrypto);
  writer.varint(frame.offset);
  writer.counted_bytes(frame.data);
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const NewTokenFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kNewToken);
  writer.counted_bytes(frame.token);
  return detail::finish(writer, mark);
}

/// With a length always, and with an offset unless it is 0.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kStream | frame_type::kStreamLengthBit |
                (frame.offset != 0 ? frame_type::kStreamOffsetBit : 0) |
                (frame.fin ? frame_type::kStreamFinBit : 0));
  writer.varint(frame.stream_id);
  if (frame.offset != 0) writer.varint(frame.offset);
  writer.counted_bytes(frame.data);
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxDataFrame& frame) {
  return detail::write_varints(writer, frame_type::kMaxData, frame.maximum);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxStreamDataFrame& frame) {
  return detail::write_varints(writer, frame_type::kMaxStreamData, frame.stream_id, frame.maximum);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxStreamsFrame& frame) {
  return detail::write_varints(
      writer, frame.unidirectional ? frame_type::kMaxStreamsUni : frame_type::kMaxStreamsBidi,
      frame.maximum);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const DataBlockedFrame& frame) {
  return detail::write_varints(writer, frame_type::kDataBlocked, frame.limit);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamDataBlockedFrame& frame) {
  return detail::write_varints(writer, frame_type::kStreamDataBlocked, frame.stream_id,
                               frame.limit);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamsBlockedFrame& frame) {
  return detail::write_varints(
      writer,
      frame.unidirectional ? frame_type::kStreamsBlockedUni : frame_type::kStreamsBlockedBidi,
      frame.limit);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const NewConnectionIdFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kNewConnectionId);
  writer.varint(frame.sequence);
  writer.varint(frame.retire_prior_to);
  writer.u8(static_cast<std::uint8_t>(frame.connection_id.size()));
  writer.bytes(frame.connection_id.bytes());
  writer.bytes(frame.reset_token);
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const RetireConnectionIdFrame& frame) {
  return detail::write_varints(writer, frame_type::kRetireConnectionId, frame.sequence);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PathChallengeFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kPathChallenge);
  writer.bytes(frame.data);
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PathResponseFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kPathResponse);
  writer.bytes(frame.data);
  return detail::finish(writer, mark);
}

/// The reason phrase is cut to what fits: a close that is sent matters more.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const ConnectionCloseFrame& frame) {
  const auto mark = writer.mark();
  if (frame.application) {
    writer.varint(frame_type::kConnectionCloseApplication);
    writer.varint(frame.error_code);
  } else {
    writer.varint(frame_type::kConnectionCloseTransport);
    writer.varint(frame.error_code);
    writer.varint(frame.frame_type);
  }
  const std::size_t room = writer.remaining();
  std::size_t size = std::min(frame.reason.size(), room);
  while (size != 0 && varint_size(size) + size > room) --size;
  writer.counted_bytes(frame.reason.first(size));
  return detail::finish(writer, mark);
}

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const HandshakeDoneFrame&) {
  return detail::write_varints(writer, frame_type::kHandshakeDone);
}

/// With a length.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const DatagramFrame& frame) {
  const auto mark = writer.mark();
  writer.varint(frame_type::kDatagramWithLength);
  writer.counted_bytes(frame.data);
  return detail::finish(writer, mark);
}

namespace detail {

/// How many of the ranges, the largest ones, fit into `room`.
struct AckFit {
  std::size_t count = 0;
  std::size_t size = 0;
};

/// `range(i)`, i < count, gives the PnRanges from the largest downwards.
template <class RangeAt>
[[nodiscard]] AckFit fit_ack(RangeAt range, std::size_t count, std::uint64_t delay,
                             const std::optional<EcnCounts>& ecn, std::size_t room) {
  if (count == 0) return {};
  PnRange last = range(0);
  std::size_t fixed = 1 + varint_size(last.largest) + varint_size(delay) +
                      varint_size(last.largest - last.smallest);
  if (ecn) fixed += varint_size(ecn->ect0) + varint_size(ecn->ect1) + varint_size(ecn->ce);
  if (fixed + varint_size(0) > room) return {};
  AckFit fit{1, fixed + varint_size(0)};
  std::size_t ranges_size = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const PnRange next = range(i);
    ranges_size +=
        varint_size(last.smallest - next.largest - 2) + varint_size(next.largest - next.smallest);
    const std::size_t size = fixed + varint_size(i) + ranges_size;
    if (size > room) break;
    fit = {i + 1, size};
    last = next;
  }
  return fit;
}

template <class D, class RangeAt>
[[nodiscard]] std::size_t write_ack_ranges(Writer<D>& writer, RangeAt range, std::size_t count,
                                           std::uint64_t delay,
                                           const std::optional<EcnCounts>& ecn) {
  if (!writer.ok()) return 0;
  const AckFit fit = fit_ack(range, count, delay, ecn, writer.remaining());
  if (fit.count == 0) return 0;
  PnRange last = range(0);
  const auto mark = writer.mark();
  writer.varint(ecn ? frame_type::kAckEcn : frame_type::kAck);
  writer.varint(last.largest);
  writer.varint(delay);
  writer.varint(fit.count - 1);
  writer.varint(last.largest - last.smallest);
  for (std::size_t i = 1; i < fit.count; ++i) {
    const PnRange next = range(i);
    writer.varint(last.smallest - next.largest - 2);
    writer.varint(next.largest - next.smallest);
    last = next;
  }
  if (ecn) {
    writer.varint(ecn->ect0);
    writer.varint(ecn->ect1);
    writer.varint(ecn->ce);
  }
  return finish(writer, mark) ? fit.count : 0;
}

[[nodiscard]] inline auto ranges_of(std::span<const PnRange> ranges) {
  return [ranges](std::size_t i) { return ranges[i]; };
}
[[nodiscard]] inline auto ranges_of(const IntervalSet& ranges) {
  return [&ranges](std::size_t i) {
    const Interval& interval = ranges[ranges.size() - 1 - i];
    return PnRange{interval.begin, interval.end - 1};
  };
}

}  // namespace detail

/// Writes an ACK, or an ACK_ECN when `ecn` is given, of `ranges`: an IntervalSet,
/// or PnRanges with the largest first, neither overlapping nor adjacent. `delay` is
/// already divided by 2^ack_delay_exponent. As many ranges as fit, the largest
/// ones, are written; returns how many, 0 when not even one fits (or there is none).
template <class D, class Ranges>
[[nodiscard]] std::size_t write_ack(Writer<D>& writer, const Ranges& ranges, std::uint64_t delay,
                                    const std::optional<EcnCounts>& ecn) {
  return detail::write_ack_ranges(writer, detail::ranges_of(ranges), ranges.size(), delay, ecn);
}

/// Bytes of the ACK frame that write_ack() writes when `room` bytes are left; 0: none fits.
template <class Ranges>
[[nodiscard]] std::size_t ack_size(const Ranges& ranges, std::uint64_t delay,
                                   const std::optional<EcnCounts>& ecn, std::size_t room) {
  return detail::fit_ack(detail::ranges_of(ranges), ranges.size(), delay, ecn, room).size;
}

/// Bytes of a STREAM frame's type, stream ID and offset.
[[nodiscard]] constexpr std::size_t stream_header_size(std::uint64_t stream_id,
                                                       std::uint64_t offset) {
  return 1 + varint_size(stream_id) + (offset == 0 ? 0 : varint_size(offset));
}

/// How much data fits, and whether a Length field goes before it.
struct DataFit {
  std::size_t data_length = 0;
  bool with_length = true;
  /// Header and data together.
  std::size_t frame_size = 0;
};

/// The largest frame that fits into `room`, with a header of `header_size` bytes
/// besides its Length field and at most `available` bytes of data.
/// `may_omit_length`: nothing else follows in the packet, so that a frame which
/// fills the whole room needs no Length field. Empty when no useful frame fits: one
/// with at least a byte of data, unless `available` is 0.
[[nodiscard]] std::optional<DataFit> fit_data(std::size_t room, std::size_t header_size,
                                              std::size_t available, bool may_omit_length);

/// A frame whose header is written, and whose data the caller copies into `data`.
struct OpenFrame {
  MutableBytes data;
  /// Whether FIN is set: only when all that was available fitted.
  bool fin = false;
};

/// Writes the header of a STREAM frame for as much of `available` bytes as fits.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_stream(Writer<D>& writer, std::uint64_t stream_id,
                                                   std::uint64_t offset, std::size_t available,
                                                   bool fin, bool may_omit_length) {
  const auto fit = fit_data(writer.remaining(), stream_header_size(stream_id, offset), available,
                            may_omit_length);
  if (!fit) return std::nullopt;
  const bool with_fin = fin && fit->data_length == available;
  const auto mark = writer.mark();
  writer.varint(frame_type::kStream | (fit->with_length ? frame_type::kStreamLengthBit : 0) |
                (offset != 0 ? frame_type::kStreamOffsetBit : 0) |
                (with_fin ? frame_type::kStreamFinBit : 0));
  writer.varint(stream_id);
  if (offset != 0) writer.varint(offset);
  if (fit->with_length) writer.varint(fit->data_length);
  const MutableBytes data = writer.reserve(fit->data_length);
  if (!detail::finish(writer, mark)) return std::nullopt;
  return OpenFrame{data, with_fin};
}

/// Writes the header of a CRYPTO frame for as much of `available` (>= 1) bytes as fits.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_crypto(Writer<D>& writer, std::uint64_t offset,
                                                   std::size_t available) {
  const auto fit = fit_data(writer.remaining(), 1 + varint_size(offset), available, false);
  if (!fit || available == 0) return std::nullopt;
  const auto mark = writer.mark();
  writer.varint(frame_type::kCrypto);
  writer.varint(offset);
  writer.varint(fit->data_length);
  const MutableBytes data = writer.reserve(fit->data_length);
  if (!detail::finish(writer, mark)) return std::nullopt;
  return OpenFrame{data, false};
}

/// Writes the header of a DATAGRAM frame for exactly `size` bytes, without a Length
/// field when it fills the room and `may_omit_length`.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_datagram(Writer<D>& writer, std::size_t size,
                                                     bool may_omit_length) {
  const bool with_length = !(may_omit_length && 1 + size == writer.remaining());
  const auto mark = writer.mark();
  writer.varint(with_length ? frame_type::kDatagramWithLength : frame_type::kDatagram);
  if (with_length) writer.varint(size);
  const MutableBytes data = writer.reserve(size);
  if (!detail::finish(writer, mark)) return std::nullopt;
  return OpenFrame{data, false};
}

}  // namespace quasi::wire
