// Frames in both directions: published encodings, round trips, truncation at every
// byte, hostile encodings, and random bytes.
#include "wire/frame_parser.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::describe;
using testing::describe_all;
using testing::from_hex;
using testing::Random;

// The frames that the VReverso description spells out, right to left.
TEST(FrameParser, ReversedExamples) {
  const struct {
    const char* hex;
    const char* text;
  } examples[] = {
      {"68656c6c6f 0015 00 10 38", "STREAM 4 0 [68656c6c6f]"},
      {"68656c6c6f 0015 0fa1 10 3c", "STREAM 4 1000 [68656c6c6f] FIN"},
      {"24 04 20 0c 14 08 0191 78 08", "ACK 25-30 12-20 0-9 delay 100"},
      {"00400002 10 44", "MAX_STREAM_DATA 4 1048576"},
      {"010203 000d 00 18", "CRYPTO 0 [010203]"},
      {"aabb 0009 c4", "DATAGRAM [aabb]"},
      {"0001020304050607 68", "PATH_CHALLENGE [0001020304050607]"},
      {"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee c1c2c3c4 04 00 04 60",
       "NEW_CONNECTION_ID 1 0 [c1c2c3c4] [eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee]"},
      {"627965 0c 18 28 70", "CONNECTION_CLOSE 10 6 [627965]"},
      // The payload of the whole packets there: STREAM first, then ACK; parsed backwards.
      {"68656c6c6f001500061a8210382404200c140801917808",
       "ACK 25-30 12-20 0-9 delay 100\nSTREAM 4 100000 [68656c6c6f]"},
      // Without lengths, leftmost.
      {"cafe 10 20", "STREAM 4 0 [cafe]"},
      {"cafe c0 04", "PING\nDATAGRAM [cafe]"},
      {"0000 78 000000 04", "PING\nPADDING 3\nHANDSHAKE_DONE\nPADDING 2"},
  };
  for (const auto& example : examples) {
    EXPECT_EQ(describe_all<Reverse>(from_hex(example.hex)), example.text);
  }
}

TEST(FrameParser, ForwardExamples) {
  const struct {
    const char* hex;
    const char* text;
  } examples[] = {
      {"08 04 cafe", "STREAM 4 0 [cafe]"},
      {"0f 04 43e8 05 68656c6c6f 01", "STREAM 4 1000 [68656c6c6f] FIN\nPING"},
      {"0a 04 00", "STREAM 4 0 []"},
      {"02 1e 4064 02 05 03 08 01 09", "ACK 25-30 12-20 0-9 delay 100"},
      {"03 05 00 00 05 01 02 4100", "ACK 0-5 delay 0 ecn 1 2 256"},
      {"000000 01 00 1e", "PADDING 3\nPING\nPADDING 1\nHANDSHAKE_DONE"},
      {"30 aabb", "DATAGRAM [aabb]"},
      {"31 02 aabb 01", "DATAGRAM [aabb]\nPING"},
      {"1c 00 00 00", "CONNECTION_CLOSE 0 0 []"},
      {"1d 41 00 03 627965", "CONNECTION_CLOSE application 256 [627965]"},
      {"12 d000000000000000", "MAX_STREAMS 1152921504606846976"},
  };
  for (const auto& example : examples) {
    EXPECT_EQ(describe_all<Forward>(from_hex(example.hex)), example.text);
  }
}

/// Frames of every kind, with small, large and extreme fields.
std::vector<Frame> samples() {
  static const std::vector<std::uint8_t> kData(300, 0x5a);
  static const auto kAckBytes = from_hex("05 03 08 01 09");
  const ResetToken token{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<Frame> frames;
  const auto add = [&](FrameKind kind, auto Frame::* member, auto value) {
    Frame frame;
    frame.kind = kind;
    std::construct_at(&(frame.*member), value);
    frames.push_back(frame);
  };
  const std::uint64_t values[] = {0, 1, 63, 64, 16383, 16384, (1U << 30) - 1, 1U << 30, kMaxVarint};
  add(FrameKind::padding, &Frame::padding, PaddingFrame{1});
  add(FrameKind::padding, &Frame::padding, PaddingFrame{100});
  add(FrameKind::ping, &Frame::ping, PingFrame{});
  add(FrameKind::handshake_done, &Frame::handshake_done, HandshakeDoneFrame{});
  for (const bool ecn : {false, true}) {
    AckFrame ack;
    ack.largest = 30;
    ack.delay = 100;
    ack.first_range = 5;
    ack.has_ecn = ecn;
    if (ecn) ack.ecn = {1, 70, 1U << 20};
    add(FrameKind::ack, &Frame::ack, ack);
    ack.range_count = 2;
    ack.raw_ranges = Bytes(kAckBytes).subspan(1);
    add(FrameKind::ack, &Frame::ack, ack);
  }
  for (const std::uint64_t v : values) {
    AckFrame ack;
    ack.largest = v;
    ack.delay = v;
    add(FrameKind::ack, &Frame::ack, ack);
    ack.first_range = v;
    add(FrameKind::ack, &Frame::ack, ack);
    add(FrameKind::reset_stream, &Frame::reset_stream, ResetStreamFrame{v, kMaxVarint, v});
    add(FrameKind::stop_sending, &Frame::stop_sending, StopSendingFrame{v, kMaxVarint - v});
    add(FrameKind::max_data, &Frame::max_data, MaxDataFrame{v});
    add(FrameKind::max_stream_data, &Frame::max_stream_data, MaxStreamDataFrame{v, v});
    add(FrameKind::max_streams, &Frame::max_streams,
        MaxStreamsFrame{v % 2 != 0, std::min(v, kMaxStreamCount)});
    add(FrameKind::data_blocked, &Frame::data_blocked, DataBlockedFrame{v});
    add(FrameKind::stream_data_blocked, &Frame::stream_data_blocked, StreamDataBlockedFrame{v, 7});
    add(FrameKind::streams_blocked, &Frame::streams_blocked,
        StreamsBlockedFrame{v % 2 == 0, std::min(v, kMaxStreamCount)});
    add(FrameKind::retire_connection_id, &Frame::retire_connection_id, RetireConnectionIdFrame{v});
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kData.size()}) {
      const Bytes data = Bytes(kData).first(size);
      const std::uint64_t offset = std::min(v, kMaxVarint - size);
      add(FrameKind::crypto, &Frame::crypto, CryptoFrame{offset, data});
      add(FrameKind::stream, &Frame::stream, StreamFrame{v, offset, data, v % 2 == 0});
      add(FrameKind::datagram, &Frame::datagram, DatagramFrame{data});
      add(FrameKind::connection_close, &Frame::connection_close,
          ConnectionCloseFrame{false, v, kMaxVarint - v, data});
      add(FrameKind::connection_close, &Frame::connection_close,
          ConnectionCloseFrame{true, v, 0, data});
      if (size != 0) add(FrameKind::new_token, &Frame::new_token, NewTokenFrame{data});
    }
  }
  for (const std::size_t size : {1U, 8U, 20U}) {
    add(FrameKind::new_connection_id, &Frame::new_connection_id,
        NewConnectionIdFrame{kMaxVarint, kMaxVarint, *ConnectionId::from(Bytes(kData).first(size)),
                             token});
  }
  add(FrameKind::path_challenge, &Frame::path_challenge,
      PathChallengeFrame{{1, 2, 3, 4, 5, 6, 7, 8}});
  add(FrameKind::path_response, &Frame::path_response, PathResponseFrame{{8, 7, 6, 5, 4, 3, 2, 1}});
  return frames;
}

/// The part of an encoding that a reader sees first.
template <class D>
Bytes start_of(Bytes bytes, std::size_t size) {
  return D::kReversed ? bytes.last(size) : bytes.first(size);
}

template <class D>
void round_trips_and_truncation() {
  std::array<std::uint8_t, 1024> room{};
  for (const Frame& sample : samples()) {
    const std::string text = describe(sample);
    SCOPED_TRACE(text);
    Writer<D> writer(room);
    ASSERT_TRUE(testing::write_any(writer, sample));
    const std::vector<std::uint8_t> encoded(writer.output().begin(), writer.output().end());
    EXPECT_EQ(describe_all<D>(encoded), text);

    // Room that is one byte too small: nothing is written.
    Writer<D> small(MutableBytes(room).first(encoded.size() - 1));
    if (sample.kind == FrameKind::connection_close && !sample.connection_close.reason.empty()) {
      EXPECT_TRUE(testing::write_any(small, sample));  // the reason is cut to fit
    } else if (sample.kind == FrameKind::ack && sample.ack.range_count != 0) {
      EXPECT_FALSE(testing::write_any(small, sample));  // fewer ranges are written
    } else {
      EXPECT_FALSE(testing::write_any(small, sample));
      EXPECT_EQ(small.written(), 0U);
    }
    EXPECT_TRUE(small.ok());

    if (sample.kind == FrameKind::padding) continue;
    for (std::size_t size = 1; size < encoded.size(); ++size) {
      // A copy of its own, so that a sanitizer sees each read beyond it.
      const Bytes part = start_of<D>(encoded, size);
      const std::vector<std::uint8_t> copy(part.begin(), part.end());
      FrameParser<D> parser(copy, PacketType::one_rtt);
      Frame frame;
      const auto result = parser.next(frame);
      ASSERT_FALSE(result.has_value()) << size << " of " << encoded.size();
      EXPECT_EQ(result.error().code, TransportErrorCode::frame_encoding_error);
    }
  }
}
TEST(FrameParser, RoundTripsAndTruncationForward) { round_trips_and_truncation<Forward>(); }
TEST(FrameParser, RoundTripsAndTruncationReverse) { round_trips_and_truncation<Reverse>(); }

// A frame as v1 writes it: varints and raw bytes in order.
using Field = std::variant<std::uint64_t, std::vector<std::uint8_t>>;
struct Hostile {
  const char* name;
  std::vector<Field> fields;
  PacketType packet;
  TransportErrorCode code;
};

std::vector<Hostile> hostile_frames() {
  using enum TransportErrorCode;
  using enum PacketType;
  const auto u8 = [](std::uint8_t byte) { return Field(std::vector<std::uint8_t>{byte}); };
  const auto zeros = [](std::size_t n) { return Field(std::vector<std::uint8_t>(n)); };
  const auto number = [](std::uint64_t n) { return Field(n); };
  const auto ack = [&](const std::vector<std::uint64_t>& values) {
    std::vector<Field> fields{number(2)};
    for (const std::uint64_t v : values) fields.push_back(number(v));
    return fields;
  };
  return {
      //
      {"first range above largest", ack({5, 0, 0, 9}), one_rtt, frame_encoding_error},
      {"gap below zero", ack({5, 0, 1, 2, 3, 0}), one_rtt, frame_encoding_error},
      {"gap to exactly below zero", ack({5, 0, 1, 0, 4, 0}), one_rtt, frame_encoding_error},
      {"length below zero", ack({5, 0, 1, 0, 1, 3}), one_rtt, frame_encoding_error},
      {"enormous gap", ack({5, 0, 1, 0, kMaxVarint, 0}), one_rtt, frame_encoding_error},
      {"range count beyond the packet", ack({5, 0, kMaxVarint, 0}), one_rtt, frame_encoding_error},
      //
      {"CID of 0 bytes",
       {number(0x18), number(1), number(0), u8(0), zeros(16)},
       one_rtt,
       frame_encoding_error},
      {"CID of 21 bytes",
       {number(0x18), number(1), number(0), u8(21), zeros(21), zeros(16)},
       one_rtt,
       frame_encoding_error},
      {"retires itself",
       {number(0x18), number(1), number(2), u8(4), zeros(4), zeros(16)},
       one_rtt,
       frame_encoding_error},
      //
      {"STREAM beyond 2^62-1",
       {number(0x0e), number(4), number(kMaxVarint), number(1), u8(1)},
       one_rtt,
       frame_encoding_error},
      {"STREAM without length beyond 2^62-1",
       {number(0x0c), number(4), number(kMaxVarint), u8(1)},
       one_rtt,
       frame_encoding_error},
      {"CRYPTO beyond 2^62-1",
       {number(6), number(kMaxVarint - 1), number(2), zeros(2)},
       initial,
       frame_encoding_error},
      //
      {"MAX_STREAMS above 2^60",
       {number(0x12), number(kMaxStreamCount + 1)},
       one_rtt,
       frame_encoding_error},
      {"MAX_STREAMS uni above 2^60",
       {number(0x13), number(kMaxVarint)},
       one_rtt,
       frame_encoding_error},
      {"STREAMS_BLOCKED above 2^60",
       {number(0x16), number(kMaxStreamCount + 1)},
       one_rtt,
       frame_encoding_error},
      {"STREAMS_BLOCKED uni above 2^60",
       {number(0x17), number(kMaxStreamCount + 1)},
       one_rtt,
       frame_encoding_error},
      //
      {"application close in Initial",
       {number(0x1d), number(0), number(0)},
       initial,
       protocol_violation},
      {"application close in Handshake",
       {number(0x1d), number(0), number(0)},
       handshake,
       protocol_violation},
      //
      {"unknown one-byte type", {number(0x1f)}, one_rtt, frame_encoding_error},
      {"unknown two-byte type", {number(0x42)}, one_rtt, frame_encoding_error},
      {"unknown eight-byte type", {number(kMaxVarint)}, one_rtt, frame_encoding_error},
      {"empty token", {number(7), number(0)}, one_rtt, frame_encoding_error},
      {"token longer than the packet",
       {number(7), number(kMaxVarint), u8(1)},
       one_rtt,
       frame_encoding_error},
      {"datagram longer than the packet",
       {number(0x31), number(2), u8(1)},
       one_rtt,
       frame_encoding_error},
      {"reason longer than the packet",
       {number(0x1d), number(0), number(60000), u8(1)},
       one_rtt,
       frame_encoding_error},
      {"STREAM in Handshake", {number(0x08), number(4)}, handshake, protocol_violation},
      {"ACK in 0-RTT", ack({0, 0, 0, 0}), zero_rtt, protocol_violation},
      {"CRYPTO in 0-RTT", {number(6), number(0), number(0)}, zero_rtt, protocol_violation},
      {"HANDSHAKE_DONE in Handshake", {number(0x1e)}, handshake, protocol_violation},
      {"DATAGRAM in Initial", {number(0x30), u8(1)}, initial, protocol_violation},
  };
}

template <class D>
void hostile_encodings() {
  for (const Hostile& hostile : hostile_frames()) {
    SCOPED_TRACE(hostile.name);
    std::array<std::uint8_t, 128> room{};
    Writer<D> writer(room);
    for (const Field& field : hostile.fields) {
      if (const auto* value = std::get_if<std::uint64_t>(&field)) {
        writer.varint(*value);
      } else {
        writer.bytes(*std::get_if<std::vector<std::uint8_t>>(&field));
      }
    }
    ASSERT_TRUE(writer.ok());
    FrameParser<D> parser(writer.output(), hostile.packet);
    Frame frame;
    const auto result = parser.next(frame);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, hostile.code);
    EXPECT_EQ(result.error().frame_type, *std::get_if<std::uint64_t>(&hostile.fields[0]));
    EXPECT_STRNE(result.error().reason, "");
  }
}
TEST(FrameParser, HostileEncodingsForward) { hostile_encodings<Forward>(); }
TEST(FrameParser, HostileEncodingsReverse) { hostile_encodings<Reverse>(); }

template <class D>
void type_must_be_minimal() {
  for (const std::size_t size : {std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
    std::array<std::uint8_t, 8> room{};
    Writer<D> writer(room);
    writer.sized_varint(frame_type::kPing, size);
    FrameParser<D> parser(writer.output(), PacketType::one_rtt);
    Frame frame;
    const auto result = parser.next(frame);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, TransportErrorCode::protocol_violation);
    EXPECT_EQ(result.error().frame_type, frame_type::kPing);
  }
}
TEST(FrameParser, TypeMustBeMinimal) {
  type_must_be_minimal<Forward>();
  type_must_be_minimal<Reverse>();
}

//
TEST(FrameParser, EmptyPayload) {
  Frame frame;
  const auto forward = FrameParser<Forward>({}, PacketType::one_rtt).next(frame);
  ASSERT_FALSE(forward.has_value());
  EXPECT_EQ(forward.error().code, TransportErrorCode::protocol_violation);
  const auto reverse = FrameParser<Reverse>({}, PacketType::initial).next(frame);
  ASSERT_FALSE(reverse.has_value());
  EXPECT_EQ(reverse.error().code, TransportErrorCode::protocol_violation);
}

TEST(FrameParser, PaddingTakesTheWholeRun) {
  for (std::size_t n = 1; n < 40; ++n) {
    std::vector<std::uint8_t> payload(n);
    payload.push_back(frame_type::kPing);
    EXPECT_EQ(describe_all<Forward>(payload), "PADDING " + std::to_string(n) + "\nPING");
    payload.insert(payload.begin(), frame_type::kPing << 2);
    payload.pop_back();
    EXPECT_EQ(describe_all<Reverse>(payload), "PADDING " + std::to_string(n) + "\nPING");
  }
}

/// Parses to the end and checks that every view stays inside the payload.
template <class D>
void survives(Bytes payload, PacketType packet) {
  FrameParser<D> parser(payload, packet);
  Frame frame;
  const auto inside = [&](Bytes view) {
    return view.empty() || (view.data() >= payload.data() &&
                            view.data() + view.size() <= payload.data() + payload.size());
  };
  std::size_t left = payload.size();
  for (;;) {
    const auto more = parser.next(frame);
    if (!more || !*more) return;
    ASSERT_LT(parser.remaining(), left);  // each frame eats something
    left = parser.remaining();
    ASSERT_TRUE(is_permitted(frame.type, packet));
    if (frame.kind == FrameKind::ack) {
      ASSERT_TRUE(inside(frame.ack.raw_ranges));
      std::uint64_t below = kMaxVarint + 1;
      for (const PnRange& range : frame.ack) {
        ASSERT_LE(range.smallest, range.largest);
        ASSERT_LT(range.largest, below);
        below = range.smallest == 0 ? 0 : range.smallest - 1;
      }
    }
    if (frame.kind == FrameKind::stream) {
      ASSERT_TRUE(inside(frame.stream.data));
    }
    if (frame.kind == FrameKind::crypto) {
      ASSERT_TRUE(inside(frame.crypto.data));
    }
    if (frame.kind == FrameKind::datagram) {
      ASSERT_TRUE(inside(frame.datagram.data));
    }
    if (frame.kind == FrameKind::new_token) {
      ASSERT_TRUE(inside(frame.new_token.token));
    }
    if (frame.kind == FrameKind::connection_close) {
      ASSERT_TRUE(inside(frame.connection_close.reason));
    }
  }
}

template <class D>
void random_bytes(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 50'000; ++round) {
    std::vector<std::uint8_t> payload = random.bytes(random.below(48) + 1);
    // Mostly a known type first, and often small numbers, to get far into frames.
    const auto type = static_cast<std::uint8_t>(random.below(0x34));
    if (D::kReversed) {
      payload.back() = static_cast<std::uint8_t>(type << 2);
    } else {
      payload.front() = type;
    }
    if (random.below(2) == 0) {
      for (auto& byte : payload) byte &= D::kReversed ? 0x3c : 0x0f;
    }
    survives<D>(payload, static_cast<PacketType>(random.below(2) == 0 ? 4 : random.below(3)));
  }
}
TEST(FrameParser, RandomBytesForward) { random_bytes<Forward>(20260101); }
TEST(FrameParser, RandomBytesReverse) { random_bytes<Reverse>(20260102); }

// One changed byte in a valid payload of several frames.
TEST(FrameParser, EveryByteChanged) {
  const auto original =
      from_hex("02 1e 4064 02 05 03 08 01 09 06 00 03 010203 0f 04 43e8 05 68656c6c6f 01 1e");
  for (std::size_t i = 0; i < original.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      auto changed = original;
      changed[i] = static_cast<std::uint8_t>(value);
      survives<Forward>(changed, PacketType::one_rtt);
      survives<Reverse>(changed, PacketType::one_rtt);
    }
  }
}

}  // namespace
}  // namespace quasi::wire
