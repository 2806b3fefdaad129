//! A load-generating connection: the server sends without end, and answers between what it has written.
//!
//! The server keeps a given number of bytes unsent in its socket, as who sets `TCP_NOTSENT_LOWAT` does, and writes more
//! when there are fewer. An answer is written behind them, as HTTP/2 has it without priorities, and so waits for them in
//! the sender's host, before the network.

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
    /// What the server keeps unsent.
    unsent: u64,
    connected: bool,
    open: bool,
    /// What the client has asked for, and the server has not seen: the end of each question in the stream, and its answer.
    requested_end: u64,
    requests: VecDeque<(u64, Exchange)>,
    /// Questions that the server thinks about, and what it has written.
    pending_responses: VecDeque<(Instant, u64)>,
    written: u64,
    answers: VecDeque<PendingResponse>,
    /// The server has been asked for the load.
    load_requested: bool,
}

/// An answer that the client has not got.
#[derive(Clone, Copy)]
struct PendingResponse {
    /// Its end in the stream, and when it was written.
    end: u64,
    written: Instant,
    /// When all of it had left the socket.
    sent: Option<Instant>,
}

impl LoadFlow {
    /// A connection that is opened at `start`, with `unsent` bytes in its server's socket; both controls draw from `rng`.
    pub fn new(ends: &TcpTemplate, start: Instant, unsent: u64, mut rng: Rng) -> Self {
        let of_server = Rng::from_state(rng.next_u64());
        Self {
            client: DuplexEndpoint::new(ends, rng),
            server: DuplexEndpoint::new(ends, of_server),
            start,
            unsent,
            connected: false,
            open: true,
            requested_end: 0,
            requests: VecDeque::new(),
            pending_responses: VecDeque::new(),
            written: 0,
            answers: VecDeque::new(),
            load_requested: false,
        }
    }

    /// The server answers what it has thought about, and writes what it lacks of load.
    fn serve(&mut self, now: Instant, host: &mut impl Host) {
        while let Some(&(_, bytes)) = self.pending_responses.front().filter(|(at, _)| *at <= now) {
            self.pending_responses.pop_front();
            self.written += bytes;
            self.answers.push_back(PendingResponse { end: self.written, written: now, sent: None });
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

    /// Answers that have left the socket.
    fn record_sent_responses(&mut self, now: Instant) {
        // Before the connection is there, its place in the sequence counts as unsent.
        let sent = self.written.saturating_sub(self.server.sender.unsent_bytes());
        self.answers.iter_mut().filter(|answer| answer.end <= sent).for_each(|answer| {
            answer.sent.get_or_insert(now);
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
            while let Some(&(_, question)) = self.requests.front().filter(|(end, _)| *end <= read) {
                self.requests.pop_front();
                self.pending_responses.push_back((now + question.think, question.response));
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
            while let Some(&answer) = self.answers.front().filter(|answer| answer.end <= read) {
                self.answers.pop_front();
                let sent = answer.sent.expect("what has arrived was sent");
                host.notify_client(ConnectionEvent::ProbeAnswered { in_socket: sent - answer.written });
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
        match &mut self.client.card {
            None => self.on_client_segment(now, header, packet.ecn, host),
            Some(card) => card.receive(now, header, packet.ecn),
        }
    }

    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        match &mut self.server.card {
            None => self.on_server_segment(now, header, packet.ecn, host),
            Some(card) => card.receive(now, header, packet.ecn),
        }
    }

    /// The first question asks for the load, too.
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
