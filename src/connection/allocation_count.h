// Counts what a test program asks of the allocator, to show that a path asks nothing.
// Defined in allocation_count_test.cc, which replaces the global operator new.
#pragma once

#include <cstdint>

namespace quasi::connection {

/// Calls of operator new since the program began.
[[nodiscard]] std::uint64_t allocation_count();

}  // namespace quasi::connection
