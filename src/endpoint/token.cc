// Layout of a token: one byte of kind and key, a random nonce of 12 bytes, the sealed
// content, a tag of 16 bytes. The content of both kinds starts with
//
//   issued (8, nanoseconds of our clock) | family (1) | address (16)
//
// and a Retry's goes on with
//
//   port (2) | original DCID (1 + 20) | Source Connection ID of the Retry (1 + 20)
//
// each ID padded, so that all tokens of a kind have one length. A NEW_TOKEN leaves
// the port out: the client's next socket has another (RFC 9000 §8.1.3).
#include "endpoint/token.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace quasi::endpoint {
namespace {

constexpr std::uint8_t kRetry = 1;
constexpr std::uint8_t kNewToken = 2;
constexpr std::uint8_t kKeyBit = 0x80;

constexpr std::size_t kHeaderSize = 1 + aead::kNonceSize;
constexpr std::size_t kAddressSize = 1 + 16;
constexpr std::size_t kCidSize = 1 + wire::ConnectionId::kMaxLength;
constexpr std::size_t kNewTokenContent = 8 + kAddressSize;
constexpr std::size_t kRetryContent = kNewTokenContent + 2 + 2 * kCidSize;
static_assert(kHeaderSize + kRetryContent + aead::kTagSize <= Token::kMaxSize);

constexpr Duration kRetryLifetime = Duration::seconds(limits::kRetryTokenSeconds);
constexpr Duration kNewTokenLifetime = Duration::seconds(limits::kNewTokenSeconds);

std::uint8_t* put_start(std::uint8_t* p, Instant now, const SocketAddress& client) {
  store_be(p, static_cast<std::uint64_t>(now.ns()));
  p[8] = static_cast<std::uint8_t>(client.family);
  std::copy(client.ip.begin(), client.ip.end(), p + 9);
  return p + kNewTokenContent;
}

std::uint8_t* put_cid(std::uint8_t* p, const wire::ConnectionId& cid) {
  *p = static_cast<std::uint8_t>(cid.size());
  std::copy_n(cid.data(), cid.size(), p + 1);
  return p + kCidSize;
}

/// Only for bytes that put_cid() made.
wire::ConnectionId get_cid(const std::uint8_t* p) {
  const std::size_t size = std::min<std::size_t>(*p, wire::ConnectionId::kMaxLength);
  return wire::ConnectionId::from({p + 1, size}).value_or(wire::ConnectionId());
}

bool same_address(const std::uint8_t* content, const SocketAddress& client) {
  return content[8] == static_cast<std::uint8_t>(client.family) &&
         std::equal(client.ip.begin(), client.ip.end(), content + 9);
}

bool in_time(const std::uint8_t* content, Instant now, Duration lifetime) {
  const auto issued = Instant::from_ns(static_cast<std::int64_t>(load_be<std::uint64_t>(content)));
  return issued <= now && now - issued <= lifetime;
}

// A tag that the AEAD accepted is one that we made: as good as random, and nobody can
// choose tokens that fall into one set.
constexpr std::size_t kSets = limits::kRememberedTokens / 4;

std::size_t set_of(Bytes tag) {
  return static_cast<std::size_t>(load_be<std::uint64_t>(tag.data() + 8) % kSets);
}

/// Never 0, which marks an empty place.
std::uint64_t id_of(Bytes tag) { return load_be<std::uint64_t>(tag.data()) | 1; }

}  // namespace

TokenKeeper::TokenKeeper(Entropy entropy) : entropy_(std::move(entropy)) {}

void TokenKeeper::renew_key(Instant now) {
  if (keys_[current_key_] && now - key_since_ < kNewTokenLifetime &&
      sealed_ < limits::kMaxTokensPerKey) {
    return;
  }
  std::array<std::uint8_t, 32> key;
  entropy_(key);
  current_key_ ^= 1;
  // Cannot fail: the key has the algorithm's length.
  (void)keys_[current_key_].expand(aead::Algorithm::chacha20_poly1305, key);
  secure_wipe(key.data(), key.size());
  key_since_ = now;
  sealed_ = 0;
}

Token TokenKeeper::seal(Instant now, std::uint8_t kind, Bytes content) {
  renew_key(now);
  ++sealed_;
  Token token;
  token.data[0] = static_cast<std::uint8_t>(kind | (current_key_ == 0 ? 0 : kKeyBit));
  std::array<std::uint8_t, aead::kNonceSize> nonce;
  entropy_(nonce);
  std::copy(nonce.begin(), nonce.end(), token.data.begin() + 1);
  std::uint8_t* const sealed = token.data.data() + kHeaderSize;
  const std::span<std::uint8_t, aead::kTagSize> tag(sealed + content.size(), aead::kTagSize);
  if (!keys_[current_key_].seal(nonce, Bytes(token.data).first(1), content, sealed, tag)) {
    return Token();
  }
  token.size = kHeaderSize + content.size() + aead::kTagSize;
  return token;
}

Token TokenKeeper::make_retry(Instant now, const SocketAddress& client,
                              const wire::ConnectionId& original_dcid,
                              const wire::ConnectionId& retry_scid) {
  std::array<std::uint8_t, kRetryContent> content{};
  std::uint8_t* p = put_start(content.data(), now, client);
  store_be(p, client.port);
  p = put_cid(p + 2, original_dcid);
  put_cid(p, retry_scid);
  return seal(now, kRetry, content);
}

Token TokenKeeper::make_new_token(Instant now, const SocketAddress& client) {
  std::array<std::uint8_t, kNewTokenContent> content{};
  put_start(content.data(), now, client);
  return seal(now, kNewToken, content);
}

bool TokenKeeper::is_spent(Bytes tag) const {
  if (spent_.empty()) return false;
  const Set& set = spent_[set_of(tag)];
  return std::find(set.begin(), set.end(), id_of(tag)) != set.end();
}

void TokenKeeper::spend(const TokenVerdict& verdict) {
  if (verdict.kind != TokenVerdict::Kind::retry && verdict.kind != TokenVerdict::Kind::new_token) {
    return;
  }
  if (is_spent(verdict.id)) return;
  if (spent_.empty()) spent_.resize(kSets);
  Set& set = spent_[set_of(verdict.id)];
  std::shift_right(set.begin(), set.end(), 1);  // the oldest is forgotten
  set.front() = id_of(verdict.id);
}

TokenVerdict TokenKeeper::check(Bytes token, Instant now, const SocketAddress& client,
                                const wire::ConnectionId& dcid) const {
  TokenVerdict verdict;
  if (token.empty()) return verdict;
  const auto kind = static_cast<std::uint8_t>(token[0] & ~kKeyBit);
  std::size_t content_size = 0;
  if (kind == kRetry) content_size = kRetryContent;
  if (kind == kNewToken) content_size = kNewTokenContent;
  if (content_size == 0 || token.size() != kHeaderSize + content_size + aead::kTagSize) {
    return verdict;
  }
  const aead::AeadKey& key = keys_[(token[0] & kKeyBit) == 0 ? 0 : 1];
  std::array<std::uint8_t, kRetryContent> content;
  const Bytes tag = token.subspan(kHeaderSize + content_size);
  if (!key || !key.open(token.subspan<1, aead::kNonceSize>(), token.first(1),
                        token.subspan(kHeaderSize, content_size), content.data(),
                        tag.first<aead::kTagSize>())) {
    return verdict;
  }
  std::copy(tag.begin(), tag.end(), verdict.id.begin());
  if (kind == kNewToken) {
    if (same_address(content.data(), client) && in_time(content.data(), now, kNewTokenLifetime) &&
        !is_spent(tag)) {
      verdict.kind = TokenVerdict::Kind::new_token;
    }
    return verdict;
  }
  const std::uint8_t* rest = content.data() + kNewTokenContent;
  verdict.kind = TokenVerdict::Kind::invalid_retry;
  if (same_address(content.data(), client) && load_be<std::uint16_t>(rest) == client.port &&
      get_cid(rest + 2 + kCidSize) == dcid && in_time(content.data(), now, kRetryLifetime) &&
      !is_spent(tag)) {
    verdict.kind = TokenVerdict::Kind::retry;
    verdict.original_dcid = get_cid(rest + 2);
  }
  return verdict;
}

}  // namespace quasi::endpoint
