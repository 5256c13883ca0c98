// What the commands share (see command.h).
#include "command.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tls/session.h"

namespace quasi::app {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Cipher {
  std::string_view typed;
  std::string_view shown;
  tls::Suite suite;
};
constexpr std::array<Cipher, 3> kCiphers = {{
    {"aes128gcm", "AES-128-GCM", tls::Suite::aes_128_gcm_sha256},
    {"aes256gcm", "AES-256-GCM", tls::Suite::aes_256_gcm_sha384},
    {"chacha20", "ChaCha20-Poly1305", tls::Suite::chacha20_poly1305_sha256},
}};

constexpr std::uint64_t kNoApplicationProtocol = 0x178;

}  // namespace

Outcome<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    return failure(kFile, "Cannot read " + path + ": " + std::strerror(errno) +
                              ". Check the name and its permissions.");
  }
  std::string content;
  std::array<char, 4096> chunk{};
  std::size_t n = 0;
  while ((n = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0) {
    content.append(chunk.data(), n);
    if (content.size() > kMost) {
      return failure(kFile, path + " is larger than 1 MiB; is it the right file?");
    }
  }
  if (std::ferror(file.get()) != 0) {
    return failure(kFile, "Cannot read " + path + ": " + std::strerror(errno) + ".");
  }
  return content;
}

Outcome<std::vector<tls::Suite>> parse_ciphers(const std::string& text) {
  std::vector<tls::Suite> suites;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    bool found = false;
    for (const Cipher& cipher : kCiphers) {
      if (cipher.typed != name) continue;
      suites.push_back(cipher.suite);
      found = true;
    }
    if (!found) {
      return failure(kUsage, "Unknown cipher \"" + std::string(name) +
                                 "\"; choose from aes128gcm, aes256gcm and chacha20.");
    }
    rest = name.size() == rest.size() ? std::string_view() : rest.substr(name.size() + 1);
  }
  if (suites.empty()) {
    for (const Cipher& cipher : kCiphers) suites.push_back(cipher.suite);
  }
  return suites;
}

Outcome<CongestionController> parse_congestion(const std::string& text) {
  if (text == "cubic") return CongestionController::cubic;
  if (text == "newreno") return CongestionController::new_reno;
  if (text == "bbr") return CongestionController::bbr;
  return failure(kUsage, "Unknown congestion controller \"" + text +
                             "\"; choose from cubic, newreno and bbr.");
}

std::string_view cipher_name(std::uint16_t suite) {
  for (const Cipher& cipher : kCiphers) {
    if (static_cast<std::uint16_t>(cipher.suite) == suite) return cipher.shown;
  }
  return "none";
}

Failure describe(const CloseReason& reason, const std::string& peer) {
  const auto base = static_cast<std::uint64_t>(TransportErrorCode::crypto_error_base);
  std::array<char, 32> code{};
  std::snprintf(code.data(), code.size(), "0x%llx",
                static_cast<unsigned long long>(reason.error_code));
  const std::string detail = reason.reason.empty() ? "" : " (" + reason.reason + ")";
  switch (reason.kind) {
    case CloseReason::Kind::handshake_timeout:
    case CloseReason::Kind::idle_timeout:
      if (!reason.heard_from_peer) {
        return {kConnect, "No answer from " + peer +
                              ": nothing there speaks QUIC, or a firewall drops UDP. Check the "
                              "address and the port."};
      }
      if (reason.kind == CloseReason::Kind::handshake_timeout) {
        return {kConnect, "The handshake with " + peer +
                              " did not complete in time. Try again, or allow more with "
                              "--connect-timeout."};
      }
      return {kTransfer, "The connection to " + peer +
                             " broke: nothing was heard for the idle timeout. Try again."};
    case CloseReason::Kind::stateless_reset:
      return {kTransfer, "The peer " + peer +
                             " no longer knows the connection (it was restarted, perhaps). "
                             "Try again."};
    case CloseReason::Kind::version_negotiation:
      return {kConnect, "The server " + peer +
                            " speaks no version of QUIC that this program speaks" + detail + "."};
    case CloseReason::Kind::transport:
      if (reason.error_code == kNoApplicationProtocol) {
        return {kTls, "The server " + peer + " does not speak " + kAlpnHq +
                          " (ALPN found no protocol in common); is it the right port?"};
      }
      if (reason.error_code >= base && reason.error_code < base + 256) {
        const auto alert = static_cast<std::uint8_t>(reason.error_code - base);
        return {kTls, std::string("The TLS handshake with ") + peer + " failed, " +
                          (reason.by_peer ? "says the peer: " : "says this side: ") +
                          (reason.reason.empty() ? tls::alert_text(alert) : reason.reason) + "."};
      }
      if (reason.error_code == static_cast<std::uint64_t>(TransportErrorCode::connection_refused)) {
        return {kConnect, "The server " + peer + " refuses new connections" + detail + "."};
      }
      return {kTransfer, std::string("The connection to ") + peer + " was closed by " +
                             (reason.by_peer ? "the peer" : "this side") + " with error " +
                             code.data() + detail + "."};
    case CloseReason::Kind::application:
    case CloseReason::Kind::none:
      break;
  }
  return {kTransfer, "The server " + peer + " closed the connection before everything had " +
                         "arrived, with error " + code.data() + detail + "."};
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace quasi::app
