// LossRecovery under random sending, acknowledging, losing and timing out, with all
// controllers, against a plain account of what is in flight.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "recovery/recovery_path.h"

namespace quasi::recovery {
namespace {

// Random sending, acknowledging, losing, timing out: every record ends acknowledged
// or lost, flight is the sum of what is outstanding, and time never stands still.
TEST(RandomLives, KeepTheirBooks) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    RecoveryConfig config = Path::server();
    config.congestion_controller = static_cast<CongestionController>(seed % 3);
    config.skip_seed = seed;
    Path path(config);
    std::map<std::uint64_t, std::uint32_t> outstanding;  // pn -> size
    std::set<std::uint64_t> arrived;
    std::set<std::uint64_t> acked;
    Instant now = ms(0);
    for (int step = 0; step < 4'000; ++step) {
      now = now + Duration::microseconds(static_cast<std::int64_t>(random() % 3'000));
      const std::uint64_t what = random() % 8;
      if (what < 5) {
        SentInfo info = Path::eliciting();
        info.size = static_cast<std::uint16_t>(50 + random() % 1150);
        if (random() % 10 == 0) info.ack_eliciting = info.in_flight = false;
        if (!info.in_flight || path.r.can_send(info.size, now)) {
          const std::uint64_t pn = path.send(now, kApp, info);
          if (info.in_flight) outstanding[pn] = info.size;
          if (random() % 10 != 0) arrived.insert(pn);
        }
      } else if (what < 7 && !arrived.empty()) {
        // An ACK of up to 20 of the packets that arrived, newest first, old ones again.
        std::vector<AckRange> ranges;
        auto it = arrived.rbegin();
        for (std::uint64_t skip = random() % 4; skip > 0 && std::next(it) != arrived.rend();
             --skip) {
          ++it;
        }
        for (int n = 0; n < 20 && it != arrived.rend(); ++n, ++it) {
          if (!ranges.empty() && ranges.back().smallest == *it + 1) {
            ranges.back().smallest = *it;
          } else {
            ranges.push_back({*it, *it});
          }
        }
        path.sink.clear();
        path.ack(now, ranges, kApp,
                 Duration::microseconds(static_cast<std::int64_t>(random() % 40'000)));
        for (const std::uint64_t pn : path.sink.acked) {
          ASSERT_TRUE(acked.insert(pn).second) << "acknowledged twice";
          outstanding.erase(pn);
        }
        for (const std::uint64_t pn : path.sink.lost) {
          ASSERT_FALSE(acked.contains(pn));
          outstanding.erase(pn);
        }
      } else if (path.r.next_timeout() <= now || random() % 16 == 0) {
        path.sink.clear();
        const Instant due = path.r.next_timeout();
        if (due.is_never()) continue;
        now = std::max(now, due);
        const auto result = path.r.on_timeout(now, path.sink);
        ASSERT_TRUE(result.lost > 0 || result.probes > 0 || path.r.next_timeout() > now ||
                    !path.sink.lost.empty());
        for (const std::uint64_t pn : path.sink.lost) outstanding.erase(pn);
      }
      std::uint64_t flight = 0;
      for (const auto& [pn, size] : outstanding) flight += size;
      ASSERT_EQ(path.r.bytes_in_flight(), flight) << "seed " << seed << " step " << step;
      ASSERT_GE(path.r.congestion_window(), 2400u);
      if (!outstanding.empty()) {
        ASSERT_FALSE(path.r.next_timeout().is_never());
      }
    }
  }
}

}  // namespace
}  // namespace quasi::recovery
