// Tables of the vector-permute AES S-box, computed from field definitions while
// compiling. The method is Hamburg's ("Accelerating AES with vector permute
// instructions", 2009); the constants are our own.
//
// GF(2^8) is taken as the tower GF(16)[s] / (s^2 + a s + a), with GF(16) =
// GF(2)[x] / (x^4 + x + 1) and the least a that makes it a field. An element
// k + i s is the byte i k (two nibbles). With j = i + k and M = k^2 + a i k + a i^2,
// the norm, the inverse of k + i s is ((k + a i) + i s) / M, and
//
//     1 / (1/i + a/k) + j = M / (k + a i) = io
//     1 / (1/j + a/k) + i = M / (k + a j) = jo
//
// so 1/io and 1/jo = (k + a i + a k) / M determine k / M and i / M linearly: five
// look-ups in 16-byte tables give io and jo, and whatever is linear in the inverse
// is f(io) + g(jo), two more. Zero and infinity: the table of inverses has 0x80 at
// 0; an index with bit 7 set looks up 0, and 0x80 + n still has bit 7 set.
#pragma once

#include <array>
#include <cstdint>

#include "aead/gf256.h"

namespace quasi::aead::simd {

using Table = std::array<std::uint8_t, 16>;

namespace tower {

using Byte = std::uint8_t;

constexpr Byte multiply16(Byte x, Byte y) {
  unsigned product = 0;
  for (unsigned i = 0; i < 4; ++i)
    if ((y >> i & 1) != 0) product ^= static_cast<unsigned>(x) << i;
  for (unsigned i = 6; i >= 4; --i)
    if ((product >> i & 1) != 0) product ^= 0x13U << (i - 4);
  return static_cast<Byte>(product);
}

constexpr Byte invert16(Byte x) {  // x^14
  const Byte x2 = multiply16(x, x), x4 = multiply16(x2, x2), x8 = multiply16(x4, x4);
  return multiply16(multiply16(x2, x4), x8);
}

/// s^2 + a s + a has no root in GF(16).
constexpr bool irreducible(Byte a) {
  for (Byte s = 0; s < 16; ++s)
    if ((multiply16(s, s) ^ multiply16(a, s) ^ a) == 0) return false;
  return true;
}

constexpr Byte kA = [] {
  Byte a = 1;
  while (!irreducible(a)) ++a;
  return a;
}();

constexpr Byte join(Byte i, Byte k) { return static_cast<Byte>(i << 4 | k); }

constexpr Byte multiply(Byte x, Byte y) {
  const Byte xi = x >> 4, xk = x & 15, yi = y >> 4, yk = y & 15;
  const Byte ii = multiply16(kA, multiply16(xi, yi));  // s^2 = a s + a
  const Byte i = static_cast<Byte>(multiply16(xi, yk) ^ multiply16(xk, yi) ^ ii);
  const Byte k = static_cast<Byte>(multiply16(xk, yk) ^ ii);
  return join(i, k);
}

/// A root of x^8 + x^4 + x^3 + x + 1 in the tower: the image of x.
constexpr Byte kRoot = [] {
  for (unsigned candidate = 2; candidate < 256; ++candidate) {
    const Byte b = static_cast<Byte>(candidate);
    Byte powers[9] = {1};
    for (unsigned i = 1; i < 9; ++i) powers[i] = multiply(powers[i - 1], b);
    if ((powers[8] ^ powers[4] ^ powers[3] ^ powers[1] ^ powers[0]) == 0) return b;
  }
  return Byte{0};
}();
static_assert(kRoot != 0);

constexpr std::array<Byte, 256> kFromAes = [] {
  std::array<Byte, 256> map{};
  for (unsigned x = 0; x < 256; ++x) {
    Byte power = 1, sum = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if ((x >> i & 1) != 0) sum = static_cast<Byte>(sum ^ power);
      power = multiply(power, kRoot);
    }
    map[x] = sum;
  }
  return map;
}();

constexpr std::array<Byte, 256> kToAes = [] {
  std::array<Byte, 256> map{};
  for (unsigned x = 0; x < 256; ++x) map[kFromAes[x]] = static_cast<Byte>(x);
  return map;
}();

}  // namespace tower

/// Everything that the vector code loads.
struct PermuteTables {
  Table invert;            // 1 / n, 0x80 at 0
  Table a_over;            // a / n, 0x80 at 0
  Table in_low, in_high;   // AES basis to tower, of a byte's nibbles
  Table s1_io, s1_jo;      // affine(inverse), in the tower, without the constant 0x63
  Table s2_io, s2_jo;      // twice that
  Table out_io, out_jo;    // affine(inverse), in the AES basis
  Table out2_io, out2_jo;  // twice that
};

inline constexpr PermuteTables kPermuteTables = [] {
  using namespace tower;
  PermuteTables t{};
  const Byte a_inverse = invert16(kA);
  for (Byte n = 0; n < 16; ++n) {
    t.invert[n] = n == 0 ? Byte{0x80} : invert16(n);
    t.a_over[n] = n == 0 ? Byte{0x80} : multiply16(kA, invert16(n));
    t.in_low[n] = kFromAes[n];
    t.in_high[n] = kFromAes[static_cast<unsigned>(n) << 4];

    // u = 1/io, v = 1/jo: k/M = (u + v) / a, i/M = (u + k/M) / a, and the inverse is u + (i/M) s.
    const Byte inverse = invert16(n);
    const Byte over_a = multiply16(inverse, a_inverse);
    const Byte over_aa = multiply16(over_a, a_inverse);
    const Byte from_io = join(static_cast<Byte>(over_a ^ over_aa), inverse);
    const Byte from_jo = join(over_aa, 0);
    const Byte io = gf256::affine(kToAes[from_io]), jo = gf256::affine(kToAes[from_jo]);
    t.out_io[n] = io;
    t.out_jo[n] = jo;
    t.out2_io[n] = gf256::xtime(io);
    t.out2_jo[n] = gf256::xtime(jo);
    t.s1_io[n] = kFromAes[io];
    t.s1_jo[n] = kFromAes[jo];
    t.s2_io[n] = kFromAes[gf256::xtime(io)];
    t.s2_jo[n] = kFromAes[gf256::xtime(jo)];
  }
  return t;
}();

/// What the vector code computes, on one byte: for the check below and for tests.
constexpr std::uint8_t permute_sbox(std::uint8_t x) {
  const PermuteTables& t = kPermuteTables;
  const auto look_up = [](const Table& table, std::uint8_t index) {
    return (index & 0x80) != 0 ? std::uint8_t{0} : table[index & 15];
  };
  const auto byte = static_cast<std::uint8_t>(t.in_low[x & 15] ^ t.in_high[x >> 4]);
  const auto i = static_cast<std::uint8_t>(byte >> 4), k = static_cast<std::uint8_t>(byte & 15);
  const auto j = static_cast<std::uint8_t>(i ^ k);
  const std::uint8_t ak = t.a_over[k];
  const auto iak = static_cast<std::uint8_t>(t.invert[i] ^ ak);
  const auto jak = static_cast<std::uint8_t>(t.invert[j] ^ ak);
  const auto io = static_cast<std::uint8_t>(look_up(t.invert, iak) ^ j);
  const auto jo = static_cast<std::uint8_t>(look_up(t.invert, jak) ^ i);
  return static_cast<std::uint8_t>(look_up(t.out_io, io) ^ look_up(t.out_jo, jo) ^ 0x63);
}

static_assert([] {
  for (unsigned x = 0; x < 256; ++x)
    if (permute_sbox(static_cast<std::uint8_t>(x)) != gf256::sbox(static_cast<std::uint8_t>(x)))
      return false;
  return true;
}());

}  // namespace quasi::aead::simd
