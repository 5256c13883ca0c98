// Certificates that quasi makes are whole, valid and different; fingerprints are those
// that OpenSSL prints; options that cannot work are told.
#include "tls/certificate.h"

#include <gtest/gtest.h>

#include "tls/crypto.h"
#include "tls/handshake_testing.h"

namespace quasi::tls {
namespace {

using testing::contains;

TEST(Certificate, MadeOnesAreDifferentAndWhole) {
  auto a = make_certificate({.names = {"a.example", "192.0.2.1"}});
  auto b = make_certificate({.names = {"a.example", "192.0.2.1"}});
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->fingerprints.certificate, b->fingerprints.certificate);
  EXPECT_NE(a->fingerprints.spki, b->fingerprints.spki);
  EXPECT_TRUE(a->certificate_pem.starts_with("-----BEGIN CERTIFICATE-----"));
  EXPECT_TRUE(a->key_pem.starts_with("-----BEGIN PRIVATE KEY-----"));
  EXPECT_EQ(a->key_pem.back(), '\n');
}

TEST(Certificate, ValidNowByTheHostsClock) {
  auto made = make_certificate({.names = {"now.example"}});
  ASSERT_TRUE(made);
  auto server = testing::server_options();
  server.certificate_pem = made->certificate_pem;
  server.key_pem = made->key_pem;
  auto client = testing::client_options();
  client.ca_pem = made->certificate_pem;
  client.unix_time.reset();
  auto p = testing::pair(client, server, "now.example");
  ASSERT_TRUE(p);
  p->run();
  EXPECT_TRUE(p->complete()) << p->client.session.error_text();
}

TEST(Certificate, FingerprintsOfPem) {
  auto made = make_certificate({.names = {"a.example"}});
  ASSERT_TRUE(made);
  auto read = fingerprints(made->certificate_pem);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->certificate, made->fingerprints.certificate);
  EXPECT_EQ(read->spki, made->fingerprints.spki);

  // What OpenSSL says about the server's certificate in testdata.
  read = fingerprints(testing::test_data("server_chain.pem"));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(hex(read->certificate),
            "2221c791f4fe99ec9585460b23509b4993dabe524449c833fc771faa7728d61f");
  EXPECT_EQ(hex(read->spki), "075d6cb3d235600d67dba3cf2cdffdf0ebb6714acd88afb3d06a16e00602e4f5");
  EXPECT_FALSE(fingerprints("nothing"));
}

TEST(Certificate, ManyNamesFit) {
  CertificateOptions options;
  options.names.clear();
  for (int i = 0; i < 300; ++i) options.names.push_back("host" + std::to_string(i) + ".example");
  auto made = make_certificate(options);
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(fingerprints(made->certificate_pem));
}

TEST(Certificate, BadOptionsAreTold) {
  auto text = [](const CertificateOptions& options) {
    auto made = make_certificate(options);
    return made ? std::string() : made.error();
  };
  EXPECT_TRUE(contains(text({.names = {}}), "at least one name"));
  EXPECT_TRUE(contains(text({.names = {""}}), "at least one name"));
  EXPECT_TRUE(contains(text({.names = {"a\nb"}}), "line break"));
  EXPECT_TRUE(contains(text({.names = {"b\u00fccher.example"}}), "cannot be put"))
      << text({.names = {"b\u00fccher.example"}});
  EXPECT_TRUE(contains(text({.names = {"a"}, .validity_days = 0}), "at least one day"));
  EXPECT_TRUE(contains(text({.names = {"a"}, .validity_days = 4'000'000}), "9999"));
}

TEST(Certificate, ReadsFingerprintsAsPeopleWriteThem) {
  const std::string digits = "2221c791f4fe99ec9585460b23509b4993dabe524449c833fc771faa7728d61f";
  auto plain = parse_fingerprint(digits);
  ASSERT_TRUE(plain);
  EXPECT_EQ(hex(*plain), digits);
  EXPECT_EQ(parse_fingerprint("22:21:C7:91:F4:FE:99:EC:95:85:46:0B:23:50:9B:49:"
                              "93:DA:BE:52:44:49:C8:33:FC:77:1F:AA:77:28:D6:1F"),
            plain);
  EXPECT_FALSE(parse_fingerprint(""));
  EXPECT_FALSE(parse_fingerprint(digits.substr(1)));
  EXPECT_FALSE(parse_fingerprint(digits + "0"));
  EXPECT_FALSE(parse_fingerprint(digits.substr(1) + "g"));
}

}  // namespace
}  // namespace quasi::tls
