// The virtual-time network (see network.h).
#include "sim/network.h"

#include <algorithm>
#include <cstring>

namespace quasi::sim {

Pair::Pair(std::uint64_t seed, const LinkConfig& server_link, const LinkConfig& client_link)
    : to_server(server_link),
      to_client(client_link),
      random_(seed),
      entropy_random_(seed ^ 0x9e3779b97f4a7c15ULL),
      server_address_(*SocketAddress::parse("192.0.2.1:443")),
      client_address_(*SocketAddress::parse("198.51.100.7:40000")) {}

Entropy Pair::entropy() {
  return [this](MutableBytes out) {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(entropy_random_());
  };
}

void Pair::attach(Endpoint& client, Endpoint& server, EventHandler handler) {
  client_ = &client;
  server_ = &server;
  handler_ = std::move(handler);
}

bool Pair::chance(double probability) {
  // 53 bits by hand: std::uniform_real_distribution differs between libraries.
  return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

void Pair::rebind_client() {
  client_address_.port = static_cast<std::uint16_t>(client_address_.port + 1);
}

void Pair::enter_link(bool towards_server, Bytes datagram, Ecn ecn, const SocketAddress& from,
                      const SocketAddress& to) {
  const LinkConfig& link = towards_server ? to_server : to_client;
  LinkStats& stats = towards_server ? server_stats_ : client_stats_;
  Instant& link_free = towards_server ? server_link_free_ : client_link_free_;
  ++stats.sent;
  Flight flight{.arrival = now_,
                .order = order_++,
                .to_server = towards_server,
                .ecn = ecn,
                .from = from,
                .to = to,
                .bytes = {datagram.begin(), datagram.end()}};
  if (filter && !filter(towards_server, flight.bytes)) {
    ++stats.lost;
    return;
  }
  if (flight.bytes.size() > link.mtu) {
    ++stats.too_large;
    return;
  }
  Instant departure = now_;
  if (link.bits_per_second > 0) {
    const std::int64_t wire_bytes = static_cast<std::int64_t>(flight.bytes.size()) + 28;
    const auto serialisation = Duration::nanoseconds(
        wire_bytes * 8 * 1'000'000'000 / static_cast<std::int64_t>(link.bits_per_second));
    const Instant start = std::max(link_free, now_);
    const double queued =
        (start - now_).to_seconds() * static_cast<double>(link.bits_per_second) / 8.0;
    if (queued > static_cast<double>(link.queue_bytes)) {
      ++stats.queue_drops;
      return;
    }
    link_free = start + serialisation;
    departure = link_free;
  }
  if (chance(link.loss)) {
    ++stats.lost;
    return;
  }
  flight.arrival = departure + link.delay;
  if (chance(link.reorder)) flight.arrival = flight.arrival + link.reorder_delay;
  if (!flight.bytes.empty() && chance(link.corrupt)) {
    flight.bytes[random_() % flight.bytes.size()] ^=
        static_cast<std::uint8_t>(1U << (random_() % 8));
    ++stats.corrupted;
  }
  if (chance(link.duplicate)) {
    Flight copy = flight;
    copy.order = order_++;
    flights_.push(std::move(copy));
  }
  flights_.push(std::move(flight));
}

void Pair::inject(bool towards_server, Bytes datagram, const SocketAddress& from) {
  flights_.push(Flight{.arrival = now_,
                       .order = order_++,
                       .to_server = towards_server,
                       .ecn = Ecn::not_ect,
                       .from = from,
                       .to = towards_server ? server_address_ : client_address_,
                       .bytes = {datagram.begin(), datagram.end()}});
}

void Pair::pump(bool server_side) {
  while (endpoint(server_side).transmit(tx_, now_)) {
    for (std::size_t i = 0; i < tx_.count(); ++i) {
      const TxBatch::Entry& entry = tx_.entry(i);
      enter_link(!server_side, tx_.payload(i), entry.ecn,
                 server_side ? server_address_ : client_address_, entry.remote);
    }
    tx_.clear();
  }
  tx_.clear();
}

void Pair::deliver_due() {
  for (const bool server_side : {false, true}) {
    std::vector<Flight> later;
    rx_.clear();
    while (!flights_.empty() && flights_.top().arrival <= now_ && !rx_.full()) {
      Flight flight = flights_.top();
      flights_.pop();
      if (flight.to_server != server_side) {
        later.push_back(std::move(flight));
        continue;
      }
      const SocketAddress& here = server_side ? server_address_ : client_address_;
      LinkStats& stats = server_side ? server_stats_ : client_stats_;
      if (flight.to != here) {
        ++stats.lost;  // sent to an address that the client no longer has
        continue;
      }
      BufferRef buffer = pool_.allocate();
      std::memcpy(buffer.data(), flight.bytes.data(), flight.bytes.size());
      RxDatagram& datagram = rx_.datagrams[rx_.count++];
      datagram.data = buffer.data();
      datagram.buffer = std::move(buffer);
      datagram.size = static_cast<std::uint32_t>(flight.bytes.size());
      datagram.ecn = flight.ecn;
      datagram.remote = flight.from;
      datagram.local = here;
      ++stats.delivered;
      stats.bytes += flight.bytes.size();
    }
    for (Flight& flight : later) flights_.push(std::move(flight));
    if (rx_.count > 0) {
      endpoint(server_side).receive(rx_, now_);
      rx_.clear();
      drain_events(server_side);
    }
  }
}

void Pair::drain_events(bool server_side) {
  while (auto event = endpoint(server_side).poll_event()) {
    if (handler_) handler_(server_side, endpoint(server_side), *event);
  }
}

bool Pair::run(const std::function<bool()>& done, Duration limit) {
  const Instant end = now_ + limit;
  for (;;) {
    for (const bool side : {false, true}) {
      drain_events(side);
      pump(side);
      drain_events(side);
    }
    if (done()) return true;
    Instant next = std::min(client_->next_timeout(), server_->next_timeout());
    if (!flights_.empty()) next = std::min(next, flights_.top().arrival);
    if (next.is_never() || next > end) {
      if (next > end) now_ = end;
      return false;
    }
    now_ = std::max(now_, next);
    deliver_due();
    for (const bool side : {false, true}) {
      if (endpoint(side).next_timeout() <= now_) endpoint(side).on_timeout(now_);
    }
  }
}

}  // namespace quasi::sim
