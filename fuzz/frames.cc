// Frames: views stay inside the payload, ACK ranges go down, and what was parsed
// is written and parsed again as the same.
#include <array>
#include <string>
#include <vector>

#include "targets.h"
#include "wire/frame_parser.h"
#include "wire/frame_writer.h"
#include "wire/test_support.h"

namespace quasi::fuzz {
namespace {

using namespace quasi::wire;

void check_inside(Bytes view, Bytes payload) {
  if (view.empty()) return;
  QUASI_FUZZ_CHECK(view.data() >= payload.data());
  QUASI_FUZZ_CHECK(view.data() + view.size() <= payload.data() + payload.size());
}

void check_ack(const AckFrame& ack) {
  std::uint64_t ranges = 0;
  std::uint64_t floor = kMaxVarint + 2;
  for (const PnRange& range : ack) {
    QUASI_FUZZ_CHECK(range.smallest <= range.largest);
    QUASI_FUZZ_CHECK(range.largest + 1 < floor);  // a gap of one at least
    floor = range.smallest;
    ++ranges;
  }
  QUASI_FUZZ_CHECK(ranges == ack.range_count + 1);
}

template <class D>
void check_rewritten(const Frame& frame, PacketType packet) {
  // Lengths and types may take more bytes than they came in, by 8 bytes a field.
  static std::vector<std::uint8_t> room(std::size_t{1} << 17);
  Writer<D> writer(room);
  QUASI_FUZZ_CHECK(testing::write_any(writer, frame));
  FrameParser<D> parser(writer.output(), packet);
  Frame again;
  const auto more = parser.next(again);
  QUASI_FUZZ_CHECK(more.has_value() && *more && parser.remaining() == 0);
  QUASI_FUZZ_CHECK(testing::describe(again) == testing::describe(frame));
}

template <class D>
void frames(Bytes input) {
  if (input.empty() || input.size() > 65'536) return;
  constexpr std::array<PacketType, 4> kTypes = {PacketType::initial, PacketType::zero_rtt,
                                                PacketType::handshake, PacketType::one_rtt};
  const PacketType packet = kTypes[input[0] % kTypes.size()];
  const Bytes payload = input.subspan(1);
  FrameParser<D> parser(payload, packet);
  std::size_t left = payload.size();
  Frame frame;
  for (;;) {
    const auto more = parser.next(frame);
    if (!more) {
      QUASI_FUZZ_CHECK(more.error().code == TransportErrorCode::frame_encoding_error ||
                       more.error().code == TransportErrorCode::protocol_violation);
      return;
    }
    if (!*more) {
      QUASI_FUZZ_CHECK(!payload.empty() && parser.remaining() == 0);
      return;
    }
    QUASI_FUZZ_CHECK(parser.remaining() < left);
    left = parser.remaining();
    QUASI_FUZZ_CHECK(is_permitted(frame.type, packet));
    switch (frame.kind) {
      case FrameKind::ack:
        check_inside(frame.ack.raw_ranges, payload);
        check_ack(frame.ack);
        break;
      case FrameKind::crypto:
        check_inside(frame.crypto.data, payload);
        QUASI_FUZZ_CHECK(frame.crypto.offset + frame.crypto.data.size() <= kMaxVarint);
        break;
      case FrameKind::stream:
        check_inside(frame.stream.data, payload);
        QUASI_FUZZ_CHECK(frame.stream.offset + frame.stream.data.size() <= kMaxVarint);
        break;
      case FrameKind::new_token:
        check_inside(frame.new_token.token, payload);
        QUASI_FUZZ_CHECK(!frame.new_token.token.empty());
        break;
      case FrameKind::connection_close:
        check_inside(frame.connection_close.reason, payload);
        break;
      case FrameKind::datagram:
        check_inside(frame.datagram.data, payload);
        break;
      default:
        break;
    }
    check_rewritten<D>(frame, packet);
  }
}

}  // namespace

void frames_forward(Bytes input) { frames<wire::Forward>(input); }
void frames_reverse(Bytes input) { frames<wire::Reverse>(input); }

}  // namespace quasi::fuzz
