// Parsing and encoding of transport parameters (see wire/transport_parameters.h).
#include "wire/transport_parameters.h"

#include <algorithm>
#include <cstring>

#include "wire/cursor.h"

namespace quasi::wire {
namespace {

namespace id {
constexpr std::uint64_t kOriginalDestinationConnectionId = 0x00;
constexpr std::uint64_t kMaxIdleTimeout = 0x01;
constexpr std::uint64_t kStatelessResetToken = 0x02;
constexpr std::uint64_t kMaxUdpPayloadSize = 0x03;
constexpr std::uint64_t kInitialMaxData = 0x04;
constexpr std::uint64_t kInitialMaxStreamDataBidiLocal = 0x05;
constexpr std::uint64_t kInitialMaxStreamDataBidiRemote = 0x06;
constexpr std::uint64_t kInitialMaxStreamDataUni = 0x07;
constexpr std::uint64_t kInitialMaxStreamsBidi = 0x08;
constexpr std::uint64_t kInitialMaxStreamsUni = 0x09;
constexpr std::uint64_t kAckDelayExponent = 0x0a;
constexpr std::uint64_t kMaxAckDelay = 0x0b;
constexpr std::uint64_t kDisableActiveMigration = 0x0c;
constexpr std::uint64_t kPreferredAddress = 0x0d;
constexpr std::uint64_t kActiveConnectionIdLimit = 0x0e;
constexpr std::uint64_t kInitialSourceConnectionId = 0x0f;
constexpr std::uint64_t kRetrySourceConnectionId = 0x10;
constexpr std::uint64_t kVersionInformation = 0x11;    // RFC 9368
constexpr std::uint64_t kMaxDatagramFrameSize = 0x20;  // RFC 9221
constexpr std::uint64_t kGreaseQuicBit = 0x2ab2;       // RFC 9287
constexpr std::uint64_t kMinAckDelay = 0xff04de1b;     // draft-ietf-quic-ack-frequency
}  // namespace id

// RFC 9000 §18.2.
constexpr std::uint64_t kMaxAckDelayExponent = 20;
constexpr std::uint64_t kMaxAckDelayBound = std::uint64_t{1} << 14;
constexpr std::uint64_t kMinUdpPayloadSize = 1200;
constexpr std::uint64_t kMinActiveConnectionIdLimit = 2;

std::unexpected<Error> invalid(const char* reason) {
  return fail(TransportErrorCode::transport_parameter_error, reason);
}

/// Finds repeated IDs. Registered ones are all remembered, of the others the
/// first few: RFC 9000 §7.4 asks for it as a SHOULD, and the work stays linear.
class SeenIds {
 public:
  /// False when `parameter` was there before.
  [[nodiscard]] bool add(std::uint64_t parameter) {
    if (parameter < 64) {
      const std::uint64_t bit = std::uint64_t{1} << parameter;
      if ((low_ & bit) != 0) return false;
      low_ |= bit;
      return true;
    }
    const auto end = others_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::find(others_.begin(), end, parameter) != end) return false;
    if (count_ < others_.size()) others_[count_++] = parameter;
    return true;
  }

 private:
  std::uint64_t low_ = 0;
  std::array<std::uint64_t, 32> others_{};
  std::size_t count_ = 0;
};

/// A value that is one varint and nothing else.
bool read_integer(Bytes value, std::uint64_t& out) {
  Reader<Forward> reader(value);
  return reader.varint(out) && reader.at_end();
}

bool read_connection_id(Bytes value, std::optional<ConnectionId>& out) {
  out = ConnectionId::from(value);
  return out.has_value();
}

template <std::size_t N>
bool read_array(Reader<Forward>& reader, std::array<std::uint8_t, N>& out) {
  Bytes view;
  if (!reader.bytes(N, view)) return false;
  std::memcpy(out.data(), view.data(), N);
  return true;
}

bool read_preferred_address(Bytes value, PreferredAddress& out) {
  Reader<Forward> reader(value);
  std::uint8_t length = 0;
  Bytes cid;
  if (!read_array(reader, out.ipv4) || !reader.u16(out.ipv4_port) ||
      !read_array(reader, out.ipv6) || !reader.u16(out.ipv6_port) || !reader.u8(length) ||
      !reader.bytes(length, cid) || !read_array(reader, out.reset_token) || !reader.at_end()) {
    return false;
  }
  const auto connection_id = ConnectionId::from(cid);
  if (!connection_id || connection_id->empty()) return false;
  out.connection_id = *connection_id;
  return true;
}

bool read_version_information(Bytes value, VersionInformation& out) {
  Reader<Forward> reader(value);
  if (!reader.u32(out.chosen) || out.chosen == 0) return false;
  while (!reader.at_end()) {
    std::uint32_t version = 0;
    if (!reader.u32(version) || version == 0) return false;  // RFC 9368 §3
    if (version == out.chosen) out.chosen_is_available = true;
    if (out.available_count < out.available.size()) out.available[out.available_count++] = version;
  }
  return true;
}

Status parse_one(std::uint64_t parameter, Bytes value, ParameterSender sender,
                 TransportParameters& p) {
  const bool from_client = sender == ParameterSender::client;
  switch (parameter) {
    case id::kOriginalDestinationConnectionId:
      if (from_client) return invalid("a client sent original_destination_connection_id");
      if (read_connection_id(value, p.original_destination_connection_id)) return {};
      return invalid("original_destination_connection_id is longer than 20 bytes");
    case id::kMaxIdleTimeout:
      if (read_integer(value, p.max_idle_timeout)) return {};
      return invalid("max_idle_timeout is not an integer");
    case id::kStatelessResetToken: {
      if (from_client) return invalid("a client sent stateless_reset_token");
      Reader<Forward> reader(value);
      if (read_array(reader, p.stateless_reset_token.emplace()) && reader.at_end()) return {};
      return invalid("stateless_reset_token does not have 16 bytes");
    }
    case id::kMaxUdpPayloadSize:
      if (read_integer(value, p.max_udp_payload_size) &&
          p.max_udp_payload_size >= kMinUdpPayloadSize) {
        return {};
      }
      return invalid("max_udp_payload_size is below 1200");
    case id::kInitialMaxData:
      if (read_integer(value, p.initial_max_data)) return {};
      return invalid("initial_max_data is not an integer");
    case id::kInitialMaxStreamDataBidiLocal:
      if (read_integer(value, p.initial_max_stream_data_bidi_local)) return {};
      return invalid("initial_max_stream_data_bidi_local is not an integer");
    case id::kInitialMaxStreamDataBidiRemote:
      if (read_integer(value, p.initial_max_stream_data_bidi_remote)) return {};
      return invalid("initial_max_stream_data_bidi_remote is not an integer");
    case id::kInitialMaxStreamDataUni:
      if (read_integer(value, p.initial_max_stream_data_uni)) return {};
      return invalid("initial_max_stream_data_uni is not an integer");
    case id::kInitialMaxStreamsBidi:
      if (read_integer(value, p.initial_max_streams_bidi) &&
          p.initial_max_streams_bidi <= kMaxStreamCount) {
        return {};
      }
      return invalid("initial_max_streams_bidi is above 2^60");
    case id::kInitialMaxStreamsUni:
      if (read_integer(value, p.initial_max_streams_uni) &&
          p.initial_max_streams_uni <= kMaxStreamCount) {
        return {};
      }
      return invalid("initial_max_streams_uni is above 2^60");
    case id::kAckDelayExponent:
      if (read_integer(value, p.ack_delay_exponent) &&
          p.ack_delay_exponent <= kMaxAckDelayExponent) {
        return {};
      }
      return invalid("ack_delay_exponent is above 20");
    case id::kMaxAckDelay:
      if (read_integer(value, p.max_ack_delay) && p.max_ack_delay < kMaxAckDelayBound) return {};
      return invalid("max_ack_delay is 2^14 or more");
    case id::kDisableActiveMigration:
      p.disable_active_migration = true;
      if (value.empty()) return {};
      return invalid("disable_active_migration has a value");
    case id::kPreferredAddress:
      if (from_client) return invalid("a client sent preferred_address");
      if (read_preferred_address(value, p.preferred_address.emplace())) return {};
      return invalid("preferred_address is malformed");
    case id::kActiveConnectionIdLimit:
      if (read_integer(value, p.active_connection_id_limit) &&
          p.active_connection_id_limit >= kMinActiveConnectionIdLimit) {
        return {};
      }
      return invalid("active_connection_id_limit is below 2");
    case id::kInitialSourceConnectionId:
      if (read_connection_id(value, p.initial_source_connection_id)) return {};
      return invalid("initial_source_connection_id is longer than 20 bytes");
    case id::kRetrySourceConnectionId:
      if (from_client) return invalid("a client sent retry_source_connection_id");
      if (read_connection_id(value, p.retry_source_connection_id)) return {};
      return invalid("retry_source_connection_id is longer than 20 bytes");
    case id::kVersionInformation:
      if (read_version_information(value, p.version_information.emplace())) return {};
      return invalid("version_information is malformed");
    case id::kMaxDatagramFrameSize:
      if (read_integer(value, p.max_datagram_frame_size)) return {};
      return invalid("max_datagram_frame_size is not an integer");
    case id::kGreaseQuicBit:
      p.grease_quic_bit = true;
      if (value.empty()) return {};
      return invalid("grease_quic_bit has a value");
    case id::kMinAckDelay:
      if (read_integer(value, p.min_ack_delay.emplace())) return {};
      return invalid("min_ack_delay is not an integer");
    default:
      return {};  // RFC 9000 §7.4.2
  }
}

void write_integer(Writer<Forward>& writer, std::uint64_t parameter, std::uint64_t value) {
  writer.varint(parameter);
  writer.varint(varint_size(value));
  writer.varint(value);
}

void write_integer_unless(std::uint64_t standard, Writer<Forward>& writer, std::uint64_t parameter,
                          std::uint64_t value) {
  if (value != standard) write_integer(writer, parameter, value);
}

void write_bytes(Writer<Forward>& writer, std::uint64_t parameter, Bytes value) {
  writer.varint(parameter);
  writer.counted_bytes(value);
}

void write_connection_id(Writer<Forward>& writer, std::uint64_t parameter,
                         const std::optional<ConnectionId>& value) {
  if (value) write_bytes(writer, parameter, value->bytes());
}

void write_server_only(Writer<Forward>& writer, const TransportParameters& p) {
  write_connection_id(writer, id::kOriginalDestinationConnectionId,
                      p.original_destination_connection_id);
  write_connection_id(writer, id::kRetrySourceConnectionId, p.retry_source_connection_id);
  if (p.stateless_reset_token) {
    write_bytes(writer, id::kStatelessResetToken, *p.stateless_reset_token);
  }
  if (p.preferred_address) {
    const PreferredAddress& a = *p.preferred_address;
    writer.varint(id::kPreferredAddress);
    writer.varint(a.ipv4.size() + 2 + a.ipv6.size() + 2 + 1 + a.connection_id.size() +
                  a.reset_token.size());
    writer.bytes(a.ipv4);
    writer.u16(a.ipv4_port);
    writer.bytes(a.ipv6);
    writer.u16(a.ipv6_port);
    writer.u8(static_cast<std::uint8_t>(a.connection_id.size()));
    writer.bytes(a.connection_id.bytes());
    writer.bytes(a.reset_token);
  }
}

}  // namespace

Result<TransportParameters> parse_transport_parameters(Bytes encoded, ParameterSender sender) {
  TransportParameters parameters;
  SeenIds seen;
  Reader<Forward> reader(encoded);
  while (!reader.at_end()) {
    std::uint64_t parameter = 0;
    Bytes value;
    if (!reader.varint(parameter) || !reader.counted_bytes(value)) {
      return invalid("transport parameters are truncated");
    }
    if (!seen.add(parameter)) return invalid("a transport parameter is repeated");
    QUASI_TRY(parse_one(parameter, value, sender, parameters));
  }
  if (parameters.min_ack_delay && *parameters.min_ack_delay > 1000 * parameters.max_ack_delay) {
    return invalid("min_ack_delay is above max_ack_delay");
  }
  return parameters;
}

std::optional<std::size_t> encode_transport_parameters(const TransportParameters& parameters,
                                                       ParameterSender sender, std::uint64_t grease,
                                                       MutableBytes out) {
  static const TransportParameters kDefaults;
  const TransportParameters& p = parameters;
  Writer<Forward> writer(out);
  if (sender == ParameterSender::server) write_server_only(writer, p);
  write_connection_id(writer, id::kInitialSourceConnectionId, p.initial_source_connection_id);
  const struct {
    std::uint64_t parameter, value, standard;
  } integers[] = {
      {id::kMaxIdleTimeout, p.max_idle_timeout, kDefaults.max_idle_timeout},
      {id::kMaxUdpPayloadSize, p.max_udp_payload_size, kDefaults.max_udp_payload_size},
      {id::kInitialMaxData, p.initial_max_data, kDefaults.initial_max_data},
      {id::kInitialMaxStreamDataBidiLocal, p.initial_max_stream_data_bidi_local,
       kDefaults.initial_max_stream_data_bidi_local},
      {id::kInitialMaxStreamDataBidiRemote, p.initial_max_stream_data_bidi_remote,
       kDefaults.initial_max_stream_data_bidi_remote},
      {id::kInitialMaxStreamDataUni, p.initial_max_stream_data_uni,
       kDefaults.initial_max_stream_data_uni},
      {id::kInitialMaxStreamsBidi, p.initial_max_streams_bidi, kDefaults.initial_max_streams_bidi},
      {id::kInitialMaxStreamsUni, p.initial_max_streams_uni, kDefaults.initial_max_streams_uni},
      {id::kAckDelayExponent, p.ack_delay_exponent, kDefaults.ack_delay_exponent},
      {id::kMaxAckDelay, p.max_ack_delay, kDefaults.max_ack_delay},
      {id::kActiveConnectionIdLimit, p.active_connection_id_limit,
       kDefaults.active_connection_id_limit},
      {id::kMaxDatagramFrameSize, p.max_datagram_frame_size, kDefaults.max_datagram_frame_size},
  };
  for (const auto& integer : integers) {
    write_integer_unless(integer.standard, writer, integer.parameter, integer.value);
  }
  if (p.disable_active_migration) write_bytes(writer, id::kDisableActiveMigration, {});
  if (p.grease_quic_bit) write_bytes(writer, id::kGreaseQuicBit, {});
  if (p.min_ack_delay) write_integer(writer, id::kMinAckDelay, *p.min_ack_delay);
  if (p.version_information) {
    const VersionInformation& v = *p.version_information;
    writer.varint(id::kVersionInformation);
    writer.varint(4 + 4 * v.available_count);
    writer.u32(v.chosen);
    for (const std::uint32_t version : v.versions()) writer.u32(version);
  }
  // RFC 9000 §18.1: IDs 31 * N + 27 are reserved and mean nothing.
  const std::uint64_t n = grease & 0xff'ffffU;
  writer.varint(31 * n + 27);
  const std::size_t size = grease >> 24 & 0xfU;
  writer.varint(size);
  for (std::size_t i = 0; i < size; ++i) {
    writer.u8(static_cast<std::uint8_t>(grease >> (32 + i)));
  }
  if (!writer.ok()) return std::nullopt;
  return writer.written();
}

}  // namespace quasi::wire
