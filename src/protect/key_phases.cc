// Key updates (see protect/key_phases.h).
#include "protect/key_phases.h"

#include <algorithm>

#include "base/limits.h"

namespace quasi::protect {
namespace {

std::unexpected<Error> key_update_error(const char* reason) {
  return fail(TransportErrorCode::key_update_error, reason);
}

}  // namespace

bool KeyPhases::RawKey::set(aead::Algorithm algorithm, const KeyMaterial& material) {
  if (material.key.size() != aead::key_size(algorithm) || material.iv.size() != iv.size()) {
    return false;
  }
  std::ranges::copy(material.key, key.begin());
  std::ranges::copy(material.iv, iv.begin());
  return true;
}

KeyMaterial KeyPhases::RawKey::material(aead::Algorithm algorithm) const {
  return {algorithm, Bytes(key).first(aead::key_size(algorithm)), iv, {}};
}

Status KeyPhases::install(const KeyMaterial& local, const KeyMaterial& remote) {
  auto send_key = std::make_unique<PacketKey>();
  auto receive_key = std::make_unique<PacketKey>();
  QUASI_TRY(send_key->install(local));
  QUASI_TRY(receive_key->install(remote));
  QUASI_TRY(send_header_key_.expand(local.algorithm, local.header_key));
  QUASI_TRY(receive_header_key_.expand(remote.algorithm, remote.header_key));
  send_key_ = std::move(send_key);
  receive_key_ = std::move(receive_key);
  algorithm_ = local.algorithm;
  if (algorithm_ == aead::Algorithm::chacha20_poly1305) {
    confidentiality_limit_ = limits::kMaxVarint;
    integrity_limit_ = limits::kChaChaIntegrityLimit;
  } else {
    confidentiality_limit_ = limits::kAesGcmConfidentialityLimit;
    integrity_limit_ = limits::kAesGcmIntegrityLimit;
  }
  return {};
}

Status KeyPhases::set_next(const KeyMaterial& local, const KeyMaterial& remote) {
  if (!next_local_.set(algorithm_, local) || !next_remote_.set(algorithm_, remote)) {
    return fail(TransportErrorCode::internal_error,
                "keys of the next key phase do not have the sizes of the current ones");
  }
  has_next_ = true;
  return {};
}

const PacketKey& KeyPhases::receive_key(Choice choice) {
  if (choice == Choice::previous) return *previous_;
  if (choice != Choice::next) return *receive_key_;
  if (!next_receive_) {
    // TLS has derived the key long ago (RFC 9001 §9.5 warns of the delay that a
    // derivation would show); expanding it takes about a microsecond.
    next_receive_ = std::make_unique<PacketKey>();
    // RawKey::set() has checked the sizes, and nothing else can fail.
    (void)next_receive_->install(next_remote_.material(algorithm_));
  }
  return *next_receive_;
}

Status KeyPhases::on_opened(std::uint64_t packet_number, std::uint64_t generation, Instant now,
                            Duration pto) {
  if (generation == receive_generation_) [[likely]] {
    if (packet_number < end_of_previous_) {
      return key_update_error("new keys were used for a lower packet number than old keys");
    }
    first_received_ = std::min(first_received_, packet_number);
    end_of_current_ = std::max(end_of_current_, packet_number + 1);
    return {};
  }
  if (generation > receive_generation_) return move_receive_keys(packet_number, now, pto);
  // Old keys; also packets that were opened before the update in the same group.
  if (packet_number >= first_received_) {
    return key_update_error("old keys were used for a higher packet number than new keys");
  }
  end_of_previous_ = std::max(end_of_previous_, packet_number + 1);
  return {};
}

Status KeyPhases::move_receive_keys(std::uint64_t packet_number, Instant now, Duration pto) {
  if (packet_number < end_of_current_ || packet_number < end_of_previous_) {
    return key_update_error("new keys were used for a lower packet number than old keys");
  }
  // RFC 9001 §6.2. The first update needs no acknowledgement before it.
  if (receive_generation_ != 0 && !receive_acked_) {
    return key_update_error("keys were updated again before the last update was acknowledged");
  }
  previous_ = std::move(receive_key_);
  receive_key_ = std::move(next_receive_);
  ++receive_generation_;
  previous_deadline_ = now + pto * 3;  // RFC 9001 §6.5
  end_of_previous_ = std::max(end_of_previous_, end_of_current_);
  first_received_ = packet_number;
  end_of_current_ = packet_number + 1;
  receive_acked_ = false;
  if (send_generation_ < receive_generation_) move_send_keys();
  has_next_ = false;
  next_local_ = RawKey();
  next_remote_ = RawKey();
  return {};
}

void KeyPhases::move_send_keys() {
  (void)send_key_->install(next_local_.material(algorithm_));  // sizes were checked by set()
  ++send_generation_;
  first_sent_.reset();
  send_acked_ = false;
  sealed_ = 0;
}

Status KeyPhases::on_forged(std::uint64_t count) {
  forged_ = forged_ > limits::kMaxVarint - count ? limits::kMaxVarint : forged_ + count;
  if (forged_ < integrity_limit_) [[likely]]
    return {};
  return fail(TransportErrorCode::aead_limit_reached,
              "too many packets failed to authenticate under these keys");
}

Status KeyPhases::on_ack_received(std::uint64_t largest, std::uint64_t generation) {
  if (send_acked_ || !first_sent_ || largest < *first_sent_) [[likely]] {
    return {};
  }
  if (generation < send_generation_) {
    return key_update_error("packets with new keys were acknowledged under old keys");
  }
  send_acked_ = true;
  return {};
}

bool KeyPhases::may_update(Instant now) {
  expire(now);
  return confirmed_ && has_next_ && send_generation_ == receive_generation_ && !previous_ &&
         (send_generation_ == 0 || send_acked_);
}

std::uint64_t KeyPhases::update_threshold() const {
  // Half of the limit leaves time for the peer's answer to the update before.
  const std::uint64_t by_limit = confidentiality_limit_ / 2;
  return update_interval_ == 0 ? by_limit : std::min(by_limit, update_interval_);
}

bool KeyPhases::start_update(Instant now) {
  if (!may_update(now)) return false;
  move_send_keys();
  return true;
}

}  // namespace quasi::protect
