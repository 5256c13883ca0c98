// Where received datagrams land (see landing.h).
#include "io/wasi/landing.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace quasi::io::landing {
namespace {

/// Blocks that the host may hold at once: one a socket, and a few for the strings that
/// errors carry.
constexpr std::size_t kMaxBlocks = 16;

struct State {
  BufferPool* pool = nullptr;  // the only one, or null
  std::size_t pools = 0;       // announced, the same one perhaps more than once
  bool ambiguous = false;
  std::size_t receives = 0;
  std::array<BufferRef, kMaxBlocks> handed_out;
};

/// Made at first use: the host asks for memory before constructors have run.
State& state() {
  static State instance;
  return instance;
}

BufferRef take_back(const void* data) {
  for (BufferRef& block : state().handed_out) {
    if (block && block.data() == data) return std::exchange(block, BufferRef());
  }
  return {};
}

void* hand_out(std::size_t size) {
  State& s = state();
  if (s.receives == 0 || s.pool == nullptr || s.ambiguous || size > s.pool->block_size()) {
    return nullptr;
  }
  for (BufferRef& block : s.handed_out) {
    if (block) continue;
    block = s.pool->allocate();
    return block ? block.data() : nullptr;
  }
  return nullptr;
}

}  // namespace

void add_pool(BufferPool& pool) {
  State& s = state();
  s.ambiguous = s.ambiguous || (s.pool != nullptr && s.pool != &pool);
  s.pool = &pool;
  ++s.pools;
}

void remove_pool(BufferPool&) {
  State& s = state();
  if (--s.pools == 0) {
    for (BufferRef& block : s.handed_out) block = BufferRef();
    s.pool = nullptr;
    s.ambiguous = false;
  }
}

void begin_receive() { ++state().receives; }

void end_receive() { --state().receives; }

BufferRef claim(BufferPool& pool, std::uint8_t* data, std::size_t size) {
  if (size == 0) return pool.allocate();
  if (BufferRef block = take_back(data)) return block;
  BufferRef copy;
  if (size <= pool.block_size()) copy = pool.allocate();
  if (copy) std::memcpy(copy.data(), data, size);
  std::free(data);
  return copy;
}

void discard(void* data) {
  if (!take_back(data)) std::free(data);
}

namespace {

/// Memory for the host: a block where a datagram is expected, the heap otherwise. The
/// host cannot be told that there is none.
void* allocate_for_host(void* old, std::size_t old_size, std::size_t align, std::size_t size) {
  if (size == 0) return reinterpret_cast<void*>(align);
  if (old == nullptr && align == 1) {
    if (void* block = hand_out(size)) return block;
  }
  void* memory = nullptr;
  if (align <= alignof(std::max_align_t)) {
    memory = std::realloc(old_size == 0 ? nullptr : old, size);
  } else if (old_size == 0) {
    memory = std::aligned_alloc(align, (size + align - 1) & ~(align - 1));
  }
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace
}  // namespace quasi::io::landing

// The canonical ABI's allocator, instead of the one that the generated bindings bring.
extern "C" [[gnu::used, clang::export_name("cabi_realloc")]] void* cabi_realloc(
    void* old, std::size_t old_size, std::size_t align, std::size_t size) {
  return quasi::io::landing::allocate_for_host(old, old_size, align, size);
}
