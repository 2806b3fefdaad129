//! A load-generating connection: the server sends without end, and its responses are written between.
//!
//! The server keeps a given number of bytes unsent in its socket, as with `TCP_NOTSENT_LOWAT`, and writes more when
//! there are fewer. A response is written after them, as in HTTP/2 without priorities, so it waits for them in the
//! sender's host, before the network.

use super::app::ConnectionEvent;
use super::dialogue::{DuplexEndpoint, HalfConnection};
use super::exchange::Exchange;
use super::host::{Endpoints, Host};
use super::tcp::{TcpTemplate, status};
use crate::packet::ReceivedPacket;
use crate::status::Status;
use sojourn_aqm::{Ecn, Instant, Rng};
use sojourn_tcp::{Flags, Header};
use std::collections::VecDeque;

pub(crate) struct LoadFlow {
    client: DuplexEndpoint,
    server: DuplexEndpoint,
    /// When the connection is opened; never once it is.
    start: Instant,
    /// Bytes that the server keeps unsent.
    unsent: u64,
    connected: bool,
    open: bool,
    /// Requests that the server has not received: the end of each in the stream; and `requested_end`, that of the last
    /// one.
    requested_end: u64,
    requests: VecDeque<(u64, Exchange)>,
    /// Responses that the server is preparing: when each is due, and its bytes.
    pending_responses: VecDeque<(Instant, u64)>,
    written: u64,
    responses: VecDeque<PendingResponse>,
    /// Whether the server has received the request for the load.
    load_requested: bool,
}

/// A response that the client has not received.
#[derive(Clone, Copy)]
struct PendingResponse {
    /// Its end in the stream, and when it was written.
    end: u64,
    written: Instant,
    /// When its last byte had left the socket.
    sent: Option<Instant>,
}

impl LoadFlow {
    /// A connection that is opened at `start`, with `unsent` bytes in its server's socket; both congestion controls
    /// draw from `rng`.
    pub fn new(ends: &TcpTemplate, start: Instant, unsent: u64, mut rng: Rng) -> Self {
        let server_rng = Rng::from_state(rng.next_u64());
        Self {
            client: DuplexEndpoint::new(ends, rng),
            server: DuplexEndpoint::new(ends, server_rng),
            start,
            unsent,
            connected: false,
            open: true,
            requested_end: 0,
            requests: VecDeque::new(),
            pending_responses: VecDeque::new(),
            written: 0,
            responses: VecDeque::new(),
            load_requested: false,
        }
    }

    /// Writes the responses that are due, and tops up the load.
    fn serve(&mut self, now: Instant, host: &mut impl Host) {
        while let Some(&(_, bytes)) = self.pending_responses.front().filter(|(at, _)| *at <= now) {
            self.pending_responses.pop_front();
            self.written += bytes;
            self.responses.push_back(PendingResponse { end: self.written, written: now, sent: None });
            self.server.sender.write(now, bytes, &mut HalfConnection::of_server(host));
        }
        self.record_sent_responses(now);
        while self.load_requested && self.server.sender.unsent_bytes() < self.unsent {
            let more = self.unsent - self.server.sender.unsent_bytes();
            self.written += more;
            self.server.sender.write(now, more, &mut HalfConnection::of_server(host));
        }
        self.record_sent_responses(now);
    }

    /// Notes which responses have left the socket.
    fn record_sent_responses(&mut self, now: Instant) {
        // Before the connection is established, its place in the sequence space counts as unsent.
        let sent = self.written.saturating_sub(self.server.sender.unsent_bytes());
        self.responses.iter_mut().filter(|response| response.end <= sent).for_each(|response| {
            response.sent.get_or_insert(now);
        });
    }

    fn on_server_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let server = &mut self.server;
        if header.flags.contains(Flags::ANSWER) {
            server.sender.on_segment(now, header, &mut HalfConnection::of_server(host));
        } else {
            server.sender.accept(now, header);
            server.receiver.on_segment(now, header, ecn, &mut HalfConnection::of_client(host));
            let read = server.receiver.delivered();
            while let Some(&(_, request)) = self.requests.front().filter(|(end, _)| *end <= read) {
                self.requests.pop_front();
                self.pending_responses.push_back((now + request.think, request.response));
                self.load_requested = true;
            }
            if server.receiver.has_ended() {
                self.load_requested = false;
                self.pending_responses.clear();
                server.sender.close(now, &mut HalfConnection::of_server(host));
                return self.check_end(host);
            }
        }
        self.serve(now, host);
        self.check_end(host);
    }

    fn on_client_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let client = &mut self.client;
        if !header.flags.contains(Flags::ANSWER) {
            client.receiver.connected(now, header);
            client.sender.on_segment(now, header, &mut HalfConnection::of_client(host));
            if !std::mem::replace(&mut self.connected, true) {
                host.notify_client(ConnectionEvent::Connected);
            }
        } else {
            client.receiver.on_segment(now, header, ecn, &mut HalfConnection::of_server(host));
            let read = client.receiver.delivered();
            while let Some(&response) = self.responses.front().filter(|response| response.end <= read) {
                self.responses.pop_front();
                let sent = response.sent.expect("arrived bytes were sent");
                host.notify_client(ConnectionEvent::ProbeAnswered { in_socket: sent - response.written });
            }
            if client.receiver.has_ended() {
                client.sender.close(now, &mut HalfConnection::of_client(host));
            }
        }
        self.check_end(host);
    }

    fn check_end(&mut self, host: &mut impl Host) {
        if self.open && self.client.sender.is_finished() && self.server.sender.is_finished() {
            self.open = false;
            host.closed();
        }
    }

    fn next_response_at(&self) -> Instant {
        self.pending_responses.front().map_or(Instant::NEVER, |&(at, _)| at)
    }
}

impl Endpoints for LoadFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in self.server.polled(now) {
            self.server.receiver.set_more_segments(left > 0);
            self.on_server_segment(now, &header, ecn, host);
        }
        self.server.sender.on_timer(now, &mut HalfConnection::of_server(host));
        self.server.receiver.on_timer(now, &mut HalfConnection::of_client(host));
        self.serve(now, host);
    }

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.start {
            self.start = Instant::NEVER;
            self.client.sender.connect(now, &mut HalfConnection::of_client(host));
        }
        for (left, header, ecn) in self.client.polled(now) {
            self.client.receiver.set_more_segments(left > 0);
            self.on_client_segment(now, &header, ecn, host);
        }
        self.client.sender.on_timer(now, &mut HalfConnection::of_client(host));
        self.client.receiver.on_timer(now, &mut HalfConnection::of_server(host));
    }

    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        match at_source {
            true => {
                self.server.sender.on_room(now, &mut HalfConnection::of_server(host));
                self.serve(now, host);
            }
            false => self.client.sender.on_room(now, &mut HalfConnection::of_client(host)),
        }
    }

    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        self.server.sender.on_departure(now, &mut HalfConnection::of_server(host));
        self.serve(now, host);
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

    /// The first request also requests the load.
    fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        self.requested_end += exchange.request;
        self.requests.push_back((self.requested_end, exchange));
        self.client.sender.write(now, exchange.request, &mut HalfConnection::of_client(host));
    }

    fn close(&mut self, now: Instant, host: &mut impl Host) {
        self.client.sender.close(now, &mut HalfConnection::of_client(host));
    }

    fn source_deadline(&self) -> Instant {
        self.server.deadline().min(self.next_response_at())
    }

    fn sink_deadline(&self) -> Instant {
        self.client.deadline().min(self.start)
    }

    fn status(&self) -> Status {
        status(&self.server.sender, &self.client.receiver)
    }
}
