// The event loop (see driver.h).
#include "driver.h"

#include <algorithm>
#include <csignal>

namespace quasi::app {
namespace {

volatile std::sig_atomic_t interrupt_flag = 0;

#if !QUASI_WASM
extern "C" void on_interrupt(int) { interrupt_flag = 1; }
#endif

}  // namespace

void catch_interrupts() {
#if !QUASI_WASM
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  // The second one ends the program the usual way, should it hang.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Under nohup a lost terminal is no reason to stop.
  struct sigaction hangup{};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  // A closed pipe on standard output is an error of write(), not the end.
  signal(SIGPIPE, SIG_IGN);
#endif
}

bool interrupted() { return interrupt_flag != 0; }

Driver::Driver(Port& port, Endpoint& endpoint) : port_(port), endpoint_(endpoint) {}

std::expected<void, std::string> Driver::transmit() {
  const Instant now = port_.now();
  while (endpoint_.transmit(tx_, now)) {
    const auto sent = port_.send(tx_);
    tx_.clear();
    if (!sent) return std::unexpected(sent.error().text);
  }
  tx_.clear();
  return {};
}

void Driver::flush() { (void)transmit(); }

std::expected<void, std::string> Driver::run(const std::function<bool()>& step) {
  for (;;) {
    if (step()) return {};
    if (auto sent = transmit(); !sent) return sent;
    if (interrupted()) return {};

    if (auto received = port_.receive(*rx_); !received) {
      return std::unexpected(received.error().text);
    }
    if (rx_->count == 0) {
      if (auto waited = port_.wait(std::min(endpoint_.next_timeout(), wake_)); !waited) {
        return std::unexpected(waited.error().text);
      }
      if (auto received = port_.receive(*rx_); !received) {
        return std::unexpected(received.error().text);
      }
    }
    const Instant now = port_.now();
    if (rx_->count > 0) {
      endpoint_.receive(*rx_, now);
      rx_->clear();
    }
    if (endpoint_.next_timeout() <= now) endpoint_.on_timeout(now);
  }
}

}  // namespace quasi::app
