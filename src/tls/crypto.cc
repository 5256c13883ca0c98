// Hashes and entropy through the Rust crate, and two text forms of bytes.
#include "tls/crypto.h"

#include <cstdio>
#include <cstdlib>

#include "tls/ffi.h"

namespace quasi::tls {

std::array<std::uint8_t, 32> sha256(Bytes data) {
  std::array<std::uint8_t, 32> out;
  qt_sha256(to_qt(data), out.data());
  return out;
}

std::array<std::uint8_t, 32> hmac_sha256(Bytes key, Bytes data) {
  std::array<std::uint8_t, 32> out;
  qt_hmac_sha256(to_qt(key), to_qt(data), out.data());
  return out;
}

void os_entropy(MutableBytes out) {
  if (qt_random(out.data(), out.size()) == 0) return;
  std::fputs("quasi: the host gives no random bytes; nothing can be secured without them\n",
             stderr);
  std::abort();
}

std::string base64(Bytes data) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t n = data.size() - i < 3 ? data.size() - i : 3;
    std::uint32_t group = std::uint32_t{data[i]} << 16;
    if (n > 1) group |= std::uint32_t{data[i + 1]} << 8;
    if (n > 2) group |= data[i + 2];
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out.push_back(digit <= n ? kDigits[group >> (18 - 6 * digit) & 63] : '=');
    }
  }
  return out;
}

std::string hex(Bytes data) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(data.size() * 2);
  for (std::uint8_t byte : data) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

}  // namespace quasi::tls
