// Authenticated encryption for packets, many at a time: AES-128-GCM,
// AES-256-GCM and ChaCha20-Poly1305 (RFC 5116, RFC 8439), and the header masks
// of QUIC (RFC 9001 §5.4). Take it for messages of up to a few tens of KiB under
// keys that are used often; it has no incremental mode.
//
// A burst of packets is the unit. Hand over as many jobs as there are: work that
// one packet would waste in half-empty vectors is shared between them.
//
// Everything here runs in constant time: no branch, no address and no
// variable-time instruction depends on keys, plaintext or tags. Lengths, nonces
// and whether a tag was right are public. Nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quasi/bytes.h"
#include "quasi/result.h"

namespace quasi::aead {

enum class Algorithm : std::uint8_t { aes_128_gcm, aes_256_gcm, chacha20_poly1305 };

inline constexpr std::size_t kTagSize = 16;     ///< Bytes of a tag, for every algorithm.
inline constexpr std::size_t kNonceSize = 12;   ///< Bytes of a nonce, for every algorithm.
inline constexpr std::size_t kSampleSize = 16;  ///< RFC 9001 §5.4.2: bytes sampled for a mask.
inline constexpr std::size_t kMaskSize = 16;    ///< Bytes of mask made; QUIC v1 uses five.

/// Bytes of a key: 16 for AES-128, else 32. Header keys have the same size.
[[nodiscard]] constexpr std::size_t key_size(Algorithm algorithm) {
  return algorithm == Algorithm::aes_128_gcm ? 16 : 32;
}

/// The most bytes that one message may have. GCM's counter has 32 bits and starts at 2 (NIST
/// SP 800-38D §5.2.1.1), ChaCha20's starts at 1 (RFC 8439 §2.8).
[[nodiscard]] constexpr std::uint64_t max_message_size(Algorithm algorithm) {
  return algorithm == Algorithm::chacha20_poly1305 ? ((std::uint64_t{1} << 32) - 1) * 64
                                                   : (std::uint64_t{1} << 36) - 32;
}

/// One message to seal or to open. The pointers are the caller's and are used only during the
/// call. `in` and `out` are the same address (in place) or do not overlap at all; the jobs of a
/// call do not overlap one another. Only [out, out + size) and, when sealing, [tag, tag + 16) are
/// written: the tag may directly follow the message. Pointers with a size of 0 may be null.
struct Job {
  const std::uint8_t* in = nullptr;   ///< Plaintext to seal, ciphertext to open.
  std::uint8_t* out = nullptr;        ///< Ciphertext, or plaintext.
  std::size_t size = 0;               ///< Bytes of message, without the tag.
  const std::uint8_t* aad = nullptr;  ///< Bytes that are authenticated and not encrypted.
  std::size_t aad_size = 0;
  std::uint8_t* tag = nullptr;  ///< 16 bytes: written by seal_many, read by open_many.
  std::array<std::uint8_t, kNonceSize> nonce{};  ///< Never twice for one key when sealing.
  /// Verdict. Opened: the tag was right; otherwise all of `out` is zeros. Sealed: true. In both
  /// directions false, with nothing written, when buffers overlap in part or the message is
  /// longer than max_message_size().
  bool ok = false;
};

/// One header mask to make (RFC 9001 §5.4).
struct MaskJob {
  const std::uint8_t* sample = nullptr;  ///< 16 bytes of ciphertext.
  std::array<std::uint8_t, kMaskSize> mask{};
};

/// One implementation of an algorithm. Opaque to callers, who pass it back to `expand`.
struct Kernel;
/// One implementation of header masks.
struct HeaderKernel;

/// The implementations compiled into this program that this machine can run, the fastest first;
/// never empty. `expand` takes the first one unless told otherwise.
[[nodiscard]] std::span<const Kernel* const> kernels(Algorithm algorithm);
[[nodiscard]] std::span<const HeaderKernel* const> header_kernels(Algorithm algorithm);
/// A short name, such as "scalar", "simd128", "relaxed", "aesni" or "vaes512".
[[nodiscard]] std::string_view name(const Kernel& kernel);
[[nodiscard]] std::string_view name(const HeaderKernel& kernel);
/// A name for people, such as "AES-128-GCM".
[[nodiscard]] std::string_view name(Algorithm algorithm);

/// A key, expanded once, good for any number of calls and of either direction. The object has a
/// fixed size (about 18 KiB, of which the native kernels touch less than 2 KiB), holds no
/// pointers into itself, and is wiped when it is destroyed, moved from or expanded again.
/// Const calls may run at the same time on several threads.
class AeadKey {
 public:
  AeadKey() {}  // NOLINT(modernize-use-equals-default): `AeadKey{}` need not zero the state
  AeadKey(AeadKey&& other) noexcept { take(other); }
  AeadKey& operator=(AeadKey&& other) noexcept;
  AeadKey(const AeadKey&) = delete;
  AeadKey& operator=(const AeadKey&) = delete;
  ~AeadKey() { reset(); }

  /// Fails, and leaves the object without a key, when `key` does not have key_size() bytes.
  [[nodiscard]] Status expand(Algorithm algorithm, Bytes key);
  /// The same with one implementation: for tests and benchmarks. `kernel` must come from
  /// kernels(algorithm).
  [[nodiscard]] Status expand(Algorithm algorithm, Bytes key, const Kernel& kernel);
  /// Forgets the key.
  void reset();
  /// Whether there is a key. Without one the calls below set every verdict to false.
  explicit operator bool() const { return kernel_ != nullptr; }

  /// Encrypts every job and writes its tag. Returns true when every job's `ok` is true.
  bool seal_many(std::span<Job> jobs) const;
  /// Checks and decrypts every job. Each job has its own verdict in `ok`; one that fails gets an
  /// output of zeros and does not disturb the others. Returns true when every `ok` is true.
  bool open_many(std::span<Job> jobs) const;

  /// One packet. `out` has room for as many bytes as `in`.
  bool seal(std::span<const std::uint8_t, kNonceSize> nonce, Bytes aad, Bytes in, std::uint8_t* out,
            std::span<std::uint8_t, kTagSize> tag) const;
  [[nodiscard]] bool open(std::span<const std::uint8_t, kNonceSize> nonce, Bytes aad, Bytes in,
                          std::uint8_t* out, std::span<const std::uint8_t, kTagSize> tag) const;

  /// Bytes that an expanded key may take, whatever the kernel.
  static constexpr std::size_t kStateSize = 18 * 1024;

 private:
  void take(AeadKey& other);

  const Kernel* kernel_ = nullptr;
  alignas(64) std::array<std::uint8_t, kStateSize> state_;  // unset without a kernel
};

/// A header protection key (RFC 9001 §5.4), with the same rules as AeadKey. AES-128 masks for
/// AES-128-GCM, AES-256 masks for AES-256-GCM, ChaCha20 masks for ChaCha20-Poly1305.
class HeaderKey {
 public:
  HeaderKey() {}  // NOLINT(modernize-use-equals-default): as above
  HeaderKey(HeaderKey&& other) noexcept { take(other); }
  HeaderKey& operator=(HeaderKey&& other) noexcept;
  HeaderKey(const HeaderKey&) = delete;
  HeaderKey& operator=(const HeaderKey&) = delete;
  ~HeaderKey() { reset(); }

  [[nodiscard]] Status expand(Algorithm algorithm, Bytes key);
  [[nodiscard]] Status expand(Algorithm algorithm, Bytes key, const HeaderKernel& kernel);
  void reset();
  explicit operator bool() const { return kernel_ != nullptr; }

  /// Makes 16 bytes of mask for each sample: AES-ECB of the sample (§5.4.3), or the first bytes
  /// of the ChaCha20 block whose counter and nonce the sample is (§5.4.4). Without a key the
  /// masks are zeros.
  void mask_many(std::span<MaskJob> jobs) const;
  /// One mask.
  [[nodiscard]] std::array<std::uint8_t, kMaskSize> mask(
      std::span<const std::uint8_t, kSampleSize> sample) const;

  static constexpr std::size_t kStateSize = 2 * 1024;

 private:
  void take(HeaderKey& other);

  const HeaderKernel* kernel_ = nullptr;
  alignas(64) std::array<std::uint8_t, kStateSize> state_;
};

}  // namespace quasi::aead
