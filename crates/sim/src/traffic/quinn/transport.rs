//! Set-up of quinn's ends: parameters, seeds, connection IDs.

use super::crypto::NullSession;
use super::end::QuinnEnd;
use crate::scenario::TcpSpec;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt,
};
use sojourn_aqm::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl QuinnEnd {
    /// The client and the server of a connection, without cryptography and with generators seeded from `rng`.
    #[expect(clippy::disallowed_methods, reason = "epoch of a clock of which only differences are used")]
    pub fn pair(transport: TransportConfig, mut rng: Rng) -> [Self; 2] {
        let transport = Arc::new(transport);
        let mut server = ServerConfig::new(Arc::new(NullSession), Arc::new(NullSession));
        server.transport_config(transport.clone());
        // Tokens for later connections contain the time of day, so none is sent.
        server.validation_token.sent(0);
        let mut client = ClientConfig::new(Arc::new(NullSession));
        let first = rng.next_u64();
        client.transport_config(transport);
        client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first.to_be_bytes())));
        let zero = std::time::Instant::now();
        [
            Self::new(endpoint(None, &mut rng), Some(client), zero),
            Self::new(endpoint(Some(Arc::new(server)), &mut rng), None, zero),
        ]
    }
}

fn endpoint(server: Option<Arc<ServerConfig>>, rng: &mut Rng) -> Endpoint {
    let mut config = EndpointConfig::new(Arc::new(NullSession));
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_be_bytes()));
    config.rng_seed(Some(seed));
    let ids = Arc::new(AtomicU64::new(rng.next_u64()));
    config.cid_generator(move || Box::new(ConnectionIds(ids.clone())));
    Endpoint::new(Arc::new(config), server, true, None)
}

/// Connection IDs derived from the seed.
struct ConnectionIds(Arc<AtomicU64>);

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let id = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        ConnectionId::new(&id.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// quinn's defaults, except that the packet size is fixed (no MTU discovery) and the receive windows never limit.
pub(super) fn transport(spec: &TcpSpec) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let mss = u64::from(spec.mss);
    let initial = spec.initial_window.map_or((10 * mss).min(14_720.max(2 * mss)), |packets| u64::from(packets) * mss);
    let control: Arc<dyn ControllerFactory + Send + Sync> = match spec.cc.text.as_str() {
        "cubic" => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(initial);
            Arc::new(cubic)
        }
        // Its gain cycle starts at a phase that the operating system draws, but the gain reaches only the pacing rate,
        // which quinn-proto 0.11.19 reports and does not use (docs/decisions/quic.md).
        "bbr" => {
            let mut bbr = BbrConfig::default();
            if spec.initial_window.is_some() {
                bbr.initial_window(initial);
            }
            Arc::new(bbr)
        }
        _ => {
            let mut newreno = NewRenoConfig::default();
            newreno.initial_window(initial);
            Arc::new(newreno)
        }
    };
    transport.congestion_controller_factory(control);
    transport.initial_mtu(spec.mss as u16).mtu_discovery_config(None);
    transport.stream_receive_window(VarInt::from_u32(1 << 29)).receive_window(VarInt::from_u32(1 << 29));
    transport.enable_segmentation_offload(false).max_idle_timeout(None);
    transport
}
