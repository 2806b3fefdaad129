//! quinn, a QUIC stack in real use, at both ends of a flow: `quinn-proto`, which does no I/O, driven by simulated time.
//! Only with the feature `quinn`.
//!
//! Without cryptography ([`crypto`]) and with seeded generators every run is reproducible. A source sends a stream
//! without end or of a given number of bytes.

mod crypto;
mod end;
mod transport;

use crate::endpoint::{Cx, Endpoint, OtherEvent, Received, Standing, Transmit};
use crate::scenario::TcpSpec;
use bytes::Bytes;
pub use end::QuinnEnd;
use quinn_proto::{Dir, Event, StreamEvent, StreamId, WriteError};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};

/// One end: a client that opens a connection and sends, or a server that reads.
pub(super) struct QuinnEndpoint {
    end: QuinnEnd,
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
    let of = |end| -> Box<dyn Endpoint> {
        Box::new(QuinnEndpoint {
            end,
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
        })
    };
    QuinnEnd::pair(transport::transport(spec), rng).map(of)
}

impl QuinnEndpoint {
    /// Handles the connection's events, then writes and reads.
    fn pump(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.end.next_event() {
            let Some(connection) = self.end.connection_mut() else { return };
            match event {
                Event::Connected if connection.side().is_client() => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = connection.streams().accept(Dir::Uni)
                }
                Event::Stream(StreamEvent::Finished { .. }) if self.size.is_some() => cx.closed(),
                _ => {}
            }
        }
        let (Some(connection), Some(stream)) = (self.end.connection_mut(), self.stream) else { return };
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
        let (Some(connection), Some(id)) = (self.end.connection_mut(), self.stream) else { return };
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
}

impl Endpoint for QuinnEndpoint {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.end.connect(cx.now(), cx.peer()) {
            cx.offered(self.size.unwrap_or(0));
            self.pump(cx);
        }
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        self.end.on_datagram(cx.now(), datagram);
        self.pump(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.end.on_timeout(cx.now());
        self.pump(cx);
    }

    fn on_other(&mut self, cx: &mut Cx<'_>, event: OtherEvent) {
        self.is_stopped |= event == OtherEvent::Stop;
        self.pump(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = self.end.poll_transmit(now, into)?;
        Some(Transmit { ecn: if self.ecn { transmit.ecn } else { Ecn::NotEct }, ..transmit })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.end.timeout()
    }

    fn standing(&self) -> Standing {
        let delivered = Some(self.read);
        let Some(connection) = self.end.connection() else { return Standing { delivered, ..Standing::default() } };
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
