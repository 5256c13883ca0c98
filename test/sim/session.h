// For simulation tests: a client that fetches and a server that answers, over a
// sim::Pair. The server answers each request stream ("N" as text) with N bytes of a
// pattern that depends on offset and stream, so that any byte out of place is seen.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "quasi/endpoint.h"
#include "sim/network.h"
#include "tls/handshake_testing.h"

namespace quasi::sim {

[[nodiscard]] inline std::uint8_t pattern(StreamId stream, std::uint64_t offset) {
  return static_cast<std::uint8_t>(offset * 31 + (offset >> 8) * 7 + (offset >> 16) + stream * 13);
}

class Session {
 public:
  struct Options {
    std::uint64_t seed = 1;
    LinkConfig to_server, to_client;
    EndpointConfig client, server;
    tls::ClientOptions client_tls = tls::testing::client_options();
    tls::ServerOptions server_tls = tls::testing::server_options();
  };

  explicit Session(Options options) : pair(options.seed, options.to_server, options.to_client) {
    options.server.server_tls = *tls::ServerConfig::create(options.server_tls);
    client_tls_ = *tls::ClientConfig::create(options.client_tls);
    server = std::make_unique<Endpoint>(options.server, pair.entropy());
    client = std::make_unique<Endpoint>(options.client, pair.entropy());
    pair.attach(*client, *server, [this](bool is_server, Endpoint& endpoint, const Event& event) {
      is_server ? on_server_event(endpoint, event) : on_client_event(endpoint, event);
    });
  }

  Connection& connect(std::vector<std::uint8_t> token = {}) {
    auto connection = client->connect({.tls = client_tls_,
                                       .remote = pair.server_address(),
                                       .server_name = "localhost",
                                       .token = std::move(token),
                                       .transport = std::nullopt},
                                      pair.now());
    handle = (*connection)->handle();
    return **connection;
  }
  [[nodiscard]] Connection* connection() { return client->connection(handle); }
  [[nodiscard]] Connection* peer() { return server->connection(server_handle); }

  /// Requests `size` bytes on a new stream as soon as that is possible.
  void fetch(std::uint64_t size) { wanted_.push_back(size); }
  [[nodiscard]] bool all_fetched() const {
    return wanted_.empty() && !downloads.empty() && finished == downloads.size();
  }

  struct Download {
    std::uint64_t size = 0, received = 0;
    bool finished = false, wrong = false;
  };

  Pair pair;
  std::unique_ptr<Endpoint> server, client;
  ConnectionHandle handle, server_handle;
  std::map<StreamId, Download> downloads;
  std::size_t finished = 0;
  bool connected = false, confirmed = false, client_closed = false, server_closed = false;
  std::vector<Event> client_events, server_events;
  /// Called for every event before the session's own handling.
  std::function<void(bool is_server, const Event&)> observer;

 private:
  void request_wanted() {
    Connection* c = connection();
    while (c != nullptr && !wanted_.empty()) {
      const auto stream = c->open_stream(Direction::bidirectional);
      if (!stream) return;
      const std::string text = std::to_string(wanted_.front());
      EXPECT_EQ(
          c->write(*stream, Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())),
          text.size());
      c->finish(*stream);
      downloads[*stream].size = wanted_.front();
      wanted_.erase(wanted_.begin());
    }
  }

  void on_client_event(Endpoint&, const Event& event) {
    if (observer) observer(false, event);
    client_events.push_back(event);
    connected = connected || event.kind == Event::Kind::connected;
    confirmed = confirmed || event.kind == Event::Kind::confirmed;
    client_closed = client_closed || event.kind == Event::Kind::closed;
    request_wanted();
    if (event.kind != Event::Kind::stream_readable) return;
    Connection& c = *connection();
    Download& download = downloads[event.stream];
    std::array<Bytes, 16> views;
    while (const std::size_t count = c.readable(event.stream, views)) {
      std::size_t total = 0;
      for (std::size_t i = 0; i < count; ++i) {
        for (const std::uint8_t byte : views[i]) {
          download.wrong = download.wrong || byte != pattern(event.stream, download.received);
          ++download.received;
        }
        total += views[i].size();
      }
      c.consume(event.stream, total);
    }
    if (!download.finished && c.is_finished(event.stream)) {
      download.finished = true;
      download.wrong = download.wrong || download.received != download.size;
      ++finished;
    }
  }

  struct Upload {
    std::string request;
    std::uint64_t size = 0, sent = 0;
    bool answering = false;
  };

  void answer(Connection& c, StreamId stream, Upload& upload) {
    std::array<std::uint8_t, 4096> chunk;
    while (upload.sent < upload.size) {
      const std::size_t n = static_cast<std::size_t>(
          std::min<std::uint64_t>(chunk.size(), upload.size - upload.sent));
      for (std::size_t i = 0; i < n; ++i) chunk[i] = pattern(stream, upload.sent + i);
      const std::size_t taken = c.write(stream, Bytes(chunk).first(n));
      upload.sent += taken;
      if (taken < n) return;
    }
    c.finish(stream);
    upload.answering = false;
  }

  void on_server_event(Endpoint& endpoint, const Event& event) {
    if (observer) observer(true, event);
    server_events.push_back(event);
    server_handle = event.connection;
    server_closed = server_closed || event.kind == Event::Kind::closed;
    Connection* c = endpoint.connection(event.connection);
    if (c == nullptr) return;
    Upload& upload = uploads_[{event.connection.index, event.connection.generation, event.stream}];
    if (event.kind == Event::Kind::stream_readable) {
      std::array<Bytes, 4> views;
      while (const std::size_t count = c->readable(event.stream, views)) {
        std::size_t total = 0;
        for (std::size_t i = 0; i < count; ++i) {
          upload.request.append(views[i].begin(), views[i].end());
          total += views[i].size();
        }
        c->consume(event.stream, total);
      }
      if (c->is_finished(event.stream) && !upload.answering) {
        std::from_chars(upload.request.data(), upload.request.data() + upload.request.size(),
                        upload.size);
        upload.answering = true;
        answer(*c, event.stream, upload);
      }
    } else if (event.kind == Event::Kind::stream_writable && upload.answering) {
      answer(*c, event.stream, upload);
    }
  }

  std::shared_ptr<const tls::ClientConfig> client_tls_;
  std::vector<std::uint64_t> wanted_;
  /// By connection (index, generation) and stream.
  std::map<std::tuple<std::uint32_t, std::uint32_t, StreamId>, Upload> uploads_;
};

}  // namespace quasi::sim
