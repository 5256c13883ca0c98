// What a TLS endpoint trusts, offers and presents: made once, checked once, then
// shared by every session. A mistake in it (bad PEM, a key that does not belong to
// the certificate, no suite left) is found here, with a sentence for people, and
// never during a handshake. TLS 1.3 only (RFC 9001 §4.2).
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasi/bytes.h"

struct qt_config;

namespace quasi::tls {

/// TLS numbers of the cipher suites (RFC 8446 §B.4).
enum class Suite : std::uint16_t {
  aes_128_gcm_sha256 = 0x1301,
  aes_256_gcm_sha384 = 0x1302,
  chacha20_poly1305_sha256 = 0x1303,
};

/// TLS numbers of the key exchange groups (RFC 8446 §4.2.7).
enum class Group : std::uint16_t { secp256r1 = 0x0017, x25519 = 0x001d };

using Fingerprint = std::array<std::uint8_t, 32>;

/// A value, or one sentence that names the cause and the cure.
template <class T>
using Configured = std::expected<T, std::string>;

/// Receives the lines of the key log (NSS format, without the line end).
using KeyLog = std::function<void(std::string_view line)>;

/// Options of both sides.
struct CommonOptions {
  /// Suites allowed, the preferred one first.
  std::vector<Suite> suites = {Suite::aes_128_gcm_sha256, Suite::aes_256_gcm_sha384,
                               Suite::chacha20_poly1305_sha256};
  /// Groups allowed, the preferred one first; a client sends a share of the first.
  std::vector<Group> groups = {Group::x25519, Group::secp256r1};
  /// Protocols of the application, the preferred one first; at least one
  /// (RFC 9001 §8.1), each of 1 to 255 bytes.
  std::vector<std::string> alpn;
  /// Where secrets are logged to, for Wireshark and the like; empty: nowhere.
  KeyLog key_log;
  /// The time for certificate checks, in seconds since 1970; empty: the host's clock.
  std::optional<std::int64_t> unix_time = {};
};

struct ClientOptions : CommonOptions {
  /// How the server's certificate is verified. The signature of the handshake is
  /// checked whichever is chosen.
  enum class Verify : std::uint8_t {
    public_roots,  // against Mozilla's root programme, built in
    ca,            // against `ca_pem` alone
    fingerprint,   // the certificate's SHA-256 is `fingerprint`; names and dates do not matter
    insecure,      // any certificate: whoever is on the path can read and change everything
  };
  Verify verify = Verify::public_roots;
  /// One or more certificates in PEM.
  std::string ca_pem;
  Fingerprint fingerprint{};
};

struct ServerOptions : CommonOptions {
  /// The server's certificate first, then those that lead to a root, in PEM.
  std::string certificate_pem;
  /// Its private key in PEM (PKCS #8, PKCS #1 or SEC 1).
  std::string key_pem;
  /// NewSessionTicket messages sent after a handshake. Only this process honours
  /// them, without 0-RTT; 0 switches resumption off.
  std::uint8_t session_tickets = 0;
};

struct ConfigDeleter {
  void operator()(qt_config* config) const;
};

class ClientConfig {
 public:
  [[nodiscard]] static Configured<std::shared_ptr<const ClientConfig>> create(
      const ClientOptions& options);
  [[nodiscard]] const qt_config* handle() const { return handle_.get(); }

 private:
  ClientConfig() = default;
  std::unique_ptr<qt_config, ConfigDeleter> handle_;
};

class ServerConfig {
 public:
  [[nodiscard]] static Configured<std::shared_ptr<const ServerConfig>> create(
      const ServerOptions& options);
  [[nodiscard]] const qt_config* handle() const { return handle_.get(); }

 private:
  ServerConfig() = default;
  std::unique_ptr<qt_config, ConfigDeleter> handle_;
};

/// A key log that appends to a file. Opens it at once, so that a path that cannot
/// be written is told now.
[[nodiscard]] Configured<KeyLog> key_log_to_file(const std::string& path);
/// The same for the file that the environment variable SSLKEYLOGFILE names; an
/// empty KeyLog when it names none.
[[nodiscard]] Configured<KeyLog> key_log_from_environment();

}  // namespace quasi::tls
