// The integrity tag of Retry packets (RFC 9001 §5.8): proof that whoever sent the
// Retry saw the Initial it answers. The key is public; this is no authentication.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "quasi/aead.h"
#include "quasi/bytes.h"
#include "wire/connection_id.h"
#include "wire/cursor.h"
#include "wire/packet_header.h"
#include "wire/version.h"

namespace quasi::protect {

using RetryTag = std::array<std::uint8_t, aead::kTagSize>;

/// Makes and checks tags of one version. Holds an expanded key (18 KiB): a server
/// that sends Retries keeps one per version.
class RetryIntegrity {
 public:
  explicit RetryIntegrity(const wire::VersionInfo& version);

  /// The tag of `retry`, a whole Retry packet without its tag, in answer to an
  /// Initial that was sent to `original_dcid`. Empty when the packet is longer than
  /// limits::kMaxRetrySize.
  [[nodiscard]] std::optional<RetryTag> tag(const wire::ConnectionId& original_dcid,
                                            Bytes retry) const;

  /// Whether the tag at the end of a received Retry packet is right.
  [[nodiscard]] bool verify(const wire::ConnectionId& original_dcid,
                            const wire::PacketView& retry) const;

  /// Writes a whole Retry packet with its tag. `dcid` and `scid` are those of the
  /// Retry: the client's source ID and our new one.
  [[nodiscard]] bool write(wire::Writer<wire::Forward>& writer,
                           const wire::ConnectionId& original_dcid, const wire::ConnectionId& dcid,
                           const wire::ConnectionId& scid, Bytes token, std::uint8_t unused) const;

 private:
  const wire::VersionInfo& version_;
  aead::AeadKey key_;
};

}  // namespace quasi::protect
