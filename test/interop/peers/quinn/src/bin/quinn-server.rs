//! Serves files over HTTP/0.9 (ALPN hq-interop), and `/bytes/N`, N deterministic bytes.
//!
//!   quinn-server --listen ADDR:PORT --cert PEM --key PEM [--dir DIR] [--cipher SUITE]
//!                [--retry] [--small-mtu] [--max-connections N] [--max-seconds S]
//!
//! Prints `listening on ADDR:PORT`. Ends after so many connections or seconds.
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn_peer::{Failure, Options, Outcome, NOT_FOUND};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const CHUNK: usize = 1 << 20;
/// Unacknowledged data Quinn keeps at most: more than any path here holds.
const SEND_WINDOW: u64 = 64 << 20;

struct Content {
    root: Option<PathBuf>,
    pattern: bytes::Bytes,
}

fn main() {
    let options = Options::parse(
        &[
            "listen",
            "cert",
            "key",
            "dir",
            "cipher",
            "max-connections",
            "max-seconds",
        ],
        &["retry", "small-mtu"],
    );
    quinn_peer::main_with("quinn-server", options, serve);
}

fn server_config(options: &Options) -> Outcome<quinn::ServerConfig> {
    let chain =
        CertificateDer::pem_file_iter(options.required("cert")?)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(options.required("key")?)?;
    let (provider, initial) = quinn_peer::crypto(options.get("cipher"))?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![quinn_peer::ALPN.to_vec()];
    let crypto = QuicServerConfig::with_initial(Arc::new(tls), initial)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = quinn_peer::transport(options)?;
    transport.send_window(SEND_WINDOW);
    config.transport_config(Arc::new(transport));
    Ok(config)
}

async fn serve(options: Arc<Options>) -> Outcome<()> {
    let address: SocketAddr = options.required("listen")?.parse()?;
    let endpoint = quinn::Endpoint::new(
        quinn_peer::endpoint_config(&options)?,
        Some(server_config(&options)?),
        quinn_peer::socket(address)?,
        Arc::new(quinn::TokioRuntime),
    )?;
    let content = Arc::new(Content {
        root: options.get("dir").map(PathBuf::from),
        pattern: quinn_peer::pattern(),
    });
    println!("listening on {}", endpoint.local_addr()?);
    let limit = options.number("max-connections", u64::MAX)?;
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let mut accepted = 0;
    let mut finished = 0;
    while finished < limit {
        tokio::select! {
            incoming = endpoint.accept(), if accepted < limit => {
                let Some(incoming) = incoming else { break };
                if options.has("retry") && !incoming.remote_address_validated() {
                    incoming.retry()?;
                    continue;
                }
                accepted += 1;
                let (content, ended) = (content.clone(), ended.clone());
                tokio::spawn(async move {
                    if let Err(error) = serve_connection(incoming, content).await {
                        eprintln!("quinn-server: {error}");
                    }
                    let _ = ended.send(());
                });
            }
            Some(()) = ends.recv() => finished += 1,
        }
    }
    endpoint.wait_idle().await;
    Ok(())
}

async fn serve_connection(incoming: quinn::Incoming, content: Arc<Content>) -> Outcome<()> {
    let connection = incoming.await?;
    while let Ok((send, receive)) = connection.accept_bi().await {
        let content = content.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(send, receive, &content).await {
                eprintln!("quinn-server: {error}");
            }
        });
    }
    let stats = connection.stats();
    eprintln!(
        "quinn-server: connection over: sent={} lost={} mtu={} rtt={:?}",
        stats.path.sent_packets, stats.path.lost_packets, stats.path.current_mtu, stats.path.rtt
    );
    Ok(())
}

async fn answer(
    mut send: quinn::SendStream,
    mut receive: quinn::RecvStream,
    content: &Content,
) -> Outcome<()> {
    let request = String::from_utf8(receive.read_to_end(8192).await?)?;
    let path = request
        .strip_prefix("GET ")
        .map(|rest| rest.trim_end_matches(['\r', '\n']))
        .ok_or_else(|| format!("{request:?} is no request"))?;
    if let Some(length) = path.strip_prefix("/bytes/") {
        let mut left: usize = length.parse()?;
        let mut block = content.pattern.clone();
        while left > 0 {
            let part = block.split_to(left.min(block.len()));
            left -= part.len();
            send.write_chunk(part).await?;
            if block.is_empty() {
                block = content.pattern.clone();
            }
        }
    } else if let Some(mut file) = open(content, path) {
        loop {
            let mut buffer = vec![0; CHUNK];
            let count = std::io::Read::read(&mut file, &mut buffer)?;
            if count == 0 {
                break;
            }
            buffer.truncate(count);
            send.write_chunk(buffer.into()).await?;
        }
    } else {
        send.reset(NOT_FOUND.into())?;
        return Ok(());
    }
    send.finish()?;
    send.stopped().await.map_err(Failure::from)?;
    Ok(())
}

/// The file of that path below the root, if it is one.
fn open(content: &Content, path: &str) -> Option<std::fs::File> {
    let relative = Path::new(path.strip_prefix('/')?);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let full = content.root.as_ref()?.join(relative);
    (plain && full.is_file())
        .then(|| std::fs::File::open(full).ok())
        .flatten()
}
