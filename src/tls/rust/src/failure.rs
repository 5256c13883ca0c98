//! What rustls says went wrong, as a QUIC error code (RFC 9001 §4.8: CRYPTO_ERROR
//! is 0x0100 + alert) and as one sentence for people that names cause and cure.

use std::fmt::Write;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

pub const INTERNAL_ERROR: u64 = 0x01;
pub const PROTOCOL_VIOLATION: u64 = 0x0a;
const CRYPTO_ERROR: u64 = 0x0100;

pub struct Failure {
    pub code: u64,
    pub text: String,
}

impl Failure {
    pub fn new(code: u64, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    pub fn alert(alert: AlertDescription, text: impl Into<String>) -> Self {
        Self::new(CRYPTO_ERROR + u64::from(u8::from(alert)), text)
    }

    /// `alert`: what rustls would have sent, where it decided that.
    pub fn from_rustls(
        error: &Error,
        alert: Option<AlertDescription>,
        peer: &str,
        is_client: bool,
    ) -> Self {
        let alert = alert.unwrap_or_else(|| default_alert(error));
        Self::alert(alert, sentence(error, peer, is_client))
    }
}

/// For errors that rustls reports without having chosen an alert.
fn default_alert(error: &Error) -> AlertDescription {
    match error {
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            AlertDescription::UnexpectedMessage
        }
        Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge)
        | Error::InvalidMessage(_) => AlertDescription::DecodeError,
        Error::InvalidCertificate(e) => AlertDescription::from(e.clone()),
        Error::NoCertificatesPresented => AlertDescription::CertificateRequired,
        Error::DecryptError => AlertDescription::DecryptError,
        Error::PeerIncompatible(_) => AlertDescription::HandshakeFailure,
        Error::PeerMisbehaved(_) => AlertDescription::IllegalParameter,
        Error::NoApplicationProtocol => AlertDescription::NoApplicationProtocol,
        _ => AlertDescription::InternalError,
    }
}

fn sentence(error: &Error, peer: &str, is_client: bool) -> String {
    match error {
        Error::InvalidCertificate(e) => certificate_sentence(e, peer),
        Error::NoApplicationProtocol if is_client => {
            format!("{peer} speaks none of the application protocols that were offered; check that it serves this protocol on this port")
        }
        Error::NoApplicationProtocol => {
            format!("{peer} offers none of the application protocols that are served here")
        }
        Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon) => {
            format!("{peer} supports none of the cipher suites allowed here; allow more of them")
        }
        Error::PeerIncompatible(PeerIncompatible::NoKxGroupsInCommon) => {
            format!("{peer} supports none of the key exchange groups allowed here; allow X25519 and P-256")
        }
        Error::PeerIncompatible(
            PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => format!("{peer} does not offer TLS 1.3, which QUIC requires"),
        Error::DecryptError => {
            format!("the handshake with {peer} was altered on its way: a check value is wrong")
        }
        Error::InappropriateHandshakeMessage { got_type, .. } => {
            format!("{peer} sent the TLS message {got_type:?} where it is not allowed")
        }
        Error::InvalidMessage(e) => format!("{peer} sent a malformed TLS message ({e:?})"),
        Error::PeerMisbehaved(e) => format!("{peer} broke a rule of TLS ({e:?})"),
        Error::FailedToGetCurrentTime => {
            "the clock cannot be read, so that no certificate can be checked".into()
        }
        Error::FailedToGetRandomBytes => "the host gives no random bytes".into(),
        other => format!("the TLS handshake with {peer} failed: {other}"),
    }
}

fn certificate_sentence(error: &CertificateError, peer: &str) -> String {
    use CertificateError as C;
    match error {
        C::UnknownIssuer => format!(
            "the certificate of {peer} is not signed by a trusted authority; trust the authority that issued it, or pin its fingerprint"
        ),
        C::ExpiredContext { time, not_after } => format!(
            "the certificate of {peer} expired on {}, and it is {} now; the server needs a new one, unless this machine's clock is wrong",
            date(*not_after),
            date(*time)
        ),
        C::Expired => format!("the certificate of {peer} has expired; the server needs a new one"),
        C::NotValidYetContext { time, not_before } => format!(
            "the certificate of {peer} is valid from {} on, and it is {} now; check this machine's clock",
            date(*not_before),
            date(*time)
        ),
        C::NotValidYet => {
            format!("the certificate of {peer} is not valid yet; check this machine's clock")
        }
        C::NotValidForNameContext {
            expected,
            presented,
        } => {
            let mut names = String::new();
            for (i, name) in presented.iter().take(8).enumerate() {
                if i > 0 {
                    names.push_str(", ");
                }
                names.push_str(plain_name(name));
            }
            if names.is_empty() {
                names.push_str("no name at all");
            }
            format!(
                "the certificate presented is not for {} but for {names}; connect by a name that it lists",
                expected.to_str()
            )
        }
        C::NotValidForName => {
            format!("the certificate presented is not for {peer}; connect by a name that it lists")
        }
        C::BadEncoding => format!("the certificate of {peer} is malformed"),
        C::BadSignature => {
            format!("the signature of {peer} in the handshake is wrong: it does not hold the certificate's key, or somebody interferes")
        }
        C::Revoked => format!("the certificate of {peer} has been revoked"),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!("the certificate of {peer} is not meant for servers")
        }
        C::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => format!(
            "the certificate of {peer} is an authority's (CA:TRUE) and cannot serve; issue one with CA:FALSE, or pin its fingerprint"
        ),
        C::Other(other) => format!("the certificate of {peer} was refused: {other}"),
        other => format!("the certificate of {peer} was refused: {other}"),
    }
}

/// rustls lists names as `DnsName("a.example")`; people want a.example.
fn plain_name(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(name);
    inner.trim_matches('"')
}

/// "2026-12-01 03:04 UTC"
fn date(time: UnixTime) -> String {
    let seconds = time.as_secs();
    let (year, month, day) = civil((seconds / 86_400) as i64);
    let mut text = String::new();
    let _ = write!(
        text,
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        seconds % 86_400 / 3_600,
        seconds % 3_600 / 60
    );
    text
}

/// Days since 1970-01-01 to year, month, day of the Gregorian calendar. Years are
/// counted from March, so that the leap day is a year's last: 400 years have
/// 146,097 days, and five months from March have 153.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468; // days from 0000-03-01
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}
