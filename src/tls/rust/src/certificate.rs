//! Self-signed certificates, and fingerprints of certificates that exist.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    date_time_ymd, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::server::ParsedCertificate;

pub struct Made {
    pub certificate_pem: String,
    pub key_pem: String,
    pub certificate_sha256: [u8; 32],
    pub spki_sha256: [u8; 32],
}

/// A day in the far future of certificates; later ones need another encoding.
const LATEST: i64 = 253_402_300_799; // 9999-12-31 23:59:59

/// `names`: one a line. `not_before`: seconds since 1970; negative: an hour ago.
pub fn make(names: &str, days: u32, not_before: i64) -> Result<Made, String> {
    let list: Vec<String> = names
        .lines()
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_string)
        .collect();
    let Some(first) = list.first().cloned() else {
        return Err("a certificate needs at least one name or address".into());
    };
    if days == 0 {
        return Err("a certificate has to be valid for at least one day".into());
    }
    let start = if not_before >= 0 {
        not_before
    } else {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(now) => now.saturating_sub(Duration::from_secs(3_600)).as_secs() as i64,
            Err(_) => return Err("this machine's clock is before 1970; set it".into()),
        }
    };
    let end = start.saturating_add(i64::from(days) * 86_400);
    if end > LATEST {
        return Err("a certificate cannot be valid beyond the year 9999; give fewer days".into());
    }
    let mut params = CertificateParams::new(list).map_err(|e| {
        format!("a name cannot be put into a certificate ({e}); use DNS names and IP addresses")
    })?;
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(start.unsigned_abs());
    params.not_after = epoch + Duration::from_secs(end.unsigned_abs());
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, first);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let cannot = |e: rcgen::Error| format!("the certificate cannot be made ({e})");
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(cannot)?;
    let certificate = params.self_signed(&key).map_err(cannot)?;
    let (certificate_sha256, spki_sha256) = fingerprints_of(certificate.der())?;
    Ok(Made {
        certificate_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
        certificate_sha256,
        spki_sha256,
    })
}

fn fingerprints_of(
    der: &rustls::pki_types::CertificateDer<'_>,
) -> Result<([u8; 32], [u8; 32]), String> {
    let parsed = ParsedCertificate::try_from(der)
        .map_err(|e| format!("the certificate cannot be read ({e})"))?;
    Ok((
        crate::sha256(der),
        crate::sha256(&parsed.subject_public_key_info()),
    ))
}

pub fn fingerprints(pem: &[u8]) -> Result<([u8; 32], [u8; 32]), String> {
    fingerprints_of(&crate::config::first_certificate(pem)?)
}
