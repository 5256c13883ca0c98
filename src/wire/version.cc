// The table of versions (see wire/version.h).
#include "wire/version.h"

namespace quasi::wire {
namespace {

using enum PacketType;

// RFC 9000 §17.2 and RFC 9001 §5.8. VReverso shares them with version 1.
constexpr std::array<std::uint8_t, 4> kTypeBits1{0, 1, 2, 3};
constexpr std::array<PacketType, 4> kTypes1{initial, zero_rtt, handshake, retry};
constexpr std::array<std::uint8_t, 16> kRetryKey1{0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a,
                                                  0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e};
constexpr std::array<std::uint8_t, 12> kRetryNonce1{0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63,
                                                    0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb};

// RFC 9369 §3.2 and §3.3.3.
constexpr std::array<std::uint8_t, 4> kTypeBits2{1, 2, 3, 0};
constexpr std::array<PacketType, 4> kTypes2{retry, initial, zero_rtt, handshake};
constexpr std::array<std::uint8_t, 16> kRetryKey2{0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2,
                                                  0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92};
constexpr std::array<std::uint8_t, 12> kRetryNonce2{0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c,
                                                    0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a};

constexpr std::array<VersionInfo, 3> kVersions{{
    {kVersion1, kTypeBits1, kTypes1, kRetryKey1, kRetryNonce1, false},
    {kVersion2, kTypeBits2, kTypes2, kRetryKey2, kRetryNonce2, false},
    {kVersionReverso, kTypeBits1, kTypes1, kRetryKey1, kRetryNonce1, true},
}};

}  // namespace

const VersionInfo* find_version(std::uint32_t number) {
  for (const VersionInfo& version : kVersions) {
    if (version.number == number) return &version;
  }
  return nullptr;
}

std::span<const VersionInfo> known_versions() { return kVersions; }

}  // namespace quasi::wire
