// The state of one connection and the operations on it, as a plain struct and free
// functions: receiving (receive.cc, frames_in.cc), the handshake (handshake.cc),
// sending (transmit.cc, packet_writer.cc), timers and the end (timers.cc, close.cc).
// Nothing here touches a socket or a clock. What the connection wants sent is held
// as state ("this limit", "that stream"), never as a queue of frames, so a peer that
// withholds acknowledgements cannot make anything grow.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connection/crypto_stream.h"
#include "connection/local_cids.h"
#include "connection/path.h"
#include "connection/remote_cids.h"
#include "connection/stream_map.h"
#include "protect/key_phases.h"
#include "protect/keys.h"
#include "protect/packet_opener.h"
#include "protect/packet_sealer.h"
#include "quasi/connection.h"
#include "quasi/endpoint.h"
#include "quasi/port.h"
#include "recovery/ack_tracker.h"
#include "recovery/loss_recovery.h"
#include "tls/config.h"
#include "tls/session.h"
#include "wire/connection_id.h"
#include "wire/packet_header.h"
#include "wire/transport_parameters.h"
#include "wire/version.h"

namespace quasi::connection {

using recovery::PacketSpace;

/// What a connection needs of the endpoint that routes to it.
class Router {
 public:
  virtual ~Router() = default;
  /// Makes a fresh connection ID and routes it to the connection.
  [[nodiscard]] virtual wire::ConnectionId issue_cid(ConnectionHandle connection) = 0;
  virtual void retire_cid(const wire::ConnectionId& cid) = 0;
  [[nodiscard]] virtual ResetToken reset_token(const wire::ConnectionId& cid) = 0;
  /// Routes datagrams that end with `token` here; `old_token` no longer does.
  virtual void watch_reset_token(ConnectionHandle connection, const ResetToken* old_token,
                                 const ResetToken* token) = 0;
  /// A token for NEW_TOKEN that proves the address later (RFC 9000 §8.1.3).
  [[nodiscard]] virtual std::vector<std::uint8_t> address_token(const SocketAddress& remote) = 0;
  /// The connection has something to send or to tell although no packet came.
  virtual void wake(ConnectionHandle connection) = 0;
};

/// Scratch space of packet protection, one for all connections of an endpoint.
struct Workspace {
  /// The 1-RTT packets of a burst, until they are opened together.
  struct Group {
    std::array<protect::RxPacket, protect::PacketOpener::kMaxGroup> packets;
    std::array<const RxDatagram*, protect::PacketOpener::kMaxGroup> datagrams{};
    std::size_t count = 0;
  };
  /// Packets that were built and wait for their protection, by level.
  struct Unsealed {
    std::array<std::array<protect::TxPacket, TxBatch::kCapacity>, recovery::kPacketSpaces> packets;
    std::array<std::size_t, recovery::kPacketSpaces> count{};
  };
  Group group;
  Unsealed unsealed;
  protect::PacketOpener opener;
  protect::PacketSealer sealer;
};

enum class Phase : std::uint8_t {
  handshaking,
  connected,  // handshake complete
  closing,    // CONNECTION_CLOSE is sent, and again for what still comes
  draining,   // the peer closed, or vanished: nothing is sent
  gone,       // the endpoint may forget it
};

/// One packet number space with its CRYPTO stream.
struct Space {
  Space(PacketSpace which, BufferPool& blocks, RecvAccount& account)
      : acks(which), crypto(blocks, account) {}

  recovery::AckTracker acks;
  CryptoStream crypto;
  /// Initial and Handshake keys, as long as they live; the application space has
  /// `phases` instead.
  std::unique_ptr<protect::ProtectionKeys> open, seal;
  bool can_receive = false;
  bool can_send = false;
  bool discarded = false;
  /// Ack-eliciting packets to send although the window is full (RFC 9002 §6.2.4).
  unsigned probes = 0;
};

/// A packet that came before its keys.
struct EarlyPacket {
  RxDatagram datagram;  // data and size are those of the packet
};

/// The answer to a PATH_CHALLENGE that came from an address which is not a path.
struct ProbeReply {
  ChallengeData data{};
  SocketAddress remote, local;
  std::uint64_t received = 0;  // RFC 9000 §8.1: three times that may be sent
};

struct Core {
  Core(Side side, const TransportConfig& config, BufferPool& blocks, const Entropy& entropy,
       Router& router, Workspace& workspace, ConnectionHandle handle);

  // --- Identity
  ConnectionHandle handle;
  Side side;
  TransportConfig config;
  const Entropy* entropy;
  Router* router;
  Workspace* workspace;
  const wire::VersionInfo* version = nullptr;

  // --- Handshake
  std::shared_ptr<const tls::ClientConfig> client_tls;
  std::shared_ptr<const tls::ServerConfig> server_tls;
  std::optional<tls::Session> tls;
  Phase phase = Phase::handshaking;
  bool confirmed = false;
  bool heard_from_peer = false;  // a packet was authenticated
  bool peer_cid_known = false;   // the peer's first source ID was taken
  bool have_peer_parameters = false;
  wire::TransportParameters peer_parameters;
  wire::ConnectionId original_dcid;
  std::optional<wire::ConnectionId> retry_scid;
  std::vector<std::uint8_t> token;           // client: for Initials; from Retry or given
  std::vector<std::uint8_t> received_token;  // client: the newest NEW_TOKEN
  std::vector<std::uint8_t> new_token;       // server: to be sent in NEW_TOKEN
  bool wants_handshake_done = false;
  bool wants_new_token = false;
  std::array<EarlyPacket, limits::kMaxEarlyPackets> early;
  std::size_t early_count = 0;

  // --- Protection, packets, recovery
  StreamMap streams;
  std::array<Space, recovery::kPacketSpaces> spaces;
  protect::KeyPhases phases;
  recovery::LossRecovery recovery;
  bool key_update_requested = false;  // by the application; done when RFC 9001 §6.1 lets us

  // --- Addresses
  LocalCids local_cids;
  RemoteCids remote_cids;
  std::optional<ResetToken> watched_token;
  Path path;
  std::optional<Path> previous_path;  // until the new one is validated (RFC 9000 §9.3.2)
  std::optional<ProbeReply> probe_reply;
  MtuProber mtu;
  bool recovery_mtu_changed = false;  // a probe was acknowledged; recovery is told later

  // --- DATAGRAM frames (RFC 9221)
  std::deque<std::string> datagrams_out, datagrams_in;
  std::size_t datagram_bytes_out = 0, datagram_bytes_in = 0;

  // --- Timers
  Instant idle_deadline = Instant::never();
  Instant handshake_deadline = Instant::never();
  Instant close_deadline = Instant::never();
  Instant pacing_deadline = Instant::never();
  bool eliciting_sent_since_receive = false;

  // --- The end
  CloseReason close_reason;
  bool close_requested = false;        // by the application; acted upon by transmit()
  bool close_wanted = false;           // a CONNECTION_CLOSE has to be sent
  std::uint32_t closing_received = 0;  // packets that came while closing

  // --- Events and figures
  std::deque<Event> events;
  ConnectionStats stats;
  std::uint64_t glitches = 0;  // useless but legal frames; see limits::kMaxGlitches

  [[nodiscard]] Space& space(PacketSpace s) { return spaces[recovery::index_of(s)]; }
  [[nodiscard]] const Space& space(PacketSpace s) const { return spaces[recovery::index_of(s)]; }
  [[nodiscard]] const Space& application() const { return space(PacketSpace::application); }
  [[nodiscard]] Space& application() { return space(PacketSpace::application); }
  [[nodiscard]] bool is_open() const {
    return phase == Phase::handshaking || phase == Phase::connected;
  }
};

// --- handshake.cc
/// Starts a client's handshake towards `options.remote`.
[[nodiscard]] Status start_client(Core& core, const ConnectOptions& options, Instant now);
/// Prepares a server connection for the client's first Initial packet. `retry_scid`
/// when a Retry was answered; `validated`: the client proved its address.
[[nodiscard]] Status start_server(Core& core, std::shared_ptr<const tls::ServerConfig> tls,
                                  const wire::PacketView& initial,
                                  const wire::ConnectionId& original_dcid,
                                  std::optional<wire::ConnectionId> retry_scid, bool validated,
                                  const RxDatagram& datagram, Instant now);
/// Moves bytes between CRYPTO streams and TLS and installs what keys come of it.
void drive_handshake(Core& core, Instant now);
/// Derives the keys of the next key phase when there are none waiting.
void provide_next_keys(Core& core);
void on_retry(Core& core, const wire::PacketView& packet, Instant now);
void on_version_negotiation(Core& core, const wire::PacketView& packet, Instant now);
/// Client: HANDSHAKE_DONE arrived. Server: the handshake is complete.
void confirm_handshake(Core& core, Instant now);
void discard_space(Core& core, PacketSpace space, Instant now);

// --- receive.cc
/// Takes a burst of datagrams that were routed to this connection.
void receive(Core& core, std::span<RxDatagram* const> datagrams, Instant now);

// --- frames_in.cc
struct PacketContext {
  PacketSpace space = PacketSpace::application;
  wire::PacketType type = wire::PacketType::one_rtt;
  std::uint64_t packet_number = 0;
  const RxDatagram* datagram = nullptr;
  wire::ConnectionId dcid;
  std::uint64_t key_generation = 0;
  // Found out while the frames are handled.
  bool ack_eliciting = false;
  bool non_probing = false;
};
/// Handles the frames of an authenticated packet; an error closes the connection.
template <class Direction>
[[nodiscard]] Status handle_frames(Core& core, Bytes payload, PacketContext& packet, Instant now);

// --- transmit.cc
/// Adds datagrams to the batch; false when there was nothing to send.
[[nodiscard]] bool transmit(Core& core, TxBatch& batch, Instant now);

// --- timers.cc
[[nodiscard]] Instant next_timeout(const Core& core);
void on_timeout(Core& core, Instant now);
void restart_idle_timer(Core& core, Instant now);

// --- close.cc
/// Closes with an error found here; the first reason counts.
void close_with_error(Core& core, const Error& error, const std::string& detail, Instant now);
/// Carries out Connection::close(), whose reason is already set.
void close_by_application(Core& core, Instant now);
/// The peer's CONNECTION_CLOSE.
void on_peer_close(Core& core, const wire::ConnectionCloseFrame& frame, Instant now);
void on_stateless_reset(Core& core, Instant now);
/// Ends without a word: idle, handshake timeout, version negotiation.
void end_silently(Core& core, CloseReason::Kind kind, std::string reason);

// --- path_in.cc
/// Client address changes, PATH_CHALLENGE and PATH_RESPONSE.
void on_path_packet(Core& core, const RxDatagram& datagram, bool non_probing, bool newest,
                    Instant now);
void on_path_challenge(Core& core, const ChallengeData& data, const RxDatagram& datagram);
void on_path_response(Core& core, const ChallengeData& data, Instant now);
/// Largest datagram that both sides' parameters allow.
[[nodiscard]] std::size_t peer_datagram_limit(const Core& core);
/// The connection ID in use changed: its reset token is the one to watch for.
void watch_current_token(Core& core);

/// Printable ASCII of at most 512 bytes.
[[nodiscard]] std::string printable(Bytes text);

}  // namespace quasi::connection
