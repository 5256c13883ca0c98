// See the header: the rules of RFC 9000 §6.1 for servers and §6.2 for clients.
#include "endpoint/version_negotiation.h"

#include <algorithm>
#include <array>

#include "base/limits.h"

namespace quasi::endpoint {
namespace {

/// Ours and one reserved; more than we shall ever speak.
constexpr std::size_t kMaxListed = 8;

}  // namespace

std::size_t write_version_negotiation(MutableBytes out, const wire::InvariantHeader& header,
                                      std::size_t datagram_size,
                                      std::span<const std::uint32_t> supported,
                                      const Entropy& entropy) {
  // A packet never provokes one of its own kind.
  if (!header.is_long || header.version == wire::kVersionNegotiation) return 0;
  if (datagram_size < limits::kMinDatagramSize) return 0;
  std::array<std::uint8_t, 6> random;
  entropy(random);
  std::array<std::uint32_t, kMaxListed> list{};
  const std::size_t count = std::min(supported.size(), kMaxListed - 1);
  std::copy_n(supported.begin(), count, list.begin());
  // RFC 9000 §15: 0x?a?a?a?a. Not the one the client offered, lest it think we speak it.
  std::uint32_t reserved = (load_be<std::uint32_t>(random.data()) & 0xf0f0f0f0U) | 0x0a0a0a0aU;
  if (reserved == header.version) reserved ^= 0x10101010U;
  // Anywhere in the list, so that nobody learns to skip the last.
  const std::size_t place = random[4] % (count + 1);
  list[count] = list[place];
  list[place] = reserved;
  wire::Writer<wire::Forward> writer(out);
  if (!wire::write_version_negotiation(writer, header.scid, header.dcid,
                                       std::span(list).first(count + 1), random[5])) {
    return 0;
  }
  return writer.written();
}

NegotiationVerdict judge_version_negotiation(const wire::PacketView& packet,
                                             const wire::ConnectionId& dcid,
                                             const wire::ConnectionId& scid, std::uint32_t version,
                                             std::span<const std::uint32_t> supported) {
  NegotiationVerdict verdict;
  if (packet.type != wire::PacketType::version_negotiation) return verdict;
  // RFC 9000 §17.2.1: both IDs come back, swapped: whoever answers has seen them.
  if (packet.dcid != scid || packet.scid != dcid) return verdict;
  const wire::VersionList list(packet);
  // §6.2: a list with the version in use is no answer to it. An empty one is noise.
  if (list.size() == 0 || list.contains(version)) return verdict;
  verdict.kind = NegotiationVerdict::Kind::no_common;
  for (std::uint32_t candidate : supported) {
    if (candidate != version && !wire::is_reserved_version(candidate) && list.contains(candidate)) {
      verdict.kind = NegotiationVerdict::Kind::use;
      verdict.version = candidate;
      break;
    }
  }
  return verdict;
}

}  // namespace quasi::endpoint
