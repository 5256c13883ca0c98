// `quasi cert`: makes a self-signed certificate and its key.
#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "command.h"
#include "output_file.h"
#include "tls/certificate.h"
#include "tls/crypto.h"

namespace quasi::app {
namespace {

constexpr std::array<OptionSpec, 3> kOptions = {{
    {"cert", 0, "FILE", "Where the certificate goes (cert.pem)."},
    {"key", 0, "FILE", "Where the private key goes (key.pem)."},
    {"days", 0, "NUMBER", "Days that it is valid (13; browsers take pinned ones up to 14)."},
}};

Outcome<void> save(const std::string& path, const std::string& text) {
  auto file = OutputFile::create(path);
  if (!file) return failure(kFile, file.error());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::string error = file->write(Bytes(bytes, text.size()));
  if (error.empty()) error = file->commit();
  if (!error.empty()) return failure(kFile, std::move(error));
  return {};
}

}  // namespace

const CommandSpec kCertCommand = {
    .name = "cert",
    .arguments = "[NAME...]",
    .summary = "make a self-signed certificate for names and IP addresses",
    .options = kOptions,
    .more =
        "Without names it is for localhost, 127.0.0.1 and ::1. Clients trust it by\n"
        "--ca CERT or --pin FINGERPRINT.\n"};

Outcome<void> run_cert(const ParsedOptions& options) {
  tls::CertificateOptions certificate;
  certificate.names = options.positional();
  if (certificate.names.empty()) certificate.names = {"localhost", "127.0.0.1", "::1"};
  const auto days = options.number("days", 1, 3650, 13);
  if (!days) return failure(kUsage, days.error());
  certificate.validity_days = static_cast<std::uint32_t>(*days);
  const auto made = tls::make_certificate(certificate);
  if (!made) return failure(kUsage, made.error());
#if !QUASI_WASM
  ::umask(0077);  // the key is nobody else's
#endif
  const std::string cert_path = options.get("cert").value_or("cert.pem");
  const std::string key_path = options.get("key").value_or("key.pem");
  if (cert_path == key_path && cert_path != "-") {
    return failure(kUsage, "--cert and --key name the same file; give them different names.");
  }
  if (auto saved = save(key_path, made->key_pem); !saved) return saved;
  if (auto saved = save(cert_path, made->certificate_pem); !saved) return saved;
  std::printf("certificate %s\nkey %s\ncertificate SHA-256 %s\npublic key SHA-256 (base64) %s\n",
              cert_path.c_str(), key_path.c_str(), tls::hex(made->fingerprints.certificate).c_str(),
              tls::base64(made->fingerprints.spki).c_str());
  return {};
}

}  // namespace quasi::app
