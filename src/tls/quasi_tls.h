// C interface of the Rust crate in rust/: rustls for QUIC, with the packet
// protection keys as raw bytes. Only src/tls includes this; the C++ around it
// (session.h, config.h, crypto.h, certificate.h) is what the rest uses.
//
// Rules: buffers belong to the caller and are read or written only during the
// call; pointers with a length may be null when it is 0. Handles are freed by
// their *_free function, and a configuration and its sessions stay in one thread.
// No function throws, unwinds or keeps state outside its handles.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qt_config qt_config;
typedef struct qt_session qt_session;

typedef struct qt_bytes {
  const uint8_t* data;
  size_t size;
} qt_bytes;

/// A failure. `code` is a QUIC transport error code; `text` one sentence in UTF-8,
/// cut where it does not fit.
typedef struct qt_error {
  uint64_t code;
  size_t text_size;
  char text[512];
} qt_error;

typedef struct qt_traffic_keys {
  uint16_t suite;
  uint8_t key_length;
  uint8_t key[32];
  uint8_t iv[12];
  uint8_t header[32];
} qt_traffic_keys;

typedef struct qt_key_pair {
  qt_traffic_keys local, remote;
} qt_key_pair;

typedef void (*qt_key_log)(void* context, const uint8_t* line, size_t size);

typedef struct qt_common_options {
  const uint16_t* suites;
  size_t suite_count;
  const uint16_t* groups;
  size_t group_count;
  qt_bytes alpn;       // names, each behind a length byte
  qt_key_log key_log;  // may be null
  void* key_log_context;
  /// Called with the context once nobody logs any more; at once when the
  /// configuration cannot be made. May be null.
  void (*key_log_free)(void* context);
  int64_t unix_time;  // seconds since 1970; negative: the host's clock
} qt_common_options;

enum qt_verify { QT_PUBLIC_ROOTS = 0, QT_CA = 1, QT_FINGERPRINT = 2, QT_INSECURE = 3 };
enum qt_level { QT_INITIAL = 0, QT_EARLY_DATA = 1, QT_HANDSHAKE = 2, QT_ONE_RTT = 3 };
enum qt_version { QT_V1 = 1, QT_V2 = 2 };

/// Null on failure, then with `error` filled. `extra`: the PEM of QT_CA, the 32
/// bytes of QT_FINGERPRINT, else empty.
qt_config* qt_client_config_new(const qt_common_options* options, uint8_t verify, qt_bytes extra,
                                qt_error* error);
qt_config* qt_server_config_new(const qt_common_options* options, qt_bytes certificate_pem,
                                qt_bytes key_pem, uint8_t session_tickets, qt_error* error);
void qt_config_free(qt_config* config);

/// `server_name` is ignored by servers; whether it is one is the configuration's matter.
qt_session* qt_session_new(const qt_config* config, uint8_t version, qt_bytes server_name,
                           qt_bytes transport_parameters, qt_error* error);
void qt_session_free(qt_session* session);

/// 0, or -1 with `error` filled.
int qt_session_read(qt_session* session, uint8_t level, qt_bytes bytes, qt_error* error);

typedef struct qt_output {
  size_t size;       // bytes written to the caller's buffer
  uint8_t level;     // that they belong to
  uint8_t more;      // 1: more bytes of the same segment are left, call again
  uint8_t has_keys;  // 1: `keys` are those of `keys_level`
  uint8_t keys_level;
  qt_key_pair keys;
} qt_output;

/// 1 when `output` was filled, 0 when there is nothing to send.
int qt_session_write(qt_session* session, uint8_t* buffer, size_t capacity, qt_output* output);

typedef struct qt_state {
  uint8_t handshaking;
  uint8_t read_level;
  uint16_t suite;  // 0 until agreed
  uint16_t group;
  size_t alpn_size, peer_parameters_size, server_name_size;
} qt_state;

void qt_session_state(const qt_session* session, qt_state* state);

enum qt_item { QT_ALPN = 0, QT_PEER_PARAMETERS = 1, QT_SERVER_NAME = 2, QT_PEER_FINGERPRINT = 3 };
/// Copies at most `capacity` bytes of the item and returns how many that were. The
/// fingerprint is the SHA-256 of the peer's certificate: 32 bytes, or none.
size_t qt_session_copy(const qt_session* session, uint8_t item, uint8_t* buffer, size_t capacity);

/// 0, or -1 when there are no 1-RTT keys yet.
int qt_session_next_keys(qt_session* session, qt_key_pair* keys);

void qt_initial_keys(uint8_t version, qt_bytes client_dcid, uint8_t is_server, qt_key_pair* keys);

/// `names`: one a line. The buffers receive PEM; 4096 and 512 bytes are enough for
/// up to about 60 names. -1 with `error` on failure, also when a buffer is too small.
typedef struct qt_certificate {
  char* certificate_pem;
  size_t certificate_capacity, certificate_size;
  char* key_pem;
  size_t key_capacity, key_size;
  uint8_t sha256[32], spki_sha256[32];
} qt_certificate;
int qt_certificate_make(qt_bytes names, uint32_t days, int64_t not_before, qt_certificate* out,
                        qt_error* error);
/// Fills the fingerprints of the first certificate in `pem`.
int qt_certificate_inspect(qt_bytes pem, uint8_t sha256[32], uint8_t spki_sha256[32],
                           qt_error* error);

void qt_sha256(qt_bytes data, uint8_t out[32]);
void qt_hmac_sha256(qt_bytes key, qt_bytes data, uint8_t out[32]);
/// 0, or -1 when the host gives no entropy.
int qt_random(uint8_t* out, size_t size);

#ifdef __cplusplus
}
#endif
