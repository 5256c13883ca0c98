// What TLS alerts say (RFC 8446 §6.2), for CONNECTION_CLOSE frames and for people.
#include "tls/session.h"

namespace quasi::tls {

const char* alert_text(std::uint8_t alert) {
  switch (alert) {
    case 0:
      return "TLS ended the connection";
    case 10:
      return "a TLS message came where it is not allowed";
    case 20:
      return "a TLS record could not be authenticated";
    case 22:
      return "a TLS record is too long";
    case 40:
      return "no common TLS parameters (suites, groups or signatures)";
    case 42:
      return "the certificate is malformed or not for this name";
    case 43:
      return "the certificate is of an unsupported kind";
    case 44:
      return "the certificate has been revoked";
    case 45:
      return "the certificate has expired or is not valid yet";
    case 46:
      return "the certificate was refused";
    case 47:
      return "a TLS message holds an illegal value";
    case 48:
      return "the certificate is not signed by a trusted authority";
    case 49:
      return "access was denied";
    case 50:
      return "a TLS message is malformed";
    case 51:
      return "a signature or check value of the handshake is wrong";
    case 70:
      return "no common TLS version; QUIC requires TLS 1.3";
    case 71:
      return "the TLS parameters offered are not secure enough";
    case 80:
      return "TLS failed for an internal reason";
    case 86:
      return "TLS saw an inappropriate fallback";
    case 90:
      return "the handshake was cancelled";
    case 109:
      return "a required TLS extension is missing";
    case 110:
      return "a TLS extension came that was not asked for";
    case 112:
      return "the server does not know the name it was asked for";
    case 113:
      return "the certificate's OCSP response is wrong";
    case 115:
      return "the pre-shared key is unknown";
    case 116:
      return "a client certificate is required";
    case 120:
      return "no common application protocol (ALPN)";
    default:
      return "the TLS handshake failed";
  }
}

}  // namespace quasi::tls
