//! Packet protection keys as bytes. rustls derives them (RFC 9001 §5) and hands
//! them to a `quic::Algorithm`; the one here keeps the bytes instead of a cipher
//! and gives them out through the trait's own methods. No packet is encrypted in
//! Rust, and no HKDF label is written outside rustls.

use std::sync::OnceLock;

use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::ring::cipher_suite;
use rustls::quic::{
    Algorithm, DirectionalKeys, HeaderProtectionKey, Keys, PacketKey, PacketKeySet, Tag, Version,
};
use rustls::{CipherSuite, CipherSuiteCommon, Error, Side, SupportedCipherSuite, Tls13CipherSuite};

const KEY: usize = 32;
const IV: usize = 12;

/// Same layout as `qt_traffic_keys` in quasi_tls.h.
#[repr(C)]
#[derive(Clone)]
pub struct TrafficKeys {
    pub suite: u16,
    pub key_length: u8,
    pub key: [u8; KEY],
    pub iv: [u8; IV],
    pub header: [u8; KEY],
}

/// Same layout as `qt_key_pair`.
#[repr(C)]
#[derive(Clone)]
pub struct KeyPair {
    pub local: TrafficKeys,
    pub remote: TrafficKeys,
}

struct Capture {
    key_length: usize,
}

struct CapturedPacketKey {
    key: AeadKey,
    iv: Iv,
}

struct CapturedHeaderKey {
    key: AeadKey,
}

impl Algorithm for Capture {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(CapturedPacketKey { key, iv })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(CapturedHeaderKey { key })
    }

    fn aead_key_len(&self) -> usize {
        self.key_length
    }
}

impl PacketKey for CapturedPacketKey {
    /// Writes the key and the IV into a `payload` of exactly KEY + IV bytes.
    fn encrypt_in_place(&self, _: u64, _: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        let key = self.key.as_ref();
        if payload.len() != KEY + IV || key.len() > KEY {
            return Err(Error::EncryptError);
        }
        payload[..key.len()].copy_from_slice(key);
        payload[KEY..].copy_from_slice(self.iv.as_ref());
        Ok(Tag::from(&[0u8; 16][..]))
    }

    fn decrypt_in_place<'a>(&self, _: u64, _: &[u8], _: &'a mut [u8]) -> Result<&'a [u8], Error> {
        Err(Error::DecryptError)
    }

    fn tag_len(&self) -> usize {
        16
    }

    // The limits of RFC 9001 §6.6 are kept where packets are protected, not here.
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderProtectionKey for CapturedHeaderKey {
    /// Writes the key into an `out` of exactly KEY bytes.
    fn encrypt_in_place(&self, _: &[u8], _: &mut u8, out: &mut [u8]) -> Result<(), Error> {
        let key = self.key.as_ref();
        if out.len() != KEY || key.len() > KEY {
            return Err(Error::EncryptError);
        }
        out[..key.len()].copy_from_slice(key);
        Ok(())
    }

    fn decrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Err(Error::DecryptError)
    }

    fn sample_len(&self) -> usize {
        16
    }
}

static CAPTURE_128: Capture = Capture { key_length: 16 };
static CAPTURE_256: Capture = Capture { key_length: 32 };

fn key_length(suite: u16) -> u8 {
    if suite == u16::from(CipherSuite::TLS13_AES_128_GCM_SHA256) {
        16
    } else {
        32
    }
}

/// ring's suites, with the capturing algorithm in the place of ring's QUIC ciphers.
fn suites() -> &'static [&'static Tls13CipherSuite; 3] {
    static SUITES: OnceLock<[&'static Tls13CipherSuite; 3]> = OnceLock::new();
    SUITES.get_or_init(|| {
        [
            (cipher_suite::TLS13_AES_128_GCM_SHA256, &CAPTURE_128),
            (cipher_suite::TLS13_AES_256_GCM_SHA384, &CAPTURE_256),
            (cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, &CAPTURE_256),
        ]
        .map(|(suite, capture)| {
            let SupportedCipherSuite::Tls13(base) = suite;
            &*Box::leak(Box::new(Tls13CipherSuite {
                common: CipherSuiteCommon {
                    suite: base.common.suite,
                    hash_provider: base.common.hash_provider,
                    confidentiality_limit: base.common.confidentiality_limit,
                },
                hkdf_provider: base.hkdf_provider,
                aead_alg: base.aead_alg,
                quic: Some(capture),
            }))
        })
    })
}

pub fn suite_by_number(number: u16) -> Option<SupportedCipherSuite> {
    suites()
        .iter()
        .find(|s| u16::from(s.common.suite) == number)
        .map(|s| SupportedCipherSuite::Tls13(s))
}

fn packet_key(suite: u16, key: &dyn PacketKey) -> TrafficKeys {
    let mut bytes = [0u8; KEY + IV];
    let mut keys = TrafficKeys {
        suite,
        key_length: key_length(suite),
        key: [0; KEY],
        iv: [0; IV],
        header: [0; KEY],
    };
    // Ours is the only implementation of the trait in use, and it takes this length.
    if key.encrypt_in_place(0, &[], &mut bytes).is_ok() {
        keys.key.copy_from_slice(&bytes[..KEY]);
        keys.iv.copy_from_slice(&bytes[KEY..]);
    }
    wipe(&mut bytes);
    keys
}

fn directional(suite: u16, keys: &DirectionalKeys) -> TrafficKeys {
    let mut out = packet_key(suite, &*keys.packet);
    let mut first = 0;
    let _ = keys
        .header
        .encrypt_in_place(&[], &mut first, &mut out.header);
    out
}

pub fn pair(suite: u16, keys: &Keys) -> KeyPair {
    KeyPair {
        local: directional(suite, &keys.local),
        remote: directional(suite, &keys.remote),
    }
}

/// Packet keys only: RFC 9001 §6 leaves the header keys as they are.
pub fn packet_pair(suite: u16, keys: &PacketKeySet) -> KeyPair {
    KeyPair {
        local: packet_key(suite, &*keys.local),
        remote: packet_key(suite, &*keys.remote),
    }
}

/// RFC 9001 §5.2: Initial packets always use AES-128-GCM and SHA-256.
pub fn initial(version: Version, client_dcid: &[u8], side: Side) -> KeyPair {
    let suite = suites()[0];
    let keys = Keys::initial(version, suite, &CAPTURE_128, client_dcid, side);
    pair(u16::from(suite.common.suite), &keys)
}

impl Drop for TrafficKeys {
    fn drop(&mut self) {
        wipe(&mut self.key);
        wipe(&mut self.iv);
        wipe(&mut self.header);
    }
}

/// Zeroes `bytes` in a way that the compiler keeps.
pub fn wipe(bytes: &mut [u8]) {
    for byte in bytes.iter_mut() {
        // SAFETY: `byte` is a valid, aligned reference.
        unsafe { std::ptr::write_volatile(byte, 0) };
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
