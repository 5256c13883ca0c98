// For tests: a peer without manners. It completes a real handshake with a real TLS
// session and then sends whatever plaintext it is given, correctly protected, in
// packets of any type with any packet number; and it keeps a record of what came
// back. It obeys no limit, acknowledges only if told to, and repeats nothing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "protect/keys.h"
#include "protect/packet_opener.h"
#include "protect/packet_sealer.h"
#include "quasi/connection.h"
#include "tls/session.h"
#include "wire/frame.h"
#include "wire/packet_header.h"
#include "wire/transport_parameters.h"

namespace quasi::hostile {

using ByteVector = std::vector<std::uint8_t>;

/// Connection IDs of raw peers start with these bytes, by which tests know them.
inline constexpr std::array<std::uint8_t, 4> kRawCidPrefix = {0xba, 0xdb, 0xad, 0x00};

class RawPeer {
 public:
  struct Options {
    /// Changes the transport parameters before they are encoded.
    std::function<void(wire::TransportParameters&)> parameters;
    /// Appended to the encoded parameters.
    ByteVector more_parameters;
    ByteVector token;                                 // client: of its Initials
    std::uint8_t name = 1;                            // tells raw peers of one test apart
    bool acknowledges = true;                         // sends ACK frames
    bool sends_handshake_done = true;                 // server
    std::optional<wire::ConnectionId> original_dcid;  // client: instead of its own choice
    std::optional<wire::ConnectionId> scid;           // instead of the one of its name
  };
  using Send = std::function<void(Bytes datagram)>;

  RawPeer(Side side, Options options, Send send);

  /// Client: sends the first Initial. `tls` must outlive the handshake.
  void connect(const tls::ClientConfig& tls);
  /// Server: `first` is the client's first datagram.
  void accept(const tls::ServerConfig& tls, Bytes first);
  /// A datagram that came for this peer.
  void receive(Bytes datagram);

  /// One packet with `payload` as its frames.
  [[nodiscard]] ByteVector packet(wire::PacketType type, Bytes payload,
                                  std::optional<std::uint64_t> number = std::nullopt);
  /// Sends it in a datagram of its own (padded behind the packet where servers ask).
  void send(wire::PacketType type, Bytes payload,
            std::optional<std::uint64_t> number = std::nullopt);
  void send_datagram(Bytes datagram) { send_(datagram); }
  /// Acknowledges all that came in the space of `type`.
  void acknowledge(wire::PacketType type);
  /// From now on 1-RTT packets are sent and opened with the next keys.
  void update_keys();

  [[nodiscard]] bool complete() const {
    return tls_ && !tls_->is_handshaking() && has_application_;
  }
  [[nodiscard]] const wire::ConnectionId& scid() const { return scid_; }
  [[nodiscard]] const wire::ConnectionId& dcid() const { return dcid_; }
  void set_dcid(const wire::ConnectionId& cid) { dcid_ = cid; }
  [[nodiscard]] const wire::ConnectionId& original_dcid() const { return original_dcid_; }
  [[nodiscard]] std::uint64_t next_number(wire::PacketType type) const {
    return spaces_[index(type)].next;
  }
  void skip_numbers(wire::PacketType type, std::uint64_t count) {
    spaces_[index(type)].next += count;
  }
  [[nodiscard]] const IntervalSet& received(wire::PacketType type) const {
    return spaces_[index(type)].received;
  }

  struct Close {
    std::uint64_t code = 0, frame_type = 0;
    bool application = false;
  };
  // What came back.
  std::optional<Close> close;
  std::optional<Error> tls_error;
  std::size_t datagrams = 0, bytes = 0, undecryptable = 0;
  std::map<wire::FrameKind, std::size_t> frames;
  std::vector<wire::NewConnectionIdFrame> new_cids;
  std::vector<wire::PathData> challenges, responses;
  std::uint64_t max_data = 0, max_streams_bidi = 0;
  std::map<std::uint64_t, std::size_t> stop_sendings, reset_streams;  // by stream
  std::optional<wire::AckFrame> last_ack;                             // without its ranges' bytes
  bool acknowledges = true;

 private:
  struct Space {
    protect::ProtectionKeys open, seal;
    bool has_keys = false;
    std::uint64_t next = 0;      // packet number
    std::uint64_t expected = 0;  // of the peer
    IntervalSet received{64};
    bool wants_ack = false;
    std::uint64_t crypto_sent = 0;
    std::uint64_t crypto_read = 0;
    std::map<std::uint64_t, ByteVector> crypto;  // by offset
  };

  [[nodiscard]] static std::size_t index(wire::PacketType type) {
    return type == wire::PacketType::initial ? 0 : type == wire::PacketType::handshake ? 1 : 2;
  }
  [[nodiscard]] ByteVector encoded_parameters() const;
  void install_initial_keys();
  void install(Space& space, const tls::KeyPair& keys);
  void handle_payload(wire::PacketType type, Bytes payload, bool& eliciting);
  void drive();

  Side side_;
  Options options_;
  Send send_;
  std::optional<tls::Session> tls_;
  std::array<Space, 3> spaces_;
  protect::PacketOpener opener_;
  protect::PacketSealer sealer_;
  wire::ConnectionId scid_, dcid_, original_dcid_;
  bool peer_cid_known_ = false;
  bool has_application_ = false;
  bool handshake_done_sent_ = false;
  bool key_phase_ = false;
};

}  // namespace quasi::hostile
