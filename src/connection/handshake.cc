// From nothing to a confirmed connection: transport parameters, TLS in and out by
// CRYPTO streams, installing and discarding keys, Retry and Version Negotiation
// (RFC 9000 §7, §8, §17.2.5; RFC 9001 §4, §5).
#include <algorithm>
#include <array>
#include <cstring>

#include "connection/core.h"
#include "connection/loss_sink.h"
#include "protect/retry.h"

namespace quasi::connection {
namespace {

using wire::TransportParameters;

tls::Version tls_version(const Core& core) {
  return core.version->number == wire::kVersion2 ? tls::Version::v2 : tls::Version::v1;
}

protect::KeyMaterial material(const tls::TrafficKeys& keys) {
  return {.algorithm = tls::aead_algorithm(keys.suite),
          .key = keys.key_bytes(),
          .iv = keys.iv,
          .header_key = keys.header_bytes()};
}

void install_long_header_keys(Core& core, PacketSpace which, const tls::KeyPair& keys) {
  Space& space = core.space(which);
  // Key lengths come from rustls and fit by construction; a mismatch leaves no key.
  space.open = std::make_unique<protect::ProtectionKeys>();
  space.seal = std::make_unique<protect::ProtectionKeys>();
  space.can_receive = space.open->install(material(keys.remote)).has_value();
  space.can_send = space.seal->install(material(keys.local)).has_value();
}

}  // namespace

void provide_next_keys(Core& core) {
  if (!core.phases.wants_next()) return;
  const tls::KeyPair next = core.tls->next_1rtt_keys();
  // Cannot fail: the keys are of the suite of those before them.
  (void)core.phases.set_next(material(next.local), material(next.remote));
}

namespace {

TransportParameters local_parameters(const Core& core) {
  TransportParameters p;
  const TransportConfig& config = core.config;
  const StreamConfig& streams = core.streams.config();  // within our limits
  p.max_idle_timeout =
      static_cast<std::uint64_t>(std::max<std::int64_t>(config.max_idle_timeout.ms(), 0));
  // What our buffers take: the largest datagram of any Ethernet-like path.
  p.max_udp_payload_size = limits::kMaxReceiveDatagramSize;
  p.initial_max_data = streams.connection_window;
  p.initial_max_stream_data_bidi_local = streams.stream_window;
  p.initial_max_stream_data_bidi_remote = streams.stream_window;
  p.initial_max_stream_data_uni = streams.stream_window;
  p.initial_max_streams_bidi = streams.max_streams_bidi;
  p.initial_max_streams_uni = streams.max_streams_uni;
  p.max_ack_delay = static_cast<std::uint64_t>(config.max_ack_delay.ms());
  p.active_connection_id_limit = RemoteCids::kActiveLimit;
  p.initial_source_connection_id = core.local_cids.handshake_cid();
  p.max_datagram_frame_size = config.max_datagram_frame_size;
  return p;
}

std::vector<std::uint8_t> encode(const Core& core, const TransportParameters& parameters) {
  std::vector<std::uint8_t> out(wire::kMaxTransportParametersSize);
  std::array<std::uint8_t, 8> random{};
  (*core.entropy)(random);
  const auto sender =
      core.side == Side::client ? wire::ParameterSender::client : wire::ParameterSender::server;
  const auto size = wire::encode_transport_parameters(parameters, sender,
                                                      load_le<std::uint64_t>(random.data()), out);
  out.resize(size.value_or(0));
  return out;
}

/// RFC 9000 §7.3: the connection IDs of the handshake are authenticated here.
Status check_cids(const Core& core, const TransportParameters& p) {
  const auto wrong = [](const char* reason) {
    return fail(TransportErrorCode::transport_parameter_error, reason);
  };
  if (!p.initial_source_connection_id ||
      *p.initial_source_connection_id != core.remote_cids.current()) {
    return wrong("initial_source_connection_id is missing or not the one of the packets");
  }
  if (core.side == Side::server) return {};
  if (!p.original_destination_connection_id ||
      *p.original_destination_connection_id != core.original_dcid) {
    return wrong("original_destination_connection_id is missing or not the one that was sent");
  }
  if (p.retry_source_connection_id != core.retry_scid) {
    return wrong("retry_source_connection_id does not agree with the Retry packet seen");
  }
  return {};
}

Status apply_peer_parameters(Core& core) {
  const Bytes encoded = core.tls->peer_transport_parameters();
  if (core.have_peer_parameters || encoded.empty()) return {};
  const auto sender =
      core.side == Side::client ? wire::ParameterSender::server : wire::ParameterSender::client;
  auto parsed = wire::parse_transport_parameters(encoded, sender);
  if (!parsed) return std::unexpected(parsed.error());
  QUASI_TRY(check_cids(core, *parsed));
  core.peer_parameters = *parsed;
  core.have_peer_parameters = true;
  const TransportParameters& p = core.peer_parameters;
  QUASI_TRY(core.streams.set_peer_limits(
      {.initial_max_data = p.initial_max_data,
       .initial_max_stream_data_bidi_local = p.initial_max_stream_data_bidi_local,
       .initial_max_stream_data_bidi_remote = p.initial_max_stream_data_bidi_remote,
       .initial_max_stream_data_uni = p.initial_max_stream_data_uni,
       .initial_max_streams_bidi = p.initial_max_streams_bidi,
       .initial_max_streams_uni = p.initial_max_streams_uni}));
  core.local_cids.set_peer_limit(p.active_connection_id_limit);
  core.recovery.set_peer_max_ack_delay(
      Duration::milliseconds(static_cast<std::int64_t>(p.max_ack_delay)));
  if (p.stateless_reset_token) {
    core.remote_cids.set_initial_token(*p.stateless_reset_token);
    core.watched_token = *p.stateless_reset_token;
    core.router->watch_reset_token(core.handle, nullptr, &*core.watched_token);
  }
  if (p.preferred_address) {
    // The server's other address is not moved to; its connection ID counts all the same.
    QUASI_TRY(core.remote_cids.add_preferred_address(p.preferred_address->connection_id,
                                                     p.preferred_address->reset_token));
  }
  core.mtu = MtuProber(core.config.mtu_discovery, peer_datagram_limit(core),
                       core.path.remote.family == SocketAddress::Family::ipv6);
  return {};
}

void install_keys(Core& core, const tls::KeyChange& change) {
  if (change.level == tls::Level::handshake) {
    install_long_header_keys(core, PacketSpace::handshake, change.keys);
    core.recovery.on_handshake_keys_available();
    return;
  }
  Space& space = core.application();
  space.can_send =
      core.phases.install(material(change.keys.local), material(change.keys.remote)).has_value();
  provide_next_keys(core);
  // RFC 9001 §5.7: a server opens 1-RTT packets only once the handshake is complete.
  space.can_receive = space.can_send && core.side == Side::client;
}

void on_handshake_complete(Core& core, Instant now) {
  core.phase = Phase::connected;
  core.handshake_deadline = Instant::never();
  core.application().can_receive = core.application().can_send;
  restart_idle_timer(core, now);
  core.events.push_back(Event{.kind = Event::Kind::connected, .connection = core.handle});
  if (const auto suite = core.tls->suite()) {
    core.stats.cipher_suite = static_cast<std::uint16_t>(*suite);
  }
  if (core.side == Side::client) return;
  core.wants_handshake_done = true;
  core.new_token = core.router->address_token(core.path.remote);
  core.wants_new_token = !core.new_token.empty();
  confirm_handshake(core, now);
}

/// Gives TLS what CRYPTO bytes are in order at the level it reads.
Status feed_tls(Core& core) {
  for (;;) {
    const tls::Level level = core.tls->read_level();
    const PacketSpace which = level == tls::Level::initial     ? PacketSpace::initial
                              : level == tls::Level::handshake ? PacketSpace::handshake
                                                               : PacketSpace::application;
    CryptoStream& crypto = core.space(which).crypto;
    const Bytes bytes = crypto.readable();
    if (bytes.empty()) return {};
    const std::size_t size = bytes.size();
    QUASI_TRY(core.tls->read_handshake(level, bytes));
    crypto.consume(size);
  }
}

Status run_tls(Core& core, Instant now) {
  QUASI_TRY(feed_tls(core));
  QUASI_TRY(apply_peer_parameters(core));
  std::vector<std::uint8_t> bytes;
  for (;;) {
    bytes.clear();
    const tls::HandshakeOutput output = core.tls->write_handshake(bytes);
    if (output.empty()) break;
    const PacketSpace which = output.level == tls::Level::initial     ? PacketSpace::initial
                              : output.level == tls::Level::handshake ? PacketSpace::handshake
                                                                      : PacketSpace::application;
    QUASI_TRY(core.space(which).crypto.write(bytes));
    if (output.keys) install_keys(core, *output.keys);
  }
  QUASI_TRY(apply_peer_parameters(core));
  if (core.phase == Phase::handshaking && !core.tls->is_handshaking()) {
    if (!core.have_peer_parameters) {
      // RFC 9001 §8.2: an endpoint that sends none gets missing_extension.
      return std::unexpected(
          Error{static_cast<TransportErrorCode>(
                    static_cast<std::uint64_t>(TransportErrorCode::crypto_error_base) + 109),
                0, "the peer sent no QUIC transport parameters"});
    }
    on_handshake_complete(core, now);
  }
  return {};
}

}  // namespace

void drive_handshake(Core& core, Instant now) {
  if (!core.is_open() || !core.tls) return;
  const Status status = run_tls(core, now);
  if (!status) close_with_error(core, status.error(), core.tls->error_text(), now);
}

Status start_client(Core& core, const ConnectOptions& options, Instant now) {
  core.client_tls = options.tls;
  core.version = wire::find_version(wire::kVersion1);
  core.path.remote = options.remote;
  core.path.validated = true;  // clients are not bound by the amplification limit
  core.token = options.token;
  core.local_cids.set_initial(core.router->issue_cid(core.handle));
  // RFC 9000 §7.2: at least eight unpredictable bytes.
  std::array<std::uint8_t, 8> random{};
  (*core.entropy)(random);
  core.original_dcid = *wire::ConnectionId::from(random);
  core.remote_cids.set_initial(core.original_dcid);
  const std::vector<std::uint8_t> parameters = encode(core, local_parameters(core));
  auto session =
      tls::Session::client(*options.tls, options.server_name, tls_version(core), parameters);
  if (!session) {
    return fail(TransportErrorCode::internal_error,
                "the server's name is neither a DNS name nor an IP address");
  }
  core.tls.emplace(std::move(*session));
  install_long_header_keys(
      core, PacketSpace::initial,
      tls::initial_keys(tls_version(core), core.original_dcid.bytes(), Side::client));
  core.handshake_deadline = now + core.config.handshake_timeout;
  restart_idle_timer(core, now);
  drive_handshake(core, now);
  return {};
}

Status start_server(Core& core, std::shared_ptr<const tls::ServerConfig> tls,
                    const wire::PacketView& initial, const wire::ConnectionId& original_dcid,
                    std::optional<wire::ConnectionId> retry_scid, bool validated,
                    const RxDatagram& datagram, Instant now) {
  core.server_tls = std::move(tls);
  core.version = initial.version;
  core.path.remote = datagram.remote;
  core.path.local = datagram.local;
  core.path.validated = validated;
  core.original_dcid = original_dcid;
  core.retry_scid = retry_scid;
  core.local_cids.set_initial(core.router->issue_cid(core.handle));
  core.remote_cids.set_initial(initial.scid);
  core.peer_cid_known = true;
  wire::TransportParameters parameters = local_parameters(core);
  parameters.original_destination_connection_id = original_dcid;
  parameters.retry_source_connection_id = retry_scid;
  parameters.stateless_reset_token = core.router->reset_token(core.local_cids.handshake_cid());
  auto session =
      tls::Session::server(*core.server_tls, tls_version(core), encode(core, parameters));
  if (!session) return fail(TransportErrorCode::internal_error, "TLS cannot be started");
  core.tls.emplace(std::move(*session));
  install_long_header_keys(
      core, PacketSpace::initial,
      tls::initial_keys(tls_version(core), initial.dcid.bytes(), Side::server));
  core.handshake_deadline = now + core.config.handshake_timeout;
  restart_idle_timer(core, now);
  return {};
}

void confirm_handshake(Core& core, Instant now) {
  if (core.confirmed) return;
  core.confirmed = true;
  core.recovery.on_handshake_confirmed();
  core.phases.on_handshake_confirmed();
  discard_space(core, PacketSpace::initial, now);
  // RFC 9001 §4.9.2.
  discard_space(core, PacketSpace::handshake, now);
  core.events.push_back(Event{.kind = Event::Kind::confirmed, .connection = core.handle});
}

void discard_space(Core& core, PacketSpace which, Instant now) {
  Space& space = core.space(which);
  if (space.discarded) return;
  space.discarded = true;
  space.can_receive = space.can_send = false;
  space.probes = 0;
  space.open.reset();
  space.seal.reset();
  space.crypto.release();
  core.recovery.discard_space(which, now);
}

void on_retry(Core& core, const wire::PacketView& packet, Instant now) {
  // RFC 9000 §17.2.5.2: clients only, once, and only before anything else was heard.
  if (core.side != Side::client || core.heard_from_peer || core.retry_scid ||
      core.phase != Phase::handshaking || packet.token.empty() || packet.version != core.version ||
      packet.scid == core.remote_cids.current()) {
    return;
  }
  if (!protect::RetryIntegrity(*core.version).verify(core.original_dcid, packet)) return;
  core.retry_scid = packet.scid;
  core.remote_cids.set_initial(packet.scid);
  core.token.assign(packet.token.begin(), packet.token.end());
  install_long_header_keys(core, PacketSpace::initial,
                           tls::initial_keys(tls_version(core), packet.scid.bytes(), Side::client));
  LossSink sink(core);
  core.recovery.requeue_all(PacketSpace::initial, sink);
  core.space(PacketSpace::initial).crypto.resend_all();
  restart_idle_timer(core, now);
}

void on_version_negotiation(Core& core, const wire::PacketView& packet, Instant) {
  // RFC 9000 §6.2: ignored by servers, after any other packet, and when it lists the
  // version in use (then it is a forgery or a fault).
  if (core.side != Side::client || core.heard_from_peer || core.retry_scid ||
      core.phase != Phase::handshaking) {
    return;
  }
  const wire::VersionList versions(packet);
  if (versions.contains(core.version->number)) return;
  if (packet.dcid != core.local_cids.handshake_cid() || packet.scid != core.remote_cids.current()) {
    return;
  }
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(versions.size(), 8); ++i) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%s%08x", i == 0 ? "" : " ", versions[i]);
    list += text.data();
  }
  end_silently(core, CloseReason::Kind::version_negotiation, "it speaks " + list);
}

}  // namespace quasi::connection
