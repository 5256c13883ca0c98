// One stream as the StreamMap keeps it: both halves, its priority, what the
// application still has to be told, and its places in the map's lists.
#pragma once

#include <cstdint>

#include "connection/recv_stream.h"
#include "connection/send_stream.h"
#include "connection/stream_list.h"
#include "quasi/connection.h"

namespace quasi::connection {

struct Stream {
  /// Events, in the order in which they are told.
  enum EventBit : std::uint8_t {
    kOpened = 1,
    kReadable = 2,
    kReset = 4,
    kStopped = 8,
    kWritable = 16,
    kSent = 32,
  };
  /// Which list of streams that want to send it is in.
  enum class Turn : std::uint8_t { none, resend, fresh };

  static constexpr std::uint8_t kDefaultUrgency = 3;  // RFC 9218 §4.1

  Stream(BufferPool& blocks, RecvAccount& account) : send(blocks), recv(blocks, account) {}

  StreamId id = 0;
  std::uint8_t events = 0;
  std::uint8_t urgency = kDefaultUrgency;
  bool incremental = true;
  Turn turn = Turn::none;
  SendStream send;
  RecvStream recv;
  ListHook<Stream> send_hook;
  ListHook<Stream> control_hook;
  ListHook<Stream> event_hook;
  ListHook<Stream> wait_hook;
};

}  // namespace quasi::connection
