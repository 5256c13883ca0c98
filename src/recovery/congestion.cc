// Dispatch to the controller that was chosen: see congestion.h.
#include "recovery/congestion.h"

namespace quasi::recovery {
namespace {

std::variant<Cubic, NewReno, Bbr> make(CongestionController algorithm, std::size_t size) {
  switch (algorithm) {
    case CongestionController::new_reno:
      return NewReno(size);
    case CongestionController::bbr:
      return Bbr(size);
    case CongestionController::cubic:
      break;
  }
  return Cubic(size);
}

// std::visit without its exception path.
template <class Variant, class Fn>
decltype(auto) visit(Variant& impl, Fn&& fn) {
  switch (impl.index()) {
    case 1:
      return fn(*std::get_if<1>(&impl));
    case 2:
      return fn(*std::get_if<2>(&impl));
    default:
      return fn(*std::get_if<0>(&impl));
  }
}

}  // namespace

Congestion::Congestion(CongestionController algorithm, std::size_t max_datagram_size)
    : impl_(make(algorithm, max_datagram_size)) {}

std::uint64_t Congestion::window() const {
  return visit(impl_, [](const auto& c) { return c.window(); });
}
std::uint64_t Congestion::pacing_rate(const RttEstimator& rtt) const {
  return visit(impl_, [&](const auto& c) { return c.pacing_rate(rtt); });
}
bool Congestion::in_recovery(Instant time_sent) const {
  return visit(impl_, [&](const auto& c) { return c.in_recovery(time_sent); });
}
bool Congestion::in_slow_start() const {
  return visit(impl_, [](const auto& c) { return c.in_slow_start(); });
}
void Congestion::on_packet_sent(const SendEvent& event) {
  visit(impl_, [&](auto& c) { c.on_packet_sent(event); });
}
void Congestion::on_ack(const AckEvent& event) {
  visit(impl_, [&](auto& c) { c.on_ack(event); });
}
bool Congestion::on_congestion_event(const CongestionEvent& event) {
  return visit(impl_, [&](auto& c) { return c.on_congestion_event(event); });
}
void Congestion::on_persistent_congestion(Instant now) {
  visit(impl_, [&](auto& c) { c.on_persistent_congestion(now); });
}
void Congestion::on_spurious_congestion() {
  visit(impl_, [](auto& c) { c.on_spurious_congestion(); });
}
void Congestion::set_max_datagram_size(std::size_t bytes) {
  visit(impl_, [&](auto& c) { c.set_max_datagram_size(bytes); });
}

}  // namespace quasi::recovery
