// Writes frames, in either direction of the wire: one text, in v1's field order.
// Each write() is atomic: when the frame does not fit it writes nothing, leaves
// the writer as it was and returns false. STREAM, CRYPTO and DATAGRAM frames can
// also be opened: the header is written for as much data as fits, and the caller
// copies that much into the span it gets back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "quasi/bytes.h"
#include "wire/cursor.h"
#include "wire/frame.h"

namespace quasi::wire {

template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PaddingFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PingFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const ResetStreamFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StopSendingFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const CryptoFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const NewTokenFrame& frame);
/// Always with a length; with an offset unless it is 0.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxDataFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxStreamDataFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const MaxStreamsFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const DataBlockedFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamDataBlockedFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const StreamsBlockedFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const NewConnectionIdFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const RetireConnectionIdFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PathChallengeFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const PathResponseFrame& frame);
/// The reason phrase is cut to what fits.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const ConnectionCloseFrame& frame);
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const HandshakeDoneFrame& frame);
/// With a length.
template <class D>
[[nodiscard]] bool write(Writer<D>& writer, const DatagramFrame& frame);

/// Writes an ACK, or ACK_ECN when `ecn` is given, of `ranges`: largest first,
/// neither overlapping nor adjacent. `delay` is already divided by
/// 2^ack_delay_exponent. As many of the ranges as fit, the largest ones, are
/// written; returns how many, 0 when not even one fits (or there is none).
template <class D>
[[nodiscard]] std::size_t write_ack(Writer<D>& writer, std::span<const PnRange> ranges,
                                    std::uint64_t delay, const std::optional<EcnCounts>& ecn);

/// Bytes of a STREAM frame's header (type, ID, offset, and the length when given).
[[nodiscard]] constexpr std::size_t stream_header_size(std::uint64_t stream_id,
                                                       std::uint64_t offset) {
  return 1 + varint_size(stream_id) + (offset == 0 ? 0 : varint_size(offset));
}

/// How a STREAM frame fits into some room.
struct StreamFit {
  std::size_t data_length = 0;
  bool with_length = true;
  /// Header and data together.
  std::size_t frame_size = 0;
};
/// The largest STREAM frame of at most `available` bytes that fits into `room`.
/// `may_omit_length`: nothing else follows in the packet, so that a frame that
/// fills the whole room needs no Length field. Empty when no useful frame fits:
/// one with at least a byte of data, unless `available` is 0.
[[nodiscard]] std::optional<StreamFit> fit_stream(std::size_t room, std::uint64_t stream_id,
                                                  std::uint64_t offset, std::size_t available,
                                                  bool may_omit_length);

/// A frame whose header is written and whose data the caller copies into `data`.
struct OpenFrame {
  MutableBytes data;
  /// Whether FIN is set: only when all that was available fits.
  bool fin = false;
};
/// Writes a STREAM header for as much of `available` bytes as fits.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_stream(Writer<D>& writer, std::uint64_t stream_id,
                                                   std::uint64_t offset, std::size_t available,
                                                   bool fin, bool may_omit_length);
/// Writes a CRYPTO header for as much of `available` (>= 1) bytes as fits.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_crypto(Writer<D>& writer, std::uint64_t offset,
                                                   std::size_t available);
/// Writes a DATAGRAM header for exactly `size` bytes, without a Length field if
/// it fills the room and `may_omit_length`.
template <class D>
[[nodiscard]] std::optional<OpenFrame> open_datagram(Writer<D>& writer, std::size_t size,
                                                     bool may_omit_length);

/// Most bytes that the frames with a fixed shape can take.
inline constexpr std::size_t kMaxControlFrameSize = 1 + 8 + 8 + 8;
/// Bytes of the whole frame.
[[nodiscard]] std::size_t encoded_size(const NewConnectionIdFrame& frame);
[[nodiscard]] std::size_t encoded_size(const ConnectionCloseFrame& frame);
[[nodiscard]] std::size_t encoded_size(const StreamFrame& frame);
[[nodiscard]] std::size_t encoded_size(const CryptoFrame& frame);
[[nodiscard]] std::size_t encoded_size(const DatagramFrame& frame);
[[nodiscard]] std::size_t encoded_size(std::span<const PnRange> ranges, std::uint64_t delay,
                                       const std::optional<EcnCounts>& ecn);

}  // namespace quasi::wire
