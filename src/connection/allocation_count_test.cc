// The counting operator new of this test program (see allocation_count.h).
#include "connection/allocation_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace {
std::uint64_t g_allocations = 0;

void* allocate(std::size_t size) {
  ++g_allocations;
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) std::abort();
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace quasi::connection {

std::uint64_t allocation_count() { return g_allocations; }

TEST(AllocationCount, SeesAllocations) {
  const std::uint64_t before = allocation_count();
  const auto number = std::make_unique<std::uint64_t>(before);
  EXPECT_EQ(allocation_count(), *number + 1);
}

}  // namespace quasi::connection
