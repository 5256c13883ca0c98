// What the tests of streams share: blocks with data in them, and the byte that
// stream data has at each offset.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"

namespace quasi::connection::testing {

/// The byte of stream `stream` at `offset`: long period, differs between streams.
[[nodiscard]] inline std::uint8_t byte_at(std::uint64_t offset, std::uint64_t stream = 0) {
  std::uint64_t x = (offset >> 3) + stream * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
  return static_cast<std::uint8_t>((x >> 32) + offset);
}

[[nodiscard]] inline std::vector<std::uint8_t> pattern(std::uint64_t offset, std::size_t size,
                                                       std::uint64_t stream = 0) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = byte_at(offset + i, stream);
  return bytes;
}

/// A packet buffer with stream data in it, as a received packet would be.
struct Packet {
  BufferRef block;
  Bytes data;
};
[[nodiscard]] inline Packet make_packet(BufferPool& pool, std::uint64_t offset, std::size_t size,
                                        std::uint64_t stream = 0) {
  constexpr std::size_t kHeader = 30;
  Packet packet{pool.allocate(), {}};
  std::uint8_t* at = packet.block.data() + kHeader;
  for (std::size_t i = 0; i < size; ++i) at[i] = byte_at(offset + i, stream);
  packet.data = Bytes(at, size);
  return packet;
}

}  // namespace quasi::connection::testing
