// The few cryptographic primitives that the transport needs besides its AEADs:
// hashes for fingerprints, an HMAC for stateless reset tokens (RFC 9000 §10.3.2),
// and the host's entropy. Thin calls into ring.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "quasi/bytes.h"

namespace quasi::tls {

[[nodiscard]] std::array<std::uint8_t, 32> sha256(Bytes data);
[[nodiscard]] std::array<std::uint8_t, 32> hmac_sha256(Bytes key, Bytes data);

/// Fills `out` from the operating system's (or WASI's) generator: a quasi::Entropy.
/// A host without entropy is a host that cannot be trusted with keys: the program ends.
void os_entropy(MutableBytes out);

/// RFC 4648 §4, with padding.
[[nodiscard]] std::string base64(Bytes data);
/// Lower-case hexadecimal digits.
[[nodiscard]] std::string hex(Bytes data);

}  // namespace quasi::tls
