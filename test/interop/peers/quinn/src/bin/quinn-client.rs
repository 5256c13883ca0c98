//! Fetches URLs of one server over HTTP/0.9 (ALPN hq-interop), all on one connection.
//!
//!   quinn-client URL... [--output FILE]... (--ca PEM | --insecure) [--cipher SUITE]
//!                [--sha256] [--key-update-every BYTES] [--small-mtu] [--max-seconds S]
//!
//! Without an --output (one a URL, in order) the content is discarded. Prints a line FILE
//! for each URL and then RESULT; the CPU time there is that of the whole process.
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn_peer::{Options, Outcome};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

fn main() {
    let options = Options::parse(
        &["output", "ca", "cipher", "key-update-every", "max-seconds"],
        &["insecure", "sha256", "small-mtu"],
    );
    quinn_peer::main_with("quinn-client", options, fetch_all);
}

/// Accepts every certificate (`--insecure`).
#[derive(Debug)]
struct Anything(rustls::crypto::CryptoProvider);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not for QUIC".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

struct Url {
    host: String,
    address: SocketAddr,
    path: String,
}

fn parse_url(text: &str) -> Outcome<Url> {
    let wrong = || format!("{text} is not of the form https://host:port/path");
    let rest = text.strip_prefix("https://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_at(rest.find('/').ok_or_else(wrong)?);
    let (host, _) = authority.rsplit_once(':').ok_or_else(wrong)?;
    let address = authority.to_socket_addrs()?.next().ok_or_else(wrong)?;
    Ok(Url {
        host: host.trim_matches(['[', ']']).to_owned(),
        address,
        path: path.to_owned(),
    })
}

fn client_config(options: &Options) -> Outcome<quinn::ClientConfig> {
    let (provider, initial) = quinn_peer::crypto(options.get("cipher"))?;
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut tls = if options.has("insecure") {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anything(provider)))
            .with_no_client_auth()
    } else {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(options.required("ca")?)? {
            roots.add(certificate?)?;
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    tls.alpn_protocols = vec![quinn_peer::ALPN.to_vec()];
    let crypto = QuicClientConfig::with_initial(Arc::new(tls), initial)?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(quinn_peer::transport(options)?));
    Ok(config)
}

async fn fetch_all(options: Arc<Options>) -> Outcome<()> {
    let urls = options
        .positional
        .iter()
        .map(|text| parse_url(text))
        .collect::<Outcome<Vec<_>>>()?;
    let first = urls.first().ok_or("a URL is needed")?;
    let local: SocketAddr = match first.address {
        SocketAddr::V4(_) => "0.0.0.0:0".parse()?,
        SocketAddr::V6(_) => "[::]:0".parse()?,
    };
    let endpoint = quinn::Endpoint::new(
        quinn_peer::endpoint_config(&options)?,
        None,
        quinn_peer::socket(local)?,
        Arc::new(quinn::TokioRuntime),
    )?;
    let started = std::time::Instant::now();
    let connection = endpoint
        .connect_with(client_config(&options)?, first.address, &first.host)?
        .await?;
    let mut tasks = Vec::new();
    for (index, url) in urls.iter().enumerate() {
        let output = options.all("output").get(index).cloned();
        let task = fetch(
            connection.clone(),
            url.path.clone(),
            output,
            options.clone(),
        );
        tasks.push(tokio::spawn(task));
    }
    let mut total = 0;
    let mut updates = 0;
    for task in tasks {
        let (bytes, key_updates) = task.await??;
        total += bytes;
        updates += key_updates;
    }
    let seconds = started.elapsed().as_secs_f64();
    let stats = connection.stats();
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    println!(
        "RESULT bytes={total} secs={seconds:.4} mbps={:.1} cpu_ms_per_gib={:.1} key_updates={updates} \
         rx_datagrams={} rx_calls={} tx_datagrams={}",
        total as f64 * 8e-6 / seconds,
        quinn_peer::cpu_seconds() * 1e3 / (total as f64 / f64::from(1 << 30)),
        stats.udp_rx.datagrams,
        stats.udp_rx.ios,
        stats.udp_tx.datagrams,
    );
    Ok(())
}

/// Fetches one path; returns its bytes and how often the keys were updated meanwhile.
async fn fetch(
    connection: quinn::Connection,
    path: String,
    output: Option<String>,
    options: Arc<Options>,
) -> Outcome<(u64, u64)> {
    let every = options.number("key-update-every", u64::MAX)?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(format!("GET {path}\r\n").as_bytes()).await?;
    send.finish()?;
    let mut file = None;
    let mut digest = options
        .has("sha256")
        .then(|| ring::digest::Context::new(&ring::digest::SHA256));
    let mut bytes = 0u64;
    let mut updates = 0;
    let mut chunks: [bytes::Bytes; 32] = Default::default();
    while let Some(count) = receive
        .read_chunks(&mut chunks)
        .await
        .map_err(|error| format!("{path}: {error}"))?
    {
        for chunk in &mut chunks[..count] {
            bytes += chunk.len() as u64;
            if let Some(digest) = &mut digest {
                digest.update(chunk);
            }
            if let Some(name) = &output {
                // Made when there is something to write: a refused path leaves no file.
                let file = match &mut file {
                    Some(file) => file,
                    none => none.insert(std::fs::File::create(name)?),
                };
                std::io::Write::write_all(file, chunk)?;
            }
            *chunk = Default::default();
        }
        if bytes / every > updates {
            connection.force_key_update();
            updates += 1;
        }
    }
    if let (None, Some(name)) = (&file, &output) {
        std::fs::File::create(name)?;
    }
    let digest = digest.map_or(String::new(), |digest| {
        format!(" sha256={}", quinn_peer::hex(digest.finish().as_ref()))
    });
    println!("FILE {path} bytes={bytes}{digest}");
    Ok((bytes, updates))
}
