// For tests: an Entropy that gives the same bytes in each run.
#pragma once

#include <cstdint>
#include <memory>

#include "quasi/endpoint.h"

namespace quasi::endpoint {

inline Entropy seeded_entropy(std::uint64_t seed) {
  return [state = std::make_shared<std::uint64_t>(seed)](MutableBytes out) {
    for (auto& byte : out) {
      *state = *state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
      byte = static_cast<std::uint8_t>(*state >> 56);
    }
  };
}

}  // namespace quasi::endpoint
