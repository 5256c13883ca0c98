// See the header. Sizes: a trigger of up to 43 bytes gets a reset that is one byte
// shorter (RFC 9000 §10.3.3); a longer one gets a reset of 42 bytes or some more, the
// size of a small packet with a full-length connection ID, so that an observer
// cannot tell it by its size.
#include "endpoint/stateless_reset.h"

#include <algorithm>

#include "tls/crypto.h"

namespace quasi::endpoint {
namespace {

constexpr std::size_t kSmallTrigger = 43;
constexpr std::size_t kUsualSize = 42;
constexpr std::uint8_t kSizeVariation = 0x0f;

}  // namespace

StatelessReset::StatelessReset(Bytes key, const Entropy& entropy) {
  if (key.empty()) {
    entropy(key_);
  } else {
    key_ = tls::sha256(key);  // any length in, one length kept
  }
}

StatelessReset::~StatelessReset() { secure_wipe(key_.data(), key_.size()); }

wire::ResetToken StatelessReset::token(const wire::ConnectionId& cid) const {
  const auto mac = tls::hmac_sha256(key_, cid.bytes());
  wire::ResetToken token;
  std::copy_n(mac.begin(), token.size(), token.begin());
  return token;
}

std::size_t StatelessReset::write(MutableBytes out, std::size_t trigger_size,
                                  const wire::ConnectionId& cid, const Entropy& entropy) const {
  if (trigger_size <= kMinResetSize) return 0;
  std::size_t size = trigger_size - 1;
  if (trigger_size > kSmallTrigger) {
    std::uint8_t variation = 0;
    entropy({&variation, 1});
    size = std::min(size, kUsualSize + (variation & kSizeVariation));
  }
  if (size > out.size()) return 0;
  const wire::ResetToken reset_token = token(cid);
  const MutableBytes random = out.first(size - reset_token.size());
  entropy(random);
  random[0] = static_cast<std::uint8_t>((random[0] & 0x3fU) | 0x40U);  // a short header
  std::copy(reset_token.begin(), reset_token.end(),
            out.begin() + static_cast<std::ptrdiff_t>(random.size()));
  return size;
}

}  // namespace quasi::endpoint
