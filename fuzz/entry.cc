// libFuzzer's entry point for one target, chosen when it is compiled.
#include <cstddef>
#include <cstdint>

#include "targets.h"

// NOLINTBEGIN(readability-identifier-naming): libFuzzer chose the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quasi::fuzz::QUASI_FUZZ_TARGET(quasi::Bytes(data, size));
  return 0;
}
// NOLINTEND(readability-identifier-naming)
