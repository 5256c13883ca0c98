// Every bound on what a peer can make this endpoint store or do, in one place,
// each with its reason. Nothing elsewhere invents a cap of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quasi::limits {

/// RFC 9000 §16: the largest varint, and so the largest offset, limit and ID.
inline constexpr std::uint64_t kMaxVarint = (std::uint64_t{1} << 62) - 1;

/// RFC 9000 §14.1: a path must carry datagrams of this many bytes.
inline constexpr std::size_t kMinDatagramSize = 1200;

/// Largest UDP payload built: Ethernet's MTU less IPv4 and UDP headers.
inline constexpr std::size_t kMaxDatagramSize = 1472;

/// RFC 9000 §17.2: longest connection ID in version 1.
inline constexpr std::size_t kMaxCidLength = 20;

}  // namespace quasi::limits
