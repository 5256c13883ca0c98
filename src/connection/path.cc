// Path MTU probing (see path.h).
#include "connection/path.h"

namespace quasi::connection {

MtuProber::MtuProber(bool enabled, std::size_t max_size, bool ipv6) {
  // What Ethernet leaves after IP and UDP headers, then what common tunnels leave.
  const std::array<std::size_t, 4> sizes = {ipv6 ? 1452U : 1472U, 1420, 1350, 1280};
  if (!enabled) return;
  const std::size_t cap = std::min(max_size, limits::kMaxDatagramSize);
  for (const std::size_t size : sizes) {
    const std::size_t candidate = std::min(size, cap);
    if (candidate <= current_) continue;
    if (count_ > 0 && candidates_[count_ - 1] == candidate) continue;
    candidates_[count_++] = static_cast<std::uint16_t>(candidate);
  }
}

std::size_t MtuProber::probe_size() const {
  return in_flight_ || next_ >= count_ ? 0 : candidates_[next_];
}

void MtuProber::on_probe_sent() {
  in_flight_ = true;
  ++attempts_;
}

void MtuProber::on_probe_acked(std::size_t size) {
  in_flight_ = false;
  current_ = std::max(current_, size);
  next_ = count_;  // candidates go downwards: the first that passes is the best
}

void MtuProber::on_probe_lost(std::size_t size) {
  in_flight_ = false;
  if (next_ < count_ && candidates_[next_] == size && attempts_ >= kAttempts) {
    ++next_;
    attempts_ = 0;
  }
}

void MtuProber::on_black_hole() {
  current_ = limits::kMinDatagramSize;
  next_ = count_;
}

}  // namespace quasi::connection
