// Transport parameters: what is accepted keeps RFC 9000's limits, and is the same
// after it was encoded and parsed again.
#include "wire/transport_parameters.h"

#include <array>

#include "targets.h"

namespace quasi::fuzz {

void transport_parameters(Bytes input) {
  using namespace quasi::wire;
  if (input.empty()) return;
  const auto sender = (input[0] & 1) != 0 ? ParameterSender::client : ParameterSender::server;
  const auto parsed = parse_transport_parameters(input.subspan(1), sender);
  if (!parsed) {
    QUASI_FUZZ_CHECK(parsed.error().code == TransportErrorCode::transport_parameter_error);
    return;
  }
  QUASI_FUZZ_CHECK(parsed->max_udp_payload_size >= 1200);
  QUASI_FUZZ_CHECK(parsed->initial_max_streams_bidi <= kMaxStreamCount);
  QUASI_FUZZ_CHECK(parsed->initial_max_streams_uni <= kMaxStreamCount);
  QUASI_FUZZ_CHECK(parsed->ack_delay_exponent <= 20);
  QUASI_FUZZ_CHECK(parsed->max_ack_delay < (1U << 14));
  QUASI_FUZZ_CHECK(parsed->active_connection_id_limit >= 2);
  std::array<std::uint8_t, kMaxTransportParametersSize> room;
  const auto size = encode_transport_parameters(*parsed, sender, ~std::uint64_t{0}, room);
  QUASI_FUZZ_CHECK(size.has_value());
  const auto again = parse_transport_parameters(Bytes(room).first(*size), sender);
  QUASI_FUZZ_CHECK(again.has_value());
  // A chosen version that was available beyond those that are kept is lost.
  if (parsed->version_information &&
      parsed->version_information->available_count == VersionInformation::kMaxAvailable) {
    return;
  }
  QUASI_FUZZ_CHECK(*again == *parsed);
}

}  // namespace quasi::fuzz
