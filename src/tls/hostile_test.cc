// Handshakes that must fail: no common parameters, changed bytes, messages out of
// place (RFC 9001 §4, §6, §8), and what a peer could try against memory and work.
#include <gtest/gtest.h>

#include "tls/handshake_testing.h"
#include "tls/session.h"

namespace quasi::tls {
namespace {

using testing::client_options;
using testing::code_of;
using testing::contains;
using testing::Pair;
using testing::pair;
using testing::server_options;

constexpr std::uint64_t kProtocolViolation = 0x0a;
constexpr std::size_t kAll = 1 << 20;

std::vector<std::uint8_t> client_hello(Pair& p) {
  p.client.flush(p.server);
  std::vector<std::uint8_t> hello;
  hello.swap(p.server.inbox[0]);
  return hello;
}

/// A client that has the server's flight in its inbox.
std::unique_ptr<Pair> with_server_flight() {
  auto p = pair();
  if (!p) return p;
  p->client.flush(p->server);
  EXPECT_TRUE(p->server.read(kAll));
  p->server.flush(p->client);
  return p;
}

TEST(Hostile, NoCommonProtocol) {
  // RFC 9001 §8.1: no_application_protocol (0x0178).
  auto client = client_options();
  client.alpn = {"h3", "something-else"};
  auto p = pair(client);
  ASSERT_TRUE(p);
  p->run();
  EXPECT_EQ(code_of(p->server_status), 0x0178u);
  EXPECT_TRUE(contains(p->server.session.error_text(), "application protocols"))
      << p->server.session.error_text();
  EXPECT_STREQ(p->server_status.error().reason, "no common application protocol (ALPN)");
}

/// Takes one extension out of the EncryptedExtensions that `flight` starts with. The
/// server's Finished does not cover that any more, but extensions are judged before.
void remove_encrypted_extension(std::vector<std::uint8_t>& flight, std::uint8_t type) {
  // EncryptedExtensions (8): type, length (3), extensions' length (2), extensions.
  ASSERT_EQ(flight[0], 8);
  std::size_t at = 6;
  const std::size_t end = 4 + (std::size_t{flight[2]} << 8 | flight[3]);
  while (at < end && !(flight[at] == 0 && flight[at + 1] == type)) {
    at += 4 + (std::size_t{flight[at + 2]} << 8 | flight[at + 3]);
  }
  ASSERT_LT(at, end);
  const std::size_t size = 4 + (std::size_t{flight[at + 2]} << 8 | flight[at + 3]);
  flight.erase(flight.begin() + static_cast<long>(at),
               flight.begin() + static_cast<long>(at + size));
  flight[3] = static_cast<std::uint8_t>(flight[3] - size);
  flight[5] = static_cast<std::uint8_t>(flight[5] - size);
}

TEST(Hostile, ServerThatChoosesNoProtocol) {
  // RFC 9001 §8.1: clients use no_application_protocol (0x0178) too.
  auto p = with_server_flight();
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->client.session.read_handshake(Level::initial, p->client.inbox[0]));
  remove_encrypted_extension(p->client.inbox[2], 16);
  const Status status = p->client.session.read_handshake(Level::handshake, p->client.inbox[2]);
  EXPECT_EQ(code_of(status), 0x0178u) << p->client.session.error_text();
  EXPECT_TRUE(contains(p->client.session.error_text(), "localhost speaks none"));
}

TEST(Hostile, ServerWithoutTransportParameters) {
  // RFC 9001 §8.2: missing_extension (0x016d).
  auto p = with_server_flight();
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->client.session.read_handshake(Level::initial, p->client.inbox[0]));
  remove_encrypted_extension(p->client.inbox[2], 0x39);
  const Status status = p->client.session.read_handshake(Level::handshake, p->client.inbox[2]);
  EXPECT_EQ(code_of(status), 0x016du) << p->client.session.error_text();
}

TEST(Hostile, NoCommonSuiteOrGroup) {
  auto client = client_options();
  client.suites = {Suite::chacha20_poly1305_sha256};
  auto server = server_options();
  server.suites = {Suite::aes_128_gcm_sha256};
  auto p = pair(client, server);
  ASSERT_TRUE(p);
  p->run();
  EXPECT_EQ(code_of(p->server_status), 0x0128u);
  EXPECT_TRUE(contains(p->server.session.error_text(), "cipher suites"))
      << p->server.session.error_text();

  client = client_options();
  client.groups = {Group::x25519};
  server = server_options();
  server.groups = {Group::secp256r1};
  p = pair(client, server);
  ASSERT_TRUE(p);
  p->run();
  EXPECT_EQ(code_of(p->server_status), 0x0128u);
  EXPECT_TRUE(contains(p->server.session.error_text(), "key exchange groups"))
      << p->server.session.error_text();
}

TEST(Hostile, ClientHelloWithoutTransportParameters) {
  // RFC 9001 §8.2: missing_extension (0x016d).
  auto p = pair();
  ASSERT_TRUE(p);
  std::vector<std::uint8_t> hello = client_hello(*p);
  // Header 4, version 2, random 32, then session ID, suites, compression, extensions.
  std::size_t at = 38;
  at += 1 + std::size_t{hello[at]};
  at += 2 + (std::size_t{hello[at]} << 8 | hello[at + 1]);
  at += 1 + std::size_t{hello[at]};
  const std::size_t length_at = at;
  at += 2;
  while (at < hello.size() && !(hello[at] == 0 && hello[at + 1] == 0x39)) {
    at += 4 + (std::size_t{hello[at + 2]} << 8 | hello[at + 3]);
  }
  ASSERT_LT(at, hello.size());
  const std::size_t size = 4 + (std::size_t{hello[at + 2]} << 8 | hello[at + 3]);
  hello.erase(hello.begin() + static_cast<long>(at), hello.begin() + static_cast<long>(at + size));
  for (std::size_t length : {std::size_t{2}, length_at}) {
    const std::size_t value = (std::size_t{hello[length]} << 8 | hello[length + 1]) - size;
    hello[length] = static_cast<std::uint8_t>(value >> 8);
    hello[length + 1] = static_cast<std::uint8_t>(value);
  }
  const Status status = p->server.session.read_handshake(Level::initial, hello);
  EXPECT_EQ(code_of(status), 0x016du) << p->server.session.error_text();
}

TEST(Hostile, CompatibilityModeIsRefused) {
  // RFC 9001 §8.4: a non-empty legacy_session_id.
  auto p = pair();
  ASSERT_TRUE(p);
  std::vector<std::uint8_t> hello = client_hello(*p);
  ASSERT_EQ(hello[38], 0);
  hello[38] = 32;
  hello.insert(hello.begin() + 39, 32, 0x55);
  const std::size_t length = (std::size_t{hello[2]} << 8 | hello[3]) + 32;
  hello[2] = static_cast<std::uint8_t>(length >> 8);
  hello[3] = static_cast<std::uint8_t>(length);
  EXPECT_EQ(code_of(p->server.session.read_handshake(Level::initial, hello)), kProtocolViolation);
}

TEST(Hostile, KeyUpdateMessage) {
  // R-108, RFC 9001 §6: unexpected_message (0x010a), on either side, at any time.
  const std::vector<std::uint8_t> update = {24, 0, 0, 1, 0};
  for (int side = 0; side < 2; ++side) {
    auto p = pair();
    ASSERT_TRUE(p);
    p->run();
    ASSERT_TRUE(p->complete());
    Session& session = side == 0 ? p->client.session : p->server.session;
    EXPECT_EQ(code_of(session.read_handshake(Level::one_rtt, update)), 0x010au)
        << session.error_text();
  }
  auto p = with_server_flight();
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->client.session.read_handshake(Level::initial, p->client.inbox[0]));
  EXPECT_EQ(code_of(p->client.session.read_handshake(Level::handshake, update)), 0x010au);
}

TEST(Hostile, MessagesOutOfPlace) {
  // A Finished, a Certificate or a ClientHello where something else is due.
  const std::vector<std::uint8_t> finished = {20, 0, 0, 2, 1, 2};
  auto p = pair();
  ASSERT_TRUE(p);
  EXPECT_EQ(code_of(p->server.session.read_handshake(Level::initial, finished)), 0x010au);
  auto q = pair();
  ASSERT_TRUE(q);
  const std::vector<std::uint8_t> hello = client_hello(*q);
  EXPECT_EQ(code_of(q->client.session.read_handshake(Level::initial, hello)), 0x010au);
  // Post-handshake client authentication (RFC 9001 §4.4): CertificateRequest.
  auto r = pair();
  ASSERT_TRUE(r);
  r->run();
  ASSERT_TRUE(r->complete());
  const std::vector<std::uint8_t> request = {13, 0, 0, 3, 0, 0, 0};
  EXPECT_NE(code_of(r->client.session.read_handshake(Level::one_rtt, request)), 0u);
}

TEST(Hostile, LevelsAreKeptApart) {
  // RFC 9001 §4.1.3. Data of a level that is over:
  auto p = with_server_flight();
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->client.session.read_handshake(Level::initial, p->client.inbox[0]));
  ASSERT_EQ(p->client.session.read_level(), Level::handshake);
  const std::vector<std::uint8_t> one = {8};
  EXPECT_EQ(code_of(p->client.session.read_handshake(Level::initial, one)), kProtocolViolation);
  // Data behind the message that ends the level, whole or in part:
  for (std::size_t extra : {1u, 5u, 100u}) {
    auto q = with_server_flight();
    ASSERT_TRUE(q);
    auto hello = q->client.inbox[0];
    hello.insert(hello.end(), q->client.inbox[2].begin(),
                 q->client.inbox[2].begin() + static_cast<long>(extra));
    EXPECT_EQ(code_of(q->client.session.read_handshake(Level::initial, hello)), kProtocolViolation);
  }
  // Data of a level that is not reached: the transport's mistake, told as such.
  auto r = with_server_flight();
  ASSERT_TRUE(r);
  EXPECT_EQ(code_of(r->client.session.read_handshake(Level::handshake, r->client.inbox[2])), 0x01u);
}

TEST(Hostile, MessagesTooLongAreRefusedByTheirHeader) {
  auto p = pair();
  ASSERT_TRUE(p);
  const std::vector<std::uint8_t> header = {1, 0xff, 0xff, 0xff};
  EXPECT_EQ(code_of(p->server.session.read_handshake(Level::initial, header)), 0x0132u);
  EXPECT_TRUE(contains(p->server.session.error_text(), "16777215"));
}

TEST(Hostile, AfterAnErrorNothingIsTaken) {
  auto p = pair();
  ASSERT_TRUE(p);
  const std::vector<std::uint8_t> hello = client_hello(*p);
  const std::vector<std::uint8_t> junk = {1, 0, 0, 1, 0};
  EXPECT_EQ(code_of(p->server.session.read_handshake(Level::initial, junk)), 0x0132u);
  EXPECT_EQ(code_of(p->server.session.read_handshake(Level::initial, hello)), 0x01u);
  std::vector<std::uint8_t> out;
  EXPECT_TRUE(p->server.session.write_handshake(out).empty());
  EXPECT_TRUE(out.empty());
}

TEST(Hostile, ChangedFinishedOfEitherSide) {
  auto p = with_server_flight();
  ASSERT_TRUE(p);
  p->client.inbox[2].back() ^= 1;
  p->client_status = p->client.read(kAll);
  EXPECT_EQ(code_of(p->client_status), 0x0133u) << p->client.session.error_text();
  EXPECT_TRUE(contains(p->client.session.error_text(), "altered"));

  auto q = with_server_flight();
  ASSERT_TRUE(q);
  ASSERT_TRUE(q->client.read(kAll));
  q->client.flush(q->server);
  q->server.inbox[2].back() ^= 1;
  q->server_status = q->server.read(kAll);
  EXPECT_EQ(code_of(q->server_status), 0x0133u);
  EXPECT_TRUE(q->server.session.is_handshaking());
}

// R-87's kin above the AEAD: no changed byte of either flight lets both sides end
// in a handshake that they believe in, and every refusal has a code and a sentence.
void expect_not_both(Pair& p) {
  p.run();
  EXPECT_FALSE(p.complete());
  for (const auto* side : {&p.client, &p.server}) {
    const Status& status = side == &p.client ? p.client_status : p.server_status;
    if (status) continue;
    EXPECT_TRUE(code_of(status) == kProtocolViolation ||
                (code_of(status) > 0x0100 && code_of(status) < 0x0200));
    EXPECT_NE(code_of(status), 0x0150u) << side->session.error_text();  // internal_error
    EXPECT_FALSE(side->session.error_text().empty());
  }
}

TEST(Hostile, ChangedBytesOfTheClientHello) {
  auto measure = pair();
  ASSERT_TRUE(measure);
  const std::size_t size = client_hello(*measure).size();
  for (std::size_t at = 0; at < size; at += 3) {
    SCOPED_TRACE(at);
    auto p = pair();
    ASSERT_TRUE(p);
    p->client.flush(p->server);
    auto& box = p->server.inbox[0];
    box[at % box.size()] ^= static_cast<std::uint8_t>(1u << (at % 8));
    expect_not_both(*p);
  }
}

TEST(Hostile, ChangedBytesOfTheServersFlight) {
  auto measure = with_server_flight();
  ASSERT_TRUE(measure);
  const std::size_t initial = measure->client.inbox[0].size();
  const std::size_t total = initial + measure->client.inbox[2].size();
  for (std::size_t at = 0; at < total; at += 5) {
    SCOPED_TRACE(at);
    auto p = with_server_flight();
    ASSERT_TRUE(p);
    auto& box = p->client.inbox[at < initial ? 0 : 2];
    const std::size_t place = at < initial ? at : at - initial;
    box[place % box.size()] ^= static_cast<std::uint8_t>(1u << (at % 8));
    p->client_status = p->client.read(kAll);
    expect_not_both(*p);
  }
}

TEST(Hostile, JunkOfManyLengths) {
  std::uint32_t state = 1;
  for (std::size_t size = 1; size < 300; size += 7) {
    std::vector<std::uint8_t> junk(size);
    for (auto& byte : junk) {
      state = state * 1'664'525 + 1'013'904'223;
      byte = static_cast<std::uint8_t>(state >> 24);
    }
    auto p = pair();
    ASSERT_TRUE(p);
    (void)p->server.session.read_handshake(Level::initial, junk);
    (void)p->client.session.read_handshake(Level::initial, junk);
    EXPECT_TRUE(p->server.session.is_handshaking());
    EXPECT_TRUE(p->client.session.is_handshaking());
    // The same as the body of each message type that exists.
    constexpr std::uint8_t kTypes[] = {1, 2, 4, 8, 11, 13, 15, 20, 24};
    for (std::uint8_t type : kTypes) {
      std::vector<std::uint8_t> message = {type, 0, static_cast<std::uint8_t>(size >> 8),
                                           static_cast<std::uint8_t>(size)};
      message.insert(message.end(), junk.begin(), junk.end());
      auto q = pair();
      ASSERT_TRUE(q);
      EXPECT_FALSE(q->server.session.read_handshake(Level::initial, message));
      EXPECT_FALSE(q->client.session.read_handshake(Level::initial, message));
    }
  }
}

}  // namespace
}  // namespace quasi::tls
