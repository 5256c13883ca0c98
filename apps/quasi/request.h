// What a client of HTTP/0.9 asks for, made safe: the request line, percent-decoding,
// and opening the file below the served directory, which no path can leave.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quasi::app {

/// The path of "GET /path\r\n" (the line end may be missing at the end of the
/// stream), decoded and split; nothing when the request is malformed or tries to
/// leave the root ("..", NUL, a slash inside a segment).
[[nodiscard]] std::optional<std::vector<std::string>> parse_request(std::string_view request);

/// A regular file that is open for reading.
class ServedFile {
 public:
  /// Walks `segments` below `root_fd` one by one and follows no symbolic link, so
  /// that nothing outside can be reached. A directory means its index.html. When nothing
  /// is returned, errno tells why.
  [[nodiscard]] static std::optional<ServedFile> open(int root_fd,
                                                      const std::vector<std::string>& segments);
  ServedFile(ServedFile&& other) noexcept;
  ServedFile& operator=(ServedFile&& other) noexcept;
  ServedFile(const ServedFile&) = delete;
  ServedFile& operator=(const ServedFile&) = delete;
  ~ServedFile();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Reads at `offset`; 0 at the end, -1 on an error.
  [[nodiscard]] std::int64_t read(std::uint64_t offset, std::uint8_t* out, std::size_t count) const;

 private:
  ServedFile(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace quasi::app
