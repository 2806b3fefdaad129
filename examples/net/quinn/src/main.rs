//! quinn 0.11.12 with rustls on the executor of `sojourn-net`: a hundred streams echoed through 30 % loss.
//! `sojourn-net-quinn 7` runs it with the seed 7.

mod adapter;
mod echo;

use adapter::{Adapter, Socket};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, ServerConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sojourn_net::runtime::{Runtime, block_on};
use sojourn_net::{End, Net, expect};
use std::sync::Arc;

/// The certificate is an input: another key makes other handshake messages, so other decisions. Ed25519 signatures have
/// one length.
const CERTIFICATE: &[u8] = include_bytes!("../cert.der");
const KEY: &[u8] = include_bytes!("../key.der");

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the seed is a number"));
    let net = Net::load(concat!(env!("CARGO_MANIFEST_DIR"), "/world.toml"), seed).expect("the world is valid");
    let ((), report) = block_on(net, |runtime| run(runtime, seed)).expect("the client finishes");
    println!(
        "seed {seed}: {} datagrams, decisions {}, run {}",
        report.datagrams(),
        report.decisions(),
        report.fingerprint()
    );
    expect!(report, "p95(completion, echo) <= 180 s");
    expect!(report, "loss(echo.source) >= 23 % and loss(echo.source) <= 37 %");
}

async fn run(runtime: Runtime, seed: u64) {
    let (source, sink) = runtime.with(|net| net.pair("echo")).expect("it runs").expect("the group is there");
    let (mut client, server) = (endpoint(&runtime, source, seed), endpoint(&runtime, sink, seed));
    client.set_default_client_config(client_config(seed));
    server.set_server_config(Some(server_config()));
    let (to, adapter) = (server.local_addr().expect("it is bound"), Arc::new(Adapter(runtime.clone())));
    runtime.spawn(echo::serve(server, adapter));
    let connection = client.connect(to, "sojourn.test").expect("the address is valid").await.expect("it connects");
    let begun = runtime.now();
    echo::ask(&connection, |_| {
        runtime.with(|net| net.completed(source, begun, echo::BYTES as u64));
    })
    .await;
    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
}

fn endpoint(runtime: &Runtime, end: End, seed: u64) -> Endpoint {
    let socket = Socket(runtime.bind(end, None).expect("the port is free"));
    let mut config = EndpointConfig::default();
    let mut rng = [0; 32];
    rng[..8].copy_from_slice(&seed.to_be_bytes());
    rng[8] = end.side() as u8;
    config.rng_seed(Some(rng));
    let first = seed << 32 | (end.side() as u64) << 31;
    config.cid_generator(move || Box::new(Ids(first)));
    let adapter = Arc::new(Adapter(runtime.clone()));
    Endpoint::new_with_abstract_socket(config, None, Arc::new(socket), adapter).expect("it is bound")
}

fn client_config(seed: u64) -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).expect("the certificate is valid");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let tls = versions.expect("ring has TLS 1.3").with_root_certificates(roots).with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("ring has the initial suite")));
    config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&seed.to_be_bytes())));
    config
}

fn server_config() -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        rustls::ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let (chain, key) = (vec![CertificateDer::from(CERTIFICATE)], PrivateKeyDer::try_from(KEY).expect("PKCS #8"));
    let tls = versions.expect("ring has TLS 1.3").with_no_client_auth().with_single_cert(chain, key);
    let tls = QuicServerConfig::try_from(tls.expect("the key fits")).expect("ring has the initial suite");
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    // Tokens for later connections contain the time of day, so none is sent.
    config.validation_token.sent(0);
    config
}

/// Connection IDs that the seed determines.
struct Ids(u64);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}
