// How functions report failure: a value or an Error. The library throws nothing.
// An Error names a QUIC error code (RFC 9000 §20.1, RFC 9001 §4.8), the frame
// type that caused it, and a reason that lives as long as the program.
#pragma once

#include <cstdint>
#include <expected>

namespace quasi {

/// Transport error codes. CRYPTO_ERROR is a range: crypto_error_base + TLS alert.
enum class TransportErrorCode : std::uint64_t {
  no_error = 0x00,
  internal_error = 0x01,
  connection_refused = 0x02,
  flow_control_error = 0x03,
  stream_limit_error = 0x04,
  stream_state_error = 0x05,
  final_size_error = 0x06,
  frame_encoding_error = 0x07,
  transport_parameter_error = 0x08,
  connection_id_limit_error = 0x09,
  protocol_violation = 0x0a,
  invalid_token = 0x0b,
  application_error = 0x0c,
  crypto_buffer_exceeded = 0x0d,
  key_update_error = 0x0e,
  aead_limit_reached = 0x0f,
  no_viable_path = 0x10,
  version_negotiation_error = 0x11,  // RFC 9368
  crypto_error_base = 0x0100,
};

struct Error {
  TransportErrorCode code = TransportErrorCode::internal_error;
  /// Type of the frame that was being processed; 0 when none or unknown.
  std::uint64_t frame_type = 0;
  /// Static text, ASCII, one sentence without a full stop.
  const char* reason = "";
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(TransportErrorCode code, const char* reason,
                                                 std::uint64_t frame_type = 0) {
  return std::unexpected<Error>(Error{code, frame_type, reason});
}

}  // namespace quasi

/// Returns the error of `expression` (a Result) from the enclosing function.
#define QUASI_TRY(expression)                                    \
  do {                                                           \
    if (auto quasi_try_result = (expression); !quasi_try_result) \
      return std::unexpected(quasi_try_result.error());          \
  } while (false)
