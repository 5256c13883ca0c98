// For tests: a client and a server session, and the CRYPTO streams between them
// held in memory, so that a test can slice, change or withhold what is sent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tls/certificate.h"
#include "tls/config.h"
#include "tls/session.h"

namespace quasi::tls::testing {

/// 2026-06-01 00:00 UTC: "now" of every test.
inline constexpr std::int64_t kNow = 1'780'272'000;
inline constexpr std::int64_t kDay = 86'400;

inline constexpr std::array<std::uint8_t, 5> kClientParameters = {0x01, 0x02, 0x67, 0x10, 0x00};
inline constexpr std::array<std::uint8_t, 3> kServerParameters = {0x0f, 0x01, 0x42};

/// A certificate for localhost and 127.0.0.1 that is valid now; the same in each test.
inline const Certificate& localhost() {
  static const Certificate certificate = [] {
    CertificateOptions options;
    options.names = {"localhost", "127.0.0.1", "::1"};
    options.not_before = kNow - kDay;
    auto made = make_certificate(options);
    return made ? *made : Certificate();
  }();
  return certificate;
}

inline ServerOptions server_options() {
  ServerOptions options;
  options.certificate_pem = localhost().certificate_pem;
  options.key_pem = localhost().key_pem;
  options.alpn = {"hq-interop"};
  options.unix_time = kNow;
  return options;
}

inline ClientOptions client_options() {
  ClientOptions options;
  options.verify = ClientOptions::Verify::ca;
  options.ca_pem = localhost().certificate_pem;
  options.alpn = {"hq-interop"};
  options.unix_time = kNow;
  return options;
}

/// One side with what it received and has not read yet.
struct Side {
  explicit Side(Session s) : session(std::move(s)) {}

  Session session;
  std::array<std::vector<std::uint8_t>, 4> inbox;  // by level
  std::array<std::optional<KeyPair>, 4> keys;      // by level
  std::vector<Level> key_order;

  /// Moves what the session wants to send to `peer`'s inbox. Returns the bytes.
  std::size_t flush(Side& peer) {
    std::size_t total = 0;
    for (;;) {
      std::vector<std::uint8_t> bytes;
      HandshakeOutput output = session.write_handshake(bytes);
      if (output.empty()) return total;
      EXPECT_EQ(output.bytes, bytes.size());
      total += bytes.size();
      auto& box = peer.inbox[static_cast<std::size_t>(output.level)];
      box.insert(box.end(), bytes.begin(), bytes.end());
      if (output.keys) {
        keys[static_cast<std::size_t>(output.keys->level)] = output.keys->keys;
        key_order.push_back(output.keys->level);
      }
    }
  }

  /// Reads what can be read, at most `slice` bytes a call; stops at an error.
  Status read(std::size_t slice) {
    for (;;) {
      const Level level = session.read_level();
      auto& box = inbox[static_cast<std::size_t>(level)];
      if (box.empty()) return {};
      const std::size_t n = std::min(slice, box.size());
      const std::vector<std::uint8_t> piece(box.begin(), box.begin() + static_cast<long>(n));
      box.erase(box.begin(), box.begin() + static_cast<long>(n));
      QUASI_TRY(session.read_handshake(level, piece));
    }
  }
};

/// Both sides. Make with pair().
struct Pair {
  Side client, server;
  Status client_status, server_status;

  /// Runs until nothing moves or one side failed.
  void run(std::size_t slice = 1 << 20) {
    while (client_status && server_status) {
      std::size_t moved = client.flush(server);
      server_status = server.read(slice);
      moved += server.flush(client);
      client_status = client.read(slice);
      if (moved == 0) return;
    }
  }
  [[nodiscard]] bool complete() const {
    return client_status && server_status && !client.session.is_handshaking() &&
           !server.session.is_handshaking();
  }
};

inline std::unique_ptr<Pair> pair(const ClientOptions& client_side = client_options(),
                                  const ServerOptions& server_side = server_options(),
                                  const std::string& name = "localhost",
                                  Version version = Version::v1) {
  auto client_config = ClientConfig::create(client_side);
  auto server_config = ServerConfig::create(server_side);
  if (!client_config || !server_config) {
    ADD_FAILURE() << (client_config ? server_config.error() : client_config.error());
    return nullptr;
  }
  auto client = Session::client(**client_config, name, version, kClientParameters);
  auto server = Session::server(**server_config, version, kServerParameters);
  if (!client || !server) {
    ADD_FAILURE() << (client ? server.error() : client.error());
    return nullptr;
  }
  return std::unique_ptr<Pair>(
      new Pair{Side(std::move(*client)), Side(std::move(*server)), {}, {}});
}

/// Code of a failure, as it stands in CONNECTION_CLOSE; 0 for success.
inline std::uint64_t code_of(const Status& status) {
  return status ? 0 : static_cast<std::uint64_t>(status.error().code);
}

/// The file's bytes; empty when it cannot be read. (Debian's libc++ for Wasm has no fstream.)
inline std::string read_file(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  std::array<char, 4096> block;
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), file)) {
    text.append(block.data(), n);
  }
  std::fclose(file);
  return text;
}

inline std::string test_data(const char* name) {
  return read_file(std::string(QUASI_TEST_DATA_DIR) + "/" + name);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace quasi::tls::testing
