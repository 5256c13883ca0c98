// Mistakes in configurations are told in a sentence; key logs hold what Wireshark reads.
#include "tls/config.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tls/handshake_testing.h"

namespace quasi::tls {
namespace {

using testing::client_options;
using testing::contains;
using testing::localhost;
using testing::pair;
using testing::server_options;

std::string refusal(const ClientOptions& options) {
  auto config = ClientConfig::create(options);
  return config ? std::string() : config.error();
}

std::string refusal(const ServerOptions& options) {
  auto config = ServerConfig::create(options);
  return config ? std::string() : config.error();
}

TEST(Config, GoodOptionsAreTaken) {
  EXPECT_EQ(refusal(client_options()), "");
  EXPECT_EQ(refusal(server_options()), "");
}

TEST(Config, ListsMustNotBeEmptyNorUnknown) {
  auto options = client_options();
  options.suites.clear();
  EXPECT_TRUE(contains(refusal(options), "no cipher suite"));
  options = client_options();
  options.suites = {static_cast<Suite>(0x1304)};
  EXPECT_TRUE(contains(refusal(options), "0x1304"));
  options = client_options();
  options.groups.clear();
  EXPECT_TRUE(contains(refusal(options), "no key exchange group"));
  options = client_options();
  options.groups = {static_cast<Group>(0x11ec)};
  EXPECT_TRUE(contains(refusal(options), "0x11ec"));
}

TEST(Config, ProtocolNames) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{}, {""}, {"h3", ""}, {std::string(256, 'x')}}) {
    auto options = server_options();
    options.alpn = bad;
    EXPECT_TRUE(contains(refusal(options), "application protocol")) << refusal(options);
  }
  auto options = client_options();
  options.alpn = {std::string(255, 'x'), "h3"};
  EXPECT_EQ(refusal(options), "");
}

TEST(Config, BadAuthorities) {
  auto options = client_options();
  options.ca_pem = "";
  EXPECT_TRUE(contains(refusal(options), "holds no certificate"));
  options.ca_pem = localhost().key_pem;
  EXPECT_TRUE(contains(refusal(options), "holds no certificate"));
  options.ca_pem = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(contains(refusal(options), "not valid PEM")) << refusal(options);
  options.ca_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(contains(refusal(options), "cannot be used")) << refusal(options);
  options.ca_pem = localhost().certificate_pem.substr(0, 200);
  EXPECT_NE(refusal(options), "");
}

TEST(Config, BadCertificatesAndKeys) {
  auto options = server_options();
  options.certificate_pem = "hello";
  EXPECT_TRUE(contains(refusal(options), "the certificate file holds no certificate"));
  options = server_options();
  options.key_pem = localhost().certificate_pem;
  EXPECT_TRUE(contains(refusal(options), "the key file holds no private key"));
  options = server_options();
  options.key_pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
  EXPECT_TRUE(contains(refusal(options), "private key cannot be used")) << refusal(options);
  options = server_options();
  auto other = make_certificate({.names = {"localhost"}});
  ASSERT_TRUE(other);
  options.key_pem = other->key_pem;
  EXPECT_TRUE(contains(refusal(options), "does not belong to the certificate")) << refusal(options);
}

TEST(Config, BadServerNames) {
  auto config = ClientConfig::create(client_options());
  ASSERT_TRUE(config);
  for (const char* name : {"", "a b", "-", "a..b", "[::1]", "localhost:443"}) {
    auto session = Session::client(**config, name, Version::v1, {});
    ASSERT_FALSE(session) << name;
    EXPECT_TRUE(contains(session.error(), "neither a DNS name nor an IP address"));
  }
}

TEST(Config, KeyLogHoldsTheSecretsOfBothSides) {
  std::vector<std::string> lines[2];
  auto client = client_options();
  client.key_log = [&](std::string_view line) { lines[0].emplace_back(line); };
  auto server = server_options();
  server.key_log = [&](std::string_view line) { lines[1].emplace_back(line); };
  auto p = pair(client, server);
  ASSERT_TRUE(p);
  p->run();
  ASSERT_TRUE(p->complete());
  for (const char* label : {"CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_HANDSHAKE_TRAFFIC_SECRET ",
                            "CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 "}) {
    std::string found[2];
    for (int side = 0; side < 2; ++side) {
      for (const std::string& line : lines[side]) {
        if (line.starts_with(label)) found[side] = line;
      }
    }
    EXPECT_EQ(found[0], found[1]);
    // Label, client random (32 bytes) and secret (32 bytes with SHA-256) in hex.
    EXPECT_EQ(found[0].size(), std::string(label).size() + 64 + 1 + 64) << found[0];
  }
}

TEST(Config, KeyLogFileIsAppendedTo) {
  const std::string path = std::string(QUASI_TEST_TEMP_DIR) + "/tls_config_test.keylog";
  std::remove(path.c_str());
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("# kept\n", file);
  std::fclose(file);
  auto log = key_log_to_file(path);
  ASSERT_TRUE(log) << log.error();
  auto client = client_options();
  client.key_log = *log;
  auto p = pair(client);
  ASSERT_TRUE(p);
  p->run();
  ASSERT_TRUE(p->complete());
  const std::string text = testing::read_file(path);
  EXPECT_TRUE(text.starts_with("# kept\n"));
  EXPECT_TRUE(contains(text, "\nSERVER_TRAFFIC_SECRET_0 "));
  EXPECT_EQ(text.back(), '\n');
  std::remove(path.c_str());
}

TEST(Config, KeyLogThatCannotBeWrittenIsTold) {
  auto log = key_log_to_file(std::string(QUASI_TEST_TEMP_DIR) + "/no/such/folder/keys");
  ASSERT_FALSE(log);
  EXPECT_TRUE(contains(log.error(), "cannot be opened for writing"));
}

}  // namespace
}  // namespace quasi::tls
