// Whom a client believes: authorities, names, dates, pins, and what it says when
// it does not. Alerts are those of RFC 8446 §6.2, in CRYPTO_ERROR (0x0100 + alert).
#include <gtest/gtest.h>

#include "tls/handshake_testing.h"
#include "tls/session.h"

namespace quasi::tls {
namespace {

using testing::client_options;
using testing::code_of;
using testing::contains;
using testing::kDay;
using testing::kNow;
using testing::localhost;
using testing::pair;
using testing::server_options;
using testing::test_data;

/// Runs a handshake in which the client refuses the certificate.
void expect_refused(const ClientOptions& client, const ServerOptions& server, const char* name,
                    std::uint64_t code, const std::vector<std::string>& words) {
  auto p = pair(client, server, name);
  ASSERT_TRUE(p);
  p->run();
  EXPECT_TRUE(p->server_status);
  EXPECT_EQ(code_of(p->client_status), code);
  EXPECT_TRUE(p->client.session.is_handshaking());
  EXPECT_FALSE(p->client.keys[3].has_value());  // no 1-RTT keys for whom it does not believe
  const std::string& text = p->client.session.error_text();
  for (const std::string& word : words) EXPECT_TRUE(contains(text, word)) << text;
}

TEST(Verification, UnknownAuthority) {
  auto other = make_certificate({.names = {"localhost"}, .not_before = kNow - kDay});
  ASSERT_TRUE(other);
  auto client = client_options();
  client.ca_pem = other->certificate_pem;
  expect_refused(client, server_options(), "localhost", 0x0130,
                 {"localhost", "not signed by a trusted authority", "pin its fingerprint"});
}

TEST(Verification, PublicRootsDoNotKnowOurs) {
  auto client = client_options();
  client.verify = ClientOptions::Verify::public_roots;
  expect_refused(client, server_options(), "localhost", 0x0130, {"trusted authority"});
}

TEST(Verification, WrongName) {
  expect_refused(client_options(), server_options(), "other.example", 0x012a,
                 {"not for other.example but for localhost, 127.0.0.1"});
  expect_refused(client_options(), server_options(), "127.0.0.2", 0x012a, {"127.0.0.2"});
}

TEST(Verification, ExpiredAndNotYetValid) {
  auto client = client_options();
  client.unix_time = kNow + 400 * kDay;
  expect_refused(client, server_options(), "localhost", 0x012d,
                 {"expired on 2026-06-13 00:00 UTC", "it is 2027-07-06 00:00 UTC now"});
  client.unix_time = kNow - 2 * kDay;
  expect_refused(client, server_options(), "localhost", 0x012d,
                 {"valid from 2026-05-31 00:00 UTC on", "2026-05-30 00:00 UTC now", "clock"});
}

TEST(Verification, DatesAreReadRight) {
  // Leap days and year ends, through the sentence about an expired certificate.
  const struct {
    std::int64_t expiry;
    const char* text;
  } cases[] = {{951'782'400, "2000-02-29 00:00"},
               {951'868'800, "2000-03-01 00:00"},
               {978'307'199 + 1, "2001-01-01 00:00"},
               {1'709'164'800, "2024-02-29 00:00"},
               {4'107'542'400, "2100-03-01 00:00"}};
  for (const auto& c : cases) {
    auto made = make_certificate(
        {.names = {"localhost"}, .validity_days = 1, .not_before = c.expiry - kDay});
    ASSERT_TRUE(made) << made.error();
    auto server = server_options();
    server.certificate_pem = made->certificate_pem;
    server.key_pem = made->key_pem;
    auto client = client_options();
    client.ca_pem = made->certificate_pem;
    client.unix_time = c.expiry + 1000 * kDay;
    expect_refused(client, server, "localhost", 0x012d, {std::string("expired on ") + c.text});
  }
}

TEST(Verification, PinnedFingerprint) {
  auto client = client_options();
  client.verify = ClientOptions::Verify::fingerprint;
  client.fingerprint = localhost().fingerprints.certificate;
  client.unix_time = kNow + 400 * kDay;  // neither dates nor names matter
  auto p = pair(client, server_options(), "any.example");
  ASSERT_TRUE(p);
  p->run();
  EXPECT_TRUE(p->complete()) << p->client.session.error_text();

  client.fingerprint[31] ^= 1;
  expect_refused(client, server_options(), "any.example", 0x012e,
                 {"any.example", "SHA-256 fingerprint is ", "not the one that is pinned"});
  client.fingerprint = localhost().fingerprints.spki;
  expect_refused(client, server_options(), "any.example", 0x012e, {"pinned"});
}

TEST(Verification, InsecureTakesAnyCertificate) {
  auto client = client_options();
  client.verify = ClientOptions::Verify::insecure;
  client.unix_time = kNow + 4000 * kDay;
  auto p = pair(client, server_options(), "any.example");
  ASSERT_TRUE(p);
  p->run();
  EXPECT_TRUE(p->complete());
}

TEST(Verification, PinnedAndInsecureStillCheckTheHandshakesSignature) {
  for (auto verify : {ClientOptions::Verify::insecure, ClientOptions::Verify::fingerprint}) {
    auto client = client_options();
    client.verify = verify;
    client.fingerprint = localhost().fingerprints.certificate;
    auto p = pair(client);
    ASSERT_TRUE(p);
    p->client.flush(p->server);
    ASSERT_TRUE(p->server.read(1 << 20));
    p->server.flush(p->client);
    // The last bytes of the flight: CertificateVerify's signature, then Finished
    // (4 + 32 bytes with SHA-256). Change a bit of the signature's last byte.
    auto& flight = p->client.inbox[2];
    ASSERT_GT(flight.size(), 100u);
    // The suite is AES-128 with SHA-256, by the client's order.
    flight[flight.size() - 36 - 1] ^= 1;
    p->client_status = p->client.read(1 << 20);
    EXPECT_EQ(code_of(p->client_status), 0x0133u) << p->client.session.error_text();
    EXPECT_TRUE(contains(p->client.session.error_text(), "signature"));
  }
}

TEST(Verification, ChainWithIntermediateAndRsaKey) {
  auto server = server_options();
  server.certificate_pem = test_data("server_chain.pem");
  server.key_pem = test_data("server.key");
  ASSERT_FALSE(server.key_pem.empty());
  auto client = client_options();
  client.ca_pem = test_data("authority.pem");
  client.unix_time = 1'800'000'000;  // January 2027
  for (const char* name : {"chain.example", "a.wild.example", "192.0.2.7"}) {
    auto p = pair(client, server, name);
    ASSERT_TRUE(p);
    p->run();
    EXPECT_TRUE(p->complete()) << p->client.session.error_text();
  }
  expect_refused(client, server, "wild.example", 0x012a, {"chain.example"});
  expect_refused(client, server, "a.b.wild.example", 0x012a, {"*.wild.example"});
  // Without the intermediate there is no way to the authority.
  const std::size_t second = server.certificate_pem.rfind("-----BEGIN");
  server.certificate_pem.resize(second);
  expect_refused(client, server, "chain.example", 0x0130, {"trusted authority"});
}

TEST(Verification, AuthoritysCertificateUsedByAServer) {
  auto server = server_options();
  server.certificate_pem = test_data("self_signed_authority.pem");
  server.key_pem = test_data("self_signed_authority.key");
  auto client = client_options();
  client.ca_pem = server.certificate_pem;
  client.unix_time = 1'800'000'000;
  expect_refused(client, server, "localhost", 0x012e, {"CA:TRUE", "pin its fingerprint"});
  // The cure works.
  auto prints = fingerprints(server.certificate_pem);
  ASSERT_TRUE(prints);
  client.verify = ClientOptions::Verify::fingerprint;
  client.fingerprint = prints->certificate;
  auto p = pair(client, server);
  ASSERT_TRUE(p);
  p->run();
  EXPECT_TRUE(p->complete()) << p->client.session.error_text();
}

}  // namespace
}  // namespace quasi::tls
