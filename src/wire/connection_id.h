// Connection IDs as values: up to 20 bytes stored inline (RFC 9000 §5.1), with
// comparison and a keyed hash for routing tables. Peers choose the DCIDs of their
// first Initials, so the hash is SipHash-1-3 under a key that they do not know.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "base/limits.h"
#include "quasi/bytes.h"

namespace quasi::wire {

class ConnectionId {
 public:
  static constexpr std::size_t kMaxLength = limits::kMaxCidLength;

  /// The zero-length connection ID.
  constexpr ConnectionId() = default;
  /// Empty when `bytes` is longer than kMaxLength.
  [[nodiscard]] static std::optional<ConnectionId> from(Bytes bytes) {
    if (bytes.size() > kMaxLength) return std::nullopt;
    ConnectionId id;
    id.length_ = static_cast<std::uint8_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(id.bytes_.data(), bytes.data(), bytes.size());
    return id;
  }

  [[nodiscard]] constexpr std::size_t size() const { return length_; }
  [[nodiscard]] constexpr bool empty() const { return length_ == 0; }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] Bytes bytes() const { return {bytes_.data(), length_}; }
  /// Equality with raw bytes, without making a value of them.
  [[nodiscard]] bool equals(Bytes other) const {
    return other.size() == length_ &&
           (length_ == 0 || std::memcmp(bytes_.data(), other.data(), length_) == 0);
  }
  /// Lower-case hexadecimal.
  [[nodiscard]] std::string to_hex() const;

  friend bool operator==(const ConnectionId&, const ConnectionId&) = default;
  friend auto operator<=>(const ConnectionId&, const ConnectionId&) = default;

 private:
  // Unused bytes stay zero, so that whole-object comparison is right.
  std::array<std::uint8_t, kMaxLength> bytes_{};
  std::uint8_t length_ = 0;
};

/// Hash for unordered containers; give every table a random key.
class ConnectionIdHash {
 public:
  ConnectionIdHash(std::uint64_t key0, std::uint64_t key1) : key0_(key0), key1_(key1) {}
  [[nodiscard]] std::size_t operator()(const ConnectionId& id) const {
    return static_cast<std::size_t>(hash(id.bytes()));
  }
  /// SipHash-1-3 of any bytes under this key.
  [[nodiscard]] std::uint64_t hash(Bytes bytes) const;

 private:
  std::uint64_t key0_;
  std::uint64_t key1_;
};

}  // namespace quasi::wire
