// The event loop: moves datagrams between a Port and an Endpoint, drains before it
// blocks, and asks the command after every burst whether it is done.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "quasi/endpoint.h"
#include "quasi/port.h"

namespace quasi::app {

class Driver {
 public:
  Driver(Port& port, Endpoint& endpoint);

  /// Runs until `step` returns true. `step` is called after every burst and
  /// timeout; it polls the endpoint's events. Fails with one sentence when the
  /// port does. Ends early, with success, when the user interrupts the program.
  [[nodiscard]] std::expected<void, std::string> run(const std::function<bool()>& step);
  /// Sends what is left to send (a CONNECTION_CLOSE, say) without waiting.
  void flush();
  [[nodiscard]] Instant now() { return port_.now(); }
  /// run() never sleeps past this time.
  void wake_at(Instant time) { wake_ = time; }

 private:
  [[nodiscard]] std::expected<void, std::string> transmit();

  Port& port_;
  Endpoint& endpoint_;
  std::unique_ptr<RxBatch> rx_ = std::make_unique<RxBatch>();
  TxBatch tx_;
  Instant wake_ = Instant::never();
};

/// SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program. No effect in Wasm,
/// where the host ends the component.
void catch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace quasi::app
