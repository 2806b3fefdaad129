//! quinn, a QUIC stack in real use, at both ends of a flow: `quinn-proto`, which does no I/O, driven by simulated time.
//! Only with the feature `quinn`.
//!
//! Without cryptography ([`crypto`]) and with seeded generators every run is reproducible. A source sends a stream
//! without end or of a given number of bytes.

mod crypto;
mod transport;

use crate::endpoint::{Cx, Endpoint, OtherEvent, Received, Standing, Transmit};
use crate::scenario::TcpSpec;
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, StreamEvent, StreamId,
    WriteError,
};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
pub use transport::QuinnSetup;

/// One end: a client that opens a connection and sends, or a server that reads.
pub(super) struct QuinnEndpoint {
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Configuration of the client's connection, until it opens it.
    client: Option<ClientConfig>,
    /// The real time that represents the start of the run; only differences to it matter.
    zero: std::time::Instant,
    ecn: bool,
    mss: u32,
    stream: Option<StreamId>,
    /// Size of the transfer, if it has one; bytes written and read so far.
    size: Option<u64>,
    written: u64,
    read: u64,
    begun: Instant,
    /// Whether the stream has been finished, the transfer reported, and the client's application stopped.
    is_finished: bool,
    is_reported: bool,
    is_stopped: bool,
}

/// The client and the server of a connection; both draw from `rng`.
pub(super) fn pair(spec: &TcpSpec, begun: Instant, size: Option<u64>, rng: Rng) -> [Box<dyn Endpoint>; 2] {
    let QuinnSetup { client, endpoints, zero } = QuinnSetup::of(spec, rng);
    let of = |endpoint, client| QuinnEndpoint {
        endpoint,
        connection: None,
        client,
        zero,
        ecn: spec.ecn,
        mss: spec.mss,
        stream: None,
        size,
        written: 0,
        read: 0,
        begun,
        is_finished: false,
        is_reported: false,
        is_stopped: false,
    };
    let [source, sink] = endpoints;
    [Box::new(of(source, Some(client))), Box::new(of(sink, None))]
}

impl QuinnEndpoint {
    fn at(&self, now: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(now.as_nanos())
    }

    /// Handles the connection's events, then writes and reads.
    fn pump(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.next_event() {
            let Some((_, connection)) = &mut self.connection else { return };
            match event {
                Event::Connected if connection.side().is_client() => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = connection.streams().accept(Dir::Uni)
                }
                Event::Stream(StreamEvent::Finished { .. }) if self.size.is_some() => cx.closed(),
                _ => {}
            }
        }
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else { return };
        if connection.side().is_server() {
            self.read(cx);
        } else if !self.is_finished {
            let size = if self.is_stopped { self.written } else { self.size.unwrap_or(u64::MAX) };
            let mut stream = connection.send_stream(stream);
            while self.written < size {
                let max = (size - self.written).min(ZEROS.len() as u64) as usize;
                match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..max])]) {
                    Ok(written) => self.written += written.bytes as u64,
                    Err(WriteError::Blocked) => return,
                    Err(error) => unreachable!("no end stops the stream: {error}"),
                }
            }
            self.is_finished = true;
            stream.finish().expect("it was not finished before");
        }
    }

    /// Reads all that has arrived in order.
    fn read(&mut self, cx: &mut Cx<'_>) {
        let (Some((_, connection)), Some(id)) = (&mut self.connection, self.stream) else { return };
        let mut stream = connection.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.read += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
        if !self.is_reported && self.size.is_some_and(|size| self.read >= size) {
            self.is_reported = true;
            cx.completed(self.begun, self.read);
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
}

impl Endpoint for QuinnEndpoint {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        let Some(config) = self.client.take() else { return };
        cx.offered(self.size.unwrap_or(0));
        let connected = self.endpoint.connect(self.at(cx.now()), config, cx.peer(), "sojourn");
        self.connection = Some(connected.expect("the address is valid"));
        self.pump(cx);
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        let (now, mut response) = (self.at(cx.now()), Vec::new());
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        match self.endpoint.handle(now, datagram.from, None, ecn, BytesMut::from(datagram.bytes), &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                let (_, connection) = self.connection.as_mut().expect("the endpoint has one connection");
                connection.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("the connection was accepted"));
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.pump(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = self.at(cx.now());
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.pump(cx);
    }

    fn on_other(&mut self, cx: &mut Cx<'_>, event: OtherEvent) {
        self.is_stopped |= event == OtherEvent::Stop;
        self.pump(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let now = self.at(now);
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, into)?;
        into.truncate(transmit.size);
        let ecn = transmit.ecn.filter(|_| self.ecn).map_or(Ecn::NotEct, |codepoint| Ecn::ALL[codepoint as usize]);
        Some(Transmit { ecn, ..Transmit::to(transmit.destination) })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        let (_, connection) = self.connection.as_mut()?;
        let due = connection.poll_timeout()?.saturating_duration_since(self.zero);
        Some(Instant::from_nanos(due.as_nanos() as u64))
    }

    fn standing(&self) -> Standing {
        let delivered = Some(self.read);
        let Some((_, connection)) = &self.connection else { return Standing { delivered, ..Standing::default() } };
        let path = connection.stats().path;
        Standing {
            delivered,
            cwnd: Some(path.cwnd as f64 / f64::from(self.mss)),
            srtt: Some(Duration::from_nanos(path.rtt.as_nanos() as i64)),
            lost: path.lost_packets,
            ..Standing::default()
        }
    }
}

/// The application's data.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
