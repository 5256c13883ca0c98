// Fetching files over one connection (see download.h).
#include "download.h"

#include <algorithm>
#include <array>

namespace quasi::app {

void Download::fail(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
}

bool Download::is_over() const {
  return failure_.has_value() || std::all_of(transfers_.begin(), transfers_.end(),
                                             [](const Transfer& t) { return t.done; });
}

void Download::request_more() {
  while (next_ < transfers_.size() && running_ < kMostTransfers) {
    const std::optional<StreamId> stream = connection_.open_stream(Direction::bidirectional);
    if (!stream) return;  // `streams_available` comes later
    Transfer& transfer = transfers_[next_++];
    ++running_;
    transfer.stream = stream;
    if (!transfer.file) {
      auto file = OutputFile::create(transfer.path);
      if (!file) {
        fail({kFile, file.error()});
        return;
      }
      transfer.file.emplace(std::move(*file));
    }
    const std::string request = "GET " + transfer.url.path + "\r\n";
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(request.data());
    if (connection_.write(*stream, Bytes(bytes, request.size())) != request.size()) {
      fail({kUsage,
            "The URL is too long for one request: " + transfer.url.path.substr(0, 60) + "..."});
      return;
    }
    connection_.finish(*stream);
  }
}

void Download::read(Transfer& transfer) {
  std::array<Bytes, 32> views;
  for (;;) {
    const std::size_t count = connection_.readable(*transfer.stream, views);
    if (count == 0) break;
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (std::string error = transfer.file->write(views[i]); !error.empty()) {
        fail({kFile, std::move(error)});
        return;
      }
      total += views[i].size();
    }
    transfer.bytes += total;
    bytes_ += total;
    connection_.consume(*transfer.stream, total);
  }
  if (transfer.done || !connection_.is_finished(*transfer.stream)) return;
  if (std::string error = transfer.file->commit(); !error.empty()) {
    fail({kFile, std::move(error)});
    return;
  }
  transfer.done = true;
  transfer.stream.reset();
  transfer.file.reset();
  --running_;
  request_more();
}

void Download::on_event(const Event& event) {
  if (failure_) return;
  const auto transfer = std::find_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) {
    return t.stream == event.stream && !t.done;
  });
  const bool ours = transfer != transfers_.end();
  switch (event.kind) {
    case Event::Kind::connected:
    case Event::Kind::streams_available:
      request_more();
      break;
    case Event::Kind::stream_readable:
      if (ours) read(*transfer);
      break;
    case Event::Kind::stream_reset:
      if (ours) {
        const bool busy = event.error_code == kUnavailable;
        fail({kRefused, "The server will not give " + transfer->url.path + " (error " +
                            std::to_string(event.error_code) + "); " +
                            (busy ? "it is too busy, try again." : "is the path right?")});
      }
      break;
    case Event::Kind::closed:
      if (!is_over()) {
        fail(describe(connection_.close_reason(), transfers_.front().url.authority()));
      }
      break;
    default:
      break;
  }
}

}  // namespace quasi::app
