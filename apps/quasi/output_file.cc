// Files that appear whole or not at all (see output_file.h).
#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tls/crypto.h"

namespace quasi::app {
namespace {

std::string sentence(const std::string& path, const char* what, int error) {
  return "Cannot " + std::string(what) + " " + path + ": " + std::strerror(error) +
         ". Choose another place with -o, or make room there.";
}

// Enough bytes that a write costs little beside the copy, and little memory.
constexpr std::size_t kBufferSize = std::size_t{256} * 1024;

}  // namespace

std::expected<OutputFile, std::string> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (path == "/dev/null") {
    file.discards_ = true;  // also where a sandbox has no such device
    return file;
  }
  if (path == "-" || path == "/dev/stdout") {
    file.path_ = "-";
    file.fd_ = STDOUT_FILENO;
    file.buffer_.reserve(kBufferSize);
    return file;
  }
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return std::unexpected("Cannot write " + path +
                           ": it is a directory. Give the name of a file with -o.");
  }
  file.buffer_.reserve(kBufferSize);
  if (exists && !S_ISREG(status.st_mode)) {
    // A FIFO or a device is written to; renaming a file over it would destroy it.
    file.fd_ = ::open(path.c_str(), O_WRONLY);
    if (file.fd_ < 0) return std::unexpected(sentence(path, "write", errno));
    return file;
  }
#if !QUASI_WASM  // there the launcher does it
  // What a link leads to is replaced, not the link: /dev/stderr is one, for example.
  if (exists && ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    if (char* const real = ::realpath(path.c_str(), nullptr); real != nullptr) {
      file.path_ = real;
      std::free(real);
    }
  }
#endif
  // Drawn, not counted: leftovers of interrupted runs never stand in the way.
  std::array<std::uint8_t, 4> random{};
  tls::os_entropy(random);
  file.temporary_ = file.path_ + "." + tls::hex(random) + ".part";
  file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (file.fd_ >= 0) return file;
  const int error = errno;
  file.temporary_.clear();
  return std::unexpected(sentence(path, "write", error));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::exchange(other.buffer_, {})),
      fd_(std::exchange(other.fd_, -1)),
      discards_(other.discards_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    abandon();
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, {});
    buffer_ = std::exchange(other.buffer_, {});
    fd_ = std::exchange(other.fd_, -1);
    discards_ = other.discards_;
  }
  return *this;
}

OutputFile::~OutputFile() { abandon(); }

void OutputFile::abandon() {
  if (fd_ >= 0 && path_ != "-") ::close(std::exchange(fd_, -1));
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  temporary_.clear();
}

std::string OutputFile::write(Bytes data) {
  if (discards_) return {};
  while (!data.empty()) {
    const std::size_t n = std::min(data.size(), kBufferSize - buffer_.size());
    buffer_.insert(buffer_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(n));
    data = data.subspan(n);
    if (buffer_.size() < kBufferSize) break;
    if (std::string error = flush(); !error.empty()) return error;
  }
  return {};
}

std::string OutputFile::flush() {
  Bytes rest = buffer_;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return sentence(path_ == "-" ? "standard output" : path_, "write", errno);
    }
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  return {};
}

std::string OutputFile::commit() {
  if (discards_) return {};
  if (std::string error = flush(); !error.empty()) {
    abandon();
    return error;
  }
  if (path_ == "-") return {};
  // Errors of delayed writes (a full disk, say) are told by close at the latest.
  if (::close(std::exchange(fd_, -1)) != 0) {
    const std::string text = sentence(path_, "write", errno);
    abandon();
    return text;
  }
  if (temporary_.empty()) return {};
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string text = sentence(path_, "give its name to", errno);
    abandon();
    return text;
  }
  temporary_.clear();
  return {};
}

}  // namespace quasi::app
