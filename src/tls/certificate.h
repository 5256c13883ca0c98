// Certificates for servers that have none: a self-signed one on P-256, to be
// trusted by its fingerprint or as its own authority; and the fingerprints of
// certificates that exist. Reading and writing files is the caller's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tls/config.h"

namespace quasi::tls {

struct CertificateOptions {
  /// DNS names and IP addresses that the certificate is valid for; at least one.
  std::vector<std::string> names = {"localhost"};
  /// Days from `not_before`. Browsers accept a fingerprint only up to 14.
  std::uint32_t validity_days = 13;
  /// Seconds since 1970; empty: an hour before now (clocks differ).
  std::optional<std::int64_t> not_before = {};
};

struct Fingerprints {
  Fingerprint certificate{};  // SHA-256 of the DER certificate
  Fingerprint spki{};         // SHA-256 of its SubjectPublicKeyInfo, which browsers take (base64)
};

struct Certificate {
  std::string certificate_pem;
  std::string key_pem;
  Fingerprints fingerprints;
};

[[nodiscard]] Configured<Certificate> make_certificate(const CertificateOptions& options);

/// Of the first certificate in `pem`.
[[nodiscard]] Configured<Fingerprints> fingerprints(std::string_view pem);

/// Reads 64 hexadecimal digits, colons or blanks between them allowed.
[[nodiscard]] std::optional<Fingerprint> parse_fingerprint(std::string_view text);

}  // namespace quasi::tls
