// The WASI port over loopback, inside the host that runs the component: order, both
// families, where datagrams land, and the errors that must not be fatal.
#include "io/wasi/wasi_port.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "io/open_port.h"
#include "io/resolve.h"
#include "io/wasi/landing.h"

namespace quasi::io {
namespace {

SocketAddress address(const char* text) { return *SocketAddress::parse(text); }

PortResult<std::unique_ptr<WasiPort>> open(PortOptions options, BufferPool& pool) {
  options.pool = &pool;
  return WasiPort::open(options);
}

void put(TxBatch& batch, const std::string& text, const SocketAddress& remote,
         const SocketAddress& local = {}) {
  const MutableBytes space = batch.space();
  ASSERT_GE(space.size(), text.size());
  std::memcpy(space.data(), text.data(), text.size());
  batch.commit(static_cast<std::uint32_t>(text.size()), Ecn::not_ect, remote, local);
}

/// Receives until `wanted` datagrams are there or two seconds have passed.
std::vector<std::string> receive_texts(WasiPort& port, std::size_t wanted,
                                       std::vector<RxDatagram>* details = nullptr) {
  std::vector<std::string> texts;
  auto batch = std::make_unique<RxBatch>();
  const Instant end = port.now() + Duration::seconds(2);
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

bool has_ipv6() {
  BufferPool pool(buffer_block_size());
  return open({.local = address("[::1]:0")}, pool).has_value();
}

TEST(wasi_port_test, KeepsOrderSizesAndContents) {
  BufferPool pool(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool);
  auto b = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(a && b);
  std::vector<std::string> sent;
  TxBatch batch;
  for (std::size_t i = 0; i < TxBatch::kCapacity; ++i) {
    std::string text = std::to_string(i);
    text.resize(700 + 10 * i, static_cast<char>('a' + i % 26));
    sent.push_back(text);
    put(batch, text, (*b)->local_address());
  }
  ASSERT_TRUE((*a)->send(batch).has_value());
  std::vector<RxDatagram> got;
  EXPECT_EQ(receive_texts(**b, sent.size(), &got), sent);
  EXPECT_EQ(got.front().remote, (*a)->local_address());
  EXPECT_EQ(got.front().local, (*b)->local_address());
}

TEST(wasi_port_test, DatagramsLandInThePoolAndGoBackToIt) {
  BufferPool pool(buffer_block_size());
  {
    auto a = open({.local = address("127.0.0.1:0")}, pool);
    auto b = open({.local = address("127.0.0.1:0")}, pool);
    ASSERT_TRUE(a && b);
    std::uint64_t allocations = 0;
    for (int round = 0; round < 6; ++round) {
      TxBatch batch;
      for (int i = 0; i < 32; ++i) put(batch, std::string(1350, 'x'), (*b)->local_address());
      ASSERT_TRUE((*a)->send(batch).has_value());
      std::vector<RxDatagram> got;
      ASSERT_EQ(receive_texts(**b, 32, &got).size(), 32U);
      for (const RxDatagram& datagram : got) EXPECT_EQ(datagram.data, datagram.buffer.data());
      EXPECT_GE(pool.in_use(), 32U);
      if (round == 2) allocations = pool.allocations();
    }
    EXPECT_EQ(pool.allocations(), allocations);
  }
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(wasi_port_test, TwoPoolsAreNeverConfused) {
  BufferPool pool_a(buffer_block_size());
  BufferPool pool_b(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool_a);
  auto b = open({.local = address("127.0.0.1:0")}, pool_b);
  ASSERT_TRUE(a && b);
  TxBatch batch;
  put(batch, "to b", (*b)->local_address());
  ASSERT_TRUE((*a)->send(batch).has_value());
  std::vector<RxDatagram> got;
  EXPECT_EQ(receive_texts(**b, 1, &got), std::vector<std::string>{"to b"});
  EXPECT_EQ(pool_a.in_use(), 0U);
  EXPECT_EQ(pool_b.in_use(), 1U);
}

TEST(wasi_port_test, AnEmptyDatagramIsOneDatagram) {
  BufferPool pool(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool);
  auto b = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(a && b);
  TxBatch batch;
  for (const char* text : {"", "x", ""}) put(batch, text, (*b)->local_address());
  ASSERT_TRUE((*a)->send(batch).has_value());
  EXPECT_EQ(receive_texts(**b, 3), (std::vector<std::string>{"", "x", ""}));
}

TEST(wasi_port_test, TooLongDatagramsAreDroppedAndCounted) {
  BufferPool pool(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool);
  auto b = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(a && b);
  TxBatch batch;
  put(batch, std::string(limits::kMaxReceiveDatagramSize + 1, 'x'), (*b)->local_address());
  put(batch, std::string(limits::kMaxReceiveDatagramSize, 'y'), (*b)->local_address());
  ASSERT_TRUE((*a)->send(batch).has_value());
  EXPECT_EQ(receive_texts(**b, 1),
            std::vector<std::string>{std::string(limits::kMaxReceiveDatagramSize, 'y')});
  EXPECT_EQ((*b)->counters().truncated, 1U);
}

TEST(wasi_port_test, OnePortSpeaksBothFamilies) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  BufferPool pool(buffer_block_size());
  auto server = open({.local = address("127.0.0.1:0"), .more_local = {address("[::1]:0")}}, pool);
  ASSERT_TRUE(server);
  const auto at = (*server)->local_addresses();
  ASSERT_EQ(at.size(), 2U);
  EXPECT_EQ(at[0].port, at[1].port);
  auto v4 = open({.local = address("127.0.0.1:0"), .peer = at[0]}, pool);
  auto v6 = open({.local = address("[::1]:0")}, pool);
  ASSERT_TRUE(v4 && v6);
  for (WasiPort* client : {v4->get(), v6->get()}) {
    TxBatch batch;
    put(batch, "ping", client == v4->get() ? at[0] : at[1]);
    ASSERT_TRUE(client->send(batch).has_value());
    std::vector<RxDatagram> got;
    ASSERT_EQ(receive_texts(**server, 1, &got), std::vector<std::string>{"ping"});
    EXPECT_EQ(got[0].remote, client->local_address());
    batch.clear();
    put(batch, "pong", got[0].remote, got[0].local);
    ASSERT_TRUE((*server)->send(batch).has_value());
    EXPECT_EQ(receive_texts(*client, 1), std::vector<std::string>{"pong"});
  }
}

TEST(wasi_port_test, APortInUseIsToldInASentence) {
  BufferPool pool(buffer_block_size());
  auto first = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(first);
  auto second = open({.local = (*first)->local_address()}, pool);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, PortError::Kind::address_in_use);
  auto elsewhere = open({.local = address("192.0.2.1:0")}, pool);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, PortError::Kind::invalid);
}

TEST(wasi_port_test, ARefusalIsHeardAndIsNotFatal) {
  BufferPool pool(buffer_block_size());
  SocketAddress closed;
  {
    auto gone = open({.local = address("127.0.0.1:0")}, pool);
    ASSERT_TRUE(gone);
    closed = (*gone)->local_address();
  }
  auto a = open({.local = address("127.0.0.1:0"), .peer = closed}, pool);
  ASSERT_TRUE(a);
  auto rx = std::make_unique<RxBatch>();
  const Instant end = (*a)->now() + Duration::seconds(2);
  while (!(*a)->peer_refused() && (*a)->now() < end) {
    TxBatch batch;
    put(batch, "anybody?", closed);
    ASSERT_TRUE((*a)->send(batch).has_value());
    ASSERT_TRUE((*a)->wait((*a)->now() + Duration::milliseconds(20)).has_value());
    ASSERT_TRUE((*a)->receive(*rx).has_value());
  }
  EXPECT_EQ(rx->count, 0U);
  EXPECT_TRUE((*a)->peer_refused());
}

TEST(wasi_port_test, WaitEndsAtTheDeadlineAndEarlierTimersDoNotEndIt) {
  BufferPool pool(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(a);
  const Instant start = (*a)->now();
  // The first wait ends early and leaves its timer behind; later ones go past it.
  auto b = open({.local = address("127.0.0.1:0")}, pool);
  TxBatch batch;
  put(batch, "wake up", (*a)->local_address());
  ASSERT_TRUE((*b)->send(batch).has_value());
  ASSERT_TRUE((*a)->wait(start + Duration::milliseconds(20)).has_value());
  auto rx = std::make_unique<RxBatch>();
  ASSERT_TRUE((*a)->receive(*rx).has_value());
  EXPECT_EQ(rx->count, 1U);
  ASSERT_TRUE((*a)->wait(start + Duration::milliseconds(60)).has_value());
  EXPECT_GE(((*a)->now() - start).ms(), 60);
  // Earlier than the timer that is set.
  const Instant again = (*a)->now();
  ASSERT_TRUE((*b)->send(batch).has_value());
  ASSERT_TRUE((*a)->wait(again + Duration::seconds(50)).has_value());
  rx->clear();
  ASSERT_TRUE((*a)->receive(*rx).has_value());
  ASSERT_TRUE((*a)->wait(again + Duration::milliseconds(30)).has_value());
  EXPECT_GE(((*a)->now() - again).ms(), 30);
  EXPECT_LT(((*a)->now() - again).ms(), 20'000);
  ASSERT_TRUE((*a)->wait(Instant::from_ns(0)).has_value());
}

TEST(wasi_port_test, ReceivingWithoutWaitingHearsWhatArrives) {
  BufferPool pool(buffer_block_size());
  auto a = open({.local = address("127.0.0.1:0")}, pool);
  auto b = open({.local = address("127.0.0.1:0")}, pool);
  ASSERT_TRUE(a && b);
  auto rx = std::make_unique<RxBatch>();
  for (const bool waits_in_the_past : {false, true}) {
    rx->clear();
    ASSERT_TRUE((*a)->receive(*rx).has_value());  // one receive is under way now
    ASSERT_EQ(rx->count, 0U);
    TxBatch batch;
    put(batch, "hello", (*a)->local_address());
    ASSERT_TRUE((*b)->send(batch).has_value());
    const Instant end = (*a)->now() + Duration::seconds(5);
    while (rx->count == 0 && (*a)->now() < end) {
      if (waits_in_the_past) ASSERT_TRUE((*a)->wait(Instant::from_ns(0)).has_value());
      ASSERT_TRUE((*a)->receive(*rx).has_value());
    }
    EXPECT_EQ(rx->count, 1U);
  }
}

TEST(wasi_port_test, NamesAndNumbersResolve) {
  const auto number = resolve("192.0.2.7", 443);
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(number->front().to_string(), "192.0.2.7:443");
  const auto six = resolve("2001:db8::5", 1);
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->front().to_string(), "[2001:db8::5]:1");
  const auto name = resolve("localhost", 4433);
  ASSERT_TRUE(name.has_value()) << name.error();
  EXPECT_EQ(name->front().port, 4433);
  const auto bad = resolve("no such host", 1);
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().find("no such host"), std::string::npos);
}

}  // namespace
}  // namespace quasi::io
