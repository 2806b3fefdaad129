//! Set-up of both ends: TLS with a fixed certificate, random numbers of the simulation, and events that are counted.

use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::event::events::{self, CongestionSource, Frame};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};
use s2n_quic::provider::io::testing::{self, Handle};
use s2n_quic::provider::random::{Generator, Provider};
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The certificate is an input: another key makes other handshake messages, so other decisions. Ed25519 signatures have
/// one length.
const CERTIFICATE: &[u8] = include_bytes!("../cert.der");
const KEY: &[u8] = include_bytes!("../key.der");

pub fn server(handle: &Handle) -> testing::Result<Server> {
    let tls = rustls::Server::builder().with_certificate(CERTIFICATE, KEY).expect("it is valid").build();
    let tls = tls.expect("it has a certificate");
    let io = handle.builder().build()?;
    Ok(Server::builder().with_io(io)?.with_tls(tls)?.with_random(Random)?.start()?)
}

/// Congestion control of the client; CUBIC is s2n-quic's default.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    Cubic,
    Bbr,
}

pub fn client(handle: &Handle, control: Control, counters: Arc<Counters>) -> testing::Result<Client> {
    let tls = rustls::Client::builder().with_certificate(CERTIFICATE).expect("it is valid").build();
    let tls = tls.expect("it has a certificate");
    let io = handle.builder().build()?;
    let builder = Client::builder().with_io(io)?.with_tls(tls)?.with_random(Random)?;
    let builder = builder.with_event(Events(counters))?;
    Ok(match control {
        Control::Cubic => builder.with_congestion_controller(Cubic::default())?.start()?,
        Control::Bbr => builder.with_congestion_controller(Bbr::default())?.start()?,
    })
}

/// Random numbers of the simulation, which its seed determines.
struct Random;

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        testing::rand::fill_bytes(dest);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        testing::rand::fill_bytes(dest);
    }
}

impl Provider for Random {
    type Generator = Self;
    type Error = Infallible;

    fn start(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

/// Events of the client's connection.
#[derive(Default)]
pub struct Counters {
    /// Packets with CE that the peer has reported in acknowledgments.
    pub ce: AtomicU64,
    /// Congestion events by their source, CE or loss.
    pub marked: AtomicU64,
    pub lost: AtomicU64,
}

struct Events(Arc<Counters>);

impl Subscriber for Events {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_frame_received(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::FrameReceived) {
        if let Frame::Ack { ecn_counts: Some(counts), .. } = &event.frame {
            self.0.ce.fetch_max(counts.ce_count, Relaxed);
        }
    }

    fn on_congestion(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::Congestion) {
        let counter = match event.source {
            CongestionSource::Ecn { .. } => &self.0.marked,
            _ => &self.0.lost,
        };
        counter.fetch_add(1, Relaxed);
    }
}
