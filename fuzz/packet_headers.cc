// Headers: packets of a datagram are disjoint and in order, and the invariant part
// agrees with the rest.
#include <utility>
#include <vector>

#include "targets.h"
#include "wire/packet_header.h"

namespace quasi::fuzz {

void packet_headers(Bytes input) {
  using namespace quasi::wire;
  if (input.empty()) return;
  const std::size_t cid_length = input[0] % 21;
  const bool accept_zero_fixed_bit = (input[0] & 0x80) != 0;
  std::vector<std::uint8_t> datagram(input.begin() + 1, input.end());
  const auto invariants = parse_invariants(datagram, cid_length);
  DatagramReader reader(datagram, cid_length, accept_zero_fixed_bit);
  PacketView packet;
  const std::uint8_t* end = datagram.data();
  bool first = true;
  for (;;) {
    const ParseOutcome outcome = reader.next(packet);
    if (outcome != ParseOutcome::packet) break;
    QUASI_FUZZ_CHECK(packet.bytes.data() >= end);
    end = packet.bytes.data() + packet.bytes.size();
    QUASI_FUZZ_CHECK(end <= datagram.data() + datagram.size());
    QUASI_FUZZ_CHECK(packet.packet_number_offset <= packet.bytes.size());
    if (!packet.token.empty()) {
      QUASI_FUZZ_CHECK(packet.token.data() > packet.bytes.data());
      QUASI_FUZZ_CHECK(packet.token.data() + packet.token.size() <= end);
    }
    if (std::exchange(first, false)) {
      QUASI_FUZZ_CHECK(invariants.has_value());
      QUASI_FUZZ_CHECK(packet.dcid.equals(invariants->dcid));
      QUASI_FUZZ_CHECK(invariants->is_long == (packet.type != PacketType::one_rtt));
      if (invariants->is_long) QUASI_FUZZ_CHECK(packet.scid.equals(invariants->scid));
    }
    if (packet.type == PacketType::version_negotiation) {
      const VersionList list(packet);
      for (std::size_t i = 0; i < list.size(); ++i) QUASI_FUZZ_CHECK(list.contains(list[i]));
    } else if (packet.type != PacketType::one_rtt) {
      QUASI_FUZZ_CHECK(packet.version != nullptr);
    }
  }
  QUASI_FUZZ_CHECK(reader.next(packet) == ParseOutcome::end);
}

}  // namespace quasi::fuzz
