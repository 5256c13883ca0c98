// The port of a WASI 0.3 component: UDP sockets of wasi:sockets. One receive is under
// way on each socket; it is drained until the host has nothing more, and only then is
// anything waited for. A host tells neither ECN nor on which address a datagram arrived,
// and sends one datagram a call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/host_port.h"
#include "io/wasi/bindings.h"
#include "io/wasi/waiter.h"

namespace quasi::io {

class WasiPort final : public HostPort {
 public:
  [[nodiscard]] static PortResult<std::unique_ptr<WasiPort>> open(const PortOptions& options);
  ~WasiPort() override;
  WasiPort(const WasiPort&) = delete;
  WasiPort& operator=(const WasiPort&) = delete;

  [[nodiscard]] PortResult<void> receive(RxBatch& batch) override;
  [[nodiscard]] PortResult<void> send(const TxBatch& batch) override;
  [[nodiscard]] PortResult<void> wait(Instant deadline) override;
  [[nodiscard]] Instant now() override { return host_now(); }
  [[nodiscard]] SocketAddress local_address() const override { return sockets_.front()->local; }
  [[nodiscard]] std::vector<SocketAddress> local_addresses() const override;

 private:
  using Received = wasi_sockets_types_result_tuple2_list_u8_ip_socket_address_error_code_t;
  using Sent = wasi_sockets_types_result_void_error_code_t;

  struct Socket {
    wasi_sockets_types_own_udp_socket_t handle{};
    SocketAddress local;
    SocketAddress peer;      // valid: connected
    std::uint32_t task = 0;  // the receive under way, 0 when there is none
    bool ready = false;      // `received` holds what arrived
    Received received{};     // where the host writes; must not move
  };

  explicit WasiPort(BufferPool& pool);
  [[nodiscard]] static PortResult<std::unique_ptr<Socket>> open_socket(const SocketAddress& local,
                                                                       const PortOptions& options);
  void drain(Socket& socket, RxBatch& batch);
  void deliver(Socket& socket, RxBatch& batch);
  void on_returned(std::uint32_t task);
  void note_error(const wasi_sockets_types_error_code_t& error, const SocketAddress& remote);
  [[nodiscard]] Socket* socket_for(const TxBatch::Entry& entry);

  BufferPool& pool_;
  Waiter waiter_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  /// The host said a moment ago what it has: no need to ask again.
  bool up_to_date_ = false;
  std::size_t first_socket_ = 0;  // where the next receive() begins, for fairness
};

}  // namespace quasi::io
