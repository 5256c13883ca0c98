// How much data fits into a frame (see wire/frame_writer.h).
#include "wire/frame_writer.h"

namespace quasi::wire {

std::optional<DataFit> fit_data(std::size_t room, std::size_t header_size, std::size_t available,
                                bool may_omit_length) {
  if (room < header_size) return std::nullopt;
  const std::size_t body = room - header_size;
  if (may_omit_length && available >= body) {
    if (body == 0 && available != 0) return std::nullopt;
    return DataFit{body, false, room};
  }
  if (body == 0) return std::nullopt;
  // The Length field has at most eight bytes, so this steps down at most seven times.
  std::size_t length = std::min(available, body - 1);
  while (length + varint_size(length) > body) --length;
  if (length == 0 && available != 0) return std::nullopt;
  return DataFit{length, true, header_size + varint_size(length) + length};
}

}  // namespace quasi::wire
