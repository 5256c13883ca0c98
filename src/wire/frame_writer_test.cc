// Writers that fit frames into what room is left, against brute force.
#include "wire/frame_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wire/test_support.h"

namespace quasi::wire {
namespace {

using testing::describe_all;
using testing::from_hex;
using testing::Random;
using testing::to_hex;

// The bytes that the VReverso description spells out come out of the same text
// that writes v1.
TEST(FrameWriter, PublishedBytes) {
  const auto hello = from_hex("68656c6c6f");
  const auto reason = from_hex("627965");
  const auto three = from_hex("010203");
  const auto two = from_hex("aabb");
  const auto both = [](auto write_it, const char* forward, const char* reverse) {
    std::array<std::uint8_t, 64> room{};
    Writer<Forward> f(room);
    EXPECT_TRUE(write_it(f));
    EXPECT_EQ(to_hex(f.output()), to_hex(from_hex(forward)));
    Writer<Reverse> r(room);
    EXPECT_TRUE(write_it(r));
    EXPECT_EQ(to_hex(r.output()), to_hex(from_hex(reverse)));
  };
  both([&](auto& w) { return write(w, StreamFrame{4, 1000, hello, true}); },
       "0f 04 43e8 05 68656c6c6f", "68656c6c6f 14 0fa1 10 3c");
  const std::vector<PnRange> ranges{{25, 30}, {12, 20}, {0, 9}};
  both([&](auto& w) { return write_ack(w, std::span(ranges), 100, std::nullopt) == 3; },
       "02 1e 4064 02 05 03 08 01 09", "24 04 20 0c 14 08 0191 78 08");
  both([&](auto& w) { return write(w, MaxStreamDataFrame{4, 1 << 20}); }, "11 04 80100000",
       "00400002 10 44");
  both([&](auto& w) { return write(w, CryptoFrame{0, three}); }, "06 00 03 010203",
       "010203 0c 00 18");
  both([&](auto& w) { return write(w, DatagramFrame{two}); }, "31 02 aabb", "aabb 08 c4");
  both([&](auto& w) { return write(w, PathChallengeFrame{{0, 1, 2, 3, 4, 5, 6, 7}}); },
       "1a 0001020304050607", "0001020304050607 68");
  NewConnectionIdFrame cid{1, 0, *ConnectionId::from(from_hex("c1c2c3c4")), {}};
  cid.reset_token.fill(0xee);
  both([&](auto& w) { return write(w, cid); },
       "18 01 00 04 c1c2c3c4 eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
       "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee c1c2c3c4 04 00 04 60");
  both([&](auto& w) { return write(w, ConnectionCloseFrame{false, 10, 6, reason}); },
       "1c 0a 06 03 627965", "627965 0c 18 28 70");
}

/// The best that any encoding can do: most data, and no Length field only when full.
std::optional<DataFit> brute_force(std::size_t room, std::size_t header, std::size_t available,
                                   bool may_omit) {
  for (std::size_t length = available + 1; length-- > 0;) {
    if (length == 0 && available != 0) break;
    if (may_omit && header + length == room) return DataFit{length, false, room};
    const std::size_t size = header + varint_size(length) + length;
    if (size <= room) return DataFit{length, true, size};
  }
  return std::nullopt;
}

TEST(FrameWriter, FitsAsMuchDataAsPossible) {
  const auto check = [](std::size_t room, std::size_t header, std::size_t available, bool omit) {
    const auto fit = fit_data(room, header, available, omit);
    const auto best = brute_force(room, header, available, omit);
    ASSERT_EQ(fit.has_value(), best.has_value())
        << room << " " << header << " " << available << " " << omit;
    if (!fit) return;
    EXPECT_EQ(fit->data_length, best->data_length)
        << room << " " << header << " " << available << " " << omit;
    EXPECT_EQ(fit->with_length, best->with_length);
    EXPECT_EQ(fit->frame_size, best->frame_size);
  };
  for (const bool omit : {false, true}) {
    for (std::size_t room = 0; room < 90; ++room) {
      for (std::size_t available = 0; available < 90; ++available) {
        check(room, 3, available, omit);
      }
    }
    for (std::size_t room = 16380; room < 16400; ++room) {
      for (std::size_t available = 16370; available < 16400; ++available) {
        check(room, 5, available, omit);
      }
    }
  }
}

template <class D>
void opens_streams() {
  std::array<std::uint8_t, 80> room{};
  for (std::size_t size = 0; size <= room.size(); ++size) {
    for (const std::size_t available :
         {std::size_t{0}, std::size_t{1}, std::size_t{10}, std::size_t{64}, std::size_t{200}}) {
      for (const bool omit : {false, true}) {
        Writer<D> writer(MutableBytes(room).first(size));
        const auto open = open_stream(writer, 4, 1000, available, true, omit);
        const auto best = brute_force(size, 4, available, omit);
        ASSERT_EQ(open.has_value(), best.has_value());
        if (!open) {
          EXPECT_EQ(writer.written(), 0U);
          continue;
        }
        EXPECT_EQ(writer.written(), best->frame_size);
        EXPECT_EQ(open->fin, open->data.size() == available);
        std::fill(open->data.begin(), open->data.end(), std::uint8_t{0xcd});
        EXPECT_EQ(describe_all<D>(writer.output()),
                  "STREAM 4 1000 [" + to_hex(std::vector<std::uint8_t>(open->data.size(), 0xcd)) +
                      "]" + (open->fin ? " FIN" : ""));
      }
    }
  }
}
TEST(FrameWriter, OpensStreamsForward) { opens_streams<Forward>(); }
TEST(FrameWriter, OpensStreamsReverse) { opens_streams<Reverse>(); }

TEST(FrameWriter, OpensCryptoAndDatagrams) {
  std::array<std::uint8_t, 20> room{};
  Writer<Forward> crypto(room);
  const auto open = open_crypto(crypto, 70, 100);
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->data.size(), 20U - 1 - 2 - 1);
  std::fill(open->data.begin(), open->data.end(), std::uint8_t{1});
  EXPECT_EQ(describe_all<Forward>(crypto.output()),
            "CRYPTO 70 [" + to_hex(std::vector<std::uint8_t>(16, 1)) + "]");
  EXPECT_FALSE(open_crypto(crypto, 86, 84).has_value());  // full

  Writer<Reverse> exact(room);
  const auto datagram = open_datagram(exact, 19, true);
  ASSERT_TRUE(datagram.has_value());
  EXPECT_EQ(exact.remaining(), 0U);
  std::fill(datagram->data.begin(), datagram->data.end(), std::uint8_t{2});
  EXPECT_EQ(describe_all<Reverse>(exact.output()),
            "DATAGRAM [" + to_hex(std::vector<std::uint8_t>(19, 2)) + "]");
  Writer<Forward> too_long(room);
  EXPECT_FALSE(open_datagram(too_long, 20, true).has_value());
  EXPECT_FALSE(open_datagram(too_long, 19, false).has_value());
  EXPECT_TRUE(open_datagram(too_long, 18, false).has_value());
  EXPECT_EQ(too_long.remaining(), 0U);
}

template <class D>
void cuts_acks() {
  // Random sets, written into every size of room: what is written are the largest
  // ranges, and one more would not have fitted.
  Random random(7);
  std::vector<std::uint8_t> room(400);
  for (int round = 0; round < 40; ++round) {
    IntervalSet set(200);
    std::vector<PnRange> ranges;
    std::uint64_t at = random.below(100);
    const std::size_t count = 1 + random.below(100);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t length = 1 + random.below(random.below(8) == 0 ? 20000 : 70);
      ASSERT_TRUE(set.insert(at, at + length).has_value());
      ranges.insert(ranges.begin(), PnRange{at, at + length - 1});
      at += length + 1 + random.below(200);
    }
    const std::optional<EcnCounts> ecn =
        random.below(2) == 0 ? std::optional(EcnCounts{1, 2, 300}) : std::nullopt;
    Writer<D> unlimited(room);
    ASSERT_EQ(write_ack(unlimited, set, 9, ecn), ranges.size());
    std::size_t last = 0;
    for (std::size_t size = 0; size <= unlimited.written() + 1; ++size) {
      Writer<D> writer(MutableBytes(room).first(size));
      const std::size_t written = write_ack(writer, set, 9, ecn);
      ASSERT_GE(written, last);
      last = written;
      EXPECT_EQ(writer.written(), ack_size(set, 9, ecn, size));
      if (written == 0) {
        EXPECT_EQ(writer.written(), 0U);
        continue;
      }
      std::string text = "ACK";
      for (std::size_t i = 0; i < written; ++i) {
        text += " " + std::to_string(ranges[i].smallest) + "-" + std::to_string(ranges[i].largest);
      }
      text += " delay 9";
      if (ecn) text += " ecn 1 2 300";
      ASSERT_EQ(describe_all<D>(writer.output()), text);
      if (written < ranges.size()) {
        // One range more, from a span this time, is larger than the room.
        Writer<D> more(room);
        ASSERT_EQ(write_ack(more, std::span<const PnRange>(ranges).first(written + 1), 9, ecn),
                  written + 1);
        EXPECT_GT(more.written(), size);
      }
    }
    EXPECT_EQ(last, ranges.size());
  }
}
TEST(FrameWriter, CutsAcksForward) { cuts_acks<Forward>(); }
TEST(FrameWriter, CutsAcksReverse) { cuts_acks<Reverse>(); }

TEST(FrameWriter, NothingToAcknowledge) {
  std::array<std::uint8_t, 20> room{};
  Writer<Forward> writer(room);
  EXPECT_EQ(write_ack(writer, IntervalSet(4), 0, std::nullopt), 0U);
  EXPECT_EQ(writer.written(), 0U);
}

// A close that fits only without all of its reason is sent with a part of it.
TEST(FrameWriter, CutsReasons) {
  const std::vector<std::uint8_t> reason(200, 'x');
  std::vector<std::uint8_t> room(300);
  std::size_t last = 0;
  for (std::size_t size = 0; size <= 206; ++size) {
    Writer<Forward> writer(MutableBytes(room).first(size));
    const bool written = write(writer, ConnectionCloseFrame{true, 1, 0, reason});
    EXPECT_EQ(written, size >= 3);
    if (!written) continue;
    FrameParser<Forward> parser(writer.output(), PacketType::one_rtt);
    Frame frame;
    ASSERT_TRUE(parser.next(frame).value_or(false));
    EXPECT_GE(frame.connection_close.reason.size(), last);
    last = frame.connection_close.reason.size();
    if (size < 205) {  // the length grows at 64
      EXPECT_LE(size - writer.written(), 1U);
    }
    if (size >= 205) {
      EXPECT_EQ(last, 200U);
    }
  }
}

}  // namespace
}  // namespace quasi::wire
