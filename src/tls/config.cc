// Options in the form of the C interface, and key logs that write to files.
#include "tls/config.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tls/ffi.h"

namespace quasi::tls {
namespace {

void write_key_log(void* context, const std::uint8_t* line, std::size_t size) {
  (*static_cast<const KeyLog*>(context))(
      std::string_view(reinterpret_cast<const char*>(line), size));
}

void free_key_log(void* context) { delete static_cast<KeyLog*>(context); }

/// Options in the form of the C interface, for making one configuration: that owns
/// the copy of the key log made here.
class CommonForm {
 public:
  explicit CommonForm(const CommonOptions& options) {
    for (Suite suite : options.suites) suites_.push_back(static_cast<std::uint16_t>(suite));
    for (Group group : options.groups) groups_.push_back(static_cast<std::uint16_t>(group));
    for (const std::string& name : options.alpn) {
      // A length of 0 is refused on the other side: so are names that do not fit.
      alpn_.push_back(name.size() > 255 ? std::uint8_t{0} : static_cast<std::uint8_t>(name.size()));
      alpn_.insert(alpn_.end(), name.begin(), name.end());
    }
    form_.suites = suites_.data();
    form_.suite_count = suites_.size();
    form_.groups = groups_.data();
    form_.group_count = groups_.size();
    form_.alpn = to_qt(Bytes(alpn_));
    if (options.key_log) {
      form_.key_log = write_key_log;
      form_.key_log_context = new KeyLog(options.key_log);
      form_.key_log_free = free_key_log;
    }
    form_.unix_time = options.unix_time.value_or(-1);
  }
  [[nodiscard]] const qt_common_options* get() const { return &form_; }

 private:
  std::vector<std::uint16_t> suites_, groups_;
  std::vector<std::uint8_t> alpn_;
  qt_common_options form_{};
};

}  // namespace

void ConfigDeleter::operator()(qt_config* config) const { qt_config_free(config); }

Configured<std::shared_ptr<const ClientConfig>> ClientConfig::create(const ClientOptions& options) {
  std::shared_ptr<ClientConfig> config(new ClientConfig);
  CommonForm common(options);
  qt_verify verify = QT_PUBLIC_ROOTS;
  qt_bytes extra{};
  switch (options.verify) {
    case ClientOptions::Verify::public_roots:
      break;
    case ClientOptions::Verify::ca:
      verify = QT_CA;
      extra = to_qt(std::string_view(options.ca_pem));
      break;
    case ClientOptions::Verify::fingerprint:
      verify = QT_FINGERPRINT;
      extra = to_qt(Bytes(options.fingerprint));
      break;
    case ClientOptions::Verify::insecure:
      verify = QT_INSECURE;
      break;
  }
  qt_error error{};
  config->handle_.reset(
      qt_client_config_new(common.get(), static_cast<std::uint8_t>(verify), extra, &error));
  if (!config->handle_) return std::unexpected(text_of(error));
  return config;
}

Configured<std::shared_ptr<const ServerConfig>> ServerConfig::create(const ServerOptions& options) {
  std::shared_ptr<ServerConfig> config(new ServerConfig);
  CommonForm common(options);
  qt_error error{};
  config->handle_.reset(qt_server_config_new(
      common.get(), to_qt(std::string_view(options.certificate_pem)),
      to_qt(std::string_view(options.key_pem)), options.session_tickets, &error));
  if (!config->handle_) return std::unexpected(text_of(error));
  return config;
}

Configured<KeyLog> key_log_to_file(const std::string& path) {
  std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "a"), [](std::FILE* f) {
    if (f != nullptr) std::fclose(f);
  });
  if (!file) {
    return std::unexpected("the key log " + path +
                           " cannot be opened for writing; name another file in SSLKEYLOGFILE");
  }
  return KeyLog([file = std::move(file)](std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), file.get());
    std::fputc('\n', file.get());
    std::fflush(file.get());  // Wireshark reads along
  });
}

Configured<KeyLog> key_log_from_environment() {
  const char* path = std::getenv("SSLKEYLOGFILE");
  if (path == nullptr || *path == '\0') return KeyLog();
  return key_log_to_file(path);
}

}  // namespace quasi::tls
