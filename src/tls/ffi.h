// Conversions between the C interface of the Rust crate and the types of C++.
#pragma once

#include <string>
#include <string_view>

#include "quasi/bytes.h"
#include "tls/quasi_tls.h"

namespace quasi::tls {

[[nodiscard]] inline qt_bytes to_qt(Bytes bytes) { return {bytes.data(), bytes.size()}; }

[[nodiscard]] inline qt_bytes to_qt(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[nodiscard]] inline std::string text_of(const qt_error& error) {
  return std::string(error.text, error.text_size);
}

}  // namespace quasi::tls
