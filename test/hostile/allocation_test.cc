// A bulk transfer in its steady state asks the allocator for nothing, on either side:
// not for packets, acknowledgements, events, timers or stream data. Two endpoints are
// driven directly, and only what happens inside of them counts.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "hostile/heap.h"
#include "quasi/endpoint.h"
#include "sim/session.h"

namespace quasi::hostile {
namespace {

/// A server that sends without end, a client that reads, and no network between them
/// but a delay of a millisecond each way.
class Bulk {
 public:
  explicit Bulk(const TransportConfig& transport, tls::Suite suite) {
    EndpointConfig config;
    config.transport = transport;
    tls::ClientOptions client_tls = tls::testing::client_options();
    client_tls.suites = {suite};
    client_ = std::make_unique<Endpoint>(config, entropy());
    config.server_tls = *tls::ServerConfig::create(tls::testing::server_options());
    server_ = std::make_unique<Endpoint>(config, entropy());
    auto connection = client_->connect({.tls = *tls::ClientConfig::create(client_tls),
                                        .remote = server_address_,
                                        .server_name = "localhost",
                                        .token = {},
                                        .transport = std::nullopt},
                                       now_);
    if (connection) client_handle_ = (*connection)->handle();
  }

  /// Runs until the client has read `bytes` more; false if it takes too long.
  [[nodiscard]] bool read(std::uint64_t bytes) {
    const std::uint64_t goal = received_ + bytes;
    for (int rounds = 0; received_ < goal; ++rounds) {
      if (rounds == 200'000) return false;
      move(*server_, *client_, server_address_, client_address_);
      move(*client_, *server_, client_address_, server_address_);
    }
    return true;
  }

  [[nodiscard]] std::uint64_t packets() {
    return server_->connection(server_handle_)->stats().packets_sent +
           client_->connection(client_handle_)->stats().packets_sent;
  }
  [[nodiscard]] std::uint64_t pool_allocations() const { return pool_.allocations(); }
  std::uint64_t allocations = 0;  // inside of the endpoints

 private:
  [[nodiscard]] Entropy entropy() {
    return [this](MutableBytes out) {
      for (std::uint8_t& byte : out) {
        random_ = random_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        byte = static_cast<std::uint8_t>(random_ >> 56);
      }
    };
  }

  void move(Endpoint& from, Endpoint& to, const SocketAddress& from_address,
            const SocketAddress& to_address) {
    now_ = now_ + Duration::milliseconds(1);
    const std::uint64_t before = allocation_count();
    if (from.next_timeout() <= now_) from.on_timeout(now_);
    events(from);
    while (from.transmit(tx_, now_)) {
      for (std::size_t i = 0; i < tx_.count(); ++i) {
        BufferRef buffer = pool_.allocate();
        const Bytes payload = tx_.payload(i);
        std::memcpy(buffer.data(), payload.data(), payload.size());
        RxDatagram& datagram = rx_.datagrams[rx_.count++];
        datagram.data = buffer.data();
        datagram.size = static_cast<std::uint32_t>(payload.size());
        datagram.buffer = std::move(buffer);
        datagram.remote = from_address;
        datagram.local = to_address;
      }
      tx_.clear();
      to.receive(rx_, now_);
      rx_.clear();
      events(to);
    }
    tx_.clear();
    allocations += allocation_count() - before;
  }

  void events(Endpoint& endpoint) {
    while (const auto event = endpoint.poll_event()) {
      Connection& connection = *endpoint.connection(event->connection);
      if (&endpoint == client_.get()) {
        if (event->kind == Event::Kind::connected) {
          const auto stream = connection.open_stream(Direction::bidirectional);
          const std::array<std::uint8_t, 1> byte = {'x'};
          if (stream) (void)connection.write(*stream, byte);
        }
        if (event->kind == Event::Kind::stream_readable) read_all(connection, event->stream);
      } else {
        server_handle_ = event->connection;
        if (event->kind == Event::Kind::stream_readable ||
            event->kind == Event::Kind::stream_writable) {
          while (connection.write(event->stream, chunk_) == chunk_.size()) {
          }
        }
      }
    }
  }

  void read_all(Connection& connection, StreamId stream) {
    std::array<Bytes, 16> views;
    while (const std::size_t count = connection.readable(stream, views)) {
      std::size_t total = 0;
      for (std::size_t i = 0; i < count; ++i) total += views[i].size();
      received_ += total;
      connection.consume(stream, total);
    }
  }

  std::uint64_t random_ = 7;
  BufferPool pool_{2048};
  std::unique_ptr<Endpoint> client_, server_;
  ConnectionHandle client_handle_, server_handle_;
  RxBatch rx_;
  TxBatch tx_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  SocketAddress server_address_ = *SocketAddress::parse("192.0.2.1:443");
  SocketAddress client_address_ = *SocketAddress::parse("198.51.100.7:40000");
  std::array<std::uint8_t, 4096> chunk_{};
  std::uint64_t received_ = 0;
};

class Allocation : public ::testing::TestWithParam<CongestionController> {};

TEST_P(Allocation, BulkTransferAllocatesNothing) {
  for (const tls::Suite suite :
       {tls::Suite::aes_128_gcm_sha256, tls::Suite::chacha20_poly1305_sha256}) {
    TransportConfig transport;
    transport.congestion_controller = GetParam();
    Bulk bulk(transport, suite);
    ASSERT_TRUE(bulk.read(64 << 20));  // buffers reach their sizes
    const std::uint64_t packets = bulk.packets();
    const std::uint64_t pool = bulk.pool_allocations();
    bulk.allocations = 0;
    ASSERT_TRUE(bulk.read(64 << 20));
    EXPECT_GT(bulk.packets() - packets, 40'000U);
    EXPECT_EQ(bulk.allocations, 0U) << "in " << bulk.packets() - packets << " packets";
    EXPECT_EQ(bulk.pool_allocations(), pool);
  }
}

INSTANTIATE_TEST_SUITE_P(Controllers, Allocation,
                         ::testing::Values(CongestionController::cubic,
                                           CongestionController::new_reno,
                                           CongestionController::bbr));

}  // namespace
}  // namespace quasi::hostile
