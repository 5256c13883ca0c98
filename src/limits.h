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

/// RFC 9000 §13.2.3: ranges of packet numbers kept a space. An ACK frame with so
/// many takes at most a third of a packet; older ones are forgotten.
inline constexpr std::size_t kMaxAckRanges = 64;

/// Skipped packet numbers that are remembered to catch optimistic ACKs. The
/// distance between skips doubles, so 64 cover more packets than AEAD keys allow.
inline constexpr std::size_t kMaxSkippedPacketNumbers = 64;

/// Packets that may be outstanding in one space: 10 Gbit/s over 150 ms. Beyond it
/// nothing is sent until something is acknowledged or declared lost.
inline constexpr std::size_t kMaxSentPackets = std::size_t{1} << 17;

/// ACK-only packets that may be outstanding in one space, although they count for
/// no window: a peer that never acknowledges must not make us remember more.
inline constexpr std::size_t kMaxUntrackedPackets = 8192;

/// Packets kept after they were declared lost, to notice late ACKs.
inline constexpr std::size_t kMaxRetainedPackets = std::size_t{1} << 14;

/// RFC 9002 §6.2.1 doubles the probe timeout each time; 2^10 times any sane PTO is
/// longer than every idle timeout, and the shift cannot overflow.
inline constexpr std::uint32_t kMaxPtoExponent = 10;

/// Largest adapted reordering threshold in packets (RFC 9002 §6.1.1 starts at 3):
/// reordering may teach more patience, but not without end.
inline constexpr std::uint64_t kMaxPacketThreshold = 128;

}  // namespace quasi::limits
