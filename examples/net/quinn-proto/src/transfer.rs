//! A file over one stream: plain quinn-proto.

use crate::stack::Application;
use bytes::Bytes;
use quinn_proto::{ClientConfig, Connection, Dir, Event, StreamEvent, StreamId, VarInt};
use sojourn_net::{Cx, Instant};

/// Bytes of the file.
pub const BYTES: u64 = 12_000_000;

/// Opens the connection, sends the file, and closes the connection once all of it is acknowledged.
pub struct Sender {
    config: Option<ClientConfig>,
    stream: Option<StreamId>,
    written: u64,
    is_acknowledged: bool,
}

impl Sender {
    pub fn new(config: ClientConfig) -> Self {
        Self { config: Some(config), stream: None, written: 0, is_acknowledged: false }
    }
}

impl Application for Sender {
    fn begin(&mut self, _: Instant) -> Option<ClientConfig> {
        self.config.take()
    }

    fn on_event(&mut self, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected => self.stream = connection.streams().open(Dir::Uni),
            Event::Stream(StreamEvent::Finished { .. }) => self.is_acknowledged = true,
            Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
            _ => {}
        }
    }

    fn proceed(&mut self, cx: &mut Cx<'_>, connection: &mut Connection, now: std::time::Instant) {
        let Some(id) = self.stream else { return };
        if self.is_acknowledged {
            let path = connection.stats().path;
            cx.note("lost", path.lost_packets as f64);
            cx.note("reductions", path.congestion_events as f64);
            connection.close(now, VarInt::from_u32(0), Bytes::new());
            self.stream = None;
            cx.closed();
            return;
        }
        let mut stream = connection.send_stream(id);
        while self.written < BYTES {
            let len = (BYTES - self.written).min(ZEROS.len() as u64) as usize;
            // A blocked stream becomes writable by a datagram, after which this function runs again.
            let Ok(written) = stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..len])]) else { return };
            self.written += written.bytes as u64;
            if self.written == BYTES {
                stream.finish().expect("it was not finished before");
            }
        }
    }
}

/// Accepts a stream and reads it; counts the transfer from the start of the flow.
#[derive(Default)]
pub struct Receiver {
    begun: Instant,
    stream: Option<StreamId>,
    read: u64,
}

impl Application for Receiver {
    fn begin(&mut self, now: Instant) -> Option<ClientConfig> {
        self.begun = now;
        None
    }

    fn on_event(&mut self, connection: &mut Connection, event: Event) {
        if let Event::Stream(StreamEvent::Opened { dir }) = event {
            self.stream = connection.streams().accept(dir);
        }
    }

    fn proceed(&mut self, cx: &mut Cx<'_>, connection: &mut Connection, _: std::time::Instant) {
        let Some(id) = self.stream else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.read += chunk.bytes.len() as u64;
        }
        // Whether credit is to be sent; every call is followed by `poll_transmit`.
        let _ = chunks.finalize();
        if self.read == BYTES {
            cx.completed(self.begun, self.read);
            self.stream = None;
        }
    }
}

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
