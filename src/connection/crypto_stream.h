// The CRYPTO stream of one encryption level, both directions (RFC 9000 §19.6). Not
// flow-controlled; instead at most 64 KiB may lie beyond what TLS has taken (§7.5;
// the RFC's floor of 4,096 is too little for real certificate chains, R-38).
#pragma once

#include <cstddef>
#include <cstdint>

#include "connection/recv_buffer.h"
#include "connection/send_buffer.h"
#include "quasi/bytes.h"
#include "quasi/packet_buffer.h"
#include "quasi/result.h"

namespace quasi::connection {

class CryptoStream {
 public:
  /// Both must outlive the stream; the account may be the streams' own.
  CryptoStream(BufferPool& blocks, RecvAccount& account)
      : recv_(blocks, account, /*copy_reordered=*/true), send_(blocks) {}

  /// CRYPTO_BUFFER_EXCEEDED when it lies too far beyond what was consumed.
  [[nodiscard]] Status on_crypto(std::uint64_t offset, Bytes data, const BufferRef& owner);
  /// The next bytes for TLS that lie together; empty when there are none. Loop.
  [[nodiscard]] Bytes readable() const { return recv_.readable(); }
  void consume(std::size_t count) { recv_.consume(count); }
  /// Bytes have arrived that TLS did not take: forbidden when keys change (RFC 9001 §4.1.3).
  [[nodiscard]] bool has_unread() const { return recv_.readable_size() != 0; }

  /// Bytes that TLS wants sent. INTERNAL_ERROR when memory is exhausted.
  [[nodiscard]] Status write(Bytes data);
  [[nodiscard]] bool wants_to_send() const { return send_.has_lost() || send_.has_fresh(); }
  [[nodiscard]] std::uint64_t next_offset() const {
    return send_.has_lost() ? send_.next_lost().begin : send_.next_offset();
  }
  [[nodiscard]] DataChunk next_chunk(std::uint64_t max) {
    return send_.has_lost() ? send_.take_lost(max) : send_.take_fresh(max);
  }
  void on_acked(std::uint64_t offset, std::uint64_t size) { send_.on_acked(offset, size); }
  void on_lost(std::uint64_t offset, std::uint64_t size) { send_.on_lost(offset, size); }
  /// Everything written so far is acknowledged.
  [[nodiscard]] bool all_acked() const { return send_.all_acked(); }
  /// Begins again after a Retry or Version Negotiation: what was sent is to be sent anew.
  void resend_all() { send_.on_lost(0, send_.next_offset()); }
  /// The level's keys are gone: drops what is held in both directions.
  void release();

 private:
  RecvBuffer recv_;
  SendBuffer send_;
};

}  // namespace quasi::connection
