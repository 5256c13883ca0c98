// Walks the frames of one decrypted packet, in either direction of the wire. It
// checks everything that RFC 9000 §12.4 and §19 say about a frame by itself:
// encodings, ranges, and whether the frame may be in this kind of packet. What
// depends on connection state is left to whoever handles the frame. Work is
// linear in the payload; nothing is copied or allocated.
#pragma once

#include "quasi/bytes.h"
#include "quasi/result.h"
#include "wire/cursor.h"
#include "wire/frame.h"
#include "wire/packet_type.h"

namespace quasi::wire {

template <class Direction>
class FrameParser {
 public:
  /// `payload` is the plaintext; parsed frames point into it.
  FrameParser(Bytes payload, PacketType packet) : reader_(payload), packet_(packet) {}

  /// Parses the next frame into `frame`: true, or false at the end. An error
  /// closes the connection: PROTOCOL_VIOLATION for a packet without frames, a
  /// type that is not minimally encoded or not permitted here;
  /// FRAME_ENCODING_ERROR for an unknown type or a malformed frame.
  [[nodiscard]] Result<bool> next(Frame& frame);

  /// Bytes that have not been parsed.
  [[nodiscard]] std::size_t remaining() const { return reader_.remaining(); }

 private:
  Reader<Direction> reader_;
  PacketType packet_;
};

extern template class FrameParser<Forward>;
extern template class FrameParser<Reverse>;

}  // namespace quasi::wire
