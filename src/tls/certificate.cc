// Certificates through the Rust crate: options in, PEM and fingerprints out.
#include "tls/certificate.h"

#include "tls/ffi.h"

namespace quasi::tls {

Configured<Certificate> make_certificate(const CertificateOptions& options) {
  std::string names;
  std::size_t capacity = 4096;
  for (const std::string& name : options.names) {
    if (name.find('\n') != std::string::npos) {
      return std::unexpected(std::string("a name in a certificate cannot hold a line break"));
    }
    names += name;
    names += '\n';
    capacity += 2 * (name.size() + 16);
  }
  Certificate made;
  made.certificate_pem.resize(capacity);
  made.key_pem.resize(512);
  qt_certificate form{};
  form.certificate_pem = made.certificate_pem.data();
  form.certificate_capacity = made.certificate_pem.size();
  form.key_pem = made.key_pem.data();
  form.key_capacity = made.key_pem.size();
  qt_error error{};
  if (qt_certificate_make(to_qt(std::string_view(names)), options.validity_days,
                          options.not_before.value_or(-1), &form, &error) != 0) {
    return std::unexpected(text_of(error));
  }
  made.certificate_pem.resize(form.certificate_size);
  made.key_pem.resize(form.key_size);
  std::memcpy(made.fingerprints.certificate.data(), form.sha256, 32);
  std::memcpy(made.fingerprints.spki.data(), form.spki_sha256, 32);
  return made;
}

Configured<Fingerprints> fingerprints(std::string_view pem) {
  Fingerprints out;
  qt_error error{};
  if (qt_certificate_inspect(to_qt(pem), out.certificate.data(), out.spki.data(), &error) != 0) {
    return std::unexpected(text_of(error));
  }
  return out;
}

std::optional<Fingerprint> parse_fingerprint(std::string_view text) {
  Fingerprint out{};
  std::size_t digits = 0;
  for (char c : text) {
    std::uint8_t value = 0;
    if (c == ':' || c == ' ') {
      continue;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<std::uint8_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = static_cast<std::uint8_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      value = static_cast<std::uint8_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    if (digits == 64) return std::nullopt;
    out[digits / 2] = static_cast<std::uint8_t>(out[digits / 2] << 4 | value);
    ++digits;
  }
  if (digits != 64) return std::nullopt;
  return out;
}

}  // namespace quasi::tls
