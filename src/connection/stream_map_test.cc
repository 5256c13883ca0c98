#include "connection/stream_map.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "base/limits.h"
#include "connection/allocation_count.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using recovery::RecordKind;
using testing::make_packet;
using testing::Packet;
using testing::pattern;
using Code = TransportErrorCode;
using EventKind = Event::Kind;

constexpr PeerStreamLimits kPeer{.initial_max_data = 1'000'000,
                                 .initial_max_stream_data_bidi_local = 100'000,
                                 .initial_max_stream_data_bidi_remote = 90'000,
                                 .initial_max_stream_data_uni = 80'000,
                                 .initial_max_streams_bidi = 10,
                                 .initial_max_streams_uni = 5};

// The map of a server: client streams 0, 4, ... (bidi) and 2, 6, ... (uni) are the peer's.
class StreamMapTest : public ::testing::Test {
 protected:
  static StreamConfig config() {
    StreamConfig c;
    c.side = Side::server;
    c.max_streams_bidi = 8;
    c.max_streams_uni = 4;
    c.stream_window = 100'000;
    c.max_stream_window = 400'000;
    c.connection_window = 150'000;
    c.max_connection_window = 600'000;
    c.send_buffer = 200'000;
    return c;
  }
  BufferPool slots_{2048, 64};
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  StreamMap map_{config(), blocks_};
  Instant now_;

  void SetUp() override { ASSERT_TRUE(map_.set_peer_limits(kPeer).has_value()); }

  Status receive(StreamId id, std::uint64_t offset, std::size_t size, bool fin = false) {
    const Packet p = make_packet(slots_, offset, size, id);
    return map_.on_stream(id, offset, p.data, fin, p.block, 0x0e);
  }
  static void expect_error(const Status& s, Code code, std::uint64_t type) {
    ASSERT_FALSE(s.has_value());
    EXPECT_EQ(s.error().code, code);
    EXPECT_EQ(s.error().frame_type, type);
    EXPECT_GT(std::string_view(s.error().reason).size(), 10U);
  }
  std::vector<Event> events() {
    std::vector<Event> all;
    while (const auto e = map_.poll_event()) all.push_back(*e);
    EXPECT_FALSE(map_.has_event());
    return all;
  }
  std::vector<ControlFrame> controls() {
    std::vector<ControlFrame> all;
    while (const auto f = map_.take_control(now_, Duration::milliseconds(10))) all.push_back(*f);
    EXPECT_FALSE(map_.wants_control());
    return all;
  }
  std::size_t read_all(StreamId id) {
    std::size_t total = 0;
    std::array<Bytes, 8> spans;
    while (const std::size_t count = map_.readable(id, spans)) {
      std::size_t size = 0;
      for (const Bytes s : std::span(spans).first(count)) size += s.size();
      map_.consume(id, size);
      total += size;
    }
    return total;
  }
  // Sends and acknowledges everything that a stream or the map wants to send.
  void send_and_ack_all() {
    while (const auto next = map_.peek_data()) {
      map_.on_acked(StreamMap::record(next->stream, map_.take_data(1200)));
    }
    while (const auto f = map_.take_control(now_, Duration())) map_.on_acked(f->record());
  }
};

TEST_F(StreamMapTest, PeerOpensLowerStreamsToo) {
  ASSERT_TRUE(receive(8, 0, 100).has_value());
  EXPECT_EQ(map_.open_count(), 3U);
  const auto all = events();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].kind, EventKind::stream_opened);
  EXPECT_EQ(all[0].stream, 0U);
  EXPECT_EQ(all[1].stream, 4U);
  EXPECT_EQ(all[2].stream, 8U);
  EXPECT_EQ(all[3].kind, EventKind::stream_readable);
  EXPECT_EQ(all[3].stream, 8U);
  // They are bidirectional: ours to write.
  EXPECT_EQ(map_.write(4, pattern(0, 50, 4)), 50U);
}

TEST_F(StreamMapTest, StreamLimit) {
  EXPECT_TRUE(receive(7 * 4, 0, 1).has_value());
  expect_error(receive(8 * 4, 0, 1), Code::stream_limit_error, 0x0e);
  EXPECT_TRUE(receive(3 * 4 + 2, 0, 1).has_value());
  expect_error(receive(4 * 4 + 2, 0, 1), Code::stream_limit_error, 0x0e);
  expect_error(map_.on_reset_stream(limits::kMaxVarint - 3, 0, 0), Code::stream_limit_error, 0x04);
  expect_error(map_.on_max_stream_data(8 * 4, 1), Code::stream_limit_error, 0x11);
}

TEST_F(StreamMapTest, OurStreamsFollowThePeersLimit) {
  for (StreamId i = 0; i < 5; ++i) {
    EXPECT_EQ(map_.open_stream(Direction::unidirectional), i * 4 + 3);
  }
  EXPECT_EQ(map_.open_stream(Direction::unidirectional), std::nullopt);
  auto frames = controls();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, RecordKind::streams_blocked_uni);
  EXPECT_EQ(frames[0].value, 5U);
  EXPECT_EQ(map_.open_stream(Direction::unidirectional), std::nullopt);
  EXPECT_TRUE(controls().empty());
  map_.on_lost(frames[0].record());
  EXPECT_EQ(controls().size(), 1U);
  EXPECT_TRUE(map_.on_max_streams(Direction::unidirectional, 4).has_value());  // lower
  EXPECT_TRUE(events().empty());
  EXPECT_TRUE(map_.on_max_streams(Direction::unidirectional, 6).has_value());
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, EventKind::streams_available);
  EXPECT_EQ(all[0].stream, 5U * 4 + 3);
  EXPECT_EQ(map_.open_stream(Direction::unidirectional), 5U * 4 + 3);
  EXPECT_EQ(map_.open_stream(Direction::bidirectional), 1U);
}

// R-56, and the other directions that RFC 9000 §19 forbids.
TEST_F(StreamMapTest, FramesForStreamsThatCannotHaveThem) {
  expect_error(map_.on_max_stream_data(1, 5000), Code::stream_state_error, 0x11);
  expect_error(map_.on_stop_sending(1, 0), Code::stream_state_error, 0x05);
  expect_error(map_.on_stop_sending(3, 0), Code::stream_state_error, 0x05);
  expect_error(receive(1, 0, 1), Code::stream_state_error, 0x0e);
  expect_error(map_.on_reset_stream(1, 0, 0), Code::stream_state_error, 0x04);
  ASSERT_EQ(map_.open_stream(Direction::bidirectional), 1U);
  EXPECT_TRUE(map_.on_max_stream_data(1, 5000).has_value());
  EXPECT_TRUE(map_.on_stop_sending(1, 0).has_value());
  expect_error(map_.on_stop_sending(5, 0), Code::stream_state_error, 0x05);
  ASSERT_EQ(map_.open_stream(Direction::unidirectional), 3U);
  expect_error(receive(3, 0, 1), Code::stream_state_error, 0x0e);
  expect_error(map_.on_reset_stream(3, 0, 0), Code::stream_state_error, 0x04);
  expect_error(map_.on_stream_data_blocked(3), Code::stream_state_error, 0x15);
  expect_error(map_.on_max_stream_data(2, 1), Code::stream_state_error, 0x11);
  expect_error(map_.on_stop_sending(2, 1), Code::stream_state_error, 0x05);
}

TEST_F(StreamMapTest, StreamDataBlockedAndStopSendingOpenPeerStreams) {
  EXPECT_TRUE(map_.on_stream_data_blocked(2).has_value());
  EXPECT_TRUE(map_.on_stop_sending(0, 9).has_value());
  EXPECT_EQ(map_.open_count(), 2U);
}

//
TEST_F(StreamMapTest, StreamCountsAbove2To60) {
  constexpr std::uint64_t kTooMany = (std::uint64_t{1} << 60) + 1;
  expect_error(map_.on_max_streams(Direction::bidirectional, kTooMany), Code::frame_encoding_error,
               0x12);
  expect_error(map_.on_max_streams(Direction::unidirectional, kTooMany), Code::frame_encoding_error,
               0x13);
  expect_error(map_.on_streams_blocked(Direction::bidirectional, kTooMany),
               Code::frame_encoding_error, 0x16);
  expect_error(map_.on_streams_blocked(Direction::unidirectional, kTooMany),
               Code::frame_encoding_error, 0x17);
  EXPECT_TRUE(map_.on_max_streams(Direction::bidirectional, kTooMany - 1).has_value());
  PeerStreamLimits limits = kPeer;
  limits.initial_max_streams_uni = kTooMany;
  expect_error(map_.set_peer_limits(limits), Code::transport_parameter_error, 0);
}

TEST_F(StreamMapTest, ConnectionWindowIsEnforcedOverAllStreams) {
  EXPECT_TRUE(receive(0, 99'000, 1000).has_value());  // a hole counts as received
  EXPECT_TRUE(receive(4, 49'000, 1000).has_value());
  expect_error(receive(8, 0, 1), Code::flow_control_error, 0x0e);
  EXPECT_TRUE(receive(0, 0, 1000).has_value());
  expect_error(map_.on_reset_stream(8, 0, 1), Code::flow_control_error, 0x04);
}

//
TEST_F(StreamMapTest, ResetWithHugeFinalSize) {
  expect_error(map_.on_reset_stream(0, 0, limits::kMaxVarint), Code::flow_control_error, 0x04);
}

TEST_F(StreamMapTest, ConsumptionGrantsCredit) {
  for (std::uint64_t offset = 0; offset < 100'000; offset += 1000) {
    ASSERT_TRUE(receive(0, offset, 1000).has_value());
  }
  EXPECT_TRUE(controls().empty());
  EXPECT_EQ(read_all(0), 100'000U);
  const auto frames = controls();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].kind, RecordKind::max_data);
  EXPECT_EQ(frames[0].value, 250'000U);
  EXPECT_EQ(frames[1].kind, RecordKind::max_stream_data);
  EXPECT_EQ(frames[1].stream, 0U);
  EXPECT_EQ(frames[1].value, 200'000U);
  for (const ControlFrame& f : frames) EXPECT_TRUE(map_.on_lost(f.record()));
  EXPECT_EQ(controls().size(), 2U);
}

TEST_F(StreamMapTest, NoCreditIsSentOnceTheEndIsKnown) {
  for (std::uint64_t offset = 0; offset < 60'000; offset += 1000) {
    ASSERT_TRUE(receive(2, offset, 1000).has_value());
  }
  map_.consume(2, 55'000);
  EXPECT_TRUE(map_.wants_control());
  ASSERT_TRUE(receive(2, 60'000, 0, true).has_value());
  EXPECT_FALSE(map_.wants_control());
  EXPECT_TRUE(controls().empty());
}

TEST_F(StreamMapTest, StoppedStreamClosesWithTheFin) {
  ASSERT_TRUE(receive(2, 0, 1000).has_value());
  (void)events();
  map_.stop_sending(2, 3);
  const auto frames = controls();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, RecordKind::stop_sending);
  EXPECT_EQ(frames[0].error_code, 3U);
  map_.on_lost(frames[0].record());
  EXPECT_TRUE(map_.wants_control());
  ASSERT_TRUE(receive(2, 1500, 500, true).has_value());
  EXPECT_EQ(map_.open_count(), 0U);
  for (const ControlFrame& f : controls()) EXPECT_EQ(f.kind, RecordKind::max_streams_uni);
  EXPECT_FALSE(map_.is_finished(2));
  EXPECT_EQ(map_.receive_window().consumed(), 2000U);
}

TEST_F(StreamMapTest, ConnectionWindowGrowsWithItsStreams) {
  std::uint64_t offset = 0;
  for (int round = 0; round < 10; ++round) {
    while (map_.receive_window().received() + 1000 <= map_.receive_window().limit() &&
           receive(0, offset, 1000).has_value()) {
      offset += 1000;
    }
    (void)read_all(0);
    now_ = now_ + Duration::milliseconds(5);
    (void)controls();
  }
  EXPECT_EQ(map_.receive_window().window(), 600'000U);
}

// a thousand streams are cancelled with data unread, and reset.
TEST_F(StreamMapTest, DiscardedDataIsCreditedToTheConnection) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const StreamId id = i * 4;
    ASSERT_TRUE(receive(id, 0, 1000).has_value()) << i;
    ASSERT_TRUE(receive(id, 50'000, 1000).has_value()) << i;
    if (i % 2 == 0) map_.stop_sending(id, 1);
    ASSERT_TRUE(map_.on_reset_stream(id, 1, 100'000).has_value()) << i;
    (void)events();
    map_.reset(id, 0);
    send_and_ack_all();
  }
  EXPECT_EQ(map_.receive_window().consumed(), 1000U * 100'000);
  EXPECT_EQ(map_.receive_window().received(), 1000U * 100'000);
  EXPECT_EQ(map_.open_count(), 0U);
  EXPECT_EQ(slots_.in_use(), 0U);
  EXPECT_EQ(map_.account().buffered(), 0U);
}

// whichever way streams end, the peer may open new ones.
TEST_F(StreamMapTest, ClosedStreamsAreReplaced) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    const StreamId id = i * 4;
    switch (i % 5) {
      case 0:  // both sides finish
        ASSERT_TRUE(receive(id, 0, 10, true).has_value()) << i;
        map_.finish(id);
        EXPECT_EQ(read_all(id), 10U);
        EXPECT_TRUE(map_.is_finished(id));
        break;
      case 1:  // cancelled from both sides
        ASSERT_TRUE(map_.on_reset_stream(id, 1, 0).has_value());
        ASSERT_TRUE(map_.on_stop_sending(id, 1).has_value());
        break;
      case 2:  // we cancel, the peer's FIN had come
        ASSERT_TRUE(receive(id, 0, 10, true).has_value());
        map_.stop_sending(id, 1);
        map_.reset(id, 2);
        break;
      case 3:  // we cancel, the peer answers
        ASSERT_TRUE(receive(id, 0, 10).has_value());
        map_.stop_sending(id, 1);
        ASSERT_TRUE(map_.on_reset_stream(id, 1, 20).has_value());
        map_.finish(id);
        break;
      default:  // opened by STOP_SENDING alone
        ASSERT_TRUE(map_.on_stop_sending(id, 1).has_value());
        ASSERT_TRUE(receive(id, 0, 0, true).has_value());
        break;
    }
    (void)events();
    send_and_ack_all();
    (void)events();
    ASSERT_EQ(map_.open_count(), 0U) << i;
  }
}

TEST_F(StreamMapTest, MaxStreamsIsSentInTime) {
  for (StreamId id = 2; id < 4 * 4; id += 4) ASSERT_TRUE(receive(id, 0, 5, true).has_value());
  (void)events();
  EXPECT_TRUE(controls().empty());
  EXPECT_EQ(read_all(2), 5U);  // one of four is closed and the peer has none left
  auto frames = controls();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, RecordKind::max_streams_uni);
  EXPECT_EQ(frames[0].value, 5U);
  EXPECT_EQ(read_all(6), 5U);
  EXPECT_EQ(controls().back().value, 6U);
  map_.on_lost(frames[0].record());  // not the newest any more
  EXPECT_TRUE(controls().empty());
  frames[0].value = 6;
  map_.on_lost(frames[0].record());
  frames = controls();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, RecordKind::max_streams_uni);
  EXPECT_EQ(frames[0].value, 6U);
  EXPECT_TRUE(receive(5 * 4 + 2, 0, 1).has_value());
  expect_error(receive(6 * 4 + 2, 0, 1), Code::stream_limit_error, 0x0e);
}

// all four orders, and what comes after.
TEST_F(StreamMapTest, StopSendingAndStreamInAnyOrder) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const StreamId id = i * 4;
    if (i % 2 == 0) {
      ASSERT_TRUE(map_.on_stop_sending(id, 7).has_value());
    }
    ASSERT_TRUE(receive(id, 0, 100, i < 2).has_value());
    ASSERT_TRUE(map_.on_stop_sending(id, 7).has_value());
    ASSERT_TRUE(map_.on_stop_sending(id, 8).has_value());
    auto frames = controls();
    std::erase_if(frames, [](const ControlFrame& f) {
      return f.kind == RecordKind::max_streams_bidi;  // for those that were closed before
    });
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].kind, RecordKind::reset_stream);
    EXPECT_EQ(frames[0].error_code, 7U);
    EXPECT_EQ(frames[0].value, 0U);
    int stopped = 0;
    for (const Event& e : events()) stopped += e.kind == EventKind::stream_stopped ? 1 : 0;
    EXPECT_EQ(stopped, 1);
    EXPECT_EQ(map_.write(id, pattern(0, 10)), 0U);
    map_.on_acked(frames[0].record());
    EXPECT_EQ(read_all(id), 100U);
    ASSERT_TRUE(receive(id, 100, 0, true).has_value());
    (void)events();
    EXPECT_EQ(map_.open_count(), 0U);
    // It is gone: everything about it is ignored.
    EXPECT_TRUE(map_.on_stop_sending(id, 9).has_value());
    EXPECT_TRUE(receive(id, 0, 100, true).has_value());
    EXPECT_TRUE(receive(id, 5000, 100).has_value());
    EXPECT_TRUE(map_.on_reset_stream(id, 0, limits::kMaxVarint).has_value());
    EXPECT_TRUE(map_.on_max_stream_data(id, 1).has_value());
    map_.on_lost(frames[0].record());
    map_.finish(id);
    map_.reset(id, 1);
    map_.consume(id, 100);
    map_.stop_sending(id, 1);
    EXPECT_TRUE(events().empty());
  }
}

TEST_F(StreamMapTest, ResetStreamNeverLooksFinished) {
  ASSERT_TRUE(receive(2, 0, 1000).has_value());
  ASSERT_TRUE(receive(6, 0, 1000, true).has_value());
  ASSERT_TRUE(map_.on_reset_stream(2, 44, 1000).has_value());
  EXPECT_FALSE(map_.is_finished(2));
  const auto all = events();
  EXPECT_EQ(read_all(2), 0U);
  bool told = false;
  for (const Event& e : all) {
    if (e.kind == EventKind::stream_reset) told = e.stream == 2 && e.error_code == 44;
    EXPECT_FALSE(e.kind == EventKind::stream_readable && e.stream == 2);
  }
  EXPECT_TRUE(told);
  EXPECT_FALSE(map_.is_finished(2));
  EXPECT_FALSE(map_.is_finished(6));
  EXPECT_EQ(read_all(6), 1000U);
  EXPECT_TRUE(map_.is_finished(6));
  EXPECT_EQ(map_.open_count(), 0U);
  EXPECT_FALSE(map_.is_finished(10));  // not opened yet
}

TEST_F(StreamMapTest, StreamsTakeTurns) {
  for (StreamId id = 1; id <= 9; id += 4) {
    ASSERT_EQ(map_.open_stream(Direction::bidirectional), id);
    EXPECT_EQ(map_.write(id, pattern(0, 5000, id)), 5000U);
  }
  std::vector<StreamId> order;
  while (const auto next = map_.peek_data()) {
    order.push_back(next->stream);
    EXPECT_EQ(map_.take_data(2000).offset, next->offset);
  }
  EXPECT_EQ(order, (std::vector<StreamId>{1, 5, 9, 1, 5, 9, 1, 5, 9}));
}

TEST_F(StreamMapTest, PrioritiesAreHeeded) {
  for (StreamId id = 1; id <= 13; id += 4) {
    ASSERT_EQ(map_.open_stream(Direction::bidirectional), id);
    EXPECT_EQ(map_.write(id, pattern(0, 3000, id)), 3000U);
  }
  map_.set_priority(1, 5, true);
  map_.set_priority(9, 0, false);
  map_.set_priority(13, 0, false);
  std::vector<StreamId> order;
  while (const auto next = map_.peek_data()) {
    order.push_back(next->stream);
    (void)map_.take_data(2000);
  }
  EXPECT_EQ(order, (std::vector<StreamId>{9, 9, 13, 13, 5, 5, 1, 1}));
  map_.set_priority(5, 200, true);  // cut to 7
}

TEST_F(StreamMapTest, LostDataGoesFirstAndNeedsNoCredit) {
  ASSERT_EQ(map_.open_stream(Direction::bidirectional), 1U);
  ASSERT_EQ(map_.open_stream(Direction::bidirectional), 5U);
  (void)map_.write(1, pattern(0, 3000, 1));
  const DataChunk lost = map_.take_data(1000);
  (void)map_.write(5, pattern(0, 3000, 5));
  map_.on_lost(StreamMap::record(1, lost));
  auto next = map_.peek_data();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->stream, 1U);
  EXPECT_EQ(next->offset, 0U);
  EXPECT_EQ(next->size, 1000U);
  EXPECT_TRUE(next->resent);
  const std::uint64_t used = map_.bytes_sent();
  EXPECT_EQ(map_.take_data(5000).size, 1000U);
  EXPECT_EQ(map_.bytes_sent(), used);
  EXPECT_FALSE(map_.peek_data()->resent);
}

TEST_F(StreamMapTest, ConnectionLimitStopsFreshDataAndIsReported) {
  PeerStreamLimits limits = kPeer;
  limits.initial_max_data = 4000;
  StreamMap map(config(), blocks_);
  ASSERT_TRUE(map.set_peer_limits(limits).has_value());
  ASSERT_EQ(map.open_stream(Direction::bidirectional), 1U);
  ASSERT_EQ(map.write(1, pattern(0, 6000, 1)), 6000U);
  const DataChunk first = map.take_data(3000);
  EXPECT_EQ(map.peek_data()->size, 1000U);
  EXPECT_EQ(map.take_data(3000).size, 1000U);
  EXPECT_FALSE(map.wants_to_send());
  auto frame = map.take_control(now_, Duration());
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, RecordKind::data_blocked);
  EXPECT_EQ(frame->value, 4000U);
  EXPECT_FALSE(map.wants_control());
  map.on_lost(frame->record());
  EXPECT_TRUE(map.wants_control());
  map.on_lost(StreamMap::record(1, first));
  EXPECT_TRUE(map.wants_to_send());
  EXPECT_EQ(map.take_data(9000).size, 3000U);
  EXPECT_FALSE(map.wants_to_send());
  EXPECT_TRUE(map.on_max_data(3000).has_value());
  EXPECT_FALSE(map.wants_to_send());
  EXPECT_TRUE(map.on_max_data(5000).has_value());
  EXPECT_FALSE(map.wants_control());
  EXPECT_EQ(map.take_data(9000).size, 1000U);
  EXPECT_EQ(map.take_control(now_, Duration())->value, 5000U);
}

TEST_F(StreamMapTest, DataWrittenOnAFullConnectionIsReported) {
  PeerStreamLimits limits = kPeer;
  limits.initial_max_data = 1000;
  StreamMap map(config(), blocks_);
  ASSERT_TRUE(map.set_peer_limits(limits).has_value());
  ASSERT_EQ(map.open_stream(Direction::bidirectional), 1U);
  ASSERT_EQ(map.open_stream(Direction::bidirectional), 5U);
  ASSERT_EQ(map.write(1, pattern(0, 1000, 1)), 1000U);
  EXPECT_EQ(map.take_data(1000).size, 1000U);
  EXPECT_FALSE(map.wants_control());  // all is used and nobody wants more
  ASSERT_EQ(map.write(5, pattern(0, 1, 5)), 1U);
  EXPECT_FALSE(map.wants_to_send());
  const auto frame = map.take_control(now_, Duration());
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, RecordKind::data_blocked);
}

TEST_F(StreamMapTest, LostStreamsBlockedIsSentAgain) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(map_.open_stream(Direction::bidirectional));
  ASSERT_FALSE(map_.open_stream(Direction::bidirectional));
  const auto frames = controls();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, RecordKind::streams_blocked_bidi);
  map_.on_lost(frames[0].record());
  EXPECT_EQ(controls().size(), 1U);
  ASSERT_TRUE(map_.on_max_streams(Direction::bidirectional, 11).has_value());
  map_.on_lost(frames[0].record());
  EXPECT_TRUE(controls().empty());
}

TEST_F(StreamMapTest, ConnectionWindowHasRoomForItsWidestStream) {
  StreamConfig c = config();
  c.connection_window = 110'000;
  StreamMap map(c, blocks_);
  const Packet p = make_packet(slots_, 49'000, 1000);
  for (std::uint64_t offset = 0; offset < 50'000; offset += 1000) {
    ASSERT_TRUE(map.on_stream(0, offset, p.data, false, p.block).has_value());
  }
  map.consume(0, 50'000);
  const auto frame = map.take_control(now_, Duration());
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, RecordKind::max_stream_data);
  EXPECT_EQ(map.receive_window().window(), 150'000U);
  EXPECT_EQ(map.take_control(now_, Duration())->value, 200'000U);  // MAX_DATA
}

TEST_F(StreamMapTest, EndOfSendingIsTold) {
  ASSERT_EQ(map_.open_stream(Direction::unidirectional), 3U);
  (void)map_.write(3, pattern(0, 100, 3));
  map_.finish(3);
  const DataChunk chunk = map_.take_data(1200);
  EXPECT_TRUE(chunk.fin);
  EXPECT_TRUE(events().empty());
  map_.on_acked(StreamMap::record(3, chunk));
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, EventKind::stream_sent);
  EXPECT_EQ(map_.open_count(), 0U);
  EXPECT_FALSE(map_.is_finished(3));  // nothing to read ever
}

TEST_F(StreamMapTest, RemoteLimitsRaisedLaterReachOpenStreams) {
  StreamMap map(config(), blocks_);
  PeerStreamLimits remembered = kPeer;
  remembered.initial_max_stream_data_bidi_remote = 1000;
  ASSERT_TRUE(map.set_peer_limits(remembered).has_value());
  ASSERT_EQ(map.open_stream(Direction::bidirectional), 1U);
  ASSERT_EQ(map.write(1, pattern(0, 3000, 1)), 3000U);
  EXPECT_EQ(map.take_data(9000).size, 1000U);
  EXPECT_FALSE(map.wants_to_send());
  ASSERT_TRUE(map.set_peer_limits(kPeer).has_value());
  EXPECT_TRUE(map.wants_to_send());
  EXPECT_EQ(map.take_data(9000).size, 2000U);
}

// A peer that opens many streams and reads none holds a bounded part of our memory.
TEST_F(StreamMapTest, SendBuffersOfAllStreamsAreBounded) {
  const std::vector<std::uint8_t> data(200'000, 1);
  std::vector<StreamId> ids;
  std::uint64_t total = 0;
  for (int i = 0; i < 8; ++i) {
    ids.push_back(*map_.open_stream(Direction::bidirectional));
    total += map_.write(ids.back(), data);
    EXPECT_EQ(map_.send_held(), total);
  }
  EXPECT_EQ(total, limits::kSendBuffersPerConnection * 200'000);
  EXPECT_EQ(map_.writable(ids[0]), 0U);
  EXPECT_EQ(map_.writable(ids[7]), 0U);
  EXPECT_TRUE(events().empty());
  map_.reset(ids[1], 0);
  EXPECT_EQ(map_.send_held(), total - 200'000);
  std::vector<StreamId> told;
  for (const Event& e : events()) {
    EXPECT_EQ(e.kind, EventKind::stream_writable);
    told.push_back(e.stream);
  }
  EXPECT_EQ(told, (std::vector<StreamId>{ids[4], ids[5], ids[6], ids[7]}));
  EXPECT_EQ(map_.write(ids[5], data), 200'000U);
  EXPECT_EQ(map_.write(ids[4], data), 0U);
  EXPECT_EQ(map_.write(ids[7], data), 0U);
  ASSERT_TRUE(map_.on_stop_sending(ids[5], 0).has_value());
  told.clear();
  for (const Event& e : events()) {
    if (e.kind == EventKind::stream_writable) told.push_back(e.stream);
  }
  EXPECT_EQ(told, (std::vector<StreamId>{ids[4], ids[7]}));
  for (const StreamId id : ids) map_.reset(id, 0);
  EXPECT_EQ(map_.send_held(), 0U);
  send_and_ack_all();
  EXPECT_EQ(blocks_.in_use(), 0U);
}

// A stream that is full itself when the connection's buffer is full, too, must hear
// when its own data is acknowledged.
TEST_F(StreamMapTest, FullStreamIsToldOfItsOwnRoom) {
  const std::vector<std::uint8_t> data(200'000, 1);
  std::vector<StreamId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(*map_.open_stream(Direction::bidirectional));
    ASSERT_EQ(map_.write(ids.back(), data), 200'000U);
  }
  EXPECT_EQ(map_.write(ids[0], data), 0U);
  map_.reset(ids[3], 0);  // room for others, none for stream 0
  EXPECT_TRUE(events().empty());
  map_.set_priority(ids[0], 0, false);
  ASSERT_TRUE(map_.on_max_stream_data(ids[0], 1'000'000).has_value());
  bool told = false;
  while (!told) {
    const auto next = map_.peek_data();
    ASSERT_TRUE(next.has_value() && next->stream == ids[0]);
    map_.on_acked(StreamMap::record(next->stream, map_.take_data(1200)));
    for (const Event& e : events()) told = told || e.kind == EventKind::stream_writable;
  }
  EXPECT_GE(map_.writable(ids[0]), 50'000U);
}

TEST_F(StreamMapTest, ConfigurationIsCut) {
  StreamConfig huge;
  huge.max_streams_bidi = limits::kMaxVarint;
  huge.stream_window = huge.connection_window = limits::kMaxVarint;
  const StreamMap map(huge, blocks_);
  EXPECT_EQ(map.config().max_streams_bidi, limits::kMaxConcurrentStreams);
  EXPECT_EQ(map.config().stream_window, limits::kMaxReceiveWindow);
  EXPECT_EQ(map.receive_window().limit(), map.config().connection_window);
}

TEST_F(StreamMapTest, OtherRecordsAreNotOurs) {
  EXPECT_FALSE(map_.on_acked({.kind = RecordKind::crypto}));
  EXPECT_FALSE(map_.on_lost({.kind = RecordKind::handshake_done}));
}

// A bulk transfer in both directions: once warm, not one allocation.
TEST_F(StreamMapTest, SteadyStateAllocatesNothing) {
  ASSERT_EQ(map_.open_stream(Direction::bidirectional), 1U);
  const std::vector<std::uint8_t> data = pattern(0, 10'000);
  std::uint64_t offset = 0;
  const auto round = [&] {
    for (int i = 0; i < 20; ++i) {
      Packet p{slots_.allocate(), {}};
      p.data = Bytes(p.block.data() + 40, 1200);
      ASSERT_TRUE(map_.on_stream(1, offset, p.data, false, p.block).has_value());
      offset += 1200;
    }
    while (map_.poll_event()) {
    }
    (void)read_all(1);
    ASSERT_EQ(map_.write(1, data), data.size());
    std::array<recovery::SentRecord, 16> sent;
    std::size_t count = 0;
    while (const auto next = map_.peek_data()) {
      sent[count++] = StreamMap::record(next->stream, map_.take_data(1200));
    }
    map_.on_lost(sent[1]);
    sent[1] = StreamMap::record(1, map_.take_data(1200));
    for (std::size_t i = 0; i < count; ++i) map_.on_acked(sent[i]);
    while (map_.take_control(now_, Duration::milliseconds(10))) {
    }
    now_ = now_ + Duration::milliseconds(100);
    ASSERT_TRUE(map_.on_max_data(offset + 10'000'000).has_value());
    ASSERT_TRUE(map_.on_max_stream_data(1, offset + 10'000'000).has_value());
  };
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t allocations = allocation_count();
  const std::uint64_t blocks = slots_.allocations() + blocks_.allocations();
  for (int i = 0; i < 500; ++i) round();
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(slots_.allocations() + blocks_.allocations(), blocks);
  EXPECT_EQ(map_.account().copied(), 0U);
}

// Short streams one after the other: requests and responses without an allocation.
TEST_F(StreamMapTest, ShortStreamsAllocateNothing) {
  StreamId id = 0;
  const std::vector<std::uint8_t> response = pattern(0, 3000);
  const auto round = [&] {
    Packet p{slots_.allocate(), {}};
    p.data = Bytes(p.block.data() + 40, 60);
    ASSERT_TRUE(map_.on_stream(id, 0, p.data, true, p.block).has_value());
    while (map_.poll_event()) {
    }
    ASSERT_EQ(read_all(id), 60U);
    ASSERT_EQ(map_.write(id, response), response.size());
    map_.finish(id);
    send_and_ack_all();
    while (map_.poll_event()) {
    }
    ASSERT_EQ(map_.open_count(), 0U);
    ASSERT_TRUE(map_.on_max_data(10'000'000).has_value());
    id += 4;
  };
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t allocations = allocation_count();
  for (int i = 0; i < 300; ++i) round();
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(map_.account().copied(), 0U);
}

}  // namespace
}  // namespace quasi::connection
