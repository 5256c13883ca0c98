// The keys of 1-RTT packets and their updates (RFC 9001 §6): which key opens a
// packet, when a packet of the peer means an update, when we may and must start
// one, how long old keys live, and the AEAD's limits (§6.6). Key generations are
// counted from 0; the Key Phase bit is their lowest bit. TLS derives the keys: the
// owner hands over the next generation whenever wants_next() says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "protect/keys.h"
#include "quasi/aead.h"
#include "quasi/result.h"
#include "quasi/time.h"

namespace quasi::protect {

class KeyPhases {
 public:
  /// Generation 0. `local` protects what is sent, `remote` what is received.
  [[nodiscard]] Status install(const KeyMaterial& local, const KeyMaterial& remote);
  [[nodiscard]] bool installed() const { return receive_key_ != nullptr; }

  /// Updates are started after so many sent packets, if not earlier by the AEAD's
  /// limit. 0: only by the limit.
  void set_update_interval(std::uint64_t packets) { update_interval_ = packets; }

  /// Whether set_next() should be called: once after install(), and after each update.
  [[nodiscard]] bool wants_next() const { return installed() && !has_next_; }
  /// Keys of the generation after the receiving one. Header keys are not needed.
  [[nodiscard]] Status set_next(const KeyMaterial& local, const KeyMaterial& remote);

  // Receiving: PacketOpener calls choose(), receive_key() and on_opened().

  [[nodiscard]] const aead::HeaderKey& receive_header_key() const { return receive_header_key_; }
  enum class Choice : std::uint8_t { none, previous, current, next };
  /// Which keys open a packet (§6.3, §6.5), by its Key Phase bit and number.
  [[nodiscard]] Choice choose(bool phase_bit, std::uint64_t packet_number) const {
    if (phase_bit == ((receive_generation_ & 1) != 0)) [[likely]]
      return Choice::current;
    // Numbers order the phases: what is older than the first packet of this phase
    // belongs to the one before.
    if (packet_number < first_received_) return previous_ ? Choice::previous : Choice::none;
    return has_next_ ? Choice::next : Choice::none;
  }
  /// `choice` must come from choose() since the last change, and not be none.
  [[nodiscard]] const PacketKey& receive_key(Choice choice);
  [[nodiscard]] std::uint64_t generation(Choice choice) const {
    return receive_generation_ + (choice == Choice::next ? 1U : 0U) -
           (choice == Choice::previous ? 1U : 0U);
  }
  /// A packet was opened with the keys of `generation`. The first one of the next
  /// generation is the peer's key update, or its answer to ours, and moves both
  /// directions on. KEY_UPDATE_ERROR for packet numbers that contradict the order
  /// of updates (§6.4) and for updates that follow each other too fast (§6.2).
  [[nodiscard]] Status on_opened(std::uint64_t packet_number, std::uint64_t generation, Instant now,
                                 Duration pto);
  /// `count` packets did not authenticate: AEAD_LIMIT_REACHED at the limit (§6.6).
  [[nodiscard]] Status on_forged(std::uint64_t count);
  /// Drops old keys whose time is over.
  void expire(Instant now) {
    if (previous_ && now >= previous_deadline_) previous_.reset();
  }

  // Acknowledgements, which make room for the next update. Both calls matter: without
  // the first, a peer's second update looks too early; without the second, ours is.

  /// We sent an ACK frame up to `largest`.
  void on_ack_sent(std::uint64_t largest) {
    if (largest >= first_received_) receive_acked_ = true;
  }
  /// An ACK frame up to `largest` came in a packet of key generation `generation`.
  /// KEY_UPDATE_ERROR when it acknowledges newer keys than it uses (§6.2).
  [[nodiscard]] Status on_ack_received(std::uint64_t largest, std::uint64_t generation);

  // Sending: PacketSealer calls send_key() and on_sealed().

  [[nodiscard]] const aead::HeaderKey& send_header_key() const { return send_header_key_; }
  [[nodiscard]] const PacketKey& send_key() const { return *send_key_; }
  /// The Key Phase bit of packets that are built now. Seal them before anything
  /// else happens to this object.
  [[nodiscard]] bool send_phase_bit() const { return (send_generation_ & 1) != 0; }
  [[nodiscard]] std::uint64_t send_generation() const { return send_generation_; }
  [[nodiscard]] std::uint64_t receive_generation() const { return receive_generation_; }
  /// Packets that may still be sealed with the current key. At 0 the connection
  /// has to stop sending: AEAD_LIMIT_REACHED.
  [[nodiscard]] std::uint64_t packets_left() const {
    return sealed_ < confidentiality_limit_ ? confidentiality_limit_ - sealed_ : 0;
  }
  /// `count` packets from number `first` upwards are sealed with send_key().
  void on_sealed(std::uint64_t first, std::uint64_t count) {
    if (!first_sent_) first_sent_ = first;
    sealed_ += count;
  }

  // Our own updates.

  void on_handshake_confirmed() { confirmed_ = true; }
  /// §6.1, §6.5: the handshake is confirmed, the last update was answered and
  /// acknowledged, the keys before it are gone, and the next ones are known.
  [[nodiscard]] bool may_update(Instant now);
  /// may_update(), and enough was sent under this key. Cheap while it was not.
  [[nodiscard]] bool should_update(Instant now) {
    return sealed_ >= update_threshold() && may_update(now);
  }
  /// Starts an update, if may_update(): what is built from now on has the new phase.
  bool start_update(Instant now);

 private:
  /// Raw keys of one direction, until they are needed.
  struct RawKey {
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, aead::kNonceSize> iv{};

    [[nodiscard]] bool set(aead::Algorithm algorithm, const KeyMaterial& material);
    [[nodiscard]] KeyMaterial material(aead::Algorithm algorithm) const;
    ~RawKey() { secure_wipe(this, sizeof *this); }
  };
  [[nodiscard]] std::uint64_t update_threshold() const;
  [[nodiscard]] Status move_receive_keys(std::uint64_t packet_number, Instant now, Duration pto);
  void move_send_keys();

  aead::Algorithm algorithm_ = aead::Algorithm::aes_128_gcm;
  aead::HeaderKey send_header_key_;
  aead::HeaderKey receive_header_key_;
  // An expanded key has 18 KiB. Only the first two are there all the time.
  std::unique_ptr<PacketKey> send_key_;
  std::unique_ptr<PacketKey> receive_key_;
  std::unique_ptr<PacketKey> next_receive_;  // expanded when a packet asks for it
  std::unique_ptr<PacketKey> previous_;
  RawKey next_local_;
  RawKey next_remote_;

  std::uint64_t receive_generation_ = 0;
  std::uint64_t send_generation_ = 0;  // equal, or one ahead while our update is unanswered
  /// Lowest packet number opened in the current receive generation; 0 in the first.
  std::uint64_t first_received_ = 0;
  /// One more than the highest packet number opened in it, and before it.
  std::uint64_t end_of_current_ = 0;
  std::uint64_t end_of_previous_ = 0;
  std::optional<std::uint64_t> first_sent_;  // in the current send generation
  Instant previous_deadline_;
  std::uint64_t sealed_ = 0;  // under the current send key
  std::uint64_t forged_ = 0;  // under all keys
  std::uint64_t confidentiality_limit_ = 0;
  std::uint64_t integrity_limit_ = 0;
  std::uint64_t update_interval_ = 0;
  bool has_next_ = false;
  bool confirmed_ = false;
  bool send_acked_ = false;     // the peer acknowledged the current send generation
  bool receive_acked_ = false;  // we acknowledged the current receive generation
};

}  // namespace quasi::protect
