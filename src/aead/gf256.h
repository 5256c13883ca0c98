// The field of AES, GF(2)[x] / (x^8 + x^4 + x^3 + x + 1), and its S-box, computed
// from their definitions (FIPS 197 §4, §5.1.1) while compiling. Tables of kernels
// and expectations of tests come from here; nothing at run time indexes by secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace quasi::aead::gf256 {

using Byte = std::uint8_t;

constexpr Byte xtime(Byte a) {
  return static_cast<Byte>(static_cast<unsigned>(a) << 1U ^ ((a & 0x80U) != 0 ? 0x1bU : 0U));
}

constexpr Byte multiply(Byte a, Byte b) {
  Byte product = 0;
  for (int i = 0; i < 8; ++i) {
    if ((b >> i & 1) != 0) product = static_cast<Byte>(product ^ a);
    a = xtime(a);
  }
  return product;
}

/// a^254: the inverse, and 0 for 0.
constexpr Byte invert(Byte a) {
  Byte result = 1, power = a;
  for (int i = 1; i < 8; ++i) {
    power = multiply(power, power);
    result = multiply(result, power);
  }
  return result;
}

/// The S-box's affine map without its constant 0x63.
constexpr Byte affine(Byte b) {
  return static_cast<Byte>(b ^ std::rotl(b, 1) ^ std::rotl(b, 2) ^ std::rotl(b, 3) ^
                           std::rotl(b, 4));
}

constexpr Byte sbox(Byte a) { return static_cast<Byte>(affine(invert(a)) ^ 0x63); }

static_assert(sbox(0x00) == 0x63 && sbox(0x53) == 0xed && sbox(0xff) == 0x16);

}  // namespace quasi::aead::gf256
