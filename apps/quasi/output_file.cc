// Files that appear whole or not at all (see output_file.h).
#include "output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quasi::app {
namespace {

std::string sentence(const std::string& path, const char* what, int error) {
  return "Cannot " + std::string(what) + " " + path + ": " + std::strerror(error) +
         ". Choose another place with -o, or make room there.";
}

// Several tries because an earlier run's leftovers may hold a name; exclusive, so
// that two downloads to one name never write into the same file.
constexpr int kTries = 100;

}  // namespace

std::expected<OutputFile, std::string> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (path == "-") {
    file.fd_ = STDOUT_FILENO;
    return file;
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return std::unexpected("Cannot write " + path +
                           ": it is a directory. Give the name of a file with -o.");
  }
  for (int i = 0; i < kTries; ++i) {
    file.temporary_ = path + ".part" + (i == 0 ? "" : std::to_string(i));
    file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.fd_ >= 0) return file;
    if (errno != EEXIST) break;
  }
  const int error = errno;
  file.temporary_.clear();
  return std::unexpected(sentence(path, "write", error));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    abandon();
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, {});
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

OutputFile::~OutputFile() { abandon(); }

void OutputFile::abandon() {
  if (temporary_.empty()) return;
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  ::unlink(temporary_.c_str());
  temporary_.clear();
}

std::string OutputFile::write(Bytes data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd_, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return sentence(path_ == "-" ? "standard output" : path_, "write", errno);
    }
    data = data.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

std::string OutputFile::commit() {
  if (path_ == "-") return {};
  // Errors of delayed writes (a full disk, say) are told by close at the latest.
  if (::close(std::exchange(fd_, -1)) != 0) {
    const std::string text = sentence(path_, "write", errno);
    abandon();
    return text;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string text = sentence(path_, "give its name to", errno);
    abandon();
    return text;
  }
  temporary_.clear();
  return {};
}

}  // namespace quasi::app
