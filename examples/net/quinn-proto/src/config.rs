//! Set-up of both ends: TLS with a fixed certificate, seeds, connection IDs.

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, ServerConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sojourn_net::Side;
use std::sync::Arc;

/// The certificate is an input: another key makes other handshake messages, so other decisions. Ed25519 signatures have
/// one length.
const CERTIFICATE: &[u8] = include_bytes!("../cert.der");
const KEY: &[u8] = include_bytes!("../key.der");

/// The endpoint of one side; the sink is the server.
pub fn endpoint(seed: u64, side: Side) -> Endpoint {
    let mut config = EndpointConfig::default();
    let mut rng = [0; 32];
    rng[..8].copy_from_slice(&seed.to_be_bytes());
    rng[8] = side as u8;
    config.rng_seed(Some(rng));
    let first = seed << 32 | (side as u64) << 31;
    config.cid_generator(move || Box::new(Ids(first)));
    let server = (side == Side::Sink).then(|| Arc::new(server()));
    Endpoint::new(Arc::new(config), server, true, None)
}

/// The client's configuration of a connection.
pub fn client(seed: u64) -> ClientConfig {
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

fn server() -> ServerConfig {
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
