// For tests: a LossRecovery with short names for what tests do all the time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "recovery/loss_recovery.h"

namespace quasi::recovery {

inline constexpr PacketSpace kInitial = PacketSpace::initial;
inline constexpr PacketSpace kHandshake = PacketSpace::handshake;
inline constexpr PacketSpace kApp = PacketSpace::application;

inline Instant ms(std::int64_t n) { return Instant() + Duration::milliseconds(100'000 + n); }

struct Sink {
  std::vector<std::uint64_t> acked, lost;
  void on_acked(PacketSpace, const SentRecord& record) { acked.push_back(record.offset); }
  void on_lost(PacketSpace, const SentRecord& record) { lost.push_back(record.offset); }
  void clear() {
    acked.clear();
    lost.clear();
  }
};

using Numbers = std::vector<std::uint64_t>;

// Packet n of a space carries one record with offset n.
class Path {
 public:
  explicit Path(RecoveryConfig config = server(), bool confirmed = true) : r(config) {
    if (confirmed) r.on_handshake_confirmed();
  }
  static RecoveryConfig server() {
    RecoveryConfig config;
    config.side = Side::server;
    config.congestion_controller = CongestionController::new_reno;
    return config;
  }
  static RecoveryConfig client() {
    RecoveryConfig config = server();
    config.side = Side::client;
    return config;
  }

  std::uint64_t send(Instant now, PacketSpace space = kApp, SentInfo info = eliciting()) {
    const std::uint64_t pn = r.next_packet_number(space);
    r.add_record(space, {RecordKind::stream, false, 0, 1000, 0, pn});
    EXPECT_EQ(r.on_packet_sent(space, info, now), pn);
    return pn;
  }
  static SentInfo eliciting() { return {1200, true, true, false, false, false}; }
  static SentInfo ack_only() { return {40, false, false, false, false, false}; }

  LossRecovery::AckResult ack(Instant now, std::vector<AckRange> ranges, PacketSpace space = kApp,
                              Duration delay = {}, const EcnCounts* ecn = nullptr) {
    const auto result = r.on_ack_received(space, ranges, delay, ecn, now, sink);
    EXPECT_TRUE(result.has_value());
    return result ? *result : LossRecovery::AckResult{};
  }

  LossRecovery r;
  Sink sink;
};

}  // namespace quasi::recovery
