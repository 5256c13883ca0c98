// Opens the port of the host that this program was built for: src/io/linux natively,
// src/io/wasi in a component.
#pragma once

#include <cstdint>
#include <memory>

#include "io/host_port.h"

namespace quasi::io {

/// Opens, binds and configures the sockets. Fails with one sentence.
[[nodiscard]] PortResult<std::unique_ptr<HostPort>> open_port(const PortOptions& options);

/// Block size of a BufferPool that fits this host: room for a train of datagrams where
/// it delivers trains, for one datagram elsewhere. `offloads` as in PortOptions.
[[nodiscard]] std::uint32_t buffer_block_size(bool offloads = true);

}  // namespace quasi::io
