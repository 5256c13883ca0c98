// Addresses that change when they should not, or that nobody proves; and a network that
// goes away for an hour.
#include <gtest/gtest.h>

#include <array>

#include "hostile/hostile.h"

namespace quasi::hostile {
namespace {

using wire::PacketType;

constexpr std::array<std::uint8_t, 1> kPing = {0x01};

SocketAddress elsewhere(std::uint16_t port = 7'777) {
  SocketAddress address = *SocketAddress::parse("203.0.113.99:1");
  address.port = port;
  return address;
}

/// Turns of the event loop in `duration`.
std::size_t turns(Hostile& hostile, Duration duration) {
  std::size_t count = 0;
  (void)hostile.session.pair.run([&] { return ++count > 100'000; }, duration);
  return count;
}

TEST(Migration, R31HandshakePacketsDoNotMigrate) {
  Hostile hostile({});
  hostile.begin();
  const SocketAddress first = hostile.raw_address;
  hostile.raw_address = elsewhere();  // all but the first Initial
  (void)hostile.session.pair.run([&] { return hostile.raw.complete(); }, Duration::seconds(2));
  hostile.run(Duration::milliseconds(30));
  ASSERT_NE(hostile.victim(), nullptr);
  EXPECT_TRUE(hostile.victim()->is_confirmed());
  // (1-RTT packets after that may: the first answer of the raw peer is one.)
  hostile.raw.acknowledges = false;
  EXPECT_TRUE(hostile.core().path.remote == first || hostile.core().confirmed);
  hostile.expect_alive();
}

TEST(Migration, R31ProbesDoNotMigrate) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  const SocketAddress first = hostile.raw_address;
  hostile.raw_address = elsewhere();
  const std::array<std::uint8_t, 9> challenge = {0x1a, 1, 2, 3, 4, 5, 6, 7, 8};
  hostile.send(challenge);
  hostile.run(Duration::milliseconds(50));
  EXPECT_EQ(hostile.core().path.remote, first);
  EXPECT_EQ(hostile.raw.responses.size(), 1U);
  // Nor does a packet that is not the newest.
  const std::uint64_t old = hostile.raw.next_number(PacketType::one_rtt);
  hostile.raw.skip_numbers(PacketType::one_rtt, 2);
  hostile.raw_address = first;
  hostile.send(kPing);
  hostile.run(Duration::milliseconds(50));
  hostile.raw_address = elsewhere();
  hostile.raw.send(PacketType::one_rtt, kPing, old);
  hostile.run(Duration::milliseconds(50));
  EXPECT_EQ(hostile.core().path.remote, first);
  hostile.expect_alive();
}

// one packet with a spoofed source, a megabyte waiting to be sent.
TEST(Migration, R33SpoofedAddressGetsThreeTimesItsBytes) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  const SocketAddress first = hostile.raw_address;
  const std::array<std::uint8_t, 10> request = {0x0b, 0x00, 0x07, '1', '0',
                                                '0',  '0',  '0',  '0', '0'};
  hostile.send(request);
  hostile.run(Duration::milliseconds(100));
  hostile.raw_address = elsewhere();
  const ByteVector packet = hostile.raw.packet(PacketType::one_rtt, kPing);
  hostile.mute = true;
  hostile.inject(packet);
  const Instant start = hostile.session.pair.now();
  hostile.run(Duration::microseconds(1));
  ASSERT_EQ(hostile.core().path.remote, elsewhere());
  EXPECT_FALSE(hostile.core().path.validated);
  const std::uint64_t before = hostile.captured_bytes;
  // What is sent while the path is open to doubt.
  ASSERT_LE(turns(hostile, Duration::milliseconds(500)), 100U);
  EXPECT_LE(hostile.core().path.bytes_sent, 3 * packet.size());
  EXPECT_LE(hostile.captured_bytes - before, 3 * packet.size());
  // By the clock, not by loss: after three PTOs the old path is taken again.
  hostile.mute = false;
  EXPECT_TRUE(hostile.session.pair.run([&] { return hostile.core().path.remote == first; },
                                       Duration::seconds(10)));
  EXPECT_GE(hostile.session.pair.now() - start, Duration::milliseconds(900));
  EXPECT_TRUE(hostile.core().path.validated);
  hostile.expect_alive();
}

TEST(Migration, R28AcknowledgedButNeverAnswered) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  const SocketAddress first = hostile.raw_address;
  hostile.raw_address = elsewhere();
  hostile.send(kPing);
  hostile.raw_address = first;
  // Acknowledgements come from the old address again: it is gone back to at once.
  hostile.run(Duration::milliseconds(100));
  ASSERT_FALSE(hostile.closed());
  EXPECT_EQ(hostile.core().path.remote, first);
  EXPECT_TRUE(hostile.core().path.validated);
  // And from the new one only: validation fails by the clock.
  hostile.raw_address = elsewhere();
  hostile.send(kPing);
  hostile.run(Duration::milliseconds(500));
  EXPECT_FALSE(hostile.raw.challenges.empty());
  EXPECT_EQ(hostile.core().path.remote, elsewhere());
  EXPECT_FALSE(hostile.core().path.validated);
  // (Whatever comes from there next begins another attempt.)
  EXPECT_TRUE(hostile.session.pair.run([&] { return hostile.core().path.remote == first; },
                                       Duration::seconds(10)));
  EXPECT_FALSE(hostile.closed());
  hostile.expect_alive();
}

// the raw peer gives no spare connection IDs at all.
TEST(Migration, R27MovesAThousandTimesWithoutSpareIds) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  for (std::uint16_t i = 0; i < 1'000; ++i) {
    hostile.raw_address = elsewhere(static_cast<std::uint16_t>(2'000 + i));
    hostile.send(kPing);
    hostile.run(Duration::milliseconds(3));
  }
  EXPECT_FALSE(hostile.closed());
  EXPECT_FALSE(hostile.core().remote_cids.has_wanted());
  hostile.expect_alive();
}

TEST(Migration, ClientsHearTheirServerOnly) {
  Hostile::Options options;
  options.victim = Side::client;
  Hostile hostile(options);
  ASSERT_TRUE(hostile.handshake());
  const auto before = hostile.victim()->stats().packets_received;
  hostile.raw.acknowledges = false;
  hostile.raw_address = elsewhere();
  for (int i = 0; i < 10; ++i) hostile.send(kPing);
  hostile.run(Duration::milliseconds(50));
  EXPECT_EQ(hostile.victim()->stats().packets_received, before);
  EXPECT_EQ(hostile.core().path.remote, hostile.session.pair.server_address());
  hostile.expect_alive();
}

// the network is gone for a day, nothing ends by idling, and the client has
// moved just before.
TEST(Migration, R111ProbeTimeoutsForADay) {
  sim::Session::Options options;
  options.client.transport.max_idle_timeout = Duration();
  options.server.transport.max_idle_timeout = Duration();
  sim::Session session(options);
  session.fetch(10'000'000);
  session.connect();
  ASSERT_TRUE(session.pair.run([&] { return session.confirmed; }, Duration::seconds(5)));
  (void)session.pair.run([] { return false; }, Duration::milliseconds(50));
  session.pair.rebind_client();
  (void)session.pair.run([] { return false; }, Duration::milliseconds(25));
  session.pair.filter = [](bool, std::vector<std::uint8_t>&) { return false; };
  std::size_t count = 0;
  (void)session.pair.run([&] { return ++count > 100'000; }, Duration::seconds(86'400));
  ASSERT_LE(count, 100'000U);
  ASSERT_FALSE(session.connection()->is_closed());
  ASSERT_NE(session.peer(), nullptr);
  ASSERT_FALSE(session.peer()->is_closed());
  EXPECT_GT(session.peer()->stats().pto_count, 70U);
  EXPECT_GE(session.server->next_timeout(), session.pair.now());
  // And then it comes back.
  session.pair.filter = nullptr;
  // The server has gone back to the address that it has proof of, so the client has to
  // say where it is now.
  const auto stream = session.connection()->open_stream(Direction::bidirectional);
  ASSERT_TRUE(stream);
  const std::array<std::uint8_t, 1> request = {'0'};
  EXPECT_EQ(session.connection()->write(*stream, request), 1U);
  session.connection()->finish(*stream);
  EXPECT_TRUE(session.pair.run([&] { return session.all_fetched(); }, Duration::seconds(7'200)));
}

}  // namespace
}  // namespace quasi::hostile
