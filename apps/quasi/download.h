// One connection to one server over which files are fetched with HTTP/0.9 on QUIC
// (ALPN hq-interop): a stream a file, the request "GET path", the answer its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "output_file.h"
#include "quasi/endpoint.h"
#include "url.h"

namespace quasi::app {

/// Files that are fetched at the same time. A component has 128 descriptors in all, and
/// each open file has a buffer.
inline constexpr std::size_t kMostTransfers = 48;

struct Transfer {
  Url url;
  std::string path;                // where it goes
  std::optional<OutputFile> file;  // at the latest when it is requested
  std::optional<StreamId> stream;
  std::uint64_t bytes = 0;
  bool done = false;
};

/// Drives the transfers of one connection from its events.
class Download {
 public:
  Download(Connection& connection, std::vector<Transfer>& transfers)
      : connection_(connection), transfers_(transfers) {}

  void on_event(const Event& event);
  /// All files are whole and under their names, or something failed.
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Something was asked for, so that files may hold a part already.
  [[nodiscard]] bool has_requested() const { return next_ > 0; }

 private:
  void request_more();
  void read(Transfer& transfer);
  void fail(Failure failure);

  Connection& connection_;
  std::vector<Transfer>& transfers_;
  std::size_t next_ = 0;  // first transfer that has not been requested
  std::size_t running_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace quasi::app
