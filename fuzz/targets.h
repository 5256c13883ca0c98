// The functions that fuzzers feed. Each takes any bytes, and traps when something
// that should hold for all bytes does not. They run under libFuzzer (entry.cc) and,
// with a fixed corpus, as an ordinary test (replay_test.cc).
#pragma once

#include <string_view>

#include "quasi/bytes.h"

/// Stops the program, also in release builds.
#define QUASI_FUZZ_CHECK(condition)     \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)

namespace quasi::fuzz {

/// A packet's payload; the first byte chooses the packet type.
void frames_forward(Bytes input);
void frames_reverse(Bytes input);
/// A datagram; the first byte gives the length of our connection IDs.
void packet_headers(Bytes input);
/// The extension's content; the first byte says who sent it.
void transport_parameters(Bytes input);

struct Target {
  std::string_view name;  // also of its corpus: corpus/NAME.hex
  void (*run)(Bytes);
};
inline constexpr Target kTargets[] = {
    {"frames_forward", frames_forward},
    {"frames_reverse", frames_reverse},
    {"packet_headers", packet_headers},
    {"transport_parameters", transport_parameters},
};

}  // namespace quasi::fuzz
