// One TLS handshake of one QUIC connection (RFC 9001 §4): bytes of CRYPTO frames
// in and out by encryption level, and the packet protection keys as raw bytes.
// rustls speaks TLS; no packet is encrypted here.
//
// Driver's loop, whenever CRYPTO bytes became readable in order (and once at the
// start, for clients):
//
//   if (auto read = session.read_handshake(level, bytes); !read) close(read.error());
//   for (;;) {
//     HandshakeOutput o = session.write_handshake(crypto_stream_bytes);
//     if (o.empty()) break;
//     ... `o.bytes` new bytes belong to o.level; then install o.keys, if any ...
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/aead.h"
#include "quasi/bytes.h"
#include "quasi/connection.h"
#include "quasi/result.h"
#include "tls/config.h"

struct qt_session;

namespace quasi::tls {

/// Encryption levels (RFC 9001 §2.1), in the order in which they become usable.
enum class Level : std::uint8_t { initial, early_data, handshake, one_rtt };

/// QUIC versions whose key schedules differ (RFC 9001, RFC 9369).
enum class Version : std::uint32_t { v1 = 0x00000001, v2 = 0x6b3343cf };

/// The AEAD that a suite protects packets with (RFC 9001 §5.3).
[[nodiscard]] constexpr aead::Algorithm aead_algorithm(Suite suite) {
  switch (suite) {
    case Suite::aes_256_gcm_sha384:
      return aead::Algorithm::aes_256_gcm;
    case Suite::chacha20_poly1305_sha256:
      return aead::Algorithm::chacha20_poly1305;
    case Suite::aes_128_gcm_sha256:
      break;
  }
  return aead::Algorithm::aes_128_gcm;
}

/// Keys of one direction and level; wiped when destroyed.
struct TrafficKeys {
  Suite suite = Suite::aes_128_gcm_sha256;
  std::uint8_t key_length = 0;  // of `key` and of `header`: 16 or 32
  std::array<std::uint8_t, 32> key{};
  std::array<std::uint8_t, 12> iv{};
  std::array<std::uint8_t, 32> header{};  // header protection key; zero after a key update

  TrafficKeys() = default;
  TrafficKeys(const TrafficKeys&) = default;
  TrafficKeys& operator=(const TrafficKeys&) = default;
  ~TrafficKeys() { secure_wipe(this, sizeof *this); }

  [[nodiscard]] Bytes key_bytes() const { return Bytes(key).first(key_length); }
  [[nodiscard]] Bytes header_bytes() const { return Bytes(header).first(key_length); }
};

/// `local` protects what this side sends, `remote` what it receives.
struct KeyPair {
  TrafficKeys local, remote;
};

struct KeyChange {
  Level level = Level::handshake;  // handshake or one_rtt
  KeyPair keys;
};

/// What write_handshake() appended, and the keys that became known after it.
struct HandshakeOutput {
  Level level = Level::initial;
  std::size_t bytes = 0;
  std::optional<KeyChange> keys;
  [[nodiscard]] bool empty() const { return bytes == 0 && !keys; }
};

/// RFC 9001 §5.2: the keys of Initial packets, from the Destination Connection ID
/// of the client's first Initial packet (or of the first after a Retry).
[[nodiscard]] KeyPair initial_keys(Version version, Bytes client_dcid, Side side);

/// What a TLS alert means, in a sentence without a full stop. Static.
[[nodiscard]] const char* alert_text(std::uint8_t alert);

class Session {
 public:
  /// `server_name`: a DNS name or an IP address, without port or brackets.
  /// `transport_parameters`: encoded (RFC 9000 §18).
  [[nodiscard]] static Configured<Session> client(const ClientConfig& config,
                                                  std::string_view server_name, Version version,
                                                  Bytes transport_parameters);
  [[nodiscard]] static Configured<Session> server(const ServerConfig& config, Version version,
                                                  Bytes transport_parameters);

  /// Level at which read_handshake() takes the next bytes.
  [[nodiscard]] Level read_level() const;

  /// Takes CRYPTO bytes, in order and without gaps, in pieces of any size. Bytes of
  /// a level above read_level() have to wait until it is reached; bytes of one
  /// below it are PROTOCOL_VIOLATION (RFC 9001 §4.1.3), as is data that straddles
  /// a key change. TLS errors are CRYPTO_ERROR: 0x0100 + alert. After an error the
  /// session takes nothing more; write_handshake() has nothing to say either, since
  /// QUIC carries alerts in CONNECTION_CLOSE.
  [[nodiscard]] Status read_handshake(Level level, Bytes bytes);

  /// Appends the next handshake bytes to `out`. Call until the result is empty().
  [[nodiscard]] HandshakeOutput write_handshake(std::vector<std::uint8_t>& out);

  /// False once the peer's Finished has been verified and ours is written
  /// ("handshake complete", RFC 9001 §4.1.1).
  [[nodiscard]] bool is_handshaking() const;

  /// The agreed protocol; empty until known.
  [[nodiscard]] Bytes alpn() const { return alpn_; }
  /// The peer's transport parameters, encoded; empty until known. Authenticated
  /// only when is_handshaking() is false (RFC 9001 §8.2).
  [[nodiscard]] Bytes peer_transport_parameters() const { return peer_parameters_; }
  /// The agreed suite, once the ServerHello is out or in.
  [[nodiscard]] std::optional<Suite> suite() const;
  [[nodiscard]] std::optional<Group> group() const;
  /// Server: the name that the client asked for; empty when it named none.
  [[nodiscard]] std::string server_name() const;
  /// Client: SHA-256 of the server's certificate, once received.
  [[nodiscard]] std::optional<Fingerprint> peer_fingerprint() const;

  /// RFC 9001 §6.1: the packet keys of the next key phase, of the one after it on
  /// the next call, and so on. Header keys do not change: those returned are zero.
  /// Only after the one_rtt keys came out of write_handshake().
  [[nodiscard]] KeyPair next_1rtt_keys();

  /// After read_handshake() failed: what went wrong, for people, with the details
  /// (names, dates) that Error's static reason lacks.
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

 private:
  struct Deleter {
    void operator()(qt_session* session) const;
  };
  explicit Session(qt_session* handle) : handle_(handle) {}
  void refresh();

  std::unique_ptr<qt_session, Deleter> handle_;
  std::vector<std::uint8_t> alpn_;
  std::vector<std::uint8_t> peer_parameters_;
  std::string error_text_;
};

}  // namespace quasi::tls
