// For tests: what this program asked of operator new, to bound memory and work without
// a clock. Defined in heap.cc, which replaces the global operators. (TLS, in Rust, and
// pools of packet buffers allocate elsewhere; the latter have counters of their own.)
#pragma once

#include <cstdint>

namespace quasi::hostile {

/// Calls since the program began.
[[nodiscard]] std::uint64_t allocation_count();
/// Bytes allocated and not yet freed.
[[nodiscard]] std::uint64_t live_bytes();
/// The size of the largest block asked for since the last call.
[[nodiscard]] std::uint64_t take_largest_block();
/// If set, allocations are told to it (it must not allocate).
extern void (*g_on_allocation)(std::uint64_t size);

}  // namespace quasi::hostile
