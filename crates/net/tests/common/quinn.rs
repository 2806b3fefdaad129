//! quinn at both ends of an endpoint flow, with settings of the test: transport parameters, sender, messages.

use sojourn_aqm::Rng;
use sojourn_net::{Cx, Duration, Endpoint, Instant, Net, Received, Report, Transmit};
use sojourn_sim::QuinnEnd;
use sojourn_sim::quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId, TransportConfig};
use std::collections::BTreeMap;

/// Messages of an application, each on a stream of its own: message `n`, from 1 on, is due at `n` times `gap`.
#[derive(Clone, Copy)]
pub struct Messages {
    /// Whether the server sends them instead of the client.
    pub are_from_server: bool,
    pub count: u32,
    pub bytes: usize,
    pub gap: Duration,
}

/// The client or the server of a connection.
struct QuinnProgram {
    end: QuinnEnd,
    messages: Messages,
    is_sender: bool,
    /// Messages sent, and received whole.
    sent: u32,
    received: u32,
    /// Bytes to be written to a stream, and to be read from it.
    writing: BTreeMap<StreamId, usize>,
    reading: BTreeMap<StreamId, usize>,
}

/// Runs quinn with `messages` in the group `call` of the world `text`.
pub fn run(text: &str, seed: u64, transport: TransportConfig, messages: Messages) -> Report {
    let mut net = Net::parse(text, seed).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [source, sink] = QuinnEnd::pair(transport, Rng::stream(seed, "test", 0));
    let program = |end, is_sender| QuinnProgram {
        end,
        messages,
        is_sender,
        sent: 0,
        received: 0,
        writing: BTreeMap::new(),
        reading: BTreeMap::new(),
    };
    let from_server = messages.are_from_server;
    net.attach("call", program(source, !from_server), program(sink, from_server)).expect("the world has the group");
    net.run().expect("no program fails")
}

impl QuinnProgram {
    /// When the message after `number` others is due.
    fn due(&self, number: u32) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.messages.gap.as_nanos() * i64::from(number + 1))
    }

    /// Sends the messages that are due and reads what has arrived.
    fn pump(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.end.next_event() {
            match event {
                Event::Stream(StreamEvent::Opened { .. }) => {
                    let connection = self.end.connection_mut().expect("it has an event");
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        self.reading.insert(id, 0);
                    }
                }
                Event::Stream(StreamEvent::Finished { id }) => {
                    let since = cx.now() - self.due(id.index() as u32);
                    cx.note("acknowledged_ms", since.as_nanos() as f64 / 1e6);
                }
                _ => {}
            }
        }
        if self.is_sender {
            self.write(cx.now());
        }
        self.read(cx);
    }

    fn write(&mut self, now: Instant) {
        let is_due = |number| self.due(number) <= now;
        let due = (self.sent..self.messages.count).take_while(|&number| is_due(number)).count();
        let Some(connection) = self.end.connection_mut().filter(|connection| !connection.is_handshaking()) else {
            return;
        };
        for _ in 0..due {
            let Some(id) = connection.streams().open(Dir::Uni) else { break };
            self.writing.insert(id, self.messages.bytes);
            self.sent += 1;
        }
        self.writing.retain(|&id, left| {
            let mut stream = connection.send_stream(id);
            while *left > 0 {
                match stream.write(&ZEROS[..(*left).min(ZEROS.len())]) {
                    Ok(written) => *left -= written,
                    Err(_) => return true,
                }
            }
            stream.finish().expect("it is finished once");
            false
        });
    }

    fn read(&mut self, cx: &mut Cx<'_>) {
        let mut whole = Vec::new();
        let Some(connection) = self.end.connection_mut() else { return };
        for (&id, bytes) in &mut self.reading {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                *bytes += chunk.bytes.len();
            }
            let _ = chunks.finalize();
            if *bytes == self.messages.bytes {
                whole.push(id);
            }
        }
        for id in whole {
            self.reading.remove(&id);
            self.received += 1;
            cx.completed(self.due(id.index() as u32), self.messages.bytes as u64);
        }
    }
}

impl Endpoint for QuinnProgram {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.end.connect(cx.now(), cx.peer());
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        self.end.on_datagram(cx.now(), datagram);
        self.pump(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.end.on_timeout(cx.now());
        self.pump(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        self.end.poll_transmit(now, into)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        let next = (self.is_sender && self.sent < self.messages.count).then(|| self.due(self.sent));
        let is_open = !self.end.connection().is_none_or(Connection::is_handshaking);
        // A message that waits for the handshake is written when that is over.
        self.end.timeout().into_iter().chain(next.filter(|_| is_open)).min()
    }
}

static ZEROS: [u8; 1 << 14] = [0; 1 << 14];
