//! Client and server configurations: suites, groups, ALPN, what is trusted, what is
//! presented. Mistakes become sentences here, before any handshake.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::ring::{default_provider, kx_group};
use rustls::crypto::{
    verify_tls13_signature, CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, KeyLog,
    OtherError, RootCertStore, ServerConfig, SignatureScheme,
};

use crate::keys::suite_by_number;

pub enum Config {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

pub type KeyLogFn = unsafe extern "C" fn(context: *mut c_void, line: *const u8, length: usize);
pub type FreeFn = unsafe extern "C" fn(context: *mut c_void);

pub struct Common<'a> {
    pub suites: &'a [u16],
    pub groups: &'a [u16],
    /// Length-prefixed names, as in the TLS extension.
    pub alpn: &'a [u8],
    pub key_log: Option<Arc<CallbackKeyLog>>,
    /// Seconds since 1970; negative: the host's clock.
    pub unix_time: i64,
}

pub enum Verify<'a> {
    PublicRoots,
    Ca(&'a [u8]),
    Fingerprint([u8; 32]),
    Insecure,
}

fn provider(common: &Common) -> Result<Arc<CryptoProvider>, String> {
    let mut provider = default_provider();
    provider.cipher_suites.clear();
    for &number in common.suites {
        provider
            .cipher_suites
            .push(suite_by_number(number).ok_or_else(|| {
                format!(
                    "the cipher suite 0x{number:04x} is unknown; 0x1301, 0x1302 and 0x1303 exist"
                )
            })?);
    }
    if provider.cipher_suites.is_empty() {
        return Err("no cipher suite is allowed; allow at least one".into());
    }
    provider.kx_groups.clear();
    for &number in common.groups {
        let group: &'static dyn SupportedKxGroup = match number {
            0x001d => kx_group::X25519,
            0x0017 => kx_group::SECP256R1,
            _ => {
                return Err(format!(
                    "the key exchange group 0x{number:04x} is unknown; X25519 (0x001d) and P-256 (0x0017) exist"
                ))
            }
        };
        provider.kx_groups.push(group);
    }
    if provider.kx_groups.is_empty() {
        return Err("no key exchange group is allowed; allow at least one".into());
    }
    Ok(Arc::new(provider))
}

fn alpn(common: &Common) -> Result<Vec<Vec<u8>>, String> {
    let mut names = Vec::new();
    let mut rest = common.alpn;
    while let Some((&length, tail)) = rest.split_first() {
        let length = usize::from(length);
        if length == 0 || length > tail.len() {
            return Err("an application protocol's name has 1 to 255 bytes".into());
        }
        names.push(tail[..length].to_vec());
        rest = &tail[length..];
    }
    if names.is_empty() {
        return Err("no application protocol is given; QUIC requires one (RFC 9001 §8.1)".into());
    }
    Ok(names)
}

#[derive(Debug)]
struct FixedTime(UnixTime);

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

fn time_provider(common: &Common) -> Arc<dyn TimeProvider> {
    match u64::try_from(common.unix_time) {
        Ok(seconds) => Arc::new(FixedTime(UnixTime::since_unix_epoch(Duration::from_secs(
            seconds,
        )))),
        Err(_) => Arc::new(DefaultTimeProvider),
    }
}

/// Hands lines in NSS format to the caller's function. Owns the context: sessions may
/// outlive the configuration that they were made from.
pub struct CallbackKeyLog {
    pub function: KeyLogFn,
    pub context: *mut c_void,
    pub free: Option<FreeFn>,
}

impl Drop for CallbackKeyLog {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the caller gave the context away together with this function.
            unsafe { free(self.context) };
        }
    }
}

// SAFETY: a configuration and its sessions stay in one thread; quasi_tls.h says so.
unsafe impl Send for CallbackKeyLog {}
// SAFETY: as above.
unsafe impl Sync for CallbackKeyLog {}

impl fmt::Debug for CallbackKeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackKeyLog")
    }
}

impl KeyLog for CallbackKeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = String::with_capacity(label.len() + 2 + 2 * (32 + secret.len()));
        line.push_str(label);
        for bytes in [client_random, secret] {
            line.push(' ');
            for byte in bytes {
                for nibble in [byte >> 4, byte & 15] {
                    line.push(char::from_digit(u32::from(nibble), 16).unwrap_or('?'));
                }
            }
        }
        // SAFETY: the context is owned; the line is valid during the call.
        unsafe { (self.function)(self.context, line.as_ptr(), line.len()) };
        let mut line = line.into_bytes();
        crate::keys::wipe(&mut line);
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut out = Vec::new();
    for item in CertificateDer::pem_slice_iter(pem) {
        out.push(item.map_err(|e| format!("{what} is not valid PEM ({e})"))?);
    }
    if out.is_empty() {
        return Err(format!(
            "{what} holds no certificate; a PEM file with a section BEGIN CERTIFICATE is needed"
        ));
    }
    Ok(out)
}

pub fn first_certificate(pem: &[u8]) -> Result<CertificateDer<'static>, String> {
    certificates(pem, "the certificate file").map(|mut list| list.swap_remove(0))
}

/// Accepts a certificate for a reason of its own, then checks the handshake's
/// signature like any other verifier.
#[derive(Debug)]
struct Unchained {
    pin: Option<[u8; 32]>,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
struct PinMismatch {
    presented: [u8; 32],
}

impl fmt::Display for PinMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its SHA-256 fingerprint is ")?;
        for byte in self.presented {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(", which is not the one that is pinned")
    }
}

impl std::error::Error for PinMismatch {}

impl ServerCertVerifier for Unchained {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(pin) = self.pin {
            let presented = crate::sha256(end_entity);
            if presented != pin {
                return Err(Error::InvalidCertificate(CertificateError::Other(
                    OtherError(Arc::new(PinMismatch { presented })),
                )));
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Against authorities, as rustls does it, with one alert set right.
#[derive(Debug)]
struct Chained(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Chained {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.0
            .verify_server_cert(end_entity, intermediates, name, ocsp, now)
            .map_err(|error| match error {
                // An authority of that name is trusted, but another key signed: a
                // self-signed certificate that was made anew looks like this.
                Error::InvalidCertificate(CertificateError::BadSignature) => {
                    CertificateError::UnknownIssuer.into()
                }
                error => error,
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

fn verifier(
    verify: Verify,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    let pin = match verify {
        Verify::PublicRoots => {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            None
        }
        Verify::Ca(pem) => {
            for certificate in certificates(pem, "the file of trusted authorities")? {
                roots.add(certificate).map_err(|e| {
                    format!("a certificate in the file of trusted authorities cannot be used ({e})")
                })?;
            }
            None
        }
        Verify::Fingerprint(pin) => Some(Some(pin)),
        Verify::Insecure => Some(None),
    };
    if let Some(pin) = pin {
        return Ok(Arc::new(Unchained {
            pin,
            algorithms: provider.signature_verification_algorithms,
        }));
    }
    match WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build() {
        Ok(verifier) => Ok(Arc::new(Chained(verifier))),
        Err(e) => Err(format!("the trusted authorities cannot be used ({e})")),
    }
}

pub fn client(common: &Common, verify: Verify) -> Result<Config, String> {
    let provider = provider(common)?;
    let verifier = verifier(verify, &provider)?;
    let mut config = ClientConfig::builder_with_details(provider, time_provider(common))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| format!("the TLS client cannot be set up ({e})"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn(common)?;
    // Tickets are accepted and forgotten until resumption is wanted: a store, its
    // bounds and its 0-RTT rules (RFC 9001 §4.6) belong here.
    config.resumption = Resumption::disabled();
    if let Some(key_log) = &common.key_log {
        config.key_log = key_log.clone();
    }
    Ok(Config::Client(Arc::new(config)))
}

/// Sessions that one process remembers for clients that come back.
const REMEMBERED_SESSIONS: usize = 1024;

pub fn server(
    common: &Common,
    certificate_pem: &[u8],
    key_pem: &[u8],
    session_tickets: u8,
) -> Result<Config, String> {
    let provider = provider(common)?;
    let chain = certificates(certificate_pem, "the certificate file")?;
    let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|e| match e {
        rustls::pki_types::pem::Error::NoItemsFound => {
            "the key file holds no private key; a PEM file with a section BEGIN PRIVATE KEY, without a passphrase, is needed"
                .to_string()
        }
        e => format!("the key file is not valid PEM ({e})"),
    })?;
    let mut config = ServerConfig::builder_with_details(provider, time_provider(common))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| format!("the TLS server cannot be set up ({e})"))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| match e {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                "the private key does not belong to the certificate; give the pair that was issued together"
                    .to_string()
            }
            Error::InvalidCertificate(e) => format!("the certificate cannot be used ({e})"),
            e => format!("the private key cannot be used ({e}); ECDSA (P-256, P-384), Ed25519 and RSA keys can"),
        })?;
    config.alpn_protocols = alpn(common)?;
    config.send_tls13_tickets = usize::from(session_tickets);
    config.session_storage = if session_tickets == 0 {
        Arc::new(NoServerSessionStorage {})
    } else {
        ServerSessionMemoryCache::new(REMEMBERED_SESSIONS)
    };
    config.max_early_data_size = 0;
    if let Some(key_log) = &common.key_log {
        config.key_log = key_log.clone();
    }
    Ok(Config::Server(Arc::new(config)))
}
