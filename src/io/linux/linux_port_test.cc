// The Linux port over loopback: order, offloads on and off, both families, ECN, packet
// info, and the errors that must not be fatal.
#include "io/linux/linux_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "io/linux/receiver.h"
#include "io/open_port.h"
#include "io/resolve.h"

namespace quasi::io {
namespace {

SocketAddress address(const char* text) { return *SocketAddress::parse(text); }

/// A port with a pool of its own.
struct Host {
  explicit Host(const PortOptions& options)
      : pool(options.offloads ? 65'536 : std::uint32_t{limits::kMaxReceiveDatagramSize}) {
    PortOptions chosen = options;
    chosen.pool = &pool;
    auto opened = LinuxPort::open(chosen);
    if (opened) {
      port = std::move(*opened);
    } else {
      error = opened.error();
    }
  }
  BufferPool pool;
  std::unique_ptr<LinuxPort> port;
  PortError error;
};

/// Receives until `wanted` datagrams are there or a second has passed.
std::vector<std::string> receive_texts(LinuxPort& port, std::size_t wanted,
                                       std::vector<RxDatagram>* details = nullptr) {
  std::vector<std::string> texts;
  auto batch = std::make_unique<RxBatch>();
  const Instant end = port.now() + Duration::seconds(1);
  while (texts.size() < wanted && port.now() < end) {
    EXPECT_TRUE(port.wait(end).has_value());
    EXPECT_TRUE(port.receive(*batch).has_value());
    for (std::size_t i = 0; i < batch->count; ++i) {
      const RxDatagram& datagram = batch->datagrams[i];
      texts.emplace_back(reinterpret_cast<const char*>(datagram.data), datagram.size);
      if (details != nullptr) details->push_back(datagram);
    }
    batch->clear();
  }
  return texts;
}

void put(TxBatch& batch, const std::string& text, const SocketAddress& remote,
         Ecn ecn = Ecn::not_ect, const SocketAddress& local = {}) {
  const MutableBytes space = batch.space();
  ASSERT_GE(space.size(), text.size());
  std::memcpy(space.data(), text.data(), text.size());
  batch.commit(static_cast<std::uint32_t>(text.size()), ecn, remote, local);
}

/// `count` datagrams of `size` bytes, each beginning with its number.
std::vector<std::string> numbered(std::size_t count, std::size_t size) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = std::to_string(i) + " ";
    text.resize(size, static_cast<char>('a' + i % 26));
    texts.push_back(text);
  }
  return texts;
}

bool has_ipv6() { return Host({.local = *SocketAddress::parse_ip("::1", 0)}).port != nullptr; }

class Offloads : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(linux_port_test, Offloads, testing::Bool());

TEST_P(Offloads, KeepOrderSizesAndContents) {
  Host a({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  Host b({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  ASSERT_TRUE(a.port && b.port);
  // A train, one that ends it early, a longer one that cannot join it, another train.
  std::vector<std::string> sent = numbered(20, 1350);
  sent.push_back(std::string(200, 's'));
  sent.push_back(std::string(1400, 'l'));
  for (const std::string& text : numbered(30, 1200)) sent.push_back(text);
  TxBatch batch;
  for (const std::string& text : sent) put(batch, text, b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(receive_texts(*b.port, sent.size()), sent);
  EXPECT_EQ(a.port->counters().datagrams_sent, sent.size());
  EXPECT_EQ(b.port->counters().datagrams_received, sent.size());
  if (!GetParam()) EXPECT_FALSE(b.port->receives_trains());
}

TEST_P(Offloads, MoreThanABatchHoldsIsKept) {
  Host a({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  Host b({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  ASSERT_TRUE(a.port && b.port);
  const auto sent = numbered(4 * TxBatch::kCapacity, 1000);
  for (std::size_t begin = 0; begin < sent.size(); begin += TxBatch::kCapacity) {
    TxBatch batch;
    for (std::size_t i = 0; i < TxBatch::kCapacity; ++i) {
      put(batch, sent[begin + i], b.port->local_address());
    }
    ASSERT_TRUE(a.port->send(batch).has_value());
  }
  EXPECT_EQ(receive_texts(*b.port, sent.size()), sent);
}

TEST_P(Offloads, BuffersGoBackToThePool) {
  Host a({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  Host b({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  ASSERT_TRUE(a.port && b.port);
  const auto sent = numbered(TxBatch::kCapacity, 1200);
  std::uint64_t allocations = 0;
  for (int round = 0; round < 10; ++round) {
    TxBatch batch;
    for (const std::string& text : sent) put(batch, text, b.port->local_address());
    ASSERT_TRUE(a.port->send(batch).has_value());
    ASSERT_EQ(receive_texts(*b.port, sent.size()), sent);
    if (round == 2) allocations = b.pool.allocations();
  }
  // Nothing is allocated in a steady state.
  EXPECT_EQ(b.pool.allocations(), allocations);
}

TEST_P(Offloads, EcnMarksTravelBothWays) {
  for (const char* local : {"127.0.0.1:0", "[::1]:0"}) {
    if (address(local).family == SocketAddress::Family::ipv6 && !has_ipv6()) continue;
    Host a({.local = address(local), .offloads = GetParam()});
    Host b({.local = address(local), .offloads = GetParam()});
    ASSERT_TRUE(a.port && b.port);
    const std::vector<Ecn> marks = {Ecn::ect0, Ecn::ect0, Ecn::ect1, Ecn::ce, Ecn::not_ect};
    TxBatch batch;
    for (const Ecn ecn : marks) put(batch, std::string(1200, 'x'), b.port->local_address(), ecn);
    ASSERT_TRUE(a.port->send(batch).has_value());
    std::vector<RxDatagram> got;
    ASSERT_EQ(receive_texts(*b.port, marks.size(), &got).size(), marks.size());
    for (std::size_t i = 0; i < marks.size(); ++i) EXPECT_EQ(got[i].ecn, marks[i]) << local << i;
  }
}

TEST_P(Offloads, AnEmptyDatagramIsOneDatagram) {
  Host a({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  Host b({.local = address("127.0.0.1:0"), .offloads = GetParam()});
  TxBatch batch;
  for (const char* text : {"", "x", "", ""}) put(batch, text, b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(receive_texts(*b.port, 4), (std::vector<std::string>{"", "x", "", ""}));
}

TEST(linux_port_test, TrainsTravelAsOne) {
  Host a({.local = address("127.0.0.1:0")});
  Host b({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port && b.port);
  if (!a.port->sends_trains() || !b.port->receives_trains()) GTEST_SKIP() << "an old kernel";
  TxBatch batch;
  for (int i = 0; i < 40; ++i) put(batch, std::string(1350, 'x'), b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(a.port->counters().send_calls, 1U);
  std::vector<RxDatagram> got;
  ASSERT_EQ(receive_texts(*b.port, 40, &got).size(), 40U);
  EXPECT_EQ(b.port->counters().receive_calls, 1U);
  // All of them are views of one block.
  EXPECT_EQ(got.front().buffer.data(), got.back().buffer.data());
  EXPECT_TRUE(a.port->sends_trains());
}

TEST(linux_port_test, ATrainThatTheKernelRefusesIsSentOneByOne) {
  Host a({.local = address("127.0.0.1:0")});
  Host b({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port && b.port);
  if (!a.port->sends_trains()) GTEST_SKIP() << "an old kernel";
  // Without checksums the kernel cuts no trains: what a driver without offloads does.
  const int one = 1;
  ASSERT_EQ(setsockopt(a.port->socket(0).fd(), SOL_SOCKET, SO_NO_CHECK, &one, sizeof one), 0);
  const auto sent = numbered(50, 1200);
  TxBatch batch;
  for (const std::string& text : sent) put(batch, text, b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_FALSE(a.port->sends_trains());
  EXPECT_EQ(receive_texts(*b.port, sent.size()), sent);
}

TEST(linux_port_test, SegmentSizesThatMakeNoSenseAreOneDatagram) {
  EXPECT_EQ(usable_segment(1350, 4000), 1350U);
  EXPECT_EQ(usable_segment(4000, 4000), 4000U);
  EXPECT_EQ(usable_segment(0, 4000), 4000U);
  EXPECT_EQ(usable_segment(-1, 4000), 4000U);
  EXPECT_EQ(usable_segment(65'535, 4000), 4000U);
}

TEST(linux_port_test, AWildcardPortTellsWhereDatagramsArriveAndSendsFromThere) {
  for (const auto& [any, target] :
       {std::pair{"0.0.0.0:0", "127.0.0.7"}, std::pair{"[::]:0", "::1"}}) {
    if (address(any).family == SocketAddress::Family::ipv6 && !has_ipv6()) continue;
    Host server({.local = address(any)});
    Host client({.local = address(any)});
    ASSERT_TRUE(server.port && client.port);
    const SocketAddress at = *SocketAddress::parse_ip(target, server.port->local_address().port);
    TxBatch batch;
    put(batch, "ping", at);
    ASSERT_TRUE(client.port->send(batch).has_value());
    std::vector<RxDatagram> got;
    ASSERT_EQ(receive_texts(*server.port, 1, &got), std::vector<std::string>{"ping"});
    EXPECT_EQ(got[0].local, at);
    batch.clear();
    put(batch, "pong", got[0].remote, Ecn::not_ect, got[0].local);
    ASSERT_TRUE(server.port->send(batch).has_value());
    std::vector<RxDatagram> answer;
    ASSERT_EQ(receive_texts(*client.port, 1, &answer), std::vector<std::string>{"pong"});
    EXPECT_EQ(answer[0].remote, at);
  }
}

TEST(linux_port_test, OnePortSpeaksBothFamilies) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  Host server({.local = address("127.0.0.1:0"), .more_local = {address("[::1]:0")}});
  ASSERT_TRUE(server.port) << server.error.text;
  const auto at = server.port->local_addresses();
  ASSERT_EQ(at.size(), 2U);
  EXPECT_EQ(at[0].port, at[1].port);
  Host v4({.local = address("127.0.0.1:0")});
  Host v6({.local = address("[::1]:0")});
  for (Host* client : {&v4, &v6}) {
    TxBatch batch;
    put(batch, "ping", client == &v4 ? at[0] : at[1]);
    ASSERT_TRUE(client->port->send(batch).has_value());
    std::vector<RxDatagram> got;
    ASSERT_EQ(receive_texts(*server.port, 1, &got), std::vector<std::string>{"ping"});
    EXPECT_EQ(got[0].remote, client->port->local_address());
    batch.clear();
    put(batch, "pong", got[0].remote, Ecn::not_ect, got[0].local);
    ASSERT_TRUE(server.port->send(batch).has_value());
    EXPECT_EQ(receive_texts(*client->port, 1), std::vector<std::string>{"pong"});
  }
}

TEST(linux_port_test, APortInUseIsToldInASentence) {
  Host first({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(first.port);
  Host second({.local = first.port->local_address()});
  ASSERT_FALSE(second.port);
  EXPECT_EQ(second.error.kind, PortError::Kind::address_in_use);
  EXPECT_NE(std::string(second.error.text).find("already in use"), std::string::npos);
}

TEST(linux_port_test, AnAddressOfAnotherMachineIsToldInASentence) {
  Host host({.local = address("192.0.2.1:0")});
  ASSERT_FALSE(host.port);
  EXPECT_EQ(host.error.kind, PortError::Kind::invalid);
  Host none({.local = SocketAddress{}});
  ASSERT_FALSE(none.port);
  EXPECT_EQ(none.error.kind, PortError::Kind::invalid);
}

TEST(linux_port_test, TooLongDatagramsAreDroppedAndCounted) {
  Host a({.local = address("127.0.0.1:0"), .offloads = false});
  Host b({.local = address("127.0.0.1:0"), .offloads = false});
  ASSERT_TRUE(a.port && b.port);
  TxBatch batch;
  put(batch, std::string(limits::kMaxReceiveDatagramSize + 1, 'x'), b.port->local_address());
  put(batch, std::string(limits::kMaxReceiveDatagramSize, 'y'), b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  const auto got = receive_texts(*b.port, 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0], std::string(limits::kMaxReceiveDatagramSize, 'y'));
  EXPECT_EQ(b.port->counters().truncated, 1U);
}

TEST(linux_port_test, ADatagramThatCannotBeSentIsNoErrorOfThePort) {
  Host a({.local = address("127.0.0.1:0")});
  Host b({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port && b.port);
  TxBatch batch;
  put(batch, std::string(66'000, 'x'), b.port->local_address());  // EMSGSIZE
  put(batch, "after", b.port->local_address());
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(receive_texts(*b.port, 1), std::vector<std::string>{"after"});
  EXPECT_EQ(a.port->last_peer_error().kind, PeerError::Kind::too_big);
  EXPECT_EQ(a.port->counters().send_dropped, 1U);
}

TEST(linux_port_test, ADestinationOfTheOtherFamilyIsUnreachable) {
  Host a({.local = address("127.0.0.1:0"), .more_local = {address("127.0.0.2:0")}});
  ASSERT_TRUE(a.port);
  TxBatch batch;
  put(batch, "x", address("[::1]:9"));
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(a.port->last_peer_error().kind, PeerError::Kind::unreachable);
  EXPECT_EQ(a.port->counters().send_dropped, 1U);
}

class Connected : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(linux_port_test, Connected, testing::Bool());

TEST(linux_port_test, ARefusalThatReceiveHeardEndsTheNextWait) {
  SocketAddress closed;
  {
    Host gone({.local = address("127.0.0.1:0")});
    closed = gone.port->local_address();
  }
  Host a({.local = address("127.0.0.1:0"), .peer = closed});
  ASSERT_TRUE(a.port);
  TxBatch batch;
  put(batch, "anybody?", closed);
  ASSERT_TRUE(a.port->send(batch).has_value());
  auto rx = std::make_unique<RxBatch>();
  const Instant start = a.port->now();
  while (!a.port->peer_refused() && (a.port->now() - start).ms() < 2'000) {
    ASSERT_TRUE(a.port->receive(*rx).has_value());
  }
  ASSERT_TRUE(a.port->peer_refused());
  ASSERT_TRUE(a.port->wait(start + Duration::seconds(60)).has_value());
  EXPECT_LT((a.port->now() - start).ms(), 30'000);
}

TEST_P(Connected, ARefusalIsHeardAndTheOthersStillGetTheirs) {
  SocketAddress closed;
  {
    Host gone({.local = address("127.0.0.1:0")});
    closed = gone.port->local_address();
  }
  Host a({.local = address("127.0.0.1:0"), .peer = GetParam() ? closed : SocketAddress{}});
  Host b({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port && b.port);
  EXPECT_FALSE(a.port->peer_refused());
  TxBatch batch;
  put(batch, "anybody?", closed);
  ASSERT_TRUE(a.port->send(batch).has_value());
  const Instant end = a.port->now() + Duration::seconds(1);
  auto rx = std::make_unique<RxBatch>();
  while (!a.port->peer_refused() && a.port->now() < end) {
    ASSERT_TRUE(a.port->wait(end).has_value());
    ASSERT_TRUE(a.port->receive(*rx).has_value());
  }
  EXPECT_EQ(rx->count, 0U);
  EXPECT_TRUE(a.port->peer_refused());
  EXPECT_EQ(a.port->last_peer_error().remote.port, closed.port);
  if (GetParam()) return;
  // The refusal of one peer must not cost another a datagram.
  for (int i = 0; i < 8; ++i) {
    batch.clear();
    put(batch, "x", closed);
    ASSERT_TRUE(a.port->send(batch).has_value());
    batch.clear();
    put(batch, std::to_string(i), b.port->local_address());
    ASSERT_TRUE(a.port->send(batch).has_value());
    EXPECT_EQ(receive_texts(*b.port, 1), std::vector<std::string>{std::to_string(i)});
  }
}

TEST(linux_port_test, AConnectedPortHearsItsPeerOnly) {
  Host b({.local = address("127.0.0.1:0")});
  Host stranger({.local = address("127.0.0.1:0")});
  Host a({.local = address("0.0.0.0:0"), .peer = b.port->local_address()});
  ASSERT_TRUE(a.port && b.port && stranger.port);
  TxBatch batch;
  put(batch, "not for you", a.port->local_address());
  ASSERT_TRUE(stranger.port->send(batch).has_value());
  batch.clear();
  put(batch, "for you", a.port->local_address());
  ASSERT_TRUE(b.port->send(batch).has_value());
  std::vector<RxDatagram> got;
  EXPECT_EQ(receive_texts(*a.port, 1, &got), std::vector<std::string>{"for you"});
  EXPECT_EQ(got[0].local, a.port->local_address());
  batch.clear();
  put(batch, "back", b.port->local_address(), Ecn::not_ect, got[0].local);
  ASSERT_TRUE(a.port->send(batch).has_value());
  EXPECT_EQ(receive_texts(*b.port, 1), std::vector<std::string>{"back"});
}

TEST(linux_port_test, WaitEndsAtTheDeadline) {
  Host a({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port);
  const Instant start = a.port->now();
  ASSERT_TRUE(a.port->wait(start + Duration::milliseconds(20)).has_value());
  EXPECT_GE((a.port->now() - start).ms(), 20);
  // In the past: at once.
  ASSERT_TRUE(a.port->wait(Instant::from_ns(0)).has_value());
}

TEST(linux_port_test, ASignalEndsTheWait) {
  Host a({.local = address("127.0.0.1:0")});
  ASSERT_TRUE(a.port);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval soon{{0, 0}, {0, 10'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &soon, nullptr), 0);
  const Instant start = a.port->now();
  ASSERT_TRUE(a.port->wait(start + Duration::seconds(60)).has_value());
  EXPECT_LT((a.port->now() - start).ms(), 30'000);
  sigaction(SIGALRM, &before, nullptr);
}

TEST(linux_port_test, NamesAndNumbersResolve) {
  const auto number = resolve("192.0.2.7", 443);
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(number->front().to_string(), "192.0.2.7:443");
  const auto name = resolve("localhost", 4433);
  ASSERT_TRUE(name.has_value()) << name.error();
  EXPECT_EQ(name->front().port, 4433);
  const auto bad = resolve("no such host", 1);
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().find("no such host"), std::string::npos);
}

}  // namespace
}  // namespace quasi::io
