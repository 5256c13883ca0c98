// SipHash-1-3 and hexadecimal of connection IDs (see wire/connection_id.h).
#include "wire/connection_id.h"

#include <bit>

namespace quasi::wire {
namespace {

// The state and round of SipHash (Aumasson and Bernstein, 2012).
struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t ConnectionIdHash::hash(Bytes bytes) const {
  SipState s{key0_ ^ 0x736f6d6570736575U, key1_ ^ 0x646f72616e646f6dU, key0_ ^ 0x6c7967656e657261U,
             key1_ ^ 0x7465646279746573U};
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) s.absorb(load_le<std::uint64_t>(p));
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  for (std::size_t i = 0; i < left; ++i) last |= static_cast<std::uint64_t>(p[i]) << (8 * i);
  s.absorb(last);
  s.v2 ^= 0xff;
  s.round();
  s.round();
  s.round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

std::string ConnectionId::to_hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size());
  for (const std::uint8_t byte : bytes()) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

}  // namespace quasi::wire
