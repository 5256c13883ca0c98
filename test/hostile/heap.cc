// The counting operators of this test program (see heap.h).
#include "hostile/heap.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

// Each block begins with its size.
constexpr std::size_t kHeader = 16;
std::uint64_t g_count = 0;
std::uint64_t g_live = 0;
std::uint64_t g_largest = 0;

void* allocate(std::size_t size) {
  ++g_count;
  g_live += size;
  g_largest = std::max<std::uint64_t>(g_largest, size);
  if (quasi::hostile::g_on_allocation != nullptr) quasi::hostile::g_on_allocation(size);
  auto* const block = static_cast<std::byte*>(std::malloc(size + kHeader));
  if (block == nullptr) std::abort();
  *reinterpret_cast<std::size_t*>(block) = size;
  return block + kHeader;
}

void release(void* p) {
  if (p == nullptr) return;
  std::byte* const block = static_cast<std::byte*>(p) - kHeader;
  g_live -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

namespace quasi::hostile {

void (*g_on_allocation)(std::uint64_t size) = nullptr;

std::uint64_t allocation_count() { return g_count; }
std::uint64_t live_bytes() { return g_live; }
std::uint64_t take_largest_block() { return std::exchange(g_largest, 0); }

}  // namespace quasi::hostile
