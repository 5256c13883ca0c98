// Handshakes that succeed, in memory: suites, groups, keys of every level, key
// updates, fragmentation, and what a session tells about its peer.
#include "tls/session.h"

#include <gtest/gtest.h>

#include "tls/crypto.h"
#include "tls/handshake_testing.h"

namespace quasi::tls {
namespace {

using testing::client_options;
using testing::pair;
using testing::server_options;

std::vector<std::uint8_t> bytes_of(std::string_view hex_digits) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < hex_digits.size(); i += 2) {
    out.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(hex_digits.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

bool same(const TrafficKeys& a, const TrafficKeys& b) {
  return a.suite == b.suite && a.key_length == b.key_length && a.key == b.key && a.iv == b.iv &&
         a.header == b.header;
}

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

void expect_usable(const TrafficKeys& keys, Suite suite) {
  EXPECT_EQ(keys.suite, suite);
  EXPECT_EQ(keys.key_length, aead::key_size(aead_algorithm(suite)));
  EXPECT_FALSE(is_zero(keys.key_bytes()));
  EXPECT_FALSE(is_zero(keys.iv));
  EXPECT_TRUE(is_zero(Bytes(keys.key).subspan(keys.key_length)));
}

TEST(Session, InitialKeysOfRfc9001AppendixA1) {
  const auto dcid = bytes_of("8394c8f03e515708");
  const KeyPair client = initial_keys(Version::v1, dcid, Side::client);
  EXPECT_EQ(hex(client.local.key_bytes()), "1f369613dd76d5467730efcbe3b1a22d");
  EXPECT_EQ(hex(client.local.iv), "fa044b2f42a3fd3b46fb255c");
  EXPECT_EQ(hex(client.local.header_bytes()), "9f50449e04a0e810283a1e9933adedd2");
  EXPECT_EQ(hex(client.remote.key_bytes()), "cf3a5331653c364c88f0f379b6067e37");
  EXPECT_EQ(hex(client.remote.iv), "0ac1493ca1905853b0bba03e");
  EXPECT_EQ(hex(client.remote.header_bytes()), "c206b8d9b9f0f37644430b490eeaa314");
  const KeyPair server = initial_keys(Version::v1, dcid, Side::server);
  EXPECT_TRUE(same(server.local, client.remote));
  EXPECT_TRUE(same(server.remote, client.local));
}

TEST(Session, InitialKeysOfRfc9369AppendixA1) {
  const KeyPair client = initial_keys(Version::v2, bytes_of("8394c8f03e515708"), Side::client);
  EXPECT_EQ(hex(client.local.key_bytes()), "8b1a0bc121284290a29e0971b5cd045d");
  EXPECT_EQ(hex(client.local.iv), "91f73e2351d8fa91660e909f");
  EXPECT_EQ(hex(client.local.header_bytes()), "45b95e15235d6f45a6b19cbcb0294ba9");
  EXPECT_EQ(hex(client.remote.key_bytes()), "82db637861d55e1d011f19ea71d5d2a7");
  EXPECT_EQ(hex(client.remote.iv), "dd13c276499c0249d3310652");
  EXPECT_EQ(hex(client.remote.header_bytes()), "edf6d05c83121201b436e16877593c3a");
}

TEST(Session, EverySuiteAndGroupCompletesAndKeysMatchPairwise) {
  for (Suite suite :
       {Suite::aes_128_gcm_sha256, Suite::aes_256_gcm_sha384, Suite::chacha20_poly1305_sha256}) {
    for (Group group : {Group::x25519, Group::secp256r1}) {
      for (Version version : {Version::v1, Version::v2}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(suite)) + "/" +
                     std::to_string(static_cast<int>(group)));
        auto options = client_options();
        options.suites = {suite};
        options.groups = {group};
        auto p = pair(options, server_options(), "localhost", version);
        ASSERT_TRUE(p);
        p->run();
        ASSERT_TRUE(p->complete())
            << p->client.session.error_text() << " / " << p->server.session.error_text();
        EXPECT_EQ(p->client.session.suite(), suite);
        EXPECT_EQ(p->server.session.suite(), suite);
        EXPECT_EQ(p->client.session.group(), group);
        EXPECT_EQ(p->server.session.group(), group);
        for (Level level : {Level::handshake, Level::one_rtt}) {
          const auto& c = p->client.keys[static_cast<std::size_t>(level)];
          const auto& s = p->server.keys[static_cast<std::size_t>(level)];
          ASSERT_TRUE(c && s);
          EXPECT_TRUE(same(c->local, s->remote));
          EXPECT_TRUE(same(c->remote, s->local));
          EXPECT_FALSE(same(c->local, c->remote));
          for (const auto* keys : {&c->local, &c->remote}) {
            expect_usable(*keys, suite);
            EXPECT_FALSE(is_zero(keys->header_bytes()));
          }
        }
        EXPECT_FALSE(same(p->client.keys[2]->local, p->client.keys[3]->local));
      }
    }
  }
}

TEST(Session, KeysComeInOrderAndBeforeTheirLevelIsWritten) {
  auto p = pair();
  ASSERT_TRUE(p);
  const std::vector<Level> order = {Level::handshake, Level::one_rtt};
  // The client's first flight: a ClientHello, no keys.
  EXPECT_GT(p->client.flush(p->server), 200u);
  EXPECT_TRUE(p->client.key_order.empty());
  EXPECT_EQ(p->client.session.read_level(), Level::initial);
  ASSERT_TRUE(p->server.read(1 << 20));
  // The server's flight: Initial, Handshake, and both key changes.
  p->server.flush(p->client);
  EXPECT_EQ(p->server.key_order, order);
  EXPECT_FALSE(p->client.inbox[0].empty());
  EXPECT_FALSE(p->client.inbox[2].empty());
  EXPECT_TRUE(p->client.inbox[3].empty());
  EXPECT_EQ(p->server.session.read_level(), Level::handshake);
  EXPECT_TRUE(p->server.session.is_handshaking());
  ASSERT_TRUE(p->client.read(1 << 20));
  EXPECT_FALSE(p->client.session.is_handshaking());
  p->client.flush(p->server);
  EXPECT_EQ(p->client.key_order, order);
  EXPECT_EQ(p->client.session.read_level(), Level::one_rtt);
  // RFC 9001 §4.1.1: the server is done when the client's Finished is there.
  EXPECT_TRUE(p->server.inbox[0].empty());
  ASSERT_TRUE(p->server.read(1 << 20));
  EXPECT_FALSE(p->server.session.is_handshaking());
  EXPECT_EQ(p->server.session.read_level(), Level::one_rtt);
}

TEST(Session, TellsParametersProtocolNameAndFingerprint) {
  auto client = client_options();
  client.alpn = {"first", "hq-interop"};
  auto server = server_options();
  server.alpn = {"hq-interop", "h3"};
  auto p = pair(client, server);
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->client.session.alpn().empty());
  EXPECT_FALSE(p->client.session.suite());
  EXPECT_FALSE(p->client.session.peer_fingerprint());
  p->run();
  ASSERT_TRUE(p->complete());
  for (auto* side : {&p->client, &p->server}) {
    const Bytes alpn = side->session.alpn();
    EXPECT_EQ(std::string(alpn.begin(), alpn.end()), "hq-interop");
  }
  EXPECT_TRUE(std::ranges::equal(p->server.session.peer_transport_parameters(),
                                 testing::kClientParameters));
  EXPECT_TRUE(std::ranges::equal(p->client.session.peer_transport_parameters(),
                                 testing::kServerParameters));
  EXPECT_EQ(p->server.session.server_name(), "localhost");
  EXPECT_EQ(p->client.session.peer_fingerprint(), testing::localhost().fingerprints.certificate);
}

TEST(Session, AddressInsteadOfNameSendsNoSni) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    auto p = pair(client_options(), server_options(), address);
    ASSERT_TRUE(p);
    p->run();
    ASSERT_TRUE(p->complete()) << p->client.session.error_text();
    EXPECT_EQ(p->server.session.server_name(), "");
  }
}

TEST(Session, KeyUpdatesAgree) {
  for (Suite suite :
       {Suite::aes_128_gcm_sha256, Suite::aes_256_gcm_sha384, Suite::chacha20_poly1305_sha256}) {
    auto options = client_options();
    options.suites = {suite};
    auto p = pair(options);
    ASSERT_TRUE(p);
    p->run();
    ASSERT_TRUE(p->complete());
    TrafficKeys previous = p->client.keys[3]->local;
    for (int update = 0; update < 3; ++update) {
      const KeyPair c = p->client.session.next_1rtt_keys();
      const KeyPair s = p->server.session.next_1rtt_keys();
      EXPECT_TRUE(same(c.local, s.remote));
      EXPECT_TRUE(same(c.remote, s.local));
      expect_usable(c.local, suite);
      EXPECT_TRUE(is_zero(c.local.header));
      EXPECT_NE(c.local.key, previous.key);
      EXPECT_NE(c.local.iv, previous.iv);
      previous = c.local;
    }
  }
}

TEST(Session, NoNextKeysBeforeTheHandshakeHasMadeAny) {
  auto p = pair();
  ASSERT_TRUE(p);
  const KeyPair none = p->client.session.next_1rtt_keys();
  EXPECT_EQ(none.local.key_length, 0);
  EXPECT_TRUE(is_zero(none.local.key));
}

TEST(Session, BytesMayComeOneByOne) {
  for (std::size_t slice : {1u, 3u, 7u, 64u, 333u}) {
    auto p = pair();
    ASSERT_TRUE(p);
    p->run(slice);
    EXPECT_TRUE(p->complete()) << slice << ": " << p->client.session.error_text();
  }
}

TEST(Session, EmptyReadsChangeNothing) {
  auto p = pair();
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->server.session.read_handshake(Level::initial, {}));
  EXPECT_TRUE(p->server.session.read_handshake(Level::one_rtt, {}));
  p->run();
  EXPECT_TRUE(p->complete());
}

TEST(Session, RetriesAnotherGroupWhenTheServerAsks) {
  auto client = client_options();
  client.groups = {Group::x25519, Group::secp256r1};
  auto server = server_options();
  server.groups = {Group::secp256r1};
  auto p = pair(client, server);
  ASSERT_TRUE(p);
  p->run(11);
  ASSERT_TRUE(p->complete()) << p->client.session.error_text();
  EXPECT_EQ(p->client.session.group(), Group::secp256r1);
  EXPECT_EQ(p->client.key_order, (std::vector<Level>{Level::handshake, Level::one_rtt}));
}

TEST(Session, TheClientsOrderOfSuitesDecides) {
  auto client = client_options();
  client.suites = {Suite::chacha20_poly1305_sha256, Suite::aes_128_gcm_sha256};
  auto p = pair(client);
  ASSERT_TRUE(p);
  p->run();
  ASSERT_TRUE(p->complete());
  EXPECT_EQ(p->server.session.suite(), Suite::chacha20_poly1305_sha256);
}

TEST(Session, TicketsAfterTheHandshakeAreAccepted) {
  auto server = server_options();
  server.session_tickets = 2;
  auto p = pair(client_options(), server);
  ASSERT_TRUE(p);
  p->run(5);
  ASSERT_TRUE(p->complete()) << p->client.session.error_text();
  EXPECT_TRUE(p->client.inbox[3].empty());  // read, at 1-RTT level
  // None by default.
  auto quiet = pair();
  ASSERT_TRUE(quiet);
  quiet->client.flush(quiet->server);
  ASSERT_TRUE(quiet->server.read(1 << 20));
  quiet->server.flush(quiet->client);
  ASSERT_TRUE(quiet->client.read(1 << 20));
  quiet->client.flush(quiet->server);
  ASSERT_TRUE(quiet->server.read(1 << 20));
  EXPECT_EQ(quiet->server.flush(quiet->client), 0u);
}

TEST(Session, KeysAreWiped) {
  alignas(TrafficKeys) std::array<std::uint8_t, sizeof(TrafficKeys)> storage{};
  auto* keys = new (storage.data()) TrafficKeys();
  keys->key.fill(0xaa);
  keys->iv.fill(0xbb);
  keys->header.fill(0xcc);
  keys->~TrafficKeys();
  EXPECT_TRUE(is_zero(storage));
}

TEST(Session, SuitesNameTheirAead) {
  EXPECT_EQ(aead_algorithm(Suite::aes_128_gcm_sha256), aead::Algorithm::aes_128_gcm);
  EXPECT_EQ(aead_algorithm(Suite::aes_256_gcm_sha384), aead::Algorithm::aes_256_gcm);
  EXPECT_EQ(aead_algorithm(Suite::chacha20_poly1305_sha256), aead::Algorithm::chacha20_poly1305);
}

}  // namespace
}  // namespace quasi::tls
