// The commands of the program and what they share: how a command fails, how a
// file is read whole, and the cipher suites by the names that users type.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exit_code.h"
#include "options.h"
#include "quasi/connection.h"
#include "tls/config.h"

namespace quasi::app {

/// Ends a command: one sentence for the user and the exit code.
struct Failure {
  ExitCode code = kInternal;
  std::string sentence;
};
template <class T>
using Outcome = std::expected<T, Failure>;

[[nodiscard]] inline std::unexpected<Failure> failure(ExitCode code, std::string sentence) {
  return std::unexpected(Failure{code, std::move(sentence)});
}

extern const CommandSpec kGetCommand;
extern const CommandSpec kServeCommand;
extern const CommandSpec kCertCommand;

[[nodiscard]] Outcome<void> run_get(const ParsedOptions& options);
[[nodiscard]] Outcome<void> run_serve(const ParsedOptions& options);
[[nodiscard]] Outcome<void> run_cert(const ParsedOptions& options);

/// The bytes of a small file (at most 1 MiB: certificates, keys).
[[nodiscard]] Outcome<std::string> read_small_file(const std::string& path);

/// "aes128gcm", "aes256gcm", "chacha20", comma-separated, preferred first; an
/// empty text means all three.
[[nodiscard]] Outcome<std::vector<tls::Suite>> parse_ciphers(const std::string& text);
/// "cubic", "newreno" or "bbr".
[[nodiscard]] Outcome<CongestionController> parse_congestion(const std::string& text);
[[nodiscard]] std::string_view cipher_name(std::uint16_t suite);

/// Why a connection ended, as a sentence, with the exit code that goes with it.
/// `peer` names the other side ("127.0.0.1:4433").
[[nodiscard]] Failure describe(const CloseReason& reason, const std::string& peer);

/// ALPN of HTTP/0.9 over QUIC, as interop tests use it.
inline constexpr const char* kAlpnHq = "hq-interop";
/// Application error code of a stream whose file cannot be opened just now.
inline constexpr std::uint64_t kUnavailable = 503;

/// A text as a JSON string, with its quotes.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace quasi::app
