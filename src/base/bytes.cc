// Constant-time comparison and secure wiping (see quasi/bytes.h).
#include "quasi/bytes.h"

namespace quasi {

bool constant_time_equal(Bytes a, Bytes b) {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
    // The barrier keeps the compiler from leaving the loop at the first difference.
    asm volatile("" : "+r"(difference));
  }
  return difference == 0;
}

void secure_wipe(void* p, std::size_t size) {
  std::memset(p, 0, size);
  // The empty statement claims to read the memory, so the memset has to happen.
  asm volatile("" : : "r"(p) : "memory");
}

}  // namespace quasi
