//! One end of a quinn connection: datagrams, timers and events in the time of a run.

use crate::endpoint::{Received, Transmit};
use bytes::BytesMut;
use quinn_proto::{ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event};
use sojourn_aqm::{Ecn, Instant};
use std::net::SocketAddr;

/// An end of a connection without I/O; the program around it has the streams.
pub struct QuinnEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Configuration of the client's connection, until it opens it.
    client: Option<ClientConfig>,
    /// The real time that represents the start of the run; only differences to it matter.
    zero: std::time::Instant,
}

impl QuinnEnd {
    /// An end before its connection; `zero` represents the start of the run.
    pub(super) fn new(endpoint: Endpoint, client: Option<ClientConfig>, zero: std::time::Instant) -> Self {
        Self { endpoint, connection: None, client, zero }
    }

    fn at(&self, now: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(now.as_nanos())
    }

    /// Opens the connection of a client that has none; returns whether it did.
    ///
    /// # Panics
    ///
    /// If quinn refuses the address.
    pub fn connect(&mut self, now: Instant, peer: SocketAddr) -> bool {
        let Some(config) = self.client.take() else { return false };
        let connected = self.endpoint.connect(self.at(now), config, peer, "sojourn");
        self.connection = Some(connected.expect("the address is valid"));
        true
    }

    /// The connection, once it is open.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// The same, for its streams.
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// The next event of the connection, after its events for the endpoint have been handled.
    pub fn next_event(&mut self) -> Option<Event> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(response) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(response);
            }
        }
        connection.poll()
    }

    /// Handles a datagram; a server accepts the first connection.
    ///
    /// # Panics
    ///
    /// If quinn does not accept it.
    pub fn on_datagram(&mut self, now: Instant, datagram: Received<'_>) {
        let (now, mut response) = (self.at(now), Vec::new());
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        match self.endpoint.handle(now, datagram.from, None, ecn, BytesMut::from(datagram.bytes), &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection_mut().expect("the endpoint has one connection").handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("the connection was accepted"));
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// Handles timers that are due.
    pub fn on_timeout(&mut self, now: Instant) {
        let now = self.at(now);
        if let Some(connection) = self.connection_mut() {
            connection.handle_timeout(now);
        }
    }

    /// The next datagram, if there is one to send now.
    pub fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let now = self.at(now);
        let transmit = self.connection_mut()?.poll_transmit(now, 1, into)?;
        into.truncate(transmit.size);
        let ecn = transmit.ecn.map_or(Ecn::NotEct, |codepoint| Ecn::ALL[codepoint as usize]);
        Some(Transmit { ecn, ..Transmit::to(transmit.destination) })
    }

    /// When the next timer is due.
    pub fn timeout(&mut self) -> Option<Instant> {
        let zero = self.zero;
        let due = self.connection_mut()?.poll_timeout()?.saturating_duration_since(zero);
        Some(Instant::from_nanos(due.as_nanos() as u64))
    }
}
