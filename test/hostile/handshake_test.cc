// Handshakes that lie or come in the wrong order, and key updates against the rules.
#include <gtest/gtest.h>

#include <array>

#include "hostile/hostile.h"
#include "wire/frame_writer.h"

namespace quasi::hostile {
namespace {

using wire::PacketType;

constexpr std::array<std::uint8_t, 1> kPing = {0x01};
constexpr std::array<std::uint8_t, 1> kHandshakeDone = {0x1e};

wire::ConnectionId other_cid() {
  return *wire::ConnectionId::from(std::array<std::uint8_t, 8>{9, 8, 7, 6, 5, 4, 3, 2});
}

void expect_parameter_error(Side victim,
                            std::function<void(wire::TransportParameters&)> parameters) {
  Hostile::Options options;
  options.victim = victim;
  options.raw.parameters = std::move(parameters);
  Hostile hostile(options);
  EXPECT_FALSE(hostile.handshake());
  ASSERT_NE(hostile.victim(), nullptr);
  EXPECT_TRUE(hostile.victim()->is_closed());
  EXPECT_EQ(hostile.victim()->close_reason().error_code, 0x08U)
      << hostile.victim()->close_reason().reason;
  hostile.expect_alive();
}

// RFC 9000 §7.3: connection IDs of the handshake are authenticated.
TEST(Handshake, R93ConnectionIdsOfTheHandshake) {
  for (const Side victim : {Side::server, Side::client}) {
    expect_parameter_error(
        victim, [](wire::TransportParameters& p) { p.initial_source_connection_id.reset(); });
    expect_parameter_error(
        victim, [](wire::TransportParameters& p) { p.initial_source_connection_id = other_cid(); });
  }
  expect_parameter_error(Side::client, [](wire::TransportParameters& p) {
    p.original_destination_connection_id.reset();
  });
  expect_parameter_error(Side::client, [](wire::TransportParameters& p) {
    p.original_destination_connection_id = other_cid();
  });
  // There was no Retry.
  expect_parameter_error(Side::client, [](wire::TransportParameters& p) {
    p.retry_source_connection_id = other_cid();
  });
}

// CVE-2025-59530: HANDSHAKE_DONE overtakes the flight that it belongs to.
TEST(Handshake, R99DoneBeforeTheHandshake) {
  Hostile::Options options;
  options.victim = Side::client;
  options.raw.sends_handshake_done = false;
  Hostile hostile(options);
  hostile.on_first = [&](Bytes first) {
    hostile.holds = true;
    hostile.raw_accept(first);
    hostile.raw.send(PacketType::one_rtt, kHandshakeDone);
    hostile.holds = false;
    const std::vector<ByteVector> flight = std::move(hostile.held);
    for (auto it = flight.rbegin(); it != flight.rend(); ++it) hostile.inject(*it);
  };
  // No honest server does that: it would have to wait for the client's Finished. The
  // client believes it, and drops the keys of the handshake in good order.
  (void)hostile.handshake();
  ASSERT_NE(hostile.victim(), nullptr);
  EXPECT_FALSE(hostile.closed());
  EXPECT_TRUE(hostile.core().space(recovery::PacketSpace::initial).discarded);
  EXPECT_EQ(hostile.core().space(recovery::PacketSpace::handshake).discarded,
            hostile.core().confirmed);
  EXPECT_EQ(hostile.core().early_count, 0U);
  hostile.expect_alive();
}

TEST(Handshake, R99DoneAlone) {
  Hostile::Options options;
  options.victim = Side::client;
  options.raw.sends_handshake_done = false;
  Hostile hostile(options);
  hostile.on_first = [&](Bytes first) {
    hostile.holds = true;
    hostile.raw_accept(first);
    hostile.holds = false;
    hostile.held.clear();
    for (int i = 0; i < 100; ++i) hostile.raw.send(PacketType::one_rtt, kHandshakeDone);
  };
  EXPECT_FALSE(hostile.handshake());
  ASSERT_NE(hostile.victim(), nullptr);
  EXPECT_FALSE(hostile.victim()->is_confirmed());
  EXPECT_LE(hostile.core().early_count, limits::kMaxEarlyPackets);
  hostile.expect_alive();
}

TEST(Handshake, R100ServerInitialWithAToken) {
  Hostile::Options options;
  options.victim = Side::client;
  options.raw.token = {1, 2, 3, 4};
  Hostile hostile(options);
  EXPECT_FALSE(hostile.handshake());
  ASSERT_NE(hostile.victim(), nullptr);
  EXPECT_FALSE(hostile.core().heard_from_peer);  // discarded
  hostile.expect_alive();
}

TEST(Handshake, R102PacketsBeforeTheirKeys) {
  Hostile hostile({});
  hostile.mute = true;
  hostile.begin();
  hostile.run(Duration::milliseconds(5));
  hostile.victim_handle = ConnectionHandle{};  // it has told no event yet
  ASSERT_NE(hostile.victim(), nullptr);
  for (int i = 0; i < 1'000; ++i) {
    ByteVector datagram(60, static_cast<std::uint8_t>(i));
    datagram[0] = 0x40;
    const Bytes dcid = hostile.raw.original_dcid().bytes();
    std::copy(dcid.begin(), dcid.end(), datagram.begin() + 1);
    hostile.inject(datagram);
  }
  hostile.run(Duration::milliseconds(5));
  EXPECT_EQ(hostile.core().early_count, limits::kMaxEarlyPackets);
  EXPECT_FALSE(hostile.closed());
  hostile.expect_alive();
}

// A damaged ClientHello ends in a TLS alert, and the refusal does not grow.
TEST(Handshake, ClientHelloOfGarbage) {
  Hostile hostile({});
  hostile.holds = true;
  hostile.begin();
  hostile.holds = false;
  ByteVector frame(1'100, 0xee);
  frame[0] = 0x06;
  frame[1] = 0;
  frame[2] = 0x44;
  frame[3] = 0x4c - 4;
  hostile.raw.send(PacketType::initial, frame);
  hostile.run(Duration::milliseconds(100));
  ASSERT_TRUE(hostile.raw.close);
  EXPECT_GE(hostile.raw.close->code, 0x07U);
  EXPECT_LE(hostile.captured_bytes, 3 * 1'200U);
  hostile.expect_alive();
}

// RFC 9001 §6: the first packet of a new key phase comes twice.
TEST(Keys, R105FirstPacketOfAPhaseTwice) {
  for (const Duration later : {Duration(), Duration::milliseconds(1), Duration::seconds(5)}) {
    Hostile hostile({});
    ASSERT_TRUE(hostile.handshake());
    hostile.raw.update_keys();
    const ByteVector packet = hostile.raw.packet(PacketType::one_rtt, kPing);
    hostile.inject(packet);
    if (later != Duration()) hostile.run(later);
    hostile.inject(packet);
    hostile.run(Duration::milliseconds(20));
    ASSERT_FALSE(hostile.closed());
    EXPECT_EQ(hostile.core().phases.receive_generation(), 1U);
    EXPECT_EQ(hostile.core().stats.packets_duplicate, 1U);
    EXPECT_EQ(hostile.raw.undecryptable, 0U);
    hostile.expect_alive();
  }
}

TEST(Keys, R106UpdateBeforeTheLastWasAcknowledged) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.update_keys();
  hostile.send(kPing);
  hostile.run(Duration::microseconds(100));
  hostile.raw.update_keys();
  hostile.send(kPing);
  hostile.run(Duration::milliseconds(50));
  ASSERT_TRUE(hostile.closed());
  EXPECT_EQ(hostile.victim()->close_reason().error_code, 0x0eU);
  hostile.expect_alive();
}

TEST(Keys, R106NewKeysAcknowledgedUnderOldOnes) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  hostile.raw.acknowledges = false;
  ASSERT_TRUE(hostile.victim()->update_keys());
  hostile.send(kPing);
  hostile.run(Duration::milliseconds(50));
  ASSERT_FALSE(hostile.closed());
  EXPECT_EQ(hostile.core().phases.send_generation(), 1U);
  EXPECT_GT(hostile.raw.undecryptable, 0U);
  const std::uint64_t newest =
      hostile.core().recovery.next_packet_number(recovery::PacketSpace::application) - 1;
  std::array<std::uint8_t, 32> buffer{};
  wire::Writer<wire::Forward> writer(buffer);
  IntervalSet ranges{4};
  (void)ranges.insert(newest, newest + 1);
  ASSERT_GT(wire::write_ack(writer, ranges, 0, std::nullopt), 0U);
  hostile.send(Bytes(buffer).first(writer.written()));
  hostile.run(Duration::milliseconds(50));
  ASSERT_TRUE(hostile.closed());
  EXPECT_EQ(hostile.victim()->close_reason().error_code, 0x0eU);
  hostile.expect_alive();
}

TEST(Keys, ManyUpdatesInOrder) {
  Hostile hostile({});
  ASSERT_TRUE(hostile.handshake());
  for (std::uint64_t i = 1; i <= 50; ++i) {
    hostile.raw.update_keys();
    hostile.send(kPing);
    hostile.send(kPing);
    hostile.run(Duration::milliseconds(100));
    ASSERT_FALSE(hostile.closed()) << i;
    ASSERT_EQ(hostile.core().phases.receive_generation(), i);
  }
  hostile.expect_alive();
}

}  // namespace
}  // namespace quasi::hostile
