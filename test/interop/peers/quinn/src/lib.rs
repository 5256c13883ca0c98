//! What server and client share: options, suites, sockets, deterministic content, CPU time.
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::CipherSuite;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Outcome<T> = Result<T, Failure>;

pub const ALPN: &[u8] = b"hq-interop";
/// Application error code of a stream whose file does not exist.
pub const NOT_FOUND: u32 = 404;
/// Receive and send buffers of the socket, in bytes.
static SOCKET_BUFFER: libc::c_int = 8 << 20;

/// Options of the form `--name value` (or a bare `--name` for those in `flags`), and the rest.
pub struct Options {
    values: HashMap<String, Vec<String>>,
    pub positional: Vec<String>,
}

impl Options {
    pub fn parse(known: &[&str], flags: &[&str]) -> Outcome<Self> {
        let mut options = Options {
            values: HashMap::new(),
            positional: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let Some(name) = argument.strip_prefix("--") else {
                options.positional.push(argument);
                continue;
            };
            let value = if flags.contains(&name) {
                String::new()
            } else if known.contains(&name) {
                arguments
                    .next()
                    .ok_or_else(|| format!("--{name} needs a value"))?
            } else {
                return Err(format!("there is no option --{name}").into());
            };
            options
                .values
                .entry(name.to_owned())
                .or_default()
                .push(value);
        }
        Ok(options)
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.last().map(String::as_str)
    }

    pub fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn required(&self, name: &str) -> Outcome<&str> {
        self.get(name)
            .ok_or_else(|| format!("--{name} is needed").into())
    }

    pub fn number(&self, name: &str, default: u64) -> Outcome<u64> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("--{name} takes a whole number").into()),
        }
    }
}

/// ring with only the wanted suite (all when there is none), and the suite of Initial packets.
pub fn crypto(cipher: Option<&str>) -> Outcome<(CryptoProvider, rustls::quic::Suite)> {
    let mut provider = rustls::crypto::ring::default_provider();
    let initial = provider
        .cipher_suites
        .iter()
        .find(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
        .and_then(|suite| suite.tls13()?.quic_suite())
        .ok_or("ring has no AES-128-GCM")?;
    let wanted = match cipher {
        None => return Ok((provider, initial)),
        Some("aes128gcm") => CipherSuite::TLS13_AES_128_GCM_SHA256,
        Some("aes256gcm") => CipherSuite::TLS13_AES_256_GCM_SHA384,
        Some("chacha20") => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        Some(other) => return Err(format!("{other} is no suite").into()),
    };
    provider
        .cipher_suites
        .retain(|suite| suite.suite() == wanted);
    Ok((provider, initial))
}

/// A UDP socket with large buffers: beyond the system's limit where we may.
pub fn socket(address: SocketAddr) -> Outcome<std::net::UdpSocket> {
    use std::os::fd::AsRawFd;
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
    socket.set_recv_buffer_size(SOCKET_BUFFER as usize)?;
    socket.set_send_buffer_size(SOCKET_BUFFER as usize)?;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        // SAFETY: the option takes a pointer to one int, which outlives the call. Without the
        // privilege it fails, and what was set above stays.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const SOCKET_BUFFER).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Transport settings of both sides; everything else is as Quinn has it.
pub fn transport(options: &Options) -> Outcome<quinn::TransportConfig> {
    let mut transport = quinn::TransportConfig::default();
    transport.max_idle_timeout(Some(std::time::Duration::from_secs(20).try_into()?));
    if options.has("small-mtu") {
        transport.mtu_discovery_config(None);
    }
    Ok(transport)
}

pub fn endpoint_config(options: &Options) -> Outcome<quinn::EndpointConfig> {
    let mut config = quinn::EndpointConfig::default();
    if options.has("small-mtu") {
        config.max_udp_payload_size(1200)?;
    }
    Ok(config)
}

/// CPU time of this process, user and system, in seconds.
pub fn cpu_seconds() -> f64 {
    // SAFETY: rusage is plain data, and getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The content of `/bytes/N` is this block over and over: xorshift64 from the seed below,
/// little-endian. Its length is prime, so that displaced data never look right.
pub fn pattern() -> bytes::Bytes {
    const LENGTH: usize = 1_048_573;
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut block = Vec::with_capacity(LENGTH + 8);
    while block.len() < LENGTH {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend_from_slice(&state.to_le_bytes());
    }
    block.truncate(LENGTH);
    block.into()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs the program on one thread, for at most `--max-seconds`; exits 1 with a sentence.
pub fn main_with<F>(program: &str, options: Outcome<Options>, body: impl FnOnce(Arc<Options>) -> F)
where
    F: std::future::Future<Output = Outcome<()>>,
{
    let ran = options.and_then(|options| {
        let limit = std::time::Duration::from_secs(options.number("max-seconds", 60)?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let options = Arc::new(options);
        runtime.block_on(async {
            match tokio::time::timeout(limit, body(options)).await {
                Ok(result) => result,
                Err(_) => Err(format!("not done after {} s", limit.as_secs()).into()),
            }
        })
    });
    if let Err(error) = ran {
        eprintln!("{program}: {error}");
        std::process::exit(1);
    }
}
