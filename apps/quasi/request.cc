// Requests and the files they name (see request.h).
#include "request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace quasi::app {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> parse_request(std::string_view request) {
  constexpr std::string_view kGet = "GET ";
  if (!request.starts_with(kGet)) return std::nullopt;
  request.remove_prefix(kGet.size());
  request = request.substr(0, request.find_first_of("\r\n"));
  request = request.substr(0, request.find(' '));  // tolerate a version behind the path
  if (request.empty() || request.front() != '/') return std::nullopt;
  request = request.substr(0, request.find('?'));
  std::vector<std::string> segments;
  while (!request.empty()) {
    request.remove_prefix(1);
    const std::string_view raw = request.substr(0, request.find('/'));
    request.remove_prefix(raw.size());
    auto segment = percent_decode(raw);
    if (!segment || *segment == ".." || segment->find('\0') != std::string::npos ||
        segment->find('/') != std::string::npos) {
      return std::nullopt;
    }
    if (segment->empty() || *segment == ".") continue;
    segments.push_back(std::move(*segment));
  }
  return segments;
}

std::optional<ServedFile> ServedFile::open(int root_fd, const std::vector<std::string>& segments) {
  int directory = root_fd;
  const auto close_directory = [&] {
    const int error = errno;
    if (directory != root_fd) ::close(directory);
    errno = error;
  };
  int fd = -1;
  // The served directory itself is asked for when there are no segments.
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // Not blocking: opening a FIFO must not stop the server.
    fd = ::openat(directory, segments[i].c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    close_directory();
    if (fd < 0) return std::nullopt;
    directory = fd;
  }
  struct stat status{};
  if (fd < 0 || (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))) {
    fd = ::openat(directory, "index.html", O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    close_directory();
    if (fd < 0) return std::nullopt;
  }
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    errno = ENOENT;
    return std::nullopt;
  }
  return ServedFile(fd, static_cast<std::uint64_t>(status.st_size));
}

ServedFile::ServedFile(ServedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

ServedFile& ServedFile::operator=(ServedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

ServedFile::~ServedFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::int64_t ServedFile::read(std::uint64_t offset, std::uint8_t* out, std::size_t count) const {
  for (;;) {
    const ssize_t n = ::pread(fd_, out, count, static_cast<off_t>(offset));
    if (n >= 0 || errno != EINTR) return n;
  }
}

}  // namespace quasi::app
