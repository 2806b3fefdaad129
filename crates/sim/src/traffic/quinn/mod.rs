//! quinn, a QUIC stack in real use, at both ends of a flow: `quinn-proto`, which does no I/O, driven by simulated time.
//! Only with the feature `quinn`.
//!
//! Datagrams are real: their bytes wait at their sender until their packet arrives; the packet's header has the
//! datagram's number in `seq`. Without cryptography ([`crypto`]) and with seeded generators every run is reproducible.

mod crypto;

use super::host::{Endpoints, Host};
use crate::packet::ReceivedPacket;
use crate::scenario::TcpSpec;
use crate::status::{Payload, Status};
use bytes::{Bytes, BytesMut};
use crypto::NullSession;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint,
    Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};
use sojourn_aqm::{Ecn, Instant, Rng};
use sojourn_tcp::Header;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A connection whose source sends, without end or a given number of bytes.
pub(crate) struct QuinnFlow {
    /// Whether this is a transfer whose connection has not closed yet.
    open: bool,
    start: Instant,
    stop: Instant,
    goal: u64,
    begun: Instant,
    size: Option<u64>,
    /// The real time that represents the start of the run; only differences to it matter.
    zero: std::time::Instant,
    ecn: bool,
    config: ClientConfig,
    client: QuinnEndpoint,
    server: QuinnEndpoint,
    stream: Option<StreamId>,
    /// Bytes that the application has written, and whether it has finished the stream.
    written: u64,
    finished: bool,
    read: u64,
    mss: u32,
}

/// One end.
struct QuinnEndpoint {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams in flight that it has sent, and the number of the first.
    datagrams: VecDeque<Option<BytesMut>>,
    first: u64,
    /// When its timer is due.
    due: Instant,
}

impl QuinnFlow {
    /// A connection that is opened at `start` for `size` bytes, or without end; both ends draw from `rng`.
    #[expect(clippy::disallowed_methods, reason = "epoch of a clock of which only differences are used")]
    pub fn new(spec: &TcpSpec, (start, stop): (Instant, Instant), size: Option<u64>, mut rng: Rng) -> Self {
        let transport = Arc::new(transport(spec));
        let mut server = ServerConfig::new(Arc::new(NullSession), Arc::new(NullSession));
        server.transport_config(transport.clone());
        // Tokens for later connections contain the time of day, so none is sent.
        server.validation_token.sent(0);
        let mut config = ClientConfig::new(Arc::new(NullSession));
        let first = rng.next_u64();
        config.transport_config(transport);
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first.to_be_bytes())));
        Self {
            open: size.is_some(),
            start,
            stop,
            goal: size.unwrap_or(OUT_OF_REACH),
            begun: start,
            size,
            zero: std::time::Instant::now(),
            ecn: spec.ecn,
            config,
            client: QuinnEndpoint::new(None, &mut rng),
            server: QuinnEndpoint::new(Some(Arc::new(server)), &mut rng),
            stream: None,
            written: 0,
            finished: false,
            read: 0,
            mss: spec.mss,
        }
    }

    /// Handles the client's events, writes and sends.
    fn pump_client(&mut self, now: Instant, host: &mut impl Host) {
        let at = self.at(now);
        while let Some(event) = self.client.next_event() {
            match event {
                Event::Connected => {
                    let (_, connection) = self.client.connection.as_mut().expect("it has an event");
                    self.stream = connection.streams().open(Dir::Uni);
                }
                Event::Stream(StreamEvent::Finished { .. }) if self.open => {
                    self.open = false;
                    host.closed();
                }
                _ => {}
            }
        }
        self.write(now);
        self.client.send(at, self.ecn, self.zero, host);
    }

    /// Writes as much as the connection accepts.
    fn write(&mut self, now: Instant) {
        if self.finished {
            return;
        }
        let (Some((_, connection)), Some(stream)) = (&mut self.client.connection, self.stream) else { return };
        let size = if now >= self.stop { self.written } else { self.size.unwrap_or(u64::MAX) };
        let mut stream = connection.send_stream(stream);
        while self.written < size {
            let max = (size - self.written).min(ZEROS.len() as u64) as usize;
            match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..max])]) {
                Ok(written) => self.written += written.bytes as u64,
                Err(WriteError::Blocked) => return,
                Err(error) => unreachable!("no end stops the stream: {error}"),
            }
        }
        self.finished = true;
        stream.finish().expect("it was not finished before");
    }

    /// Handles the server's events, reads and sends.
    fn pump_server(&mut self, now: Instant, host: &mut impl Host) {
        let at = self.at(now);
        while self.server.next_event().is_some() {}
        if let Some((_, connection)) = &mut self.server.connection {
            if self.stream.is_some() {
                connection.streams().accept(Dir::Uni);
            }
            if let Some(id) = self.stream {
                let mut stream = connection.recv_stream(id);
                if let Ok(mut chunks) = stream.read(true) {
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        self.read += chunk.bytes.len() as u64;
                    }
                    let _ = chunks.finalize();
                }
            }
        }
        self.server.send(at, self.ecn, self.zero, host);
        if self.open && self.read >= self.goal {
            self.goal = OUT_OF_REACH;
            host.completed(self.begun, self.read);
        }
    }

    fn at(&self, now: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(now.as_nanos())
    }
}

impl QuinnEndpoint {
    fn new(server: Option<Arc<ServerConfig>>, rng: &mut Rng) -> Self {
        let mut config = EndpointConfig::new(Arc::new(NullSession));
        let mut seed = [0; 32];
        seed.chunks_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_be_bytes()));
        config.rng_seed(Some(seed));
        let ids = Arc::new(AtomicU64::new(rng.next_u64()));
        config.cid_generator(move || Box::new(ConnectionIds(ids.clone())));
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, false, None),
            connection: None,
            datagrams: VecDeque::new(),
            first: 0,
            due: Instant::NEVER,
        }
    }

    /// Receives a datagram from the other end.
    fn take(&mut self, now: std::time::Instant, ecn: Ecn, data: BytesMut) {
        let mut response = Vec::new();
        let codepoint = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        match self.endpoint.handle(now, PEER, None, codepoint, data, &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                let (_, connection) = self.connection.as_mut().expect("the endpoint has one connection");
                connection.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = Some(
                    self.endpoint
                        .accept(incoming, now, &mut response, None)
                        .map_err(|e| e.cause)
                        .expect("the connection was accepted"),
                );
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// The next event of the connection, after its events for the endpoint have been handled.
    fn next_event(&mut self) -> Option<Event> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(response) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(response);
            }
        }
        connection.poll()
    }

    /// Sends the connection's pending datagrams, and sets the timer.
    fn send(&mut self, now: std::time::Instant, ecn: bool, zero: std::time::Instant, host: &mut impl Host) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut datagram = Vec::new();
        while host.has_room() {
            datagram.clear();
            let Some(transmit) = connection.poll_transmit(now, 1, &mut datagram) else { break };
            let codepoint = match transmit.ecn.filter(|_| ecn) {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let header = Header { seq: self.first + self.datagrams.len() as u64, ..Header::default() };
            self.datagrams.push_back(Some(BytesMut::from(&datagram[..transmit.size])));
            host.transmit(&header, transmit.size as u32 + UDP_IP, codepoint);
        }
        let due = connection.poll_timeout().map(|at| at.saturating_duration_since(zero).as_nanos() as u64);
        self.due = due.map_or(Instant::NEVER, Instant::from_nanos);
    }

    /// The bytes of a sent datagram that arrives; none if it has arrived before or was dropped as too old.
    fn arrived(&mut self, number: u64) -> Option<BytesMut> {
        let index = number.checked_sub(self.first)?;
        let datagram = self.datagrams.get_mut(index as usize)?.take();
        while matches!(self.datagrams.front(), Some(None)) || self.datagrams.len() as u64 > KEPT {
            self.datagrams.pop_front();
            self.first += 1;
        }
        datagram
    }

    /// Runs the timer if it is due.
    fn expire(&mut self, at: Instant, now: std::time::Instant) {
        if self.due <= at {
            if let Some((_, connection)) = &mut self.connection {
                connection.handle_timeout(now);
            }
        }
    }
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
fn transport(spec: &TcpSpec) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let mss = u64::from(spec.mss);
    let initial = spec.initial_window.map_or((10 * mss).min(14_720.max(2 * mss)), |packets| u64::from(packets) * mss);
    let control: Arc<dyn ControllerFactory + Send + Sync> = match spec.cc.text.as_str() {
        "cubic" => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(initial);
            Arc::new(cubic)
        }
        // No BBR: the scenario rejects it, because quinn-proto 0.11.19 draws its phase from the operating system.
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

impl Endpoints for QuinnFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        let at = self.at(now);
        if now >= self.start {
            self.start = Instant::NEVER;
            host.offered(self.size.unwrap_or(0));
            let connected = self.client.endpoint.connect(at, self.config.clone(), PEER, "sojourn");
            self.client.connection = Some(connected.expect("the address is valid"));
        }
        self.client.expire(now, at);
        self.pump_client(now, host);
        if now >= self.stop {
            self.stop = Instant::NEVER;
        }
    }

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        let at = self.at(now);
        self.server.expire(now, at);
        self.pump_server(now, host);
    }

    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        match at_source {
            true => self.pump_client(now, host),
            false => self.pump_server(now, host),
        }
    }

    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        let Some(data) = self.client.arrived(header.seq) else { return };
        let at = self.at(now);
        self.server.take(at, packet.ecn, data);
        self.pump_server(now, host);
    }

    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        let Some(data) = self.server.arrived(header.seq) else { return };
        let at = self.at(now);
        self.client.take(at, packet.ecn, data);
        self.pump_client(now, host);
    }

    fn source_deadline(&self) -> Instant {
        let stop = if self.stream.is_some() { self.stop } else { Instant::NEVER };
        self.client.due.min(self.start).min(stop)
    }

    fn sink_deadline(&self) -> Instant {
        self.server.due
    }

    fn status(&self) -> Status {
        let nan = f64::NAN;
        let payload = Payload { arrived: self.read, delivered: self.read };
        let Some((_, connection)) = &self.client.connection else {
            return Status { payload, cwnd: nan, ssthresh: nan, srtt_ms: nan, ..Status::default() };
        };
        let path = connection.stats().path;
        Status {
            payload,
            sent: path.sent_packets,
            retransmissions: path.lost_packets,
            cwnd: path.cwnd as f64 / f64::from(self.mss),
            ssthresh: nan,
            srtt_ms: path.rtt.as_secs_f64() * 1e3,
            ..Status::default()
        }
    }
}

/// The application's data.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The address of the peer, for both ends.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4433);

/// IPv4 and UDP headers.
const UDP_IP: u32 = 28;

/// Maximum number of datagrams in flight.
const KEPT: u64 = 1 << 20;

const OUT_OF_REACH: u64 = u64::MAX;
