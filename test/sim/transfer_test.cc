// Whole transfers through the simulated network: every suite, loss, reordering,
// duplication, corruption, narrow paths, rebinding, Retry, key updates, close.
#include <gtest/gtest.h>

#include "sim/session.h"

namespace quasi::sim {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

void expect_all_right(const Session& session) {
  for (const auto& [stream, download] : session.downloads) {
    EXPECT_TRUE(download.finished) << "stream " << stream << " has " << download.received << " of "
                                   << download.size << " bytes";
    EXPECT_FALSE(download.wrong) << "stream " << stream;
  }
}

TEST(Transfer, HandshakeConnectsAndConfirmsBothSides) {
  Session session({});
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  EXPECT_EQ(session.connection()->alpn(), "hq-interop");
  ASSERT_NE(session.peer(), nullptr);
  EXPECT_TRUE(session.peer()->is_confirmed());
}

TEST(Transfer, EverySuite) {
  for (const tls::Suite suite : {tls::Suite::aes_128_gcm_sha256, tls::Suite::aes_256_gcm_sha384,
                                 tls::Suite::chacha20_poly1305_sha256}) {
    Session::Options options;
    options.client_tls.suites = {suite};
    Session session(options);
    session.fetch(kMiB);
    session.connect();
    ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(20)));
    expect_all_right(session);
    EXPECT_EQ(session.connection()->stats().cipher_suite, static_cast<std::uint16_t>(suite));
  }
}

TEST(Transfer, ManyStreamsShareAConnection) {
  Session::Options options;
  options.server.transport.max_streams_bidi = 8;  // the rest waits for MAX_STREAMS
  Session session(options);
  for (std::uint64_t i = 0; i < 100; ++i) session.fetch(i * 1000);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(60)));
  EXPECT_EQ(session.downloads.size(), 100U);
  expect_all_right(session);
}

TEST(Transfer, BadNetworks) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Session::Options options;
    options.seed = seed;
    LinkConfig link;
    link.delay = Duration::milliseconds(20);
    link.loss = 0.03;
    link.reorder = 0.05;
    link.duplicate = 0.02;
    link.corrupt = 0.01;
    options.to_server = options.to_client = link;
    Session session(options);
    session.fetch(300'000);
    session.fetch(20'000);
    session.connect();
    ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(120)));
    expect_all_right(session);
  }
}

/// Goodput of a download over a 50 ms path that loses 5 % of its data at random, as
/// a share of what a path that loses so much can carry.
double lossy_share(CongestionController controller, std::uint64_t bits_per_second,
                   std::uint64_t size) {
  Session::Options options;
  options.seed = 5;
  options.to_server.delay = options.to_client.delay = Duration::milliseconds(25);
  options.to_client.loss = 0.05;
  options.to_client.bits_per_second = bits_per_second;
  options.to_client.queue_bytes = static_cast<std::size_t>(bits_per_second / 8 / 10);  // 100 ms
  options.server.transport.congestion_controller = controller;
  Session session(options);
  session.fetch(size);
  session.connect();
  const Instant start = session.pair.now();
  EXPECT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(300)));
  expect_all_right(session);
  const double seconds = (session.pair.now() - start).to_seconds();
  return static_cast<double>(size) * 8 / seconds / (static_cast<double>(bits_per_second) * 0.95);
}

TEST(Transfer, FivePercentLossUsesMoreThanHalfOfItsBottleneck) {
  // A loss-based controller reaches 1.2 * MSS / (RTT * sqrt(p)) at most, here about
  // 1.2 Mbit/s; one that models the path does not mind random loss.
  EXPECT_GT(lossy_share(CongestionController::cubic, 1'000'000, 4 * kMiB), 0.5);
  EXPECT_GT(lossy_share(CongestionController::new_reno, 1'000'000, 4 * kMiB), 0.5);
  EXPECT_GT(lossy_share(CongestionController::bbr, 20'000'000, 32 * kMiB), 0.5);
}

TEST(Transfer, RetryProvesTheAddress) {
  Session::Options options;
  options.server.always_retry = true;
  Session session(options);
  session.fetch(10'000);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(10)));
  EXPECT_EQ(session.server->stats().retries_sent, 1U);
  expect_all_right(session);
}

TEST(Transfer, NewTokenSavesTheRetry) {
  Session::Options options;
  options.server.always_retry = true;
  Session session(options);
  session.fetch(10'000);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(10)));
  const Bytes token = session.connection()->new_token();
  ASSERT_FALSE(token.empty());
  session.connection()->close(0, "");
  session.connected = false;
  session.connect({token.begin(), token.end()});
  ASSERT_TRUE(session.pair.run([&] { return session.connected; }, Duration::seconds(10)));
  EXPECT_EQ(session.server->stats().retries_sent, 1U);
}

TEST(Transfer, KeysAreUpdatedOften) {
  Session::Options options;
  options.server.transport.key_update_interval = 100;
  options.client.transport.key_update_interval = 100;
  options.to_client.bits_per_second = 10'000'000;  // time enough: an update takes 3 PTO
  Session session(options);
  session.fetch(4 * kMiB);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(60)));
  expect_all_right(session);
  EXPECT_GT(session.peer()->stats().key_updates, 3U);
}

TEST(Transfer, SurvivesRebinding) {
  Session session({});
  session.fetch(4 * kMiB);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  session.pair.rebind_client();
  ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(60)));
  expect_all_right(session);
  EXPECT_EQ(session.peer()->remote_address(), session.pair.client_address());
}

TEST(Transfer, FindsTheLargestDatagramThatPasses) {
  for (const std::size_t mtu : {std::size_t{1200}, std::size_t{1300}, std::size_t{1472}}) {
    Session::Options options;
    options.to_server.mtu = options.to_client.mtu = mtu;
    Session session(options);
    session.fetch(2 * kMiB);
    session.connect();
    ASSERT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(60)));
    expect_all_right(session);
    const std::uint32_t found = session.peer()->stats().max_datagram_size;
    EXPECT_LE(found, mtu);
    EXPECT_GE(found + 100, mtu);
  }
}

TEST(Transfer, CloseReachesThePeerWithItsReason) {
  Session session({});
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  session.connection()->close(77, "enough");
  ASSERT_TRUE(session.pair.run([&] { return session.server_closed; }, Duration::seconds(5)));
  const CloseReason& reason = session.peer()->close_reason();
  EXPECT_EQ(reason.kind, CloseReason::Kind::application);
  EXPECT_TRUE(reason.by_peer);
  EXPECT_EQ(reason.error_code, 77U);
  EXPECT_EQ(reason.reason, "enough");
  // Both sides forget each other once the draining period is over.
  session.client->release(session.handle);
  session.server->release(session.server_handle);
  (void)session.pair.run([] { return false; }, Duration::seconds(60));
  EXPECT_EQ(session.client->connection_count(), 0U);
  EXPECT_EQ(session.server->connection_count(), 0U);
}

TEST(Transfer, SilentServerTimesOut) {
  Session::Options options;
  options.to_server.loss = 1.0;
  options.client.transport.handshake_timeout = Duration::seconds(3);
  Session session(options);
  session.connect();
  const Instant start = session.pair.now();
  ASSERT_TRUE(session.pair.run([&] { return session.client_closed; }, Duration::seconds(20)));
  EXPECT_EQ((session.pair.now() - start).ms(), 3000);
  EXPECT_EQ(session.connection()->close_reason().kind, CloseReason::Kind::handshake_timeout);
  EXPECT_FALSE(session.connection()->close_reason().heard_from_peer);
}

TEST(Transfer, IdleConnectionsEnd) {
  Session::Options options;
  options.client.transport.max_idle_timeout = Duration::seconds(5);
  Session session(options);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  ASSERT_TRUE(session.pair.run([&] { return session.client_closed && session.server_closed; },
                               Duration::seconds(20)));
  EXPECT_EQ(session.connection()->close_reason().kind, CloseReason::Kind::idle_timeout);
  EXPECT_EQ(session.peer()->close_reason().kind, CloseReason::Kind::idle_timeout);
}

TEST(Transfer, WrongCertificateIsRefused) {
  Session::Options options;
  tls::CertificateOptions other;
  other.not_before = tls::testing::kNow - tls::testing::kDay;
  options.client_tls.ca_pem = tls::make_certificate(other)->certificate_pem;
  Session session(options);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.client_closed; }, Duration::seconds(5)));
  const CloseReason& reason = session.connection()->close_reason();
  EXPECT_EQ(reason.kind, CloseReason::Kind::transport);
  EXPECT_GE(reason.error_code, 0x100U);
  EXPECT_LT(reason.error_code, 0x200U);
  EXPECT_FALSE(reason.reason.empty());
}

TEST(Transfer, UnknownVersionGetsVersionNegotiation) {
  Session session({});
  session.pair.filter = [](bool to_server, std::vector<std::uint8_t>& datagram) {
    if (to_server) datagram[4] = 0x77;  // the version's last byte
    return true;
  };
  session.connect();
  (void)session.pair.run([&] { return session.server->stats().version_negotiations_sent > 0; },
                         Duration::seconds(5));
  EXPECT_GT(session.server->stats().version_negotiations_sent, 0U);
  EXPECT_EQ(session.server->connection_count(), 0U);
}

TEST(Transfer, DatagramsGoBothWaysWhenAnnounced) {
  Session::Options options;
  options.client.transport.max_datagram_frame_size = 1200;
  options.server.transport.max_datagram_frame_size = 1200;
  Session session(options);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  const std::vector<std::uint8_t> data(900, 0x5c);
  ASSERT_TRUE(session.connection()->send_datagram(data));
  ASSERT_FALSE(session.connection()->send_datagram(std::vector<std::uint8_t>(5000)));
  std::optional<std::string> received;
  ASSERT_TRUE(session.pair.run(
      [&] {
        if (session.peer() != nullptr && !received) received = session.peer()->receive_datagram();
        return received.has_value();
      },
      Duration::seconds(5)));
  EXPECT_EQ(*received, std::string(data.begin(), data.end()));
}

}  // namespace
}  // namespace quasi::sim
