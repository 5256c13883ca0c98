// Version Negotiation (RFC 9000 §6, RFC 8999 §6): a server's answer to a version that
// it does not speak, and a client's judgement of such an answer. Nothing in these
// packets is authenticated: RFC 9368 has the authenticated part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "quasi/bytes.h"
#include "quasi/endpoint.h"
#include "wire/packet_header.h"

namespace quasi::endpoint {

/// Writes the answer to a datagram that starts with `header` (a long header of a
/// version that is not in `supported`) and returns its size. 0 when there must be no
/// answer: the datagram is itself a Version Negotiation packet, or is shorter than
/// 1,200 bytes, the least that an Initial of any known version has (RFC 9000 §6.1);
/// or when it does not fit `out`. A reserved version is added among ours, so that
/// clients keep ignoring those they do not know (§6.3).
[[nodiscard]] std::size_t write_version_negotiation(MutableBytes out,
                                                    const wire::InvariantHeader& header,
                                                    std::size_t datagram_size,
                                                    std::span<const std::uint32_t> supported,
                                                    const Entropy& entropy);

/// What a client does with a Version Negotiation packet.
struct NegotiationVerdict {
  enum class Kind : std::uint8_t {
    ignore,     // it is not an answer to what was sent, or lists the version in use
    no_common,  // nothing in it is spoken here: abandon the attempt (§6.2)
    use,        // `version` could be tried
  };
  Kind kind = Kind::ignore;
  std::uint32_t version = 0;
};

/// `dcid`, `scid` and `version`: of the client's first Initial. `supported`: what the
/// client would speak, the preferred version first. The caller ignores the packet
/// without asking when it has processed any other from the server (§6.2).
[[nodiscard]] NegotiationVerdict judge_version_negotiation(
    const wire::PacketView& packet, const wire::ConnectionId& dcid, const wire::ConnectionId& scid,
    std::uint32_t version, std::span<const std::uint32_t> supported);

}  // namespace quasi::endpoint
