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
/// 10 ms of reordering at 1 Gbit/s. Patience has an end.
inline constexpr std::uint64_t kMaxPacketThreshold = 1024;

/// RFC 9000 §7.5 asks for 4,096 bytes of CRYPTO data out of order at least; flights
/// with certificate chains are longer, and more than this serves nobody.
inline constexpr std::size_t kCryptoBuffer = std::size_t{64} << 10;

/// Pieces of stream data smaller than this are copied out of their packet buffer,
/// which has ten times their size or more.
inline constexpr std::size_t kMinStreamView = 128;

/// Tiny pieces that one stream may nevertheless leave where they are, in order: a
/// short request or response is then read without a copy.
inline constexpr std::size_t kMaxTinyViews = 16;

/// Views out of order that one stream keeps; more are copied out. A full window of
/// 8 MiB in packets of 1,200 bytes has 7,000, and sorting one more in stays cheap.
inline constexpr std::size_t kMaxReorderedViews = 8192;

/// Bytes of packet buffers that the streams of a connection may keep from reuse:
/// this much, and twice the data they hold. What exceeds it is copied out.
inline constexpr std::size_t kPinnedFloor = std::size_t{1} << 20;
inline constexpr std::size_t kPinnedRatio = 2;

/// Block size of the pool for stream data: what applications write, and what is
/// copied out on the way in. 4 KiB of data and a bit for each of its bytes.
inline constexpr std::size_t kStreamPage = 4096;
inline constexpr std::size_t kStreamBlockSize = kStreamPage + kStreamPage / 8;

/// Largest receive window that can be configured, whatever the user asks for: what
/// is kept to find data out of order grows with it (2 MiB here).
inline constexpr std::uint64_t kMaxReceiveWindow = std::uint64_t{1} << 30;

/// RFC 9000 §4.6: stream counts above 2^60 make IDs that are no varints.
inline constexpr std::uint64_t kMaxStreamCount = std::uint64_t{1} << 60;

/// Streams of one kind that a peer may have open at once, whatever is configured: one
/// frame can open them all, at about 600 bytes each.
inline constexpr std::uint64_t kMaxConcurrentStreams = std::uint64_t{1} << 16;

/// Largest TransportConfig::send_buffer: fits 32-bit sizes with room to spare.
inline constexpr std::uint64_t kMaxSendBuffer = std::uint64_t{1} << 29;

/// All streams of a connection together hold at most this many times
/// TransportConfig::send_buffer: a peer that opens many and reads none must not make
/// us keep a full buffer for each.
inline constexpr std::uint64_t kSendBuffersPerConnection = 4;

/// Streams of a connection whose reset is remembered after they are gone, so that
/// nobody takes a truncated stream for a finished one.
inline constexpr std::size_t kRememberedResets = 64;

/// RFC 9001 §6.6: packets that may be sealed under one AES-GCM key, and packets that
/// may fail to authenticate in one connection, before it has to end. (ChaCha20 has no
/// limit of the first kind below the largest packet number.)
inline constexpr std::uint64_t kAesGcmConfidentialityLimit = std::uint64_t{1} << 23;
inline constexpr std::uint64_t kAesGcmIntegrityLimit = std::uint64_t{1} << 52;
inline constexpr std::uint64_t kChaChaIntegrityLimit = std::uint64_t{1} << 36;

/// Longest Retry packet that is written or believed. A token must go back inside an
/// Initial beside a ClientHello, so nobody can use a longer one.
inline constexpr std::size_t kMaxRetrySize = 2048;

/// Length of the connection IDs that we issue: enough that nobody guesses one that
/// is in use, and room for no more.
inline constexpr std::size_t kLocalCidLength = 8;

/// Largest UDP payload that is received: a port's buffers hold so much.
inline constexpr std::size_t kMaxReceiveDatagramSize = 2048;

/// Unfinished handshakes of a server before it asks new clients for a Retry token
/// each holds 150 KiB, most of it expanded keys, for an address that may be
/// forged.
inline constexpr std::size_t kHandshakesBeforeRetry = 256;

/// Packets kept that arrived before their keys: reordering around the end
/// of the handshake, no more.
inline constexpr std::size_t kMaxEarlyPackets = 10;

/// Frames that are legal but change nothing (limits that do not grow, old
/// challenges, ...), a connection, less what useful packets forgive: beyond it the
/// peer is taken to be attacking.
inline constexpr std::uint64_t kMaxGlitches = 100'000;

/// ACK frames handled in one packet.
inline constexpr unsigned kMaxAcksPerPacket = 2;

/// Bytes of unread and unsent DATAGRAM frames; the oldest are dropped first.
inline constexpr std::size_t kMaxDatagramQueueBytes = std::size_t{1} << 18;
/// And their number: empty ones cost memory too.
inline constexpr std::size_t kMaxDatagramQueueCount = 1024;

/// RFC 9000 §8.1.3: a Retry token comes back after one round trip; 10 s allow for a
/// few lost packets. A NEW_TOKEN token serves visits of the same day.
inline constexpr std::int64_t kRetryTokenSeconds = 10;
inline constexpr std::int64_t kNewTokenSeconds = 6 * 3600;

/// Tokens sealed under one key with random nonces of 96 bits: NIST SP 800-38D §8.3
/// stops at 2^32.
inline constexpr std::uint64_t kMaxTokensPerKey = std::uint64_t{1} << 31;

/// Redeemed tokens that are remembered, so that none is accepted twice (RFC 9000
/// §8.1.4): 32 KiB. To push one out, an attacker has to redeem new ones from
/// addresses that are his.
inline constexpr std::size_t kRememberedTokens = 4096;

/// Version Negotiation, Retry, resets and refusals of an endpoint: its rate,
/// and how many at once. Under attack honest clients are answered less, not
/// attackers more.
inline constexpr std::uint32_t kStatelessRepliesPerSecond = 2'000;
inline constexpr std::uint32_t kStatelessReplyBurst = 256;

/// Stateless answers of all kinds that wait to be sent.
inline constexpr std::size_t kMaxPendingReplies = 256;

}  // namespace quasi::limits
