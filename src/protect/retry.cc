// Retry integrity tags (see protect/retry.h).
#include "protect/retry.h"

#include <span>

#include "base/limits.h"

namespace quasi::protect {

RetryIntegrity::RetryIntegrity(const wire::VersionInfo& version) : version_(version) {
  // The key has the right size; nothing else can fail.
  (void)key_.expand(aead::Algorithm::aes_128_gcm, version.retry_key);
}

std::optional<RetryTag> RetryIntegrity::tag(const wire::ConnectionId& original_dcid,
                                            Bytes retry) const {
  if (retry.size() > limits::kMaxRetrySize) return std::nullopt;
  // The Retry Pseudo-Packet is all associated data: the original DCID, then the packet.
  std::array<std::uint8_t, 1 + wire::ConnectionId::kMaxLength + limits::kMaxRetrySize> pseudo;
  wire::Writer<wire::Forward> writer(pseudo);
  writer.u8(static_cast<std::uint8_t>(original_dcid.size()));
  writer.bytes(original_dcid.bytes());
  writer.bytes(retry);
  RetryTag tag{};
  if (!writer.ok() || !key_.seal(version_.retry_nonce, writer.output(), {}, nullptr, tag)) {
    return std::nullopt;
  }
  return tag;
}

bool RetryIntegrity::verify(const wire::ConnectionId& original_dcid,
                            const wire::PacketView& retry) const {
  const Bytes bytes = retry.bytes;
  if (bytes.size() < aead::kTagSize) return false;
  const auto expected = tag(original_dcid, bytes.first(bytes.size() - aead::kTagSize));
  return expected && constant_time_equal(*expected, bytes.last(aead::kTagSize));
}

bool RetryIntegrity::write(wire::Writer<wire::Forward>& writer,
                           const wire::ConnectionId& original_dcid, const wire::ConnectionId& dcid,
                           const wire::ConnectionId& scid, Bytes token, std::uint8_t unused) const {
  const auto mark = writer.mark();
  const std::size_t start = writer.written();
  if (!wire::write_retry(writer, version_, dcid, scid, token, unused)) return false;
  const auto made = tag(original_dcid, writer.output().subspan(start));
  if (made) writer.bytes(*made);
  if (made && writer.ok()) return true;
  writer.rewind(mark);
  return false;
}

}  // namespace quasi::protect
