// Two stream maps talk over a channel that loses, delays, reorders and duplicates
// packets, while both applications open, write, finish, reset and stop streams at
// random. In the end every stream that finished has brought its bytes, every stream
// is closed on both sides, and nothing is held.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "base/limits.h"
#include "connection/stream_map.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using recovery::RecordKind;
using testing::byte_at;
using testing::pattern;

struct WireData {
  StreamId stream = 0;
  std::uint64_t offset = 0;
  bool fin = false;
  std::vector<std::uint8_t> bytes;
};
struct WirePacket {
  std::uint64_t number = 0;
  std::vector<WireData> data;
  std::vector<ControlFrame> controls;
  std::vector<std::uint64_t> acks;
};

class Peer {
 public:
  Peer(Side side, std::uint64_t seed, const StreamConfig& base, BufferPool& slots,
       BufferPool& blocks)
      : random_(seed), slots_(slots), map_(with_side(base, side), blocks) {}

  StreamMap& map() { return map_; }

  void connect(const Peer& other) {
    const StreamConfig& c = other.map_.config();
    const Status s = map_.set_peer_limits({.initial_max_data = c.connection_window,
                                           .initial_max_stream_data_bidi_local = c.stream_window,
                                           .initial_max_stream_data_bidi_remote = c.stream_window,
                                           .initial_max_stream_data_uni = c.stream_window,
                                           .initial_max_streams_bidi = c.max_streams_bidi,
                                           .initial_max_streams_uni = c.max_streams_uni});
    ASSERT_TRUE(s.has_value());
  }

  // One packet with whatever is wanted; false when nothing is.
  bool send(WirePacket& packet) {
    packet = {};
    packet.acks.swap(to_ack_);
    std::size_t room = 1200;
    std::vector<recovery::SentRecord> records;
    while (room > 100 && map_.wants_control() && random_() % 8 != 0) {
      const auto frame = map_.take_control(now, Duration::milliseconds(20));
      if (!frame) break;
      packet.controls.push_back(*frame);
      records.push_back(frame->record());
      room -= ControlFrame::kMaxSize;
    }
    while (room > 100) {
      const auto next = map_.peek_data();
      if (!next) break;
      const std::size_t max = random_() % (room - 50) + 1;
      const DataChunk chunk = map_.take_data(max);
      EXPECT_EQ(chunk.offset, next->offset);
      EXPECT_EQ(chunk.size, std::min<std::uint64_t>(max, next->size));
      WireData d{next->stream, chunk.offset, chunk.fin, std::vector<std::uint8_t>(chunk.size)};
      chunk.copy_to(d.bytes.data());
      room -= std::min(room, chunk.size + 20);
      packet.data.push_back(std::move(d));
      records.push_back(StreamMap::record(next->stream, chunk));
    }
    if (records.empty() && packet.acks.empty()) return false;
    packet.number = next_number_++;
    if (!records.empty()) sent_[packet.number] = std::move(records);
    return true;
  }

  Status receive(const WirePacket& packet) {
    for (const std::uint64_t number : packet.acks) {
      for (auto* from : {&sent_, &lost_}) {
        const auto it = from->find(number);
        if (it == from->end()) continue;
        for (const auto& record : it->second) EXPECT_TRUE(map_.on_acked(record));
        from->erase(it);
      }
    }
    if (!packet.data.empty() || !packet.controls.empty()) to_ack_.push_back(packet.number);
    for (const ControlFrame& f : packet.controls) {
      switch (f.kind) {
        case RecordKind::reset_stream:
          QUASI_TRY(map_.on_reset_stream(f.stream, f.error_code, f.value));
          break;
        case RecordKind::stop_sending:
          QUASI_TRY(map_.on_stop_sending(f.stream, f.error_code));
          break;
        case RecordKind::max_data:
          QUASI_TRY(map_.on_max_data(f.value));
          break;
        case RecordKind::max_stream_data:
          QUASI_TRY(map_.on_max_stream_data(f.stream, f.value));
          break;
        case RecordKind::max_streams_bidi:
          QUASI_TRY(map_.on_max_streams(Direction::bidirectional, f.value));
          break;
        case RecordKind::max_streams_uni:
          QUASI_TRY(map_.on_max_streams(Direction::unidirectional, f.value));
          break;
        case RecordKind::stream_data_blocked:
          QUASI_TRY(map_.on_stream_data_blocked(f.stream));
          break;
        case RecordKind::streams_blocked_bidi:
          QUASI_TRY(map_.on_streams_blocked(Direction::bidirectional, f.value));
          break;
        case RecordKind::streams_blocked_uni:
          QUASI_TRY(map_.on_streams_blocked(Direction::unidirectional, f.value));
          break;
        default:
          break;
      }
    }
    BufferRef block = slots_.allocate();
    std::size_t used = 0;
    for (const WireData& d : packet.data) {
      std::uint8_t* at = block.data() + used;
      std::copy(d.bytes.begin(), d.bytes.end(), at);
      used += d.bytes.size();
      QUASI_TRY(map_.on_stream(d.stream, d.offset, Bytes(at, d.bytes.size()), d.fin, block));
    }
    return {};
  }

  // Declares the oldest packet without an ACK lost; false when there is none.
  bool lose_oldest() {
    if (sent_.empty()) return false;
    auto node = sent_.extract(sent_.begin());
    for (const auto& record : node.mapped()) EXPECT_TRUE(map_.on_lost(record));
    lost_.insert(std::move(node));
    return true;
  }

  void act(bool may_open) {
    poll();
    if (may_open && random_() % 4 == 0) {
      const Direction d = random_() % 2 == 0 ? Direction::bidirectional : Direction::unidirectional;
      if (const auto id = map_.open_stream(d)) {
        ++opened;
        begin_sending(*id);
        if (d == Direction::bidirectional) receiving_[*id];
      }
    }
    std::vector<StreamId> done;
    for (auto& [id, out] : sending_) {
      if (out.blocked || random_() % 2 == 0) continue;
      if (random_() % 200 == 0) {
        map_.reset(id, 1000 + id);
        done.push_back(id);
        continue;
      }
      const std::size_t size =
          static_cast<std::size_t>(std::min<std::uint64_t>(out.left, random_() % 5000));
      const std::size_t taken = map_.write(id, pattern(out.offset, size, id));
      out.offset += taken;
      out.left -= taken;
      out.blocked = taken < size;
      if (out.left == 0) {
        map_.finish(id);
        done.push_back(id);
      }
    }
    for (const StreamId id : done) sending_.erase(id);
    for (auto& [id, in] : receiving_) {
      if (in.over) continue;
      if (random_() % 2 == 0) read(id, in);
      if (!in.over && random_() % 300 == 0) {
        map_.stop_sending(id, 2000 + id);
        in.over = true;
      }
    }
  }

  // Reads everything and ends what is still being sent.
  void finish() {
    poll();
    for (auto& [id, in] : receiving_) {
      if (!in.over) read(id, in);
    }
  }
  bool is_idle() const {
    return sending_.empty() && sent_.empty() && map_.account().buffered() == 0 &&
           !map_.has_event() && !map_.wants_to_send() && !map_.wants_control();
  }

  std::uint64_t opened = 0, finished = 0, resets = 0;
  Instant now;

 private:
  struct Out {
    std::uint64_t offset = 0;
    std::uint64_t left = 0;
    bool blocked = false;  // write() took less than asked: wait for the event
  };
  struct In {
    std::uint64_t offset = 0;
    bool over = false;
  };

  static StreamConfig with_side(StreamConfig c, Side side) {
    c.side = side;
    return c;
  }
  void begin_sending(StreamId id) {
    sending_[id] = {.offset = 0,
                    .left = random_() % 8 == 0 ? 100'000 + random_() % 200'000 : random_() % 3000,
                    .blocked = false};
  }
  void poll() {
    while (const auto e = map_.poll_event()) {
      switch (e->kind) {
        case Event::Kind::stream_opened:
          receiving_[e->stream];
          if ((e->stream & 2) == 0) begin_sending(e->stream);
          break;
        case Event::Kind::stream_reset:
          EXPECT_EQ(receiving_.count(e->stream), 1U);
          EXPECT_FALSE(map_.is_finished(e->stream));
          receiving_[e->stream].over = true;
          ++resets;
          break;
        case Event::Kind::stream_stopped:
          sending_.erase(e->stream);
          break;
        case Event::Kind::stream_writable:
          if (const auto it = sending_.find(e->stream); it != sending_.end()) {
            it->second.blocked = false;
          }
          break;
        default:
          break;
      }
    }
  }
  void read(StreamId id, In& in) {
    std::array<Bytes, 4> spans;
    const std::size_t count = map_.readable(id, spans);
    std::size_t size = 0;
    for (const Bytes span : std::span(spans).first(count)) {
      for (const std::uint8_t b : span) {
        ASSERT_EQ(b, byte_at(in.offset, id)) << "stream " << id << " offset " << in.offset;
        ++in.offset;
      }
      size += span.size();
    }
    map_.consume(id, size);
    if (map_.is_finished(id)) {
      in.over = true;
      ++finished;
    }
  }

  std::mt19937_64 random_;
  BufferPool& slots_;
  StreamMap map_;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::vector<recovery::SentRecord>> sent_, lost_;
  std::vector<std::uint64_t> to_ack_;
  std::map<StreamId, Out> sending_;
  std::map<StreamId, In> receiving_;
};

void run(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  BufferPool slots(2048, 64);
  BufferPool blocks(limits::kStreamBlockSize, 64);
  {
    StreamConfig config;
    config.max_streams_bidi = 1 + random() % 20;
    config.max_streams_uni = 1 + random() % 20;
    config.stream_window = 1000 + random() % 50'000;
    config.max_stream_window = config.stream_window * (1 + random() % 4);
    config.connection_window = 2000 + random() % 80'000;
    config.max_connection_window = config.connection_window * (1 + random() % 4);
    config.send_buffer = 1000 + random() % 60'000;
    std::array<std::unique_ptr<Peer>, 2> peers;
    for (std::size_t i = 0; i < 2; ++i) {
      peers[i] = std::make_unique<Peer>(i == 0 ? Side::client : Side::server, random(), config,
                                        slots, blocks);
    }
    peers[0]->connect(*peers[1]);
    peers[1]->connect(*peers[0]);
    std::array<std::vector<WirePacket>, 2> queue;  // to peer i
    std::array<int, 2> idle{};
    constexpr int kOpening = 1500;
    int step = 0;
    for (; step < 60'000; ++step) {
      bool busy = false;
      for (std::size_t i = 0; i < 2; ++i) {
        Peer& peer = *peers[i];
        peer.now = peer.now + Duration::milliseconds(1);
        peer.act(step < kOpening);
        if (step >= kOpening) peer.finish();
        WirePacket packet;
        if (peer.send(packet)) {
          busy = true;
          idle[i] = 0;
          if (random() % 10 != 0) {
            if (random() % 20 == 0) queue[1 - i].push_back(packet);
            queue[1 - i].push_back(std::move(packet));
          }
        } else if (++idle[i] > 5 || random() % 30 == 0) {
          (void)peer.lose_oldest();
        }
        busy = busy || !peer.is_idle();
        // Deliver some, not always the oldest.
        for (std::uint64_t n = random() % 3; n > 0 && !queue[i].empty(); --n) {
          const std::size_t k =
              random() % 3 == 0 ? random() % std::min<std::size_t>(queue[i].size(), 6) : 0;
          const WirePacket p = std::move(queue[i][k]);
          queue[i].erase(queue[i].begin() + static_cast<std::ptrdiff_t>(k));
          const Status s = peer.receive(p);
          ASSERT_TRUE(s.has_value()) << s.error().reason;
        }
      }
      busy = busy || !queue[0].empty() || !queue[1].empty();
      if (!busy && step > kOpening) break;
    }
    EXPECT_LT(step, 60'000) << "the transfer got stuck";
    for (std::size_t i = 0; i < 2; ++i) {
      peers[i]->finish();
      const StreamMap& map = peers[i]->map();
      EXPECT_EQ(map.open_count(), 0U);
      EXPECT_EQ(map.account().buffered(), 0U);
      EXPECT_EQ(map.account().pinned(), 0U);
      EXPECT_EQ(map.send_held(), 0U);
      EXPECT_EQ(map.receive_window().consumed(), map.receive_window().received());
      EXPECT_EQ(map.bytes_received(), peers[1 - i]->map().bytes_sent());
      EXPECT_GT(peers[i]->opened, 5U);
      EXPECT_GT(peers[i]->finished, 5U);
    }
    queue = {};
  }
  EXPECT_EQ(slots.in_use(), 0U);
  EXPECT_EQ(blocks.in_use(), 0U);
}

TEST(StreamMapModel, TwoPeersOverABadChannel) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    run(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace quasi::connection
