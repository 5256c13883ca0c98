// The C++ side of a session: keys are copied out of the C interface and wiped there,
// errors get a static reason beside the sentence, and what the peer said is kept.
#include "tls/session.h"

#include "tls/ffi.h"

namespace quasi::tls {
namespace {

static_assert(static_cast<int>(Level::initial) == QT_INITIAL);
static_assert(static_cast<int>(Level::early_data) == QT_EARLY_DATA);
static_assert(static_cast<int>(Level::handshake) == QT_HANDSHAKE);
static_assert(static_cast<int>(Level::one_rtt) == QT_ONE_RTT);

std::uint8_t to_qt(Version version) { return version == Version::v2 ? QT_V2 : QT_V1; }

void copy(TrafficKeys& to, const qt_traffic_keys& from) {
  to.suite = static_cast<Suite>(from.suite);
  to.key_length = from.key_length;
  std::memcpy(to.key.data(), from.key, to.key.size());
  std::memcpy(to.iv.data(), from.iv, to.iv.size());
  std::memcpy(to.header.data(), from.header, to.header.size());
}

/// Moves the keys out of `from`, which is wiped.
void take(KeyPair& to, qt_key_pair& from) {
  copy(to.local, from.local);
  copy(to.remote, from.remote);
  secure_wipe(&from, sizeof from);
}

/// Grows `out` by as much of the next segment as the crate gives in one call.
constexpr std::size_t kWriteStep = 2048;

qt_state state_of(const qt_session* session) {
  qt_state state{};
  qt_session_state(session, &state);
  return state;
}

Configured<qt_session*> new_session(const qt_config* config, Version version, std::string_view name,
                                    Bytes transport_parameters) {
  qt_error error{};
  qt_session* session = qt_session_new(config, to_qt(version), tls::to_qt(name),
                                       tls::to_qt(transport_parameters), &error);
  if (session == nullptr) return std::unexpected(text_of(error));
  return session;
}

}  // namespace

KeyPair initial_keys(Version version, Bytes client_dcid, Side side) {
  qt_key_pair raw{};
  qt_initial_keys(to_qt(version), tls::to_qt(client_dcid), side == Side::server ? 1 : 0, &raw);
  KeyPair keys;
  take(keys, raw);
  return keys;
}

void Session::Deleter::operator()(qt_session* session) const { qt_session_free(session); }

Configured<Session> Session::client(const ClientConfig& config, std::string_view server_name,
                                    Version version, Bytes transport_parameters) {
  auto session = new_session(config.handle(), version, server_name, transport_parameters);
  if (!session) return std::unexpected(session.error());
  return Session(*session);
}

Configured<Session> Session::server(const ServerConfig& config, Version version,
                                    Bytes transport_parameters) {
  auto session = new_session(config.handle(), version, {}, transport_parameters);
  if (!session) return std::unexpected(session.error());
  return Session(*session);
}

Level Session::read_level() const { return static_cast<Level>(state_of(handle_.get()).read_level); }

bool Session::is_handshaking() const { return state_of(handle_.get()).handshaking != 0; }

Status Session::read_handshake(Level level, Bytes bytes) {
  qt_error error{};
  const int result =
      qt_session_read(handle_.get(), static_cast<std::uint8_t>(level), tls::to_qt(bytes), &error);
  refresh();
  if (result == 0) return {};
  error_text_ = text_of(error);
  constexpr auto kBase = static_cast<std::uint64_t>(TransportErrorCode::crypto_error_base);
  const char* reason = "the TLS handshake failed";
  if (error.code >= kBase && error.code < kBase + 0x100) {
    reason = alert_text(static_cast<std::uint8_t>(error.code - kBase));
  } else if (error.code == static_cast<std::uint64_t>(TransportErrorCode::protocol_violation)) {
    reason = "the TLS messages break a rule of RFC 9001";
  }
  return fail(static_cast<TransportErrorCode>(error.code), reason);
}

HandshakeOutput Session::write_handshake(std::vector<std::uint8_t>& out) {
  HandshakeOutput result;
  qt_output part{};
  do {
    const std::size_t size = out.size();
    out.resize(size + kWriteStep);
    if (qt_session_write(handle_.get(), out.data() + size, kWriteStep, &part) == 0) {
      out.resize(size);
      break;
    }
    out.resize(size + part.size);
    result.level = static_cast<Level>(part.level);
    result.bytes += part.size;
  } while (part.more != 0);
  if (part.has_keys != 0) {
    result.keys.emplace();
    result.keys->level = static_cast<Level>(part.keys_level);
    take(result.keys->keys, part.keys);
  }
  return result;
}

void Session::refresh() {
  const qt_state state = state_of(handle_.get());
  if (alpn_.size() != state.alpn_size) {
    alpn_.resize(state.alpn_size);
    alpn_.resize(qt_session_copy(handle_.get(), QT_ALPN, alpn_.data(), alpn_.size()));
  }
  if (peer_parameters_.size() != state.peer_parameters_size) {
    peer_parameters_.resize(state.peer_parameters_size);
    peer_parameters_.resize(qt_session_copy(handle_.get(), QT_PEER_PARAMETERS,
                                            peer_parameters_.data(), peer_parameters_.size()));
  }
}

std::optional<Suite> Session::suite() const {
  const std::uint16_t suite = state_of(handle_.get()).suite;
  if (suite == 0) return std::nullopt;
  return static_cast<Suite>(suite);
}

std::optional<Group> Session::group() const {
  const std::uint16_t group = state_of(handle_.get()).group;
  if (group == 0) return std::nullopt;
  return static_cast<Group>(group);
}

std::string Session::server_name() const {
  std::string name(state_of(handle_.get()).server_name_size, '\0');
  name.resize(qt_session_copy(handle_.get(), QT_SERVER_NAME,
                              reinterpret_cast<std::uint8_t*>(name.data()), name.size()));
  return name;
}

std::optional<Fingerprint> Session::peer_fingerprint() const {
  Fingerprint out;
  if (qt_session_copy(handle_.get(), QT_PEER_FINGERPRINT, out.data(), out.size()) != out.size()) {
    return std::nullopt;
  }
  return out;
}

KeyPair Session::next_1rtt_keys() {
  qt_key_pair raw{};
  KeyPair keys;
  if (qt_session_next_keys(handle_.get(), &raw) == 0) take(keys, raw);
  return keys;
}

}  // namespace quasi::tls
