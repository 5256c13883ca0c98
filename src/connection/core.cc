// Construction of a connection's state (see core.h).
#include "connection/core.h"

namespace quasi::connection {
namespace {

std::uint64_t random_number(const Entropy& entropy) {
  std::array<std::uint8_t, 8> bytes{};
  entropy(bytes);
  return load_le<std::uint64_t>(bytes.data());
}

StreamConfig stream_config(Side side, const TransportConfig& config, const Entropy& entropy) {
  return {.side = side,
          .max_streams_bidi = config.max_streams_bidi,
          .max_streams_uni = config.max_streams_uni,
          .stream_window = config.initial_stream_window,
          .max_stream_window = config.max_stream_window,
          .connection_window = config.initial_connection_window,
          .max_connection_window = config.max_connection_window,
          .send_buffer = config.send_buffer,
          // Peers choose stream IDs: they must not know which ones collide.
          .table_seed = random_number(entropy)};
}

recovery::RecoveryConfig recovery_config(Side side, const TransportConfig& config,
                                         const Entropy& entropy) {
  recovery::RecoveryConfig result;
  result.side = side;
  result.congestion_controller = config.congestion_controller;
  result.max_datagram_size = limits::kMinDatagramSize;
  result.skip_seed = random_number(entropy) | 1;
  return result;
}

}  // namespace

Core::Core(Side which, const TransportConfig& transport, BufferPool& blocks,
           const Entropy& randomness, Router& routes, Workspace& scratch, ConnectionHandle name)
    : handle(name),
      side(which),
      config(transport),
      entropy(&randomness),
      router(&routes),
      workspace(&scratch),
      streams(stream_config(which, transport, randomness), blocks),
      spaces{Space(PacketSpace::initial, blocks, streams.account()),
             Space(PacketSpace::handshake, blocks, streams.account()),
             Space(PacketSpace::application, blocks, streams.account())},
      recovery(recovery_config(which, transport, randomness)),
      mtu(false, limits::kMinDatagramSize, false) {
  application().acks.set_policy({.max_ack_delay = transport.max_ack_delay,
                                 .eliciting_threshold = transport.ack_eliciting_threshold});
  phases.set_update_interval(transport.key_update_interval);
}

}  // namespace quasi::connection
