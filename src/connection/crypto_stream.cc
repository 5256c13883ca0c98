// CRYPTO streams (see crypto_stream.h).
#include "connection/crypto_stream.h"

#include "base/limits.h"

namespace quasi::connection {
namespace {
constexpr std::uint64_t kCryptoType = 0x06;
}

Status CryptoStream::on_crypto(std::uint64_t offset, Bytes data, const BufferRef& owner) {
  // Compared without a sum that could overflow, and before anything is stored.
  const std::uint64_t bound = recv_.read_offset() + limits::kCryptoBuffer;
  if (data.size() > limits::kCryptoBuffer || offset > bound - data.size()) {
    return fail(TransportErrorCode::crypto_buffer_exceeded,
                "a CRYPTO frame lies too far beyond what was read", kCryptoType);
  }
  if (!recv_.insert(offset, data, owner)) {
    return fail(TransportErrorCode::internal_error, "no memory left for CRYPTO data", kCryptoType);
  }
  return {};
}

Status CryptoStream::write(Bytes data) {
  if (send_.write(data) != data.size()) {
    return fail(TransportErrorCode::internal_error, "no memory left for CRYPTO data");
  }
  return {};
}

void CryptoStream::release() {
  recv_.release();
  send_.release();
}

}  // namespace quasi::connection
