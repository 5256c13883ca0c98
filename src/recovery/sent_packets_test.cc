// The rings of sent packets: against a plain model, and that ranges which a peer
// chooses badly do not make them slow.
#include "recovery/sent_packets.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace quasi::recovery {
namespace {

using State = SentPacket::State;

SentPacket packet(bool eliciting, bool in_flight, Instant time = {}) {
  SentPacket p;
  p.ack_eliciting = eliciting;
  p.in_flight = in_flight;
  p.size = 1200;
  p.time_sent = time;
  return p;
}

SentRecord stream(std::uint64_t offset) { return {RecordKind::stream, false, 0, 1000, 4, offset}; }

TEST(SentPackets, KeepsRecordsWithTheirPackets) {
  SentPackets sent;
  EXPECT_EQ(sent.next(), 0u);
  sent.push_record(stream(7));
  sent.drop_open_records();  // not sent after all
  for (std::uint64_t pn = 0; pn < 500; ++pn) {
    for (std::uint64_t i = 0; i <= pn % 3; ++i) sent.push_record(stream(pn * 10 + i));
    sent.commit(packet(true, true));
  }
  for (std::uint64_t pn = 0; pn < 500; ++pn) {
    const SentPacket* p = sent.find(pn);
    ASSERT_NE(p, nullptr);
    std::vector<std::uint64_t> offsets;
    sent.for_each_record(*p, [&](const SentRecord& r) { offsets.push_back(r.offset); });
    ASSERT_EQ(offsets.size(), pn % 3 + 1);
    for (std::size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], pn * 10 + i);
  }
  EXPECT_EQ(sent.find(500), nullptr);
}

TEST(SentPackets, FindsWhatIsUnacknowledged) {
  SentPackets sent;
  for (int i = 0; i < 10; ++i) sent.commit(packet(true, true));
  for (const std::uint64_t pn : {0u, 1u, 4u, 5u, 6u, 9u}) sent.mark_acked(*sent.find(pn));
  EXPECT_EQ(sent.first_unacked(0), 2u);
  EXPECT_EQ(sent.first_unacked(3), 3u);
  EXPECT_EQ(sent.first_unacked(4), 7u);
  EXPECT_EQ(sent.first_unacked(9), 10u);
  EXPECT_EQ(sent.outstanding(), 4u);
  sent.mark_lost(*sent.find(2));
  EXPECT_EQ(sent.first_unacked(0), 2u);  // a lost packet can still be acknowledged
  EXPECT_EQ(sent.outstanding(), 3u);
  sent.commit(packet(true, true));
  EXPECT_EQ(sent.first_unacked(9), 10u);
}

TEST(SentPackets, RemembersEverySkippedNumber) {
  SentPackets sent;
  std::vector<std::uint64_t> skipped;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 5; ++k) sent.commit(packet(true, true));
    skipped.push_back(sent.next());
    sent.skip_number();
  }
  for (std::uint64_t pn = 0; pn < sent.next(); ++pn) {
    if (sent.find(pn)->state == State::outstanding) sent.mark_acked(*sent.find(pn));
  }
  sent.trim(Instant());
  EXPECT_EQ(sent.size(), 0u);  // all settled, and yet:
  for (const std::uint64_t pn : skipped) {
    EXPECT_FALSE(sent.all_sent(pn, pn));
    EXPECT_FALSE(sent.all_sent(pn - 2, pn + 2));
    EXPECT_TRUE(sent.all_sent(pn - 2, pn - 1));
  }
  EXPECT_FALSE(sent.all_sent(0, sent.next()));
  EXPECT_FALSE(sent.all_sent(sent.next(), sent.next()));
  EXPECT_FALSE(sent.all_sent(UINT64_MAX, UINT64_MAX));
  EXPECT_FALSE(sent.all_sent(3, 2));
}

TEST(SentPackets, TrimKeepsLostPacketsForAWhile) {
  SentPackets sent;
  for (int i = 0; i < 6; ++i) {
    sent.push_record(stream(static_cast<std::uint64_t>(i)));
    sent.commit(packet(true, true, Instant::from_ns(i)));
  }
  sent.mark_acked(*sent.find(0));
  sent.mark_lost(*sent.find(1));
  sent.mark_lost(*sent.find(2));
  sent.mark_acked(*sent.find(3));
  sent.trim(Instant::from_ns(2));  // 2 was sent at the horizon: stays
  EXPECT_EQ(sent.base(), 2u);
  EXPECT_EQ(sent.find(1), nullptr);
  sent.trim(Instant::from_ns(3));
  EXPECT_EQ(sent.base(), 4u);  // outstanding packets always stay
  sent.trim(Instant::never());
  EXPECT_EQ(sent.base(), 4u);
}

TEST(SentPackets, AckOnlyPacketsAreNotHoarded) {
  SentPackets sent;
  for (int i = 0; i < 100'000; ++i) {
    sent.push_record({RecordKind::ack, false, 0, 0, 0, static_cast<std::uint64_t>(i)});
    sent.commit(packet(false, false));
    ASSERT_TRUE(sent.has_room());
  }
  EXPECT_LE(sent.size(), 2048u);
  // But behind a packet in flight they have to be, and there is an end to it.
  SentPackets stuck;
  stuck.commit(packet(true, true));
  std::size_t sent_count = 0;
  while (stuck.has_room() && sent_count < 1'000'000) {
    stuck.commit(packet(false, false));
    ++sent_count;
  }
  EXPECT_EQ(sent_count, limits::kMaxUntrackedPackets);
}

TEST(SentPackets, OutstandingPacketsAreBounded) {
  SentPackets sent;
  while (sent.has_room() && sent.size() < 1'000'000) sent.commit(packet(true, true));
  EXPECT_EQ(sent.size(), limits::kMaxSentPackets);
}

// Acknowledgements of all kinds, some of them repeated again and again, against a
// map from packet number to state.
TEST(SentPackets, BehavesLikeAMap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    SentPackets sent;
    std::map<std::uint64_t, State> model;
    std::map<std::uint64_t, std::vector<std::uint64_t>> records;
    std::uint64_t base = 0;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t what = random() % 10;
      if (what < 5) {
        if (random() % 50 == 0) {
          model[sent.next()] = State::skipped;
          sent.skip_number();
        }
        const std::uint64_t pn = sent.next();
        for (std::uint64_t i = random() % 3; i > 0; --i) {
          records[pn].push_back(random());
          sent.push_record(stream(records[pn].back()));
        }
        sent.commit(packet(true, true, Instant::from_ns(step)));
        model[pn] = State::outstanding;
      } else if (what < 8 && sent.next() > 0) {
        std::uint64_t smallest = random() % sent.next();
        if (random() % 2 == 0 && sent.next() > 20) smallest = sent.next() - 1 - random() % 20;
        const std::uint64_t largest = std::min(smallest + random() % 16, sent.next() - 1);
        std::vector<std::uint64_t> wanted;
        for (auto it = model.lower_bound(std::max(smallest, base));
             it != model.end() && it->first <= largest; ++it) {
          if (it->second == State::outstanding || it->second == State::lost) {
            wanted.push_back(it->first);
            it->second = State::acked;
          }
        }
        std::vector<std::uint64_t> found;
        for (std::uint64_t pn = sent.first_unacked(smallest); pn <= largest && pn < sent.next();
             pn = sent.first_unacked(pn + 1)) {
          found.push_back(pn);
          std::vector<std::uint64_t> offsets;
          sent.for_each_record(*sent.find(pn),
                               [&](const SentRecord& r) { offsets.push_back(r.offset); });
          ASSERT_EQ(offsets, records[pn]);
          sent.mark_acked(*sent.find(pn));
        }
        ASSERT_EQ(found, wanted);
      } else if (what == 8 && sent.next() > 0) {
        const std::uint64_t pn = base + random() % (sent.next() - base + 1);
        if (SentPacket* p = sent.find(pn); p != nullptr && p->state == State::outstanding) {
          sent.mark_lost(*p);
          model[pn] = State::lost;
        }
      } else {
        const std::int64_t horizon = step - 100;
        sent.trim(Instant::from_ns(horizon));
        while (base < sent.next() && model[base] != State::outstanding) {
          if (model[base] == State::lost && sent.find(base) != nullptr) break;
          ++base;
        }
        ASSERT_EQ(sent.base(), base);
      }
      if (step % 64 != 0) continue;
      std::size_t outstanding = 0;
      for (auto it = model.lower_bound(base); it != model.end(); ++it) {
        outstanding += it->second == State::outstanding;
      }
      ASSERT_EQ(sent.outstanding(), outstanding);
      ASSERT_EQ(sent.eliciting_outstanding(), outstanding);
    }
  }
}

// A long window whose first packet is missing, and ACKs that list everything after
// it anew each time: without links past what is acknowledged this walks 5 * 10^9
// packets.
TEST(SentPackets, RepeatedRangesCostNothing) {
  SentPackets sent;
  constexpr std::uint64_t kPackets = 100'000;
  for (std::uint64_t i = 0; i < kPackets; ++i) sent.commit(packet(true, true));
  std::uint64_t acked = 0;
  for (std::uint64_t largest = 1; largest < kPackets; ++largest) {
    for (std::uint64_t pn = sent.first_unacked(1); pn <= largest; pn = sent.first_unacked(pn + 1)) {
      sent.mark_acked(*sent.find(pn));
      ++acked;
    }
  }
  EXPECT_EQ(acked, kPackets - 1);
  EXPECT_EQ(sent.outstanding(), 1u);
}

}  // namespace
}  // namespace quasi::recovery
