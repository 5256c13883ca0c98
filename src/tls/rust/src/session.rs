//! One handshake. CRYPTO bytes are cut into whole TLS messages here, each of which
//! is given to rustls once: so work stays linear however finely a peer slices them,
//! and a message that straddles a key change is seen (RFC 9001 §4.1.3).

use std::collections::VecDeque;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection, KeyChange, Secrets, ServerConnection, Version};
use rustls::{AlertDescription, ClientConfig, ServerConfig};

use crate::failure::{Failure, INTERNAL_ERROR, PROTOCOL_VIOLATION};
use crate::keys::{self, KeyPair};

pub const INITIAL: u8 = 0;
pub const HANDSHAKE: u8 = 2;
pub const ONE_RTT: u8 = 3;

/// RFC 8446 §4: type and 24-bit length.
const MESSAGE_HEADER: usize = 4;
/// Longest message accepted; rustls has the same bound. Certificate chains are the
/// long ones, and rarely exceed 10 KB.
const MAX_MESSAGE: usize = 0xffff;
const CLIENT_HELLO: u8 = 1;
/// Where a ClientHello has the length of its legacy_session_id: after the header,
/// the version and the random.
const SESSION_ID_LENGTH: usize = MESSAGE_HEADER + 2 + 32;

/// Bytes of one level, then the keys that follow them.
pub struct Segment {
    pub level: u8,
    pub bytes: Vec<u8>,
    pub taken: usize,
    pub keys: Option<(u8, KeyPair)>,
}

pub struct Session {
    connection: Connection,
    /// What sentences call the other side.
    peer: String,
    pending: Vec<u8>,
    output: VecDeque<Segment>,
    write_level: u8,
    next: Option<Secrets>,
    failed: bool,
}

impl Session {
    pub fn client(
        config: Arc<ClientConfig>,
        name: &str,
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, String> {
        let server_name = ServerName::try_from(name.to_string())
            .map_err(|_| format!("\"{name}\" is neither a DNS name nor an IP address"))?;
        let connection = ClientConnection::new(config, version, server_name, parameters)
            .map_err(|e| format!("the TLS client cannot be started ({e})"))?;
        Ok(Self::new(connection.into(), name.to_string()))
    }

    pub fn server(
        config: Arc<ServerConfig>,
        version: Version,
        parameters: Vec<u8>,
    ) -> Result<Self, String> {
        let connection = ServerConnection::new(config, version, parameters)
            .map_err(|e| format!("the TLS server cannot be started ({e})"))?;
        Ok(Self::new(connection.into(), "the client".to_string()))
    }

    fn new(connection: Connection, peer: String) -> Self {
        let mut session = Self {
            connection,
            peer,
            pending: Vec::new(),
            output: VecDeque::new(),
            write_level: INITIAL,
            next: None,
            failed: false,
        };
        session.collect_output();
        session
    }

    pub fn is_client(&self) -> bool {
        matches!(self.connection, Connection::Client(_))
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub fn read_level(&self) -> u8 {
        if !self.is_handshaking() {
            ONE_RTT
        } else if self.write_level == INITIAL {
            INITIAL
        } else {
            HANDSHAKE
        }
    }

    pub fn read(&mut self, level: u8, bytes: &[u8]) -> Result<(), Failure> {
        if self.failed {
            return Err(Failure::new(
                INTERNAL_ERROR,
                "the TLS session has failed before and takes nothing more",
            ));
        }
        let result = self.read_messages(level, bytes);
        self.failed = result.is_err();
        result
    }

    fn read_messages(&mut self, level: u8, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let expected = self.read_level();
        if level < expected {
            return Err(self.wrong_level());
        }
        if level > expected {
            return Err(Failure::new(
                INTERNAL_ERROR,
                "handshake data was passed on before its encryption level was reached",
            ));
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = self.message_length(&pending[start..])? {
            let Some(message) = pending.get(start..start + length) else {
                break;
            };
            start += length;
            self.read_message(message)?;
            // RFC 9001 §4.1.3: no data of a level may follow what ends it.
            if start < pending.len() && self.read_level() != level {
                return Err(self.wrong_level());
            }
        }
        pending.drain(..start);
        self.pending = pending;
        Ok(())
    }

    fn wrong_level(&self) -> Failure {
        Failure::new(
            PROTOCOL_VIOLATION,
            format!(
                "{} sent handshake data at an encryption level that is over",
                self.peer
            ),
        )
    }

    /// Length with header, once the header is complete.
    fn message_length(&self, data: &[u8]) -> Result<Option<usize>, Failure> {
        let Some(&[_, a, b, c]) = data.first_chunk::<MESSAGE_HEADER>() else {
            return Ok(None);
        };
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if length > MAX_MESSAGE {
            return Err(Failure::alert(
                AlertDescription::DecodeError,
                format!(
                    "{} sent a TLS message of {length} bytes; 65535 is the limit",
                    self.peer
                ),
            ));
        }
        Ok(Some(MESSAGE_HEADER + length))
    }

    fn read_message(&mut self, message: &[u8]) -> Result<(), Failure> {
        // RFC 9001 §8.4: QUIC has no use for TLS's middlebox compatibility mode.
        if !self.is_client()
            && message[0] == CLIENT_HELLO
            && message.get(SESSION_ID_LENGTH).is_some_and(|&n| n != 0)
        {
            return Err(Failure::new(
                PROTOCOL_VIOLATION,
                format!(
                    "{} asks for TLS's compatibility mode, which QUIC forbids",
                    self.peer
                ),
            ));
        }
        if let Err(error) = self.connection.read_hs(message) {
            return Err(Failure::from_rustls(
                &error,
                self.connection.alert(),
                &self.peer,
                self.is_client(),
            ));
        }
        self.collect_output();
        Ok(())
    }

    /// Moves what rustls wants to send, and the keys it derived, to `output`.
    fn collect_output(&mut self) {
        loop {
            let mut bytes = Vec::new();
            let change = self.connection.write_hs(&mut bytes);
            if bytes.is_empty() && change.is_none() {
                return;
            }
            let level = self.write_level;
            let suite = self.suite();
            let keys = change.map(|change| match change {
                KeyChange::Handshake { keys } => (HANDSHAKE, keys::pair(suite, &keys)),
                KeyChange::OneRtt { keys, next } => {
                    self.next = Some(next);
                    (ONE_RTT, keys::pair(suite, &keys))
                }
            });
            if let Some((next_level, _)) = &keys {
                self.write_level = *next_level;
            }
            self.output.push_back(Segment {
                level,
                bytes,
                taken: 0,
                keys,
            });
        }
    }

    /// The next output, partly or wholly taken by the caller through `Segment::taken`.
    pub fn output(&mut self) -> &mut VecDeque<Segment> {
        &mut self.output
    }

    pub fn next_keys(&mut self) -> Option<KeyPair> {
        let suite = self.suite();
        let set = self.next.as_mut()?.next_packet_keys();
        Some(keys::packet_pair(suite, &set))
    }

    /// 0 until it is agreed.
    pub fn suite(&self) -> u16 {
        self.connection
            .negotiated_cipher_suite()
            .map_or(0, |suite| u16::from(suite.suite()))
    }

    /// 0 until it is agreed.
    pub fn group(&self) -> u16 {
        self.connection
            .negotiated_key_exchange_group()
            .map_or(0, |group| u16::from(group.name()))
    }

    pub fn alpn(&self) -> &[u8] {
        self.connection.alpn_protocol().unwrap_or_default()
    }

    pub fn peer_parameters(&self) -> &[u8] {
        self.connection
            .quic_transport_parameters()
            .unwrap_or_default()
    }

    pub fn server_name(&self) -> &str {
        match &self.connection {
            Connection::Server(server) => server.server_name().unwrap_or_default(),
            Connection::Client(_) => &self.peer,
        }
    }

    pub fn peer_fingerprint(&self) -> Option<[u8; 32]> {
        let certificate = self.connection.peer_certificates()?.first()?;
        Some(crate::sha256(certificate))
    }
}
