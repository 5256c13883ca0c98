// Installing keys (see protect/keys.h).
#include "protect/keys.h"

#include <algorithm>

namespace quasi::protect {

Status PacketKey::install(const KeyMaterial& material) {
  if (material.iv.size() != iv_.size()) {
    return fail(TransportErrorCode::internal_error, "IV of a packet key does not have 12 bytes");
  }
  QUASI_TRY(aead_.expand(material.algorithm, material.key));
  std::ranges::copy(material.iv, iv_.begin());
  algorithm_ = material.algorithm;
  return {};
}

void PacketKey::reset() {
  aead_.reset();
  secure_wipe(iv_.data(), iv_.size());
}

Status ProtectionKeys::install(const KeyMaterial& material) {
  QUASI_TRY(header.expand(material.algorithm, material.header_key));
  return packet.install(material);
}

void ProtectionKeys::reset() {
  packet.reset();
  header.reset();
}

}  // namespace quasi::protect
