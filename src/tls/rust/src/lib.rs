//! The C interface that quasi_tls.h documents. Everything unsafe about it is in
//! this file: pointers are turned into slices and references at the door, lengths
//! are checked, and what is behind works on safe types only.

mod certificate;
mod config;
mod failure;
mod keys;
mod session;

use std::ffi::c_void;
use std::sync::Arc;

use ring::rand::SecureRandom;
use rustls::quic::Version;
use rustls::Side;

use crate::config::{CallbackKeyLog, Common, Config, FreeFn, KeyLogFn, Verify};
use crate::failure::{Failure, INTERNAL_ERROR};
use crate::keys::KeyPair;
use crate::session::Session;

pub fn sha256(data: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, data).as_ref());
    out
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct QtBytes {
    data: *const u8,
    size: usize,
}

impl QtBytes {
    /// # Safety
    /// `data` points to `size` readable bytes that stay unchanged for `'a`.
    unsafe fn slice<'a>(self) -> &'a [u8] {
        if self.size == 0 || self.data.is_null() {
            &[]
        } else {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts(self.data, self.size) }
        }
    }
}

#[repr(C)]
pub struct QtError {
    code: u64,
    text_size: usize,
    text: [u8; 512],
}

impl QtError {
    fn set(&mut self, failure: &Failure) {
        self.code = failure.code;
        let mut size = failure.text.len().min(self.text.len());
        while !failure.text.is_char_boundary(size) {
            size -= 1;
        }
        self.text[..size].copy_from_slice(&failure.text.as_bytes()[..size]);
        self.text_size = size;
    }
}

/// # Safety
/// `error` is null or valid for writing.
unsafe fn report(error: *mut QtError, failure: &Failure) {
    // SAFETY: the caller's promise.
    if let Some(error) = unsafe { error.as_mut() } {
        error.set(failure);
    }
}

#[repr(C)]
pub struct QtCommonOptions {
    suites: *const u16,
    suite_count: usize,
    groups: *const u16,
    group_count: usize,
    alpn: QtBytes,
    key_log: Option<KeyLogFn>,
    key_log_context: *mut c_void,
    key_log_free: Option<FreeFn>,
    unix_time: i64,
}

impl QtCommonOptions {
    /// # Safety
    /// The pointers are valid for the counts next to them. The key log's context moves
    /// into the result: call this once.
    unsafe fn common(&self) -> Common<'_> {
        let numbers = |data: *const u16, count: usize| -> &[u16] {
            if count == 0 || data.is_null() {
                &[]
            } else {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts(data, count) }
            }
        };
        Common {
            suites: numbers(self.suites, self.suite_count),
            groups: numbers(self.groups, self.group_count),
            // SAFETY: the caller's promise.
            alpn: unsafe { self.alpn.slice() },
            key_log: self.key_log.map(|function| {
                Arc::new(CallbackKeyLog {
                    function,
                    context: self.key_log_context,
                    free: self.key_log_free,
                })
            }),
            unix_time: self.unix_time,
        }
    }
}

/// # Safety
/// `error` is null or valid for writing.
unsafe fn boxed<T>(result: Result<T, String>, error: *mut QtError) -> *mut T {
    match result {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(text) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &Failure::new(INTERNAL_ERROR, text)) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_client_config_new(
    options: &QtCommonOptions,
    verify: u8,
    extra: QtBytes,
    error: *mut QtError,
) -> *mut Config {
    // SAFETY: the caller's promise.
    let (common, extra) = unsafe { (options.common(), extra.slice()) };
    let verify = match verify {
        0 => Ok(Verify::PublicRoots),
        1 => Ok(Verify::Ca(extra)),
        2 => match <[u8; 32]>::try_from(extra) {
            Ok(pin) => Ok(Verify::Fingerprint(pin)),
            Err(_) => Err("a SHA-256 fingerprint has 32 bytes".to_string()),
        },
        3 => Ok(Verify::Insecure),
        _ => Err("this way of verifying a certificate is unknown".to_string()),
    };
    let result = verify.and_then(|verify| config::client(&common, verify));
    // SAFETY: the caller's promise.
    unsafe { boxed(result, error) }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_server_config_new(
    options: &QtCommonOptions,
    certificate_pem: QtBytes,
    key_pem: QtBytes,
    session_tickets: u8,
    error: *mut QtError,
) -> *mut Config {
    // SAFETY: the caller's promise.
    unsafe {
        let result = config::server(
            &options.common(),
            certificate_pem.slice(),
            key_pem.slice(),
            session_tickets,
        );
        boxed(result, error)
    }
}

/// # Safety
/// `config` came from qt_*_config_new and is not used afterwards; null is allowed.
#[no_mangle]
pub unsafe extern "C" fn qt_config_free(config: *mut Config) {
    if !config.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(config) });
    }
}

fn version(number: u8) -> Version {
    match number {
        2 => Version::V2,
        _ => Version::V1,
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_session_new(
    config: &Config,
    version_number: u8,
    server_name: QtBytes,
    transport_parameters: QtBytes,
    error: *mut QtError,
) -> *mut Session {
    // SAFETY: the caller's promise.
    let (name, parameters) = unsafe { (server_name.slice(), transport_parameters.slice()) };
    let version = version(version_number);
    let result = match config {
        Config::Client(config) => match std::str::from_utf8(name) {
            Ok(name) => Session::client(config.clone(), name, version, parameters.to_vec()),
            Err(_) => Err("the server's name is not valid UTF-8".to_string()),
        },
        Config::Server(config) => Session::server(config.clone(), version, parameters.to_vec()),
    };
    // SAFETY: the caller's promise.
    unsafe { boxed(result, error) }
}

/// # Safety
/// `session` came from qt_session_new and is not used afterwards; null is allowed.
#[no_mangle]
pub unsafe extern "C" fn qt_session_free(session: *mut Session) {
    if !session.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(session) });
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_session_read(
    session: &mut Session,
    level: u8,
    bytes: QtBytes,
    error: *mut QtError,
) -> i32 {
    // SAFETY: the caller's promise.
    match session.read(level, unsafe { bytes.slice() }) {
        Ok(()) => 0,
        Err(failure) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &failure) };
            -1
        }
    }
}

#[repr(C)]
pub struct QtOutput {
    size: usize,
    level: u8,
    more: u8,
    has_keys: u8,
    keys_level: u8,
    keys: KeyPair,
}

/// # Safety
/// See quasi_tls.h; `buffer` is valid for writing `capacity` bytes.
#[no_mangle]
pub unsafe extern "C" fn qt_session_write(
    session: &mut Session,
    buffer: *mut u8,
    capacity: usize,
    output: &mut QtOutput,
) -> i32 {
    let Some(segment) = session.output().front_mut() else {
        return 0;
    };
    let rest = &segment.bytes[segment.taken..];
    let size = rest.len().min(if buffer.is_null() { 0 } else { capacity });
    if size > 0 {
        // SAFETY: `buffer` has room for `capacity` >= `size` bytes and is the caller's own.
        unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), buffer, size) };
    }
    segment.taken += size;
    output.size = size;
    output.level = segment.level;
    output.has_keys = 0;
    output.keys_level = 0;
    output.more = u8::from(segment.taken < segment.bytes.len());
    if output.more == 0 {
        if let Some((level, keys)) = segment.keys.take() {
            output.has_keys = 1;
            output.keys_level = level;
            output.keys = keys;
        }
        session.output().pop_front();
    }
    1
}

#[repr(C)]
pub struct QtState {
    handshaking: u8,
    read_level: u8,
    suite: u16,
    group: u16,
    alpn_size: usize,
    peer_parameters_size: usize,
    server_name_size: usize,
}

#[no_mangle]
pub extern "C" fn qt_session_state(session: &Session, state: &mut QtState) {
    *state = QtState {
        handshaking: u8::from(session.is_handshaking()),
        read_level: session.read_level(),
        suite: session.suite(),
        group: session.group(),
        alpn_size: session.alpn().len(),
        peer_parameters_size: session.peer_parameters().len(),
        server_name_size: session.server_name().len(),
    };
}

/// # Safety
/// `buffer` is valid for writing `capacity` bytes.
#[no_mangle]
pub unsafe extern "C" fn qt_session_copy(
    session: &Session,
    item: u8,
    buffer: *mut u8,
    capacity: usize,
) -> usize {
    let fingerprint;
    let bytes: &[u8] = match item {
        0 => session.alpn(),
        1 => session.peer_parameters(),
        2 => session.server_name().as_bytes(),
        3 => {
            fingerprint = session.peer_fingerprint();
            fingerprint.as_ref().map_or(&[], |f| f)
        }
        _ => &[],
    };
    let size = bytes.len().min(capacity);
    if size == 0 || buffer.is_null() {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, size) };
    size
}

#[no_mangle]
pub extern "C" fn qt_session_next_keys(session: &mut Session, keys: &mut KeyPair) -> i32 {
    match session.next_keys() {
        Some(next) => {
            *keys = next;
            0
        }
        None => -1,
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_initial_keys(
    version_number: u8,
    client_dcid: QtBytes,
    is_server: u8,
    keys: &mut KeyPair,
) {
    let side = if is_server == 0 {
        Side::Client
    } else {
        Side::Server
    };
    // SAFETY: the caller's promise.
    *keys = keys::initial(
        version(version_number),
        unsafe { client_dcid.slice() },
        side,
    );
}

#[repr(C)]
pub struct QtCertificate {
    certificate_pem: *mut u8,
    certificate_capacity: usize,
    certificate_size: usize,
    key_pem: *mut u8,
    key_capacity: usize,
    key_size: usize,
    sha256: [u8; 32],
    spki_sha256: [u8; 32],
}

/// # Safety
/// See quasi_tls.h; the buffers of `out` are valid for writing their capacities.
#[no_mangle]
pub unsafe extern "C" fn qt_certificate_make(
    names: QtBytes,
    days: u32,
    not_before: i64,
    out: &mut QtCertificate,
    error: *mut QtError,
) -> i32 {
    // SAFETY: the caller's promise.
    let result = std::str::from_utf8(unsafe { names.slice() })
        .map_err(|_| "a name is not valid UTF-8".to_string())
        .and_then(|names| certificate::make(names, days, not_before))
        .and_then(|made| {
            if made.certificate_pem.len() > out.certificate_capacity
                || made.key_pem.len() > out.key_capacity
                || out.certificate_pem.is_null()
                || out.key_pem.is_null()
            {
                return Err("the certificate would be too long; give fewer names".to_string());
            }
            Ok(made)
        });
    match result {
        Ok(made) => {
            // SAFETY: both lengths were checked; the buffers are the caller's own.
            unsafe {
                let pem = made.certificate_pem.as_bytes();
                std::ptr::copy_nonoverlapping(pem.as_ptr(), out.certificate_pem, pem.len());
                let pem = made.key_pem.as_bytes();
                std::ptr::copy_nonoverlapping(pem.as_ptr(), out.key_pem, pem.len());
            }
            out.certificate_size = made.certificate_pem.len();
            out.key_size = made.key_pem.len();
            out.sha256 = made.certificate_sha256;
            out.spki_sha256 = made.spki_sha256;
            let mut key = made.key_pem.into_bytes();
            keys::wipe(&mut key);
            0
        }
        Err(text) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &Failure::new(INTERNAL_ERROR, text)) };
            -1
        }
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_certificate_inspect(
    pem: QtBytes,
    sha256: &mut [u8; 32],
    spki_sha256: &mut [u8; 32],
    error: *mut QtError,
) -> i32 {
    // SAFETY: the caller's promise.
    match certificate::fingerprints(unsafe { pem.slice() }) {
        Ok((certificate, spki)) => {
            *sha256 = certificate;
            *spki_sha256 = spki;
            0
        }
        Err(text) => {
            // SAFETY: the caller's promise.
            unsafe { report(error, &Failure::new(INTERNAL_ERROR, text)) };
            -1
        }
    }
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_sha256(data: QtBytes, out: &mut [u8; 32]) {
    // SAFETY: the caller's promise.
    *out = sha256(unsafe { data.slice() });
}

/// # Safety
/// See quasi_tls.h.
#[no_mangle]
pub unsafe extern "C" fn qt_hmac_sha256(key: QtBytes, data: QtBytes, out: &mut [u8; 32]) {
    // SAFETY: the caller's promise.
    let (key, data) = unsafe { (key.slice(), data.slice()) };
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    out.copy_from_slice(ring::hmac::sign(&key, data).as_ref());
}

/// # Safety
/// `out` is valid for writing `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn qt_random(out: *mut u8, size: usize) -> i32 {
    if size == 0 {
        return 0;
    }
    if out.is_null() {
        return -1;
    }
    // SAFETY: the caller's promise; the bytes are initialised first, so that the
    // slice refers to initialised memory.
    let out = unsafe {
        std::ptr::write_bytes(out, 0, size);
        std::slice::from_raw_parts_mut(out, size)
    };
    match ring::rand::SystemRandom::new().fill(out) {
        Ok(()) => 0,
        Err(_) => -1,
    }
}
