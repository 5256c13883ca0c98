// Transport parameters (RFC 9000 §18, RFC 9221 §3, RFC 9287, RFC 9368 §3): parsing
// with every check that a value by itself allows, and encoding. Unknown and
// reserved parameters are ignored; duplicates, impossible values and parameters
// that a client may not send are TRANSPORT_PARAMETER_ERROR.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "quasi/bytes.h"
#include "quasi/result.h"
#include "wire/connection_id.h"
#include "wire/frame.h"

namespace quasi::wire {

/// RFC 9000 §18.2, preferred_address. An all-zero address or port 0: none of
/// that family.
struct PreferredAddress {
  std::array<std::uint8_t, 4> ipv4{};
  std::uint16_t ipv4_port = 0;
  std::array<std::uint8_t, 16> ipv6{};
  std::uint16_t ipv6_port = 0;
  ConnectionId connection_id;  // 1 to 20 bytes
  ResetToken reset_token{};
  friend bool operator==(const PreferredAddress&, const PreferredAddress&) = default;
};

/// RFC 9368 §3.
struct VersionInformation {
  static constexpr std::size_t kMaxAvailable = 32;
  std::uint32_t chosen = 0;
  /// The peer's available versions, in its order of preference. Those after the
  /// first kMaxAvailable are checked, but not kept.
  std::array<std::uint32_t, kMaxAvailable> available{};
  std::size_t available_count = 0;
  /// Whether `chosen` is among all available ones; set by the parser.
  bool chosen_is_available = false;

  [[nodiscard]] std::span<const std::uint32_t> versions() const {
    return std::span(available).first(available_count);
  }
  friend bool operator==(const VersionInformation&, const VersionInformation&) = default;
};

/// Defaults are the protocol's: what an absent parameter means.
struct TransportParameters {
  std::optional<ConnectionId> original_destination_connection_id;  // server only
  /// Milliseconds; 0: no timeout. Any varint: arithmetic on it has to saturate.
  std::uint64_t max_idle_timeout = 0;
  std::optional<ResetToken> stateless_reset_token;  // server only
  /// >= 1200.
  std::uint64_t max_udp_payload_size = 65527;
  std::uint64_t initial_max_data = 0;
  std::uint64_t initial_max_stream_data_bidi_local = 0;
  std::uint64_t initial_max_stream_data_bidi_remote = 0;
  std::uint64_t initial_max_stream_data_uni = 0;
  /// <= 2^60.
  std::uint64_t initial_max_streams_bidi = 0;
  std::uint64_t initial_max_streams_uni = 0;
  /// <= 20.
  std::uint64_t ack_delay_exponent = 3;
  /// Milliseconds, < 2^14.
  std::uint64_t max_ack_delay = 25;
  bool disable_active_migration = false;
  std::optional<PreferredAddress> preferred_address;  // server only
  /// >= 2.
  std::uint64_t active_connection_id_limit = 2;
  std::optional<ConnectionId> initial_source_connection_id;
  std::optional<ConnectionId> retry_source_connection_id;  // server only
  /// RFC 9221; 0: no DATAGRAM frames.
  std::uint64_t max_datagram_frame_size = 0;
  /// RFC 9287.
  bool grease_quic_bit = false;
  std::optional<VersionInformation> version_information;
  /// Microseconds; draft-ietf-quic-ack-frequency. Only checked: not acted upon.
  std::optional<std::uint64_t> min_ack_delay;

  friend bool operator==(const TransportParameters&, const TransportParameters&) = default;
};

enum class ParameterSender : std::uint8_t { client, server };

/// Parses the extension's content as `sender` sent it.
[[nodiscard]] Result<TransportParameters> parse_transport_parameters(Bytes encoded,
                                                                     ParameterSender sender);

/// Most bytes that encode_transport_parameters() writes.
inline constexpr std::size_t kMaxTransportParametersSize = 640;

/// Encodes `parameters`; server-only ones are left out for a client, and defaults
/// for both. `grease`: any random value, of which one reserved parameter with up to
/// 15 bytes is made (RFC 9000 §18.1). Returns the size, or empty when `out` is too
/// small; kMaxTransportParametersSize is always enough.
[[nodiscard]] std::optional<std::size_t> encode_transport_parameters(
    const TransportParameters& parameters, ParameterSender sender, std::uint64_t grease,
    MutableBytes out);

}  // namespace quasi::wire
