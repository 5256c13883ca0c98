// `quasi get`: downloads files over QUIC.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "command.h"
#include "download.h"
#include "driver.h"
#include "io/open_port.h"
#include "io/resolve.h"
#include "progress.h"
#include "tls/certificate.h"
#include "tls/config.h"
#include "tls/crypto.h"

namespace quasi::app {
namespace {

constexpr std::array<OptionSpec, 11> kOptions = {{
    {"output", 'o', "FILE", "Write to FILE; - is standard output. Once for each URL."},
    {"ca", 0, "FILE", "Trust the certificates in FILE (PEM) instead of the public ones."},
    {"pin", 0, "SHA256", "Trust exactly the certificate with this fingerprint."},
    {"insecure", 'k', "", "Trust any certificate. Whoever is on the path can change the data."},
    {"cipher", 0, "LIST", "aes128gcm, aes256gcm, chacha20; comma-separated, preferred first."},
    {"connect-timeout", 0, "SECONDS", "Give up when there is no connection by then (10)."},
    {"idle-timeout", 0, "SECONDS", "Give up when nothing is heard for so long (30)."},
    {"ack-every", 0, "PACKETS", "Acknowledge at least every so many packets (1 to 128; 32)."},
    {"key-update", 0, "PACKETS", "Update the keys every so many packets (0: when they wear out)."},
    {"json", 0, "", "Print statistics as JSON on standard output."},
    {"quiet", 'q', "", "No progress line."},
}};

struct Settings {
  std::shared_ptr<const tls::ClientConfig> tls;
  TransportConfig transport;
  bool json = false;
  bool progress = false;
};

Outcome<std::shared_ptr<const tls::ClientConfig>> make_tls(const ParsedOptions& options) {
  tls::ClientOptions client;
  client.alpn = {kAlpnHq};
  auto suites = parse_ciphers(options.get("cipher").value_or(""));
  if (!suites) return std::unexpected(suites.error());
  client.suites = *suites;
  if (options.has("ca") + options.has("pin") + options.has("insecure") > 1) {
    return failure(kUsage, "--ca, --pin and --insecure exclude one another; give one of them.");
  }
  if (const auto ca = options.get("ca")) {
    auto pem = read_small_file(*ca);
    if (!pem) return std::unexpected(pem.error());
    client.verify = tls::ClientOptions::Verify::ca;
    client.ca_pem = *pem;
  } else if (const auto pin = options.get("pin")) {
    const auto fingerprint = tls::parse_fingerprint(*pin);
    if (!fingerprint) {
      return failure(kUsage, "--pin takes a SHA-256 fingerprint: 64 hexadecimal digits.");
    }
    client.verify = tls::ClientOptions::Verify::fingerprint;
    client.fingerprint = *fingerprint;
  } else if (options.has("insecure")) {
    client.verify = tls::ClientOptions::Verify::insecure;
  }
  auto key_log = tls::key_log_from_environment();
  if (!key_log) return failure(kFile, key_log.error());
  client.key_log = *key_log;
  auto config = tls::ClientConfig::create(client);
  if (!config) return failure(kUsage, config.error());
  return *config;
}

Outcome<Settings> make_settings(const ParsedOptions& options) {
  Settings settings;
  auto tls = make_tls(options);
  if (!tls) return std::unexpected(tls.error());
  settings.tls = *tls;
  const auto connect = options.number("connect-timeout", 1, 3600, 10);
  const auto idle = options.number("idle-timeout", 1, 3600, 30);
  const auto ack_every = options.number("ack-every", 1, 128, 32);
  const auto key_update = options.number("key-update", 0, UINT64_MAX, 0);
  for (const auto* number : {&connect, &idle, &ack_every, &key_update}) {
    if (!*number) return failure(kUsage, number->error());
  }
  settings.transport.handshake_timeout = Duration::seconds(static_cast<std::int64_t>(*connect));
  settings.transport.max_idle_timeout = Duration::seconds(static_cast<std::int64_t>(*idle));
  settings.transport.ack_eliciting_threshold = static_cast<std::uint32_t>(*ack_every);
  settings.transport.key_update_interval = *key_update;
  settings.json = options.has("json");
  settings.progress = is_terminal() && !options.has("quiet");
  return settings;
}

double cpu_seconds() {
#if QUASI_WASM
  return 0;  // WASI has no clock of the process's CPU time
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
#endif
}

void print_json(const std::vector<Transfer>& transfers, const ConnectionStats& stats,
                std::uint64_t bytes, double seconds, double cpu) {
  std::string files;
  for (const Transfer& transfer : transfers) {
    files += (files.empty() ? "" : ",") + std::string("{\"url\":") +
             json_string("https://" + transfer.url.authority() + transfer.url.path) +
             ",\"file\":" + json_string(transfer.path) +
             ",\"bytes\":" + std::to_string(transfer.bytes) + "}";
  }
  const double gib = static_cast<double>(bytes) / (1U << 30);
  std::printf(
      "{\"files\":[%s],\"bytes\":%llu,\"seconds\":%.6f,\"mbit_per_second\":%.1f,"
      "\"cpu_seconds\":%.4f,\"cpu_ms_per_gib\":%.1f,\"cipher\":\"%s\","
      "\"smoothed_rtt_us\":%lld,\"packets_received\":%llu,\"packets_sent\":%llu,"
      "\"packets_lost\":%llu,\"acks_sent\":%llu,\"key_updates\":%llu}\n",
      files.c_str(), static_cast<unsigned long long>(bytes), seconds,
      seconds > 0 ? static_cast<double>(bytes) * 8e-6 / seconds : 0, cpu,
      gib > 0 ? cpu * 1e3 / gib : 0, cipher_name(stats.cipher_suite).data(),
      static_cast<long long>(stats.smoothed_rtt.us()),
      static_cast<unsigned long long>(stats.packets_received),
      static_cast<unsigned long long>(stats.packets_sent),
      static_cast<unsigned long long>(stats.packets_lost),
      static_cast<unsigned long long>(stats.acks_sent),
      static_cast<unsigned long long>(stats.key_updates));
}

/// Fetches all transfers from one address of their server.
Outcome<void> fetch_from(const SocketAddress& remote, std::vector<Transfer>& transfers,
                         const Settings& settings) {
  SocketAddress local;
  local.family = remote.family;
  BufferPool pool(io::buffer_block_size());
  auto port = io::open_port({.local = local, .pool = &pool, .peer = remote});
  if (!port) return failure(kConnect, port.error().text);

  const Url& url = transfers.front().url;
  Endpoint endpoint({.transport = settings.transport, .server_tls = nullptr, .reset_key = {}},
                    tls::os_entropy);
  Driver driver(**port, endpoint);
  const Instant start = driver.now();
  const double cpu_start = cpu_seconds();
  auto connection = endpoint.connect({.tls = settings.tls,
                                      .remote = remote,
                                      .server_name = url.host,
                                      .token = {},
                                      .transport = std::nullopt},
                                     start);
  if (!connection) {
    return failure(kUsage, std::string("Cannot connect to ") + url.authority() + ": " +
                               connection.error().reason + ".");
  }
  Download download(**connection, transfers);
  Progress progress(settings.progress, transfers.size() == 1
                                           ? url.file_name()
                                           : std::to_string(transfers.size()) + " files");
  const auto ran = driver.run([&] {
    while (const auto event = endpoint.poll_event()) download.on_event(*event);
    progress.update(download.bytes(), std::nullopt, driver.now());
    if ((*port)->peer_refused() && !(*connection)->is_connected()) return true;
    return download.is_over();
  });
  const Instant end = driver.now();
  const ConnectionStats stats = (*connection)->stats();
  if (!ran || download.failure() || !download.is_over()) progress.clear();
  progress.finish(end);
  (*connection)->close(0, "");
  driver.flush();
  // Another address is tried after kConnect, which must not append to what has arrived.
  const bool begun = download.has_requested();
  if (!ran) return failure(begun ? kTransfer : kConnect, ran.error());
  if (interrupted() && !download.is_over()) {
    return failure(kInterrupted, "Interrupted; nothing incomplete was kept.");
  }
  if (download.failure()) {
    const Failure& failed = *download.failure();
    return failure(begun && failed.code == kConnect ? kTransfer : failed.code, failed.sentence);
  }
  if (!download.is_over()) {
    return failure(kConnect, "Nothing listens at " + remote.to_string() +
                                 " (the host refuses datagrams there). Check the address and "
                                 "the port, and that the server runs.");
  }
  if (settings.json) {
    print_json(transfers, stats, download.bytes(), (end - start).to_seconds(),
               cpu_seconds() - cpu_start);
  }
  return {};
}

Outcome<void> fetch_all(std::vector<Transfer>& transfers, const Settings& settings) {
  const Url& url = transfers.front().url;
  const auto addresses = io::resolve(url.host, url.port);
  if (!addresses) return failure(kName, addresses.error());
  Outcome<void> result = failure(kName, "No address is known for " + url.host + ".");
  for (const SocketAddress& address : *addresses) {
    result = fetch_from(address, transfers, settings);
    // Another address may do better only if this one could not be reached at all.
    if (result || result.error().code != kConnect) return result;
  }
  return result;
}

}  // namespace

const CommandSpec kGetCommand = {
    .name = "get",
    .arguments = "URL...",
    .summary = "download files over QUIC (https URLs, HTTP/0.9 for now)",
    .options = kOptions,
    .more =
        "Without -o a file is named after the last part of its URL. Files appear under\n"
        "their names only when they are whole. SSLKEYLOGFILE names a file for TLS secrets.\n"};

Outcome<void> run_get(const ParsedOptions& options) {
  if (options.positional().empty()) {
    return failure(kUsage, "Nothing to get: give at least one URL (\"quasi get --help\").");
  }
  auto settings = make_settings(options);
  if (!settings) return std::unexpected(settings.error());
  const std::vector<std::string> outputs = options.all("output");
  if (outputs.size() > options.positional().size()) {
    return failure(kUsage, "There are more -o options than URLs.");
  }
  // One connection a server, in the order in which servers are first named.
  std::vector<std::vector<Transfer>> by_server;
  std::map<std::string, std::size_t> index;
  std::set<std::string> paths;
  for (std::size_t i = 0; i < options.positional().size(); ++i) {
    auto url = parse_url(options.positional()[i]);
    if (!url) return failure(kUsage, url.error());
    Transfer transfer;
    transfer.url = *url;
    transfer.path = i < outputs.size() ? outputs[i] : url->file_name();
    if (transfer.path == "/dev/stdout") transfer.path = "-";
    if (settings->json && transfer.path == "-") {
      return failure(kUsage, "--json and -o - both want standard output; choose one.");
    }
    if (transfer.path.empty()) {
      return failure(kUsage, "-o takes the name of a file, or - for standard output.");
    }
    if (transfer.path != "-" && transfer.path != "/dev/null" &&
        !paths.insert(transfer.path).second) {
      return failure(kUsage, "Two URLs would go to the same file, " + transfer.path +
                                 "; name another one with -o.");
    }
    if (i < kMostTransfers) {  // what cannot be written is told before anything is fetched
      auto file = OutputFile::create(transfer.path);
      if (!file) return failure(kFile, file.error());
      transfer.file.emplace(std::move(*file));
    }
    const auto [it, added] = index.try_emplace(url->authority(), by_server.size());
    if (added) by_server.emplace_back();
    by_server[it->second].push_back(std::move(transfer));
  }
  catch_interrupts();
  for (std::vector<Transfer>& transfers : by_server) {
    if (auto result = fetch_all(transfers, *settings); !result) return result;
  }
  return {};
}

}  // namespace quasi::app
