// udp-floor: what datagrams cost on this host without QUIC. The receiver counts and
// discards what arrives and answers with one small datagram in 32; the sender keeps a
// window of unacknowledged datagrams open. Built natively and as a Wasm component over
// the same ports as quasi itself, so that its figures are the floor of quasi's.
//
//   udp-floor recv ADDRESS --dgrams N [--ack-every 32] [--mode port|plain|offload]
//   udp-floor send ADDRESS --dgrams N [--size 1350] [--window 800]
//
// --mode natively: `plain` takes one datagram a system call (recvfrom), `port` many
// (recvmmsg), `offload` trains (UDP_GRO). A component has only `port`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "floor/plain_receiver.h"
#include "io/open_port.h"
#include "quasi/bytes.h"

namespace quasi::bench {
namespace {

struct Settings {
  bool sends = false;
  SocketAddress address;
  std::uint64_t datagrams = 397'682;  // half a GiB of 1,350 bytes each
  std::uint64_t ack_every = 32;
  std::uint64_t size = 1350;
  std::uint64_t window = 800;
  std::string mode = "offload";
};

/// Silence after which the receiver, or a sender whose window is closed, gives up.
constexpr Duration kPatience = Duration::seconds(10);
/// Silence after which the sender takes what is unacknowledged for lost.
constexpr Duration kStall = Duration::milliseconds(200);

int usage(const char* problem) {
  std::fprintf(stderr,
               "udp-floor: %s\n"
               "usage: udp-floor recv ADDRESS [--dgrams N] [--ack-every N] [--mode MODE]\n"
               "       udp-floor send ADDRESS [--dgrams N] [--size BYTES] [--window N]\n",
               problem);
  return 2;
}

const char* parse(int argc, char** argv, Settings& settings) {
  if (argc < 3) return "a command and an address are needed";
  settings.sends = std::string_view(argv[1]) == "send";
  if (!settings.sends && std::string_view(argv[1]) != "recv") return "the command is recv or send";
  const auto address = SocketAddress::parse(argv[2]);
  if (!address) return "the address has to look like 127.0.0.1:6000 or [::1]:6000";
  settings.address = *address;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--mode") {
      settings.mode = argv[i + 1];
      continue;
    }
    std::uint64_t* value = name == "--dgrams"      ? &settings.datagrams
                           : name == "--ack-every" ? &settings.ack_every
                           : name == "--size"      ? &settings.size
                           : name == "--window"    ? &settings.window
                                                   : nullptr;
    if (value == nullptr) return "an option is unknown";
    *value = std::strtoull(argv[i + 1], nullptr, 10);
    if (*value == 0) return "an option needs a number above zero";
  }
  if (argc % 2 == 0) return "an option lacks its value";
  if (settings.size < 8 || settings.size > 1472) return "--size is between 8 and 1472";
  return nullptr;
}

void put(TxBatch& batch, std::uint64_t number, std::uint64_t size, const SocketAddress& remote) {
  const MutableBytes space = batch.space();
  store_be<std::uint64_t>(space.data(), number);
  batch.commit(static_cast<std::uint32_t>(size), Ecn::not_ect, remote, {});
}

int fail(const PortError& error) {
  std::fprintf(stderr, "udp-floor: %s.\n", error.text);
  return 1;
}

int receive(const Settings& settings) {
  const bool offloads = settings.mode == "offload";
  BufferPool pool(io::buffer_block_size(offloads));
  auto opened = io::open_port({.local = settings.address, .pool = &pool, .offloads = offloads});
  if (!opened) return fail(opened.error());
  io::HostPort& port = **opened;
  auto rx = std::make_unique<RxBatch>();
  TxBatch tx;
  std::uint64_t count = 0, acknowledged = 0, bytes = 0;
  Instant start;
  CpuTime cpu_start;
  while (count < settings.datagrams) {
    if (const auto got = port.receive(*rx); !got) return fail(got.error());
    if (rx->count == 0) {
      const Instant before = port.now();
      if (const auto waited = port.wait(before + kPatience); !waited) return fail(waited.error());
      if (port.now() - before >= kPatience) {
        std::fprintf(stderr, "udp-floor: nothing arrives any more (%llu of %llu datagrams).\n",
                     static_cast<unsigned long long>(count),
                     static_cast<unsigned long long>(settings.datagrams));
        return 1;
      }
      continue;
    }
    if (count == 0) {
      start = port.now();
      cpu_start = cpu_time();
    }
    const SocketAddress remote = rx->datagrams[0].remote;
    for (std::size_t i = 0; i < rx->count; ++i) {
      ++count;
      bytes += rx->datagrams[i].size;
      if (count - acknowledged >= settings.ack_every || count == settings.datagrams) {
        acknowledged = count;
        put(tx, count, 8, remote);
      }
    }
    rx->clear();
    if (!tx.empty()) {
      if (const auto sent = port.send(tx); !sent) return fail(sent.error());
      tx.clear();
    }
  }
  print_result(bytes, count, port.now() - start, cpu_time() - cpu_start,
               port.counters().receive_calls + port.counters().waits);
  return 0;
}

int send(const Settings& settings) {
  SocketAddress any;
  any.family = settings.address.family;
  BufferPool pool(io::buffer_block_size());
  auto opened = io::open_port({.local = any, .pool = &pool, .peer = settings.address});
  if (!opened) return fail(opened.error());
  io::HostPort& port = **opened;
  auto rx = std::make_unique<RxBatch>();
  TxBatch tx;
  std::uint64_t sent = 0, acknowledged = 0, lost = 0;
  const Instant start = port.now();
  Instant heard = start;
  while (acknowledged < settings.datagrams) {
    const std::uint64_t goal = settings.datagrams + lost;
    while (sent < goal && sent < acknowledged + lost + settings.window) {
      const std::uint64_t many = std::min<std::uint64_t>(
          {goal - sent, acknowledged + lost + settings.window - sent, TxBatch::kCapacity});
      for (std::uint64_t i = 0; i < many; ++i) put(tx, sent++, settings.size, settings.address);
      if (const auto done = port.send(tx); !done) return fail(done.error());
      tx.clear();
    }
    if (const auto waited = port.wait(heard + kStall); !waited) return fail(waited.error());
    if (const auto got = port.receive(*rx); !got) return fail(got.error());
    for (std::size_t i = 0; i < rx->count; ++i) {
      if (rx->datagrams[i].size != 8) continue;
      acknowledged = std::max(acknowledged, load_be<std::uint64_t>(rx->datagrams[i].data));
    }
    const Instant now = port.now();
    if (rx->count > 0) heard = now;
    rx->clear();
    if (now - heard >= kStall) {
      if (now - heard >= kPatience) {
        std::fprintf(stderr, "udp-floor: the receiver does not answer.\n");
        return 1;
      }
      lost = sent - acknowledged;
    }
  }
  std::printf("SENT dgrams=%llu lost=%llu secs=%.4f calls=%llu\n",
              static_cast<unsigned long long>(sent), static_cast<unsigned long long>(lost),
              (port.now() - start).to_seconds(),
              static_cast<unsigned long long>(port.counters().send_calls));
  return 0;
}

}  // namespace
}  // namespace quasi::bench

int quasi_main(int argc, char** argv) {
  quasi::bench::Settings settings;
  if (const char* problem = quasi::bench::parse(argc, argv, settings)) {
    return quasi::bench::usage(problem);
  }
  if (settings.sends) return quasi::bench::send(settings);
  if (settings.mode == "plain") {
    return quasi::bench::receive_plainly(settings.address, settings.datagrams, settings.ack_every);
  }
  return quasi::bench::receive(settings);
}
