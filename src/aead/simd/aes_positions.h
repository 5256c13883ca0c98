// Byte positions for AES on whole vectors. A block is one vector, byte (row,
// column) at row + 4 * column, as in FIPS 197. ShiftRows is not carried out:
// after r rounds the state is kept "r row shifts behind", byte (row, column) of
// the true state at (row, column + r * row). MixColumns then reaches one row and
// r columns on, and round keys are turned back once, when they are expanded.
//
//        behind 0            behind 1            behind 2            behind 3
//     0  4  8 12          0  4  8 12          0  4  8 12          0  4  8 12
//     1  5  9 13         13  1  5  9          9 13  1  5          5  9 13  1
//     2  6 10 14         10 14  2  6          2  6 10 14         10 14  2  6
//     3  7 11 15          7 11 15  3         11 15  3  7         15  3  7 11
#pragma once

#include <array>
#include <cstdint>

#include "aead/aes_schedule.h"
#include "aead/simd/v128.h"

namespace quasi::aead::simd {

using Positions = std::array<std::uint8_t, 16>;

constexpr std::uint8_t position(unsigned row, unsigned column) {
  return static_cast<std::uint8_t>(row % 4 + 4 * (column % 4));
}

/// Output (row, column) <- input (row + rows, column + columns).
constexpr Positions reach_positions(unsigned rows, unsigned columns) {
  Positions p{};
  for (unsigned column = 0; column < 4; ++column)
    for (unsigned row = 0; row < 4; ++row)
      p[position(row, column)] = position(row + rows, column + columns);
  return p;
}

/// Output (row, column) <- input (row, column + shifts * row): the pending row shifts.
constexpr Positions shift_row_positions(unsigned shifts) {
  Positions p{};
  for (unsigned column = 0; column < 4; ++column)
    for (unsigned row = 0; row < 4; ++row)
      p[position(row, column)] = position(row, column + shifts * row);
  return p;
}

/// A shuffle whose constant lanes come from a constexpr function.
template <Positions kPositions>
QUASI_INLINE V shuffle_by(V v) {
  return []<std::size_t... kI>(std::index_sequence<kI...>, V a) QUASI_INLINE_LAMBDA {
    return shuffle8<kPositions[kI]...>(a, a);
  }(std::make_index_sequence<16>{}, v);
}

/// Round key `round` as the kernels add it: turned back by the pending shifts, and with the
/// S-box's constant 0x63 of that round in it.
template <unsigned kRounds>
void turned_round_key(std::uint8_t (&out)[16], const AesRoundKeys<kRounds>& keys, unsigned round) {
  const unsigned behind = round == kRounds ? 0 : round % 4;
  const Positions from = shift_row_positions(4 - behind);
  for (unsigned i = 0; i < 16; ++i)
    out[i] = static_cast<std::uint8_t>(keys.bytes[round][from[i]] ^ (round == 0 ? 0 : 0x63));
}

}  // namespace quasi::aead::simd
