//! A connection with data in both directions: the client at the sink sends requests, the server at the source responds.
//!
//! Each direction has its own sender and receiver; one handshake opens both. Acknowledgments are packets of their own:
//! no data segment carries one for the other direction, as with a stack in quick-acknowledgment mode at the start of a
//! connection. That costs one packet of 52 bytes per request in each direction.

use super::app::ConnectionEvent;
use super::exchange::{Exchange, Script};
use super::host::{Endpoints, Host};
use super::nic_queue::{NicQueue, polled};
use super::tcp::{TcpTemplate, status};
use crate::packet::ReceivedPacket;
use crate::status::Status;
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use sojourn_tcp::{Flags, Header, Receiver, Sender, SenderEvent, Wire};

pub(crate) struct DialogueFlow {
    client: DuplexEndpoint,
    server: DuplexEndpoint,
    script: Script,
    exchange: Exchange,
    /// When the connection is opened; never once it is.
    start: Instant,
    stop: Instant,
    /// When the current exchange started.
    exchange_start: Instant,
    /// When the client sends its next request, and when the server responds.
    request_at: Instant,
    response_at: Instant,
    /// Bytes that each side will have received with the current request and its response.
    request_end: u64,
    response_end: u64,
    open: bool,
}

/// One end of a connection with data in both directions.
pub(super) struct DuplexEndpoint {
    pub sender: Sender,
    pub receiver: Receiver,
    /// The host's NIC queue, if it merges segments (GRO).
    pub nic_queue: Option<Box<NicQueue>>,
}

/// A connection was requested, is opened at `start`, and sends no request after `stop`.
#[derive(Clone, Copy)]
pub(super) struct ConnectionTimes {
    pub requested_at: Instant,
    pub start: Instant,
    pub stop: Instant,
}

impl DialogueFlow {
    /// A new connection; the congestion controls of both ends draw from `rng`.
    pub(super) fn new(ends: &TcpTemplate, script: Script, times: ConnectionTimes, mut rng: Rng) -> Self {
        let server_rng = Rng::from_state(rng.next_u64());
        let mut flow = Self {
            client: DuplexEndpoint::new(ends, rng),
            server: DuplexEndpoint::new(ends, server_rng),
            script: Script::on_demand(),
            exchange: Exchange::default(),
            start: Instant::NEVER,
            stop: Instant::NEVER,
            exchange_start: Instant::NEVER,
            request_at: Instant::NEVER,
            response_at: Instant::NEVER,
            request_end: 0,
            response_end: 0,
            open: true,
        };
        flow.initialize(script, times);
        flow
    }

    /// Becomes the connection of [`Self::new`] in the memory of a closed one. Returns the old script.
    pub(super) fn reinitialize(
        &mut self,
        ends: &TcpTemplate,
        script: Script,
        times: ConnectionTimes,
        mut rng: Rng,
    ) -> Script {
        let server_rng = Rng::from_state(rng.next_u64());
        self.client.reinitialize(ends, rng);
        self.server.reinitialize(ends, server_rng);
        self.initialize(script, times)
    }

    /// Initialises all fields but the ends. Returns the old script.
    fn initialize(
        &mut self,
        mut script: Script,
        ConnectionTimes { requested_at, start, stop }: ConnectionTimes,
    ) -> Script {
        self.exchange = script.next().unwrap_or_default();
        (self.start, self.stop, self.exchange_start) = (start, stop, requested_at);
        (self.request_at, self.response_at) = (Instant::NEVER, Instant::NEVER);
        (self.request_end, self.response_end, self.open) = (0, 0, true);
        std::mem::replace(&mut self.script, script)
    }

    /// Sends the client's current request, or closes the connection after `stop`.
    fn send_request(&mut self, now: Instant, host: &mut impl Host) {
        self.request_at = Instant::NEVER;
        if now >= self.stop {
            self.client.sender.close(now, &mut HalfConnection::of_client(host));
            return;
        }
        let Exchange { request, response, .. } = self.exchange;
        self.request_end += request;
        self.response_end += response;
        host.offered(response);
        self.client.sender.write(now, request, &mut HalfConnection::of_client(host));
    }

    fn send_response(&mut self, now: Instant, host: &mut impl Host) {
        self.response_at = Instant::NEVER;
        let server = &mut self.server.sender;
        if self.script.is_over() {
            // The server closes after its last response.
            server.end_with_next();
        }
        server.write(now, self.exchange.response, &mut HalfConnection::of_server(host));
    }

    /// Handles a complete response at the client.
    fn on_response(&mut self, now: Instant, host: &mut impl Host) {
        if matches!(self.script, Script::OnDemand { .. }) {
            return host.notify_client(ConnectionEvent::ResponseReceived);
        }
        host.completed(self.exchange_start, self.exchange.response);
        let Some(next) = self.script.next() else { return };
        self.exchange = next;
        self.exchange_start = now + next.pause;
        self.request_at = self.exchange_start;
        if next.pause == Duration::ZERO {
            self.send_request(now, host);
        }
    }

    /// Passes a segment, or several merged ones, to the client.
    #[inline(always)]
    fn on_client_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let client = &mut self.client;
        if !header.flags.contains(Flags::ANSWER) {
            client.receiver.connected(now, header);
            client.sender.on_segment(now, header, &mut HalfConnection::of_client(host));
            if let Script::OnDemand { connected } = &mut self.script {
                if !std::mem::replace(connected, true) {
                    host.notify_client(ConnectionEvent::Connected);
                }
            }
        } else {
            let before = client.receiver.delivered();
            client.receiver.on_segment(now, header, ecn, &mut HalfConnection::of_server(host));
            if before < self.response_end && client.receiver.delivered() >= self.response_end {
                self.on_response(now, host);
            }
            if self.client.receiver.has_ended() {
                self.client.sender.close(now, &mut HalfConnection::of_client(host));
            }
        }
        self.check_end(host);
    }

    /// Passes a segment, or several merged ones, to the server.
    #[inline(always)]
    fn on_server_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let server = &mut self.server;
        if header.flags.contains(Flags::ANSWER) {
            server.sender.on_segment(now, header, &mut HalfConnection::of_server(host));
        } else {
            server.sender.accept(now, header);
            let before = server.receiver.delivered();
            server.receiver.on_segment(now, header, ecn, &mut HalfConnection::of_client(host));
            if before < self.request_end && server.receiver.delivered() >= self.request_end {
                self.response_at = now + self.exchange.think;
                if self.exchange.think == Duration::ZERO {
                    self.send_response(now, host);
                }
            }
            if self.server.receiver.has_ended() {
                self.server.sender.close(now, &mut HalfConnection::of_server(host));
            }
        }
        self.check_end(host);
    }

    /// Passes the segments in the client's NIC queue up.
    #[inline(never)]
    fn poll_client(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in self.client.polled(now) {
            self.client.receiver.set_more_segments(left > 0);
            self.on_client_segment(now, &header, ecn, host);
        }
    }

    /// Passes the segments in the server's NIC queue up.
    #[inline(never)]
    fn poll_server(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in self.server.polled(now) {
            self.server.receiver.set_more_segments(left > 0);
            self.on_server_segment(now, &header, ecn, host);
        }
    }

    fn check_end(&mut self, host: &mut impl Host) {
        if self.open && self.client.sender.is_finished() && self.server.sender.is_finished() {
            self.open = false;
            host.closed();
        }
    }
}

impl DuplexEndpoint {
    /// An end whose congestion control draws from `rng`.
    pub fn new(ends: &TcpTemplate, rng: Rng) -> Self {
        Self { sender: ends.sender(rng), receiver: ends.receiver(), nic_queue: ends.nic_queue() }
    }

    /// Becomes the end of [`Self::new`], reusing its memory.
    fn reinitialize(&mut self, ends: &TcpTemplate, rng: Rng) {
        ends.reset(&mut self.sender, &mut self.receiver, rng);
        self.nic_queue = ends.nic_queue();
    }

    /// Segments that the NIC queue passes up now, each with the number of those after it.
    pub fn polled(&mut self, now: Instant) -> impl Iterator<Item = (usize, Header, Ecn)> + use<> {
        polled(self.nic_queue.as_deref_mut(), now)
    }

    /// When the NIC queue is polled, or a timer is due.
    pub fn deadline(&self) -> Instant {
        let timers = self.sender.deadline().min(self.receiver.deadline());
        self.nic_queue.as_ref().map_or(timers, |nic_queue| nic_queue.due().min(timers))
    }
}

impl Endpoints for DialogueFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.response_at {
            self.send_response(now, host);
        }
        if self.server.nic_queue.is_some() {
            self.poll_server(now, host);
        }
        self.server.sender.on_timer(now, &mut HalfConnection::of_server(host));
        self.server.receiver.on_timer(now, &mut HalfConnection::of_client(host));
    }

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.start {
            self.start = Instant::NEVER;
            self.client.sender.connect(now, &mut HalfConnection::of_client(host));
            if !matches!(self.script, Script::OnDemand { .. }) {
                self.request_at = now;
            }
        }
        if now >= self.request_at {
            self.send_request(now, host);
        }
        if self.client.nic_queue.is_some() {
            self.poll_client(now, host);
        }
        self.client.sender.on_timer(now, &mut HalfConnection::of_client(host));
        self.client.receiver.on_timer(now, &mut HalfConnection::of_server(host));
    }

    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        match at_source {
            true => self.server.sender.on_room(now, &mut HalfConnection::of_server(host)),
            false => self.client.sender.on_room(now, &mut HalfConnection::of_client(host)),
        }
    }

    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        self.server.sender.on_departure(now, &mut HalfConnection::of_server(host));
    }

    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        match &mut self.client.nic_queue {
            None => self.on_client_segment(now, header, packet.ecn, host),
            Some(nic_queue) => nic_queue.receive(now, header, packet.ecn),
        }
    }

    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        match &mut self.server.nic_queue {
            None => self.on_server_segment(now, header, packet.ecn, host),
            Some(nic_queue) => nic_queue.receive(now, header, packet.ecn),
        }
    }

    fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        self.exchange = exchange;
        self.send_request(now, host);
    }

    fn close(&mut self, now: Instant, host: &mut impl Host) {
        self.client.sender.close(now, &mut HalfConnection::of_client(host));
    }

    fn source_deadline(&self) -> Instant {
        self.server.deadline().min(self.response_at)
    }

    fn sink_deadline(&self) -> Instant {
        self.client.deadline().min(self.start).min(self.request_at)
    }

    fn status(&self) -> Status {
        status(&self.server.sender, &self.client.receiver)
    }
}

/// Half of a connection: the client's data and their acknowledgments, or the server's.
pub(super) struct HalfConnection<'a, W> {
    wire: &'a mut W,
    mark: Flags,
}

impl<'a, W: Wire> HalfConnection<'a, W> {
    pub fn of_client(wire: &'a mut W) -> Self {
        Self { wire, mark: Flags::default() }
    }

    pub fn of_server(wire: &'a mut W) -> Self {
        Self { wire, mark: Flags::ANSWER }
    }
}

impl<W: Wire> Wire for HalfConnection<'_, W> {
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.wire.transmit(&Header { flags: header.flags.with(self.mark), ..*header }, len, ecn);
    }

    fn begin_burst(&mut self) {
        self.wire.begin_burst();
    }

    fn end_burst(&mut self) {
        self.wire.end_burst();
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.wire.has_room()
    }

    #[inline]
    fn drain_time(&self) -> Instant {
        self.wire.drain_time()
    }

    #[inline]
    fn bytes_below(&self) -> Option<u64> {
        self.wire.bytes_below()
    }

    fn notify_on_departure(&mut self) {
        self.wire.notify_on_departure();
    }

    fn is_pacing(&self) -> bool {
        self.wire.is_pacing()
    }

    fn set_departure(&mut self, at: Instant) {
        self.wire.set_departure(at);
    }

    #[inline]
    fn observes_sender(&self) -> bool {
        self.wire.observes_sender()
    }

    #[inline]
    fn notify<'e>(&mut self, event: impl FnOnce() -> SenderEvent<'e>) {
        self.wire.notify(event);
    }
}
