//! quinn at both ends of an endpoint flow, with settings of the test: transport parameters, sender, messages.

use sojourn_aqm::Rng;
use sojourn_net::{Cx, Duration, Ecn, Endpoint, Instant, Net, Received, Report, Transmit};
use sojourn_sim::QuinnSetup;
use sojourn_sim::quinn_proto::{
    self, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, StreamEvent, StreamId,
    TransportConfig,
};
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
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Configuration of the client's connection, until it opens it.
    client: Option<ClientConfig>,
    zero: std::time::Instant,
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
    let QuinnSetup { client, endpoints, zero } = QuinnSetup::new(transport, Rng::stream(seed, "test", 0));
    let program = |endpoint, client: Option<ClientConfig>| QuinnProgram {
        endpoint,
        connection: None,
        is_sender: client.is_some() != messages.are_from_server,
        client,
        zero,
        messages,
        sent: 0,
        received: 0,
        writing: BTreeMap::new(),
        reading: BTreeMap::new(),
    };
    let [source, sink] = endpoints;
    net.attach("call", program(source, Some(client)), program(sink, None)).expect("the world has the group");
    net.run().expect("no program fails")
}

impl QuinnProgram {
    fn at(&self, now: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(now.as_nanos())
    }

    /// When the message after `number` others is due.
    fn due(&self, number: u32) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.messages.gap.as_nanos() * i64::from(number + 1))
    }

    /// Sends the messages that are due and reads what has arrived.
    fn pump(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.next_event() {
            match event {
                Event::Stream(StreamEvent::Opened { .. }) => {
                    let (_, connection) = self.connection.as_mut().expect("it has an event");
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
        let Some((_, connection)) = self.connection.as_mut().filter(|(_, connection)| !connection.is_handshaking())
        else {
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
        let Some((_, connection)) = &mut self.connection else { return };
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

impl Endpoint for QuinnProgram {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        let Some(config) = self.client.take() else { return };
        let connected = self.endpoint.connect(self.at(cx.now()), config, cx.peer(), "sojourn");
        self.connection = Some(connected.expect("the address is valid"));
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        let (now, mut response) = (self.at(cx.now()), Vec::new());
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        match self.endpoint.handle(now, datagram.from, None, ecn, datagram.bytes.into(), &mut response) {
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

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let now = self.at(now);
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, into)?;
        into.truncate(transmit.size);
        let ecn = transmit.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::ALL[codepoint as usize]);
        Some(Transmit { ecn, ..Transmit::to(transmit.destination) })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        let next = (self.is_sender && self.sent < self.messages.count).then(|| self.due(self.sent));
        let (_, connection) = self.connection.as_mut()?;
        let timeout = connection.poll_timeout().map(|due| due.saturating_duration_since(self.zero));
        let timeout = timeout.map(|due| Instant::from_nanos(due.as_nanos() as u64));
        // A message that waits for the handshake is written when that is over.
        timeout.into_iter().chain(next.filter(|_| !connection.is_handshaking())).min()
    }
}

static ZEROS: [u8; 1 << 14] = [0; 1 << 14];
