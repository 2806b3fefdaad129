//! quinn-proto as a program of `sojourn-net`: an endpoint with one connection.

use bytes::BytesMut;
use quinn_proto::{ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Event, Transmit as Sent};
use sojourn_net::{Cx, Duration, Ecn, Endpoint, Instant, Received, Standing, Transmit};
use std::collections::VecDeque;

/// User of a connection.
pub trait Application: Send {
    /// The flow starts; returns a configuration if this end opens the connection.
    fn begin(&mut self, now: Instant) -> Option<ClientConfig>;
    /// Handles an event of the connection.
    fn on_event(&mut self, connection: &mut Connection, event: Event);
    /// Writes and reads without waiting, after each datagram and each timer. `now` is the time for quinn-proto.
    fn proceed(&mut self, cx: &mut Cx<'_>, connection: &mut Connection, now: std::time::Instant);
}

/// One end.
pub struct Stack<A> {
    endpoint: quinn_proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams of the endpoint itself: retries, resets, version negotiation.
    responses: VecDeque<(Sent, Vec<u8>)>,
    /// Start of the run.
    zero: std::time::Instant,
    application: A,
}

impl<A: Application> Stack<A> {
    pub fn new(endpoint: quinn_proto::Endpoint, zero: std::time::Instant, application: A) -> Self {
        Self { endpoint, connection: None, responses: VecDeque::new(), zero, application }
    }

    fn std(&self, at: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(at.as_nanos())
    }

    fn respond(&mut self, transmit: Sent, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        self.responses.push_back((transmit, bytes));
    }

    /// Exchanges events between connection, endpoint and application until there are none.
    fn proceed(&mut self, cx: &mut Cx<'_>) {
        let now = self.std(cx.now());
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let Some(event) = connection.poll() else { break };
            self.application.on_event(connection, event);
        }
        self.application.proceed(cx, connection, now);
    }
}

impl<A: Application> Endpoint for Stack<A> {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        let Some(config) = self.application.begin(cx.now()) else { return };
        let connected = self.endpoint.connect(self.std(cx.now()), config, cx.peer(), "sojourn.test");
        self.connection = Some(connected.expect("the address is valid"));
        self.proceed(cx);
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        let (now, mut buffer) = (self.std(cx.now()), Vec::new());
        let (local, ecn) = (Some(datagram.local.ip()), EcnCodepoint::from_bits(datagram.ecn as u8));
        let bytes = BytesMut::from(datagram.bytes);
        match self.endpoint.handle(now, datagram.from, local, ecn, bytes, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(known, _)| *known == handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut buffer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(error) => error.response.into_iter().for_each(|one| self.respond(one, buffer.clone())),
                }
            }
            Some(DatagramEvent::Response(response)) => self.respond(response, buffer),
            None => {}
        }
        self.proceed(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = self.std(cx.now());
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.proceed(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let now = self.std(now);
        let sent = if let Some((sent, bytes)) = self.responses.pop_front() {
            into.extend_from_slice(&bytes);
            sent
        } else {
            self.connection.as_mut()?.1.poll_transmit(now, SEGMENTS, into)?
        };
        into.truncate(sent.size);
        let ecn = sent.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::ALL[codepoint as usize]);
        Some(Transmit { ecn, segment_size: sent.segment_size, ..Transmit::to(sent.destination) })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        let at = self.connection.as_mut()?.1.poll_timeout()?;
        Some(Instant::from_nanos(at.saturating_duration_since(self.zero).as_nanos() as u64))
    }

    fn standing(&self) -> Standing {
        let Some((_, connection)) = &self.connection else { return Standing::default() };
        let path = connection.stats().path;
        Standing {
            cwnd: Some(path.cwnd as f64 / f64::from(path.current_mtu)),
            srtt: Some(Duration::from_nanos(path.rtt.as_nanos() as i64)),
            lost: path.lost_packets,
            ..Standing::default()
        }
    }
}

/// Maximum number of datagrams per call (GSO).
const SEGMENTS: usize = 10;
