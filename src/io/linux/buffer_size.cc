// The size of packet buffers on Linux (see io/open_port.h).
#include "base/limits.h"
#include "io/open_port.h"

namespace quasi::io {

std::uint32_t buffer_block_size(bool offloads) {
#if QUASI_NATIVE_PORT
  offloads = false;
#endif
  return offloads ? std::uint32_t{65'536} : std::uint32_t{limits::kMaxReceiveDatagramSize};
}

}  // namespace quasi::io
