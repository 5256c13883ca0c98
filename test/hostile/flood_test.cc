// Floods by a peer with a real connection that withholds its acknowledgements or repeats
// one frame for ever: the victim's memory and answers stay bounded (hostile shapes 1,
// 2 and 5), and it serves others afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "hostile/heap.h"
#include "hostile/hostile.h"
#include "wire/frame_writer.h"

namespace quasi::hostile {
namespace {

using wire::PacketType;

/// Frames side by side, until a packet is full.
class Payload {
 public:
  template <class Frame>
  [[nodiscard]] bool add(const Frame& frame) {
    return wire::write(writer_, frame);
  }
  [[nodiscard]] Bytes take() {
    const Bytes bytes = Bytes(buffer_).first(writer_.written());
    writer_ = wire::Writer<wire::Forward>(buffer_);
    return bytes;
  }
  [[nodiscard]] bool empty() const { return writer_.written() == 0; }

 private:
  std::array<std::uint8_t, 1300> buffer_{};
  wire::Writer<wire::Forward> writer_{buffer_};
};

/// Sends `count` frames in full packets, running the network now and then.
template <class MakeFrame>
void flood(Hostile& hostile, std::uint64_t count, MakeFrame make) {
  Payload payload;
  std::size_t packets = 0;
  for (std::uint64_t i = 0; i < count && !hostile.closed(); ++i) {
    if (payload.add(make(i))) continue;
    hostile.send(payload.take());
    if (++packets % 64 == 0) hostile.run(Duration::milliseconds(1));
    (void)payload.add(make(i));
  }
  if (!payload.empty()) hostile.send(payload.take());
  hostile.run(Duration::milliseconds(100));
}

wire::NewConnectionIdFrame new_cid(std::uint64_t sequence, std::uint64_t retire) {
  std::array<std::uint8_t, 8> bytes{};
  std::copy(kRawCidPrefix.begin(), kRawCidPrefix.end(), bytes.begin());
  store_be(bytes.data() + 4, static_cast<std::uint32_t>(sequence + 0x99000000U));
  wire::NewConnectionIdFrame frame;
  frame.sequence = sequence;
  frame.retire_prior_to = retire;
  frame.connection_id = *wire::ConnectionId::from(bytes);
  frame.reset_token.fill(static_cast<std::uint8_t>(sequence));
  return frame;
}

// CVE-2024-22189: every new ID retires the one before it, and no RETIRE_CONNECTION_ID
// is ever acknowledged.
TEST(Flood, R13RetirementsWithoutAcknowledgement) {
  for (const Side victim : {Side::server, Side::client}) {
    Hostile::Options options;
    options.victim = victim;
    Hostile hostile(options);
    ASSERT_TRUE(hostile.handshake());
    hostile.raw.acknowledges = false;
    const std::uint64_t heap = live_bytes();
    flood(hostile, 100'000, [](std::uint64_t i) { return new_cid(i + 2, i + 2); });
    ASSERT_TRUE(hostile.raw.close);
    EXPECT_EQ(hostile.raw.close->code, 0x09U);
    EXPECT_LE(live_bytes(), heap + 300'000);
    hostile.expect_alive();
  }
}

TEST(Flood, R13RetirementsInFewFramesAPacket) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  Payload payload;
  std::uint64_t sequence = 2;
  for (; sequence < 1'000 && !hostile.closed(); ++sequence) {
    ASSERT_TRUE(payload.add(new_cid(sequence, sequence)));
    hostile.send(payload.take());
    hostile.run(Duration::milliseconds(1));
  }
  EXPECT_TRUE(hostile.closed());
  EXPECT_LE(sequence, 2 + connection::RemoteCids::kMaxRetiring + 2);
  hostile.expect_alive();
}

TEST(Flood, R19LateConnectionIdIsRetiredAtOnce) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  Payload payload;
  ASSERT_TRUE(payload.add(new_cid(3, 2)));
  hostile.send(payload.take());
  hostile.run(Duration::milliseconds(50));
  const std::size_t before = hostile.raw.frames[wire::FrameKind::retire_connection_id];
  ASSERT_TRUE(payload.add(new_cid(1, 0)));
  hostile.send(payload.take());
  hostile.run(Duration::milliseconds(50));
  EXPECT_FALSE(hostile.closed());
  EXPECT_EQ(hostile.raw.frames[wire::FrameKind::retire_connection_id], before + 1);
  EXPECT_EQ(hostile.core().remote_cids.current_sequence(), 3U);
  hostile.expect_alive();
}

// The peer retires each ID that it gets, at once: it is served one a probe timeout.
TEST(Flood, R22RetiresEveryNewConnectionId) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  std::size_t retired = 0;
  std::size_t rounds = 0;
  const Instant start = hostile.session.pair.now();
  while (hostile.session.pair.now() - start < Duration::seconds(5)) {
    ++rounds;
    for (; retired < hostile.raw.new_cids.size(); ++retired) {
      // One ID stays, as RFC 9000 §5.1.1 wants: that of the packets.
      Payload payload;
      ASSERT_TRUE(payload.add(
          wire::RetireConnectionIdFrame{.sequence = hostile.raw.new_cids[retired].sequence}));
      hostile.send(payload.take());
    }
    hostile.run(Duration::milliseconds(2));
  }
  ASSERT_FALSE(hostile.closed());
  EXPECT_GE(rounds, 2'000U);
  EXPECT_GE(hostile.raw.new_cids.size(), 20U);
  // 16 without delay, then one a PTO, which is above 20 ms here.
  EXPECT_LE(hostile.raw.new_cids.size(), 4 + 16 + 5'000 / 20);
  hostile.expect_alive();
}

// CVE-2023-6193: ten thousand challenges, no acknowledgement.
TEST(Flood, R25PathChallenges) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const std::uint64_t heap = live_bytes();
  const std::size_t answers = hostile.raw.responses.size();
  const std::size_t sent = hostile.sent;
  flood(hostile, 10'000, [](std::uint64_t i) {
    wire::PathChallengeFrame frame;
    store_be(frame.data.data(), i);
    return frame;
  });
  ASSERT_FALSE(hostile.closed());
  // One answer a burst, with the newest data.
  EXPECT_LE(hostile.raw.responses.size() - answers, hostile.sent - sent);
  ASSERT_FALSE(hostile.raw.responses.empty());
  EXPECT_EQ(load_be<std::uint64_t>(hostile.raw.responses.back().data()), 9'999U);
  EXPECT_LE(live_bytes(), heap + 300'000);
  hostile.expect_alive();
}

// From another address too: only that of the newest is answered.
TEST(Flood, R25PathChallengesFromElsewhere) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const std::uint64_t heap = live_bytes();
  const std::uint64_t bytes_before = hostile.raw.bytes;
  std::uint64_t bytes_sent = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    wire::PathChallengeFrame frame;
    store_be(frame.data.data(), i);
    Payload payload;
    ASSERT_TRUE(payload.add(frame));
    hostile.raw_address.port = static_cast<std::uint16_t>(7'000 + i % 5'000);
    const ByteVector packet = hostile.raw.packet(PacketType::one_rtt, payload.take());
    bytes_sent += packet.size();
    hostile.inject(packet);
    if (i % 8 == 0) hostile.run(Duration::milliseconds(1));
  }
  hostile.run(Duration::milliseconds(100));
  ASSERT_FALSE(hostile.closed());
  EXPECT_LE(hostile.raw.bytes - bytes_before, 3 * bytes_sent + 50'000);
  EXPECT_LE(live_bytes(), heap + 300'000);
  hostile.expect_alive();
}

TEST(Flood, R07EveryOtherPacketNumber) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const std::uint64_t heap = live_bytes();
  constexpr std::array<std::uint8_t, 1> kPing = {0x01};
  for (int i = 0; i < 10'000; ++i) {
    hostile.raw.skip_numbers(PacketType::one_rtt, 1);
    hostile.send(kPing);
    if (i % 32 == 0) hostile.run(Duration::milliseconds(1));
  }
  hostile.run(Duration::milliseconds(100));
  ASSERT_FALSE(hostile.closed());
  EXPECT_LE(hostile.core().application().acks.ranges().size(), limits::kMaxAckRanges);
  EXPECT_LE(hostile.raw.datagrams, 10'000U);
  EXPECT_LE(live_bytes(), heap + 1'500'000);
  hostile.expect_alive();
}

// CVE-2026-54873: CRYPTO data in single bytes, the even ones first.
void fragment_crypto(bool holes_in_reverse) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  constexpr std::uint64_t kBytes = 60'000;  // within the CRYPTO buffer
  const std::uint64_t heap = live_bytes();
  const std::uint64_t allocations = allocation_count();
  const std::array<std::uint8_t, 1> byte = {0};
  // The first byte is withheld, so that TLS sees nothing of it.
  flood(hostile, kBytes / 2,
        [&](std::uint64_t i) { return wire::CryptoFrame{.offset = 2 * i + 2, .data = byte}; });
  ASSERT_FALSE(hostile.closed());
  EXPECT_LE(live_bytes(), heap + 3'000'000);
  flood(hostile, kBytes / 2 - 1, [&](std::uint64_t i) {
    const std::uint64_t hole = holes_in_reverse ? kBytes / 2 - 2 - i : i;
    return wire::CryptoFrame{.offset = 2 * hole + 3, .data = byte};
  });
  ASSERT_FALSE(hostile.closed());
  EXPECT_LE(live_bytes(), heap + 3'000'000);
  // In proportion to the packets that brought it, not to its square.
  EXPECT_LE(allocation_count() - allocations, 20 * kBytes);
  hostile.expect_alive();
}

TEST(Flood, R42SingleBytesOfCrypto) { fragment_crypto(false); }
TEST(Flood, R44HolesOfCryptoFilledInReverse) { fragment_crypto(true); }

TEST(Flood, R47WindowFullOfSingleBytes) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const std::array<std::uint8_t, 1> byte = {'1'};
  // Every other byte of a stream's window, one a packet, each in a buffer of 2 KiB.
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    std::array<std::uint8_t, 32> buffer{};
    wire::Writer<wire::Forward> writer(buffer);
    const auto frame = wire::open_stream(writer, 0, 2 * i + 1, 1, false, true);
    ASSERT_TRUE(frame);
    frame->data[0] = byte[0];
    hostile.send(Bytes(buffer).first(writer.written()));
    if (i % 64 == 0) hostile.run(Duration::milliseconds(1));
  }
  hostile.run(Duration::milliseconds(100));
  ASSERT_FALSE(hostile.closed());
  const connection::RecvAccount& account = hostile.core().streams.account();
  EXPECT_EQ(account.buffered(), 20'000U);
  EXPECT_LE(account.pinned() + account.page_bytes(), 4U << 20);
  hostile.expect_alive();
}

TEST(Flood, R60LimitsThatDoNotGrow) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  const std::uint64_t heap = live_bytes();
  flood(hostile, 1'000'000, [](std::uint64_t i) {
    return wire::MaxDataFrame{.maximum = 16'000 - std::min<std::uint64_t>(i, 16'000)};
  });
  // Ignored cheaply, and in the end too much.
  ASSERT_TRUE(hostile.raw.close);
  EXPECT_EQ(hostile.raw.close->code, 0x0aU);
  EXPECT_LE(live_bytes(), heap + 300'000);
  hostile.expect_alive();
}

TEST(Flood, R62DatagramsNobodyReads) {
  Hostile::Options options;
  options.session.server.transport.max_datagram_frame_size = 1200;
  Hostile hostile(options);
  ASSERT_TRUE(hostile.handshake());
  const std::uint64_t heap = live_bytes();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    const ByteVector data(size, 0x55);
    Payload payload;
    for (int i = 0; i < (size == 1000 ? 5'000 : 500'000); ++i) {
      const wire::DatagramFrame frame{.data = data};
      if (payload.add(frame)) continue;
      hostile.send(payload.take());
      if (i % 1'000 == 0) hostile.run(Duration::milliseconds(1));
      (void)payload.add(frame);
    }
    hostile.run(Duration::milliseconds(50));
    ASSERT_FALSE(hostile.closed());
    EXPECT_LE(hostile.core().datagram_bytes_in, limits::kMaxDatagramQueueBytes);
    EXPECT_LE(hostile.core().datagrams_in.size(), limits::kMaxDatagramQueueCount);
    EXPECT_LE(hostile.core().events.size(), 4U);
    EXPECT_LE(live_bytes(), heap + 1'500'000);
  }
  hostile.expect_alive();
}

// Rapid reset: streams opened and reset as fast as the limit is raised.
TEST(Flood, R51ResetsAfterStopSendingGiveCreditBack) {
  Hostile hostile({});
  hostile.session.observer = [&](bool is_server, const Event& event) {
    if (!is_server || event.kind != Event::Kind::stream_opened) return;
    if (!hostile.victim_handle || event.connection != *hostile.victim_handle) return;
    hostile.victim()->stop_sending(event.stream, 1);
    hostile.victim()->reset(event.stream, 1);
  };
  ASSERT_TRUE(hostile.handshake());
  const std::uint64_t heap = live_bytes();
  const ByteVector data(1'000, 'x');
  std::uint64_t total = 0;
  hostile.raw.max_data = std::uint64_t{3} << 19;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const std::uint64_t stream = 4 * i;
    const std::uint64_t size = 100'000;  // 100 MB in all: far beyond the first window
    ASSERT_LE(total + size, hostile.raw.max_data) << "no credit for what was discarded, at " << i;
    ByteVector buffer(1'100);
    for (std::uint64_t offset = 0; offset < 3'000; offset += data.size()) {
      wire::Writer<wire::Forward> writer(buffer);
      const auto frame = wire::open_stream(writer, stream, offset, data.size(), false, true);
      ASSERT_TRUE(frame);
      std::copy(data.begin(), data.end(), frame->data.begin());
      hostile.send(Bytes(buffer).first(writer.written()));
    }
    Payload payload;
    ASSERT_TRUE(payload.add(
        wire::ResetStreamFrame{.stream_id = stream, .error_code = 1, .final_size = size}));
    hostile.send(payload.take());
    total += size;
    hostile.run(Duration::milliseconds(25));
    ASSERT_FALSE(hostile.closed())
        << i << " code " << std::hex << (hostile.raw.close ? hostile.raw.close->code : 0);
  }
  // the streams that ended make room for others.
  EXPECT_GT(hostile.raw.max_streams_bidi, 1'000U);
  EXPECT_LE(live_bytes(), heap + 1'000'000);
  hostile.expect_alive();
}

TEST(Flood, R54StopSendingIsAnsweredWithOneReset) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  const std::array<std::uint8_t, 4> open = {0x0a, 0x00, 0x01, '9'};
  hostile.send(open);
  constexpr std::array<std::uint8_t, 3> kStop = {0x05, 0x00, 0x07};
  for (int i = 0; i < 50; ++i) {
    hostile.send(kStop);
    hostile.run(Duration::milliseconds(1));
  }
  hostile.run(Duration::milliseconds(100));
  EXPECT_FALSE(hostile.closed());
  EXPECT_EQ(hostile.raw.reset_streams[0], 1U);
  hostile.expect_alive();
}

// Nobody acknowledges anything of a large answer: what is kept stays bounded.
TEST(Flood, NothingIsEverAcknowledged) {
  Hostile::Options options;
  options.session.server.transport.max_idle_timeout = Duration::seconds(600);
  Hostile hostile(options);
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const std::uint64_t heap = live_bytes();
  constexpr std::array<std::uint8_t, 11> kRequest = {0x0b, 0x00, 0x08, '9', '9', '9',
                                                     '9',  '9',  '9',  '9', '9'};
  hostile.send(kRequest);
  constexpr std::array<std::uint8_t, 1> kPing = {0x01};
  for (int i = 0; i < 30'000; ++i) {
    hostile.send(kPing);
    if (i % 4 == 0) hostile.run(Duration::milliseconds(1));
  }
  ASSERT_FALSE(hostile.closed());
  EXPECT_LE(live_bytes(), heap + 3'000'000);
  hostile.expect_alive();
}

// R-6 as work: of 400 ACK frames a fixed number is handled.
TEST(Flood, R06OnlySomeAckFramesOfAPacketCount) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  const std::uint64_t before = hostile.core().glitches;
  ByteVector payload;
  for (int i = 0; i < 400; ++i) {
    constexpr std::array<std::uint8_t, 5> kAck = {0x02};
    payload.insert(payload.end(), kAck.begin(), kAck.end());
  }
  hostile.send(payload);
  hostile.run(Duration::milliseconds(50));
  EXPECT_LE(hostile.core().glitches, before + limits::kMaxAcksPerPacket);
  EXPECT_FALSE(hostile.closed());
}

}  // namespace
}  // namespace quasi::hostile
