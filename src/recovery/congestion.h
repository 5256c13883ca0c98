// Congestion control: what every controller is told and asked, and the one class
// that holds whichever was chosen. Controllers see one summary per ACK frame,
// not one call per packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "quasi/connection.h"
#include "quasi/time.h"
#include "recovery/bbr.h"
#include "recovery/congestion_types.h"
#include "recovery/cubic.h"
#include "recovery/new_reno.h"
#include "recovery/rtt.h"

namespace quasi::recovery {

class Congestion {
 public:
  Congestion(CongestionController algorithm, std::size_t max_datagram_size);

  /// Bytes that may be in flight.
  [[nodiscard]] std::uint64_t window() const;
  /// Bytes per second at which packets should leave.
  [[nodiscard]] std::uint64_t pacing_rate(const RttEstimator& rtt) const;
  /// Whether a packet sent then belongs to a loss episode that was already answered.
  [[nodiscard]] bool in_recovery(Instant time_sent) const;
  [[nodiscard]] bool in_slow_start() const;

  void on_packet_sent(const SendEvent& event);
  void on_ack(const AckEvent& event);
  /// Loss or ECN-CE. Returns whether it began a new episode.
  bool on_congestion_event(const CongestionEvent& event);
  /// RFC 9002 §7.6.
  void on_persistent_congestion(Instant now);
  /// All losses of the last episode turned out to be reordering: as if it never was.
  void on_spurious_congestion();
  void set_max_datagram_size(std::size_t bytes);

 private:
  std::variant<Cubic, NewReno, Bbr> impl_;
};

}  // namespace quasi::recovery
