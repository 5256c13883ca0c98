// A file that appears under its name only when it is whole: bytes go to a
// temporary name beside it, which is renamed at the end and removed otherwise.
// An interrupted or forged download leaves nothing that looks complete.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "quasi/bytes.h"

namespace quasi::app {

class OutputFile {
 public:
  /// `path` "-" is standard output; "/dev/null" discards everything. These, FIFOs and
  /// devices have no temporary name: they get the bytes as they come.
  [[nodiscard]] static std::expected<OutputFile, std::string> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes the temporary file unless commit() succeeded.
  ~OutputFile();

  /// Empty, or one sentence.
  [[nodiscard]] std::string write(Bytes data);
  /// Flushes and gives the file its name. Empty, or one sentence.
  [[nodiscard]] std::string commit();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  OutputFile() = default;
  void abandon();
  [[nodiscard]] std::string flush();

  std::string path_;
  std::string temporary_;
  std::vector<std::uint8_t> buffer_;
  int fd_ = -1;
  bool discards_ = false;
};

}  // namespace quasi::app
