// Where received datagrams land. A component's host writes a list into memory that it
// asks of cabi_realloc; ours hands out a block of the port's BufferPool for a datagram,
// so that it is decrypted where the host put it and never copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quasi/packet_buffer.h"

namespace quasi::io::landing {

/// Ports announce their pool while they live. With two different pools at once nobody
/// could tell whose datagram is asked for: blocks are then handed out no more, and
/// claim() copies.
void add_pool(BufferPool& pool);
void remove_pool(BufferPool& pool);

/// While at least one receive is under way, byte lists land in blocks.
void begin_receive();
void end_receive();

/// What the host wrote at `data` as a block of `pool`: the block itself, or a copy when
/// it lay elsewhere (and fits). Empty when it does not fit or memory is exhausted.
[[nodiscard]] BufferRef claim(BufferPool& pool, std::uint8_t* data, std::size_t size);

/// Gives back memory that the host asked for and filled with something else.
void discard(void* data);

}  // namespace quasi::io::landing
