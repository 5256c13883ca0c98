// `quasi serve`: serves the files of a directory over QUIC (HTTP/0.9, hq-interop).
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "command.h"
#include "driver.h"
#include "io/open_port.h"
#include "request.h"
#include "tls/certificate.h"
#include "tls/config.h"
#include "tls/crypto.h"

namespace quasi::app {
namespace {

constexpr std::array<OptionSpec, 9> kOptions = {{
    {"listen", 'l', "ADDR:PORT", "Where to listen (default [::]:4433 and 0.0.0.0:4433)."},
    {"cert", 0, "FILE", "Certificate chain in PEM; without it a self-signed one is made."},
    {"key", 0, "FILE", "Its private key in PEM."},
    {"cipher", 0, "LIST", "aes128gcm, aes256gcm, chacha20; comma-separated, preferred first."},
    {"congestion", 0, "NAME", "cubic (default), newreno or bbr."},
    {"key-update", 0, "PACKETS", "Update the keys every so many packets (0: when they wear out)."},
    {"max-connections", 0, "NUMBER", "Refuse further clients beyond so many (10000)."},
    {"retry", 0, "", "Ask every client to prove its address first (Retry)."},
    {"quiet", 'q', "", "No line for each file served."},
}};

/// Longest request line read; paths are shorter.
constexpr std::size_t kMaxRequest = 8192;
/// Application error codes of a stream: the request is malformed, or there is no such file.
constexpr std::uint64_t kBadRequest = 400;
constexpr std::uint64_t kNotFound = 404;
/// RFC 9000 §2.1: the bit of unidirectional streams' IDs.
constexpr StreamId kUnidirectional = 2;

/// Why a file could not be opened: it may be there, but no more can be open now. A
/// component's descriptors (128) run out as "no memory".
bool is_for_lack_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

struct Answer {
  std::string request;
  std::optional<ServedFile> file;
  std::uint64_t sent = 0;
  bool written = false;  // all of it is; the request's end is still to come
};

/// The streams of one client.
using Answers = std::map<StreamId, Answer>;

class FileServer {
 public:
  FileServer(Endpoint& endpoint, int root_fd, bool quiet)
      : endpoint_(endpoint), root_fd_(root_fd), quiet_(quiet), chunk_(std::size_t{64} * 1024) {}

  void on_event(const Event& event) {
    Connection* connection = endpoint_.connection(event.connection);
    if (connection == nullptr) return;
    Answers& answers = clients_[event.connection.index];
    switch (event.kind) {
      case Event::Kind::stream_readable:
        read_request(*connection, event.stream, answers);
        break;
      case Event::Kind::stream_writable:
        if (const auto it = answers.find(event.stream); it != answers.end() && it->second.file) {
          send(*connection, event.stream, answers);
        }
        break;
      case Event::Kind::stream_stopped:
      case Event::Kind::stream_reset:
        answers.erase(event.stream);
        break;
      case Event::Kind::closed:
        clients_.erase(event.connection.index);
        endpoint_.release(event.connection);
        break;
      default:
        break;
    }
  }

 private:
  void read_request(Connection& connection, StreamId stream, Answers& answers) {
    if ((stream & kUnidirectional) != 0) {  // there is no way to answer
      connection.stop_sending(stream, kBadRequest);
      answers.erase(stream);
      return;
    }
    Answer& answer = answers[stream];
    std::array<Bytes, 8> views;
    while (const std::size_t count = connection.readable(stream, views)) {
      std::size_t total = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t room = kMaxRequest - std::min(kMaxRequest, answer.request.size());
        const Bytes part = views[i].first(std::min(views[i].size(), room));
        answer.request.append(part.begin(), part.end());
        total += views[i].size();
      }
      connection.consume(stream, total);
    }
    if (answer.written) {  // that end is no second request
      if (connection.is_finished(stream)) answers.erase(stream);
      return;
    }
    const bool line_ended = answer.request.find('\n') != std::string::npos;
    if (answer.file || (!line_ended && !connection.is_finished(stream))) {
      if (answer.request.size() >= kMaxRequest) refuse(connection, stream, answers, kBadRequest);
      return;
    }
    const auto segments = parse_request(answer.request);
    if (!segments) {
      refuse(connection, stream, answers, kBadRequest);
      return;
    }
    answer.file = ServedFile::open(root_fd_, *segments);
    if (!answer.file) {
      refuse(connection, stream, answers,
             is_for_lack_of_descriptors(errno) ? kUnavailable : kNotFound);
      return;
    }
    if (!quiet_) {
      std::string path;
      for (const std::string& segment : *segments) path += "/" + segment;
      std::fprintf(stderr, "%s %s %llu\n", connection.remote_address().to_string().c_str(),
                   json_string(path.empty() ? "/" : path).c_str(),
                   static_cast<unsigned long long>(answer.file->size()));
    }
    send(connection, stream, answers);
  }

  void refuse(Connection& connection, StreamId stream, Answers& answers, std::uint64_t code) {
    connection.reset(stream, code);
    connection.stop_sending(stream, code);
    answers.erase(stream);
  }

  void send(Connection& connection, StreamId stream, Answers& answers) {
    Answer& answer = answers.find(stream)->second;
    for (;;) {
      const std::uint64_t left = answer.file->size() - answer.sent;
      if (left == 0) break;
      const std::size_t want =
          static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk_.size()));
      const std::int64_t n = answer.file->read(answer.sent, chunk_.data(), want);
      if (n <= 0) {  // the file shrank or cannot be read: never pretend it is whole
        refuse(connection, stream, answers, kNotFound);
        return;
      }
      const Bytes bytes = Bytes(chunk_).first(static_cast<std::size_t>(n));
      const std::size_t taken = connection.write(stream, bytes);
      answer.sent += taken;
      if (taken < bytes.size()) return;  // `stream_writable` comes when there is room
    }
    connection.finish(stream);
    if (connection.is_finished(stream)) {
      answers.erase(stream);
      return;
    }
    answer.file.reset();
    answer.request.clear();
    answer.written = true;
  }

  Endpoint& endpoint_;
  int root_fd_;
  bool quiet_;
  std::vector<std::uint8_t> chunk_;
  std::map<std::uint32_t, Answers> clients_;
};

struct Identity {
  std::string certificate_pem, key_pem;
  tls::Fingerprints fingerprints;
  bool made = false;
};

Outcome<Identity> load_identity(const ParsedOptions& options) {
  Identity identity;
  if (options.has("cert") != options.has("key")) {
    return failure(kUsage, "--cert and --key belong together; give both or neither.");
  }
  if (!options.has("cert")) {
    tls::CertificateOptions made;
    made.names = {"localhost", "127.0.0.1", "::1"};
    auto certificate = tls::make_certificate(made);
    if (!certificate) return failure(kInternal, certificate.error());
    identity = {.certificate_pem = certificate->certificate_pem,
                .key_pem = certificate->key_pem,
                .fingerprints = certificate->fingerprints,
                .made = true};
    return identity;
  }
  auto certificate = read_small_file(*options.get("cert"));
  if (!certificate) return std::unexpected(certificate.error());
  auto key = read_small_file(*options.get("key"));
  if (!key) return std::unexpected(key.error());
  const auto fingerprints = tls::fingerprints(*certificate);
  if (!fingerprints) return failure(kTls, fingerprints.error());
  identity = {.certificate_pem = *certificate,
              .key_pem = *key,
              .fingerprints = *fingerprints,
              .made = false};
  return identity;
}

Outcome<EndpointConfig> make_config(const ParsedOptions& options, const Identity& identity) {
  tls::ServerOptions server;
  server.alpn = {kAlpnHq};
  server.certificate_pem = identity.certificate_pem;
  server.key_pem = identity.key_pem;
  auto suites = parse_ciphers(options.get("cipher").value_or(""));
  if (!suites) return std::unexpected(suites.error());
  server.suites = *suites;
  auto key_log = tls::key_log_from_environment();
  if (!key_log) return failure(kFile, key_log.error());
  server.key_log = *key_log;
  auto tls = tls::ServerConfig::create(server);
  if (!tls) return failure(kTls, tls.error());
  EndpointConfig config;
  config.server_tls = *tls;
  config.always_retry = options.has("retry");
  if (!identity.made) {
    // A later run with the same key can then tell clients of this one that their
    // connections are gone (RFC 9000 §10.3.2).
    constexpr std::string_view kLabel = "quasi stateless reset";
    const auto bytes = [](std::string_view text) {
      return Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    const auto key = tls::hmac_sha256(bytes(identity.key_pem), bytes(kLabel));
    config.reset_key.assign(key.begin(), key.end());
  }
  const auto connections = options.number("max-connections", 1, 1'000'000, 10'000);
  const auto key_update = options.number("key-update", 0, UINT64_MAX, 0);
  for (const auto* number : {&connections, &key_update}) {
    if (!*number) return failure(kUsage, number->error());
  }
  config.max_connections = static_cast<std::size_t>(*connections);
  config.transport.key_update_interval = *key_update;
  auto congestion = parse_congestion(options.get("congestion").value_or("cubic"));
  if (!congestion) return std::unexpected(congestion.error());
  config.transport.congestion_controller = *congestion;
  return config;
}

Outcome<std::unique_ptr<io::HostPort>> listen(const ParsedOptions& options, BufferPool& pool) {
  io::PortOptions port_options;
  port_options.pool = &pool;
  const auto listen = options.get("listen");
  const auto address = SocketAddress::parse(listen.value_or("0.0.0.0:4433"));
  if (!address) {
    return failure(kUsage,
                   "--listen takes an IP address and a port, such as 127.0.0.1:4433 or "
                   "[::1]:4433, not \"" +
                       *listen + "\".");
  }
  port_options.local = *address;
  if (!listen) port_options.more_local = {*SocketAddress::parse("[::]:4433")};
  auto port = io::open_port(port_options);
  if (!port && !listen) {
    port_options.more_local.clear();  // a host without IPv6
    port = io::open_port(port_options);
  }
  if (!port) {
    return failure(kListen, "Cannot listen on " + address->to_string() + ": " + port.error().text);
  }
  return std::move(*port);
}

}  // namespace

const CommandSpec kServeCommand = {
    .name = "serve",
    .arguments = "DIR",
    .summary = "serve the files of a directory over QUIC (HTTP/0.9 for now)",
    .options = kOptions,
    .more =
        "Symbolic links are not followed. A directory's index.html is served for it.\n"
        "SIGINT or SIGTERM stop the server. SSLKEYLOGFILE names a file for TLS secrets.\n"};

Outcome<void> run_serve(const ParsedOptions& options) {
  if (options.positional().size() != 1) {
    return failure(kUsage, "serve takes one directory (\"quasi serve --help\").");
  }
  const std::string& directory = options.positional()[0];
  const int root = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (root < 0) {
    return failure(kFile, "Cannot serve " + directory + ": " + std::strerror(errno) +
                              ". Give a directory that can be read.");
  }
  auto identity = load_identity(options);
  if (!identity) return std::unexpected(identity.error());
  auto config = make_config(options, *identity);
  if (!config) return std::unexpected(config.error());
  BufferPool pool(io::buffer_block_size());
  auto port = listen(options, pool);
  if (!port) return std::unexpected(port.error());

  catch_interrupts();
  for (const SocketAddress& address : (*port)->local_addresses()) {
    std::printf("listening on %s\n", address.to_string().c_str());
  }
  std::printf("certificate SHA-256 %s%s\n", tls::hex(identity->fingerprints.certificate).c_str(),
              identity->made ? " (self-signed, of this run only; clients: --pin)" : "");
  std::printf("public key SHA-256 (base64) %s\n", tls::base64(identity->fingerprints.spki).c_str());
  std::fflush(stdout);

  Endpoint endpoint(std::move(*config), tls::os_entropy);
  Driver driver(**port, endpoint);
  FileServer server(endpoint, root, options.has("quiet"));
  const auto ran = driver.run([&] {
    while (const auto event = endpoint.poll_event()) server.on_event(*event);
    return false;
  });
  ::close(root);
  if (!ran) return failure(kListen, ran.error());
  endpoint.close_all(0, "the server stops");
  driver.flush();
  return {};
}

}  // namespace quasi::app
