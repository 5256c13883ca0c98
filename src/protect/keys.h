// Keys that protect the packets of one encryption level in one direction (RFC
// 9001 §5): AEAD key and IV, and the header protection key. Raw bytes come from
// TLS; here they are expanded once, and wiped on destruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quasi/aead.h"
#include "quasi/bytes.h"
#include "quasi/result.h"

namespace quasi::protect {

/// Views of raw keys; used only during the call that takes them.
struct KeyMaterial {
  aead::Algorithm algorithm = aead::Algorithm::aes_128_gcm;
  Bytes key;
  Bytes iv;          // 12 bytes
  Bytes header_key;  // not used by key updates, which keep it (RFC 9001 §6)
};

/// An AEAD key with its IV.
class PacketKey {
 public:
  PacketKey() = default;
  PacketKey(PacketKey&&) = default;
  PacketKey& operator=(PacketKey&&) = default;
  ~PacketKey() { secure_wipe(iv_.data(), iv_.size()); }

  /// Expands key and IV; fails when their sizes are not the algorithm's.
  [[nodiscard]] Status install(const KeyMaterial& material);
  void reset();
  explicit operator bool() const { return static_cast<bool>(aead_); }

  [[nodiscard]] const aead::AeadKey& aead() const { return aead_; }
  [[nodiscard]] aead::Algorithm algorithm() const { return algorithm_; }
  /// RFC 9001 §5.3: the IV exclusive-or the packet number.
  [[nodiscard]] std::array<std::uint8_t, aead::kNonceSize> nonce(
      std::uint64_t packet_number) const {
    std::array<std::uint8_t, aead::kNonceSize> nonce = iv_;
    store_be(nonce.data() + 4, load_be<std::uint64_t>(nonce.data() + 4) ^ packet_number);
    return nonce;
  }

 private:
  aead::AeadKey aead_;
  std::array<std::uint8_t, aead::kNonceSize> iv_{};
  aead::Algorithm algorithm_ = aead::Algorithm::aes_128_gcm;
};

/// Everything that protects one level in one direction. About 20 KiB.
struct ProtectionKeys {
  PacketKey packet;
  aead::HeaderKey header;

  [[nodiscard]] Status install(const KeyMaterial& material);
  void reset();
  explicit operator bool() const { return static_cast<bool>(packet); }
};

}  // namespace quasi::protect
