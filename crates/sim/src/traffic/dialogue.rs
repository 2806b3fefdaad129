//! A connection with data both ways: the client at the sink asks, the server at the source answers, again and again.
//!
//! Each direction has a sender and a receiver of its own; one handshake opens both. Acknowledgments are packets of
//! their own: no data segment carries one for the other direction. A stack in quick-acknowledgment mode, as at the
//! start of a connection, sends them so too.

use super::app::News;
use super::card::{Card, polled};
use super::exchange::{Exchange, Script};
use super::host::{Endpoints, Host};
use super::tcp::{Template, status};
use crate::packet::Arrived;
use crate::status::Status;
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use sojourn_tcp::{Event, Flags, Header, Receiver, Sender, Wire};

pub(crate) struct DialogueFlow {
    client: End,
    server: End,
    script: Script,
    exchange: Exchange,
    /// When the connection is opened; never once it is.
    start: Instant,
    stop: Instant,
    /// When the present exchange began.
    begun: Instant,
    /// When the client asks next, and when the server answers.
    ask_at: Instant,
    answer_at: Instant,
    /// Bytes that each side will have received when it has the present question, or its answer.
    asked: u64,
    promised: u64,
    open: bool,
}

/// One end of a connection with data both ways.
pub(super) struct End {
    pub sender: Sender,
    pub receiver: Receiver,
    /// The host's card, if it joins segments.
    pub card: Option<Box<Card>>,
}

/// A connection that was asked for, is opened at `start`, and asks for nothing after `stop`.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub asked: Instant,
    pub start: Instant,
    pub stop: Instant,
}

impl DialogueFlow {
    /// A new connection. The controls of both ends draw from `rng`.
    pub(super) fn new(ends: &Template, script: Script, times: Times, mut rng: Rng) -> Self {
        let of_server = Rng::from_state(rng.next_u64());
        let mut flow = Self {
            client: End::new(ends, rng),
            server: End::new(ends, of_server),
            script: Script::told(),
            exchange: Exchange::default(),
            start: Instant::NEVER,
            stop: Instant::NEVER,
            begun: Instant::NEVER,
            ask_at: Instant::NEVER,
            answer_at: Instant::NEVER,
            asked: 0,
            promised: 0,
            open: true,
        };
        flow.begin(script, times);
        flow
    }

    /// Becomes the connection that [`Self::new`] makes, in the memory of the one that has ended. Returns the old script.
    pub(super) fn begin_again(&mut self, ends: &Template, script: Script, times: Times, mut rng: Rng) -> Script {
        let of_server = Rng::from_state(rng.next_u64());
        self.client.begin_again(ends, rng);
        self.server.begin_again(ends, of_server);
        self.begin(script, times)
    }

    /// All of the beginning but the ends; the script before.
    fn begin(&mut self, mut script: Script, Times { asked, start, stop }: Times) -> Script {
        self.exchange = script.next().unwrap_or_default();
        (self.start, self.stop, self.begun) = (start, stop, asked);
        (self.ask_at, self.answer_at) = (Instant::NEVER, Instant::NEVER);
        (self.asked, self.promised, self.open) = (0, 0, true);
        std::mem::replace(&mut self.script, script)
    }

    /// The client asks the present question.
    fn put(&mut self, now: Instant, host: &mut impl Host) {
        self.ask_at = Instant::NEVER;
        if now >= self.stop {
            self.client.sender.close(now, &mut Half::of_client(host));
            return;
        }
        let Exchange { request, response, .. } = self.exchange;
        self.asked += request;
        self.promised += response;
        host.offered(response);
        self.client.sender.write(now, request, &mut Half::of_client(host));
    }

    fn answer(&mut self, now: Instant, host: &mut impl Host) {
        self.answer_at = Instant::NEVER;
        let server = &mut self.server.sender;
        if self.script.is_over() {
            // The server closes.
            server.end_with_next();
        }
        server.write(now, self.exchange.response, &mut Half::of_server(host));
    }

    /// The client has the whole answer.
    fn answered(&mut self, now: Instant, host: &mut impl Host) {
        if matches!(self.script, Script::Told { .. }) {
            return host.news(News::Answered);
        }
        host.completed(self.begun, self.exchange.response);
        let Some(next) = self.script.next() else { return };
        self.exchange = next;
        self.begun = now + next.pause;
        self.ask_at = self.begun;
        if next.pause == Duration::ZERO {
            self.put(now, host);
        }
    }

    /// A segment, or several as one, comes up to the client.
    #[inline(always)]
    fn arrived_at_client(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let client = &mut self.client;
        if !header.flags.contains(Flags::ANSWER) {
            client.receiver.connected(now, header);
            client.sender.on_segment(now, header, &mut Half::of_client(host));
            if let Script::Told { connected } = &mut self.script {
                if !std::mem::replace(connected, true) {
                    host.news(News::Connected);
                }
            }
        } else {
            let before = client.receiver.delivered();
            client.receiver.on_segment(now, header, ecn, &mut Half::of_server(host));
            if before < self.promised && client.receiver.delivered() >= self.promised {
                self.answered(now, host);
            }
            if self.client.receiver.has_ended() {
                self.client.sender.close(now, &mut Half::of_client(host));
            }
        }
        self.notice_end(host);
    }

    /// … to the server.
    #[inline(always)]
    fn arrived_at_server(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        let server = &mut self.server;
        if header.flags.contains(Flags::ANSWER) {
            server.sender.on_segment(now, header, &mut Half::of_server(host));
        } else {
            server.sender.accept(now, header);
            let before = server.receiver.delivered();
            server.receiver.on_segment(now, header, ecn, &mut Half::of_client(host));
            if before < self.asked && server.receiver.delivered() >= self.asked {
                self.answer_at = now + self.exchange.think;
                if self.exchange.think == Duration::ZERO {
                    self.answer(now, host);
                }
            }
            if self.server.receiver.has_ended() {
                self.server.sender.close(now, &mut Half::of_server(host));
            }
        }
        self.notice_end(host);
    }

    /// What the client's card has comes up.
    #[inline(never)]
    fn poll_at_client(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in self.client.polled(now) {
            self.client.receiver.expect(left > 0);
            self.arrived_at_client(now, &header, ecn, host);
        }
    }

    /// … the server's card.
    #[inline(never)]
    fn poll_at_server(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in self.server.polled(now) {
            self.server.receiver.expect(left > 0);
            self.arrived_at_server(now, &header, ecn, host);
        }
    }

    fn notice_end(&mut self, host: &mut impl Host) {
        if self.open && self.client.sender.is_finished() && self.server.sender.is_finished() {
            self.open = false;
            host.closed();
        }
    }
}

impl End {
    /// An end whose control draws from `rng`.
    pub fn new(ends: &Template, rng: Rng) -> Self {
        Self { sender: ends.sender(rng), receiver: ends.receiver(), card: ends.card() }
    }

    /// Becomes the end that [`Self::new`] makes, with the memory that it has.
    fn begin_again(&mut self, ends: &Template, rng: Rng) {
        ends.renew(&mut self.sender, &mut self.receiver, rng);
        self.card = ends.card();
    }

    /// What its card brings up now, each with how much comes behind it.
    pub fn polled(&mut self, now: Instant) -> impl Iterator<Item = (usize, Header, Ecn)> + use<> {
        polled(self.card.as_deref_mut(), now)
    }

    /// When its card is polled, or a timer is due.
    pub fn deadline(&self) -> Instant {
        let timers = self.sender.deadline().min(self.receiver.deadline());
        self.card.as_ref().map_or(timers, |card| card.due().min(timers))
    }
}

impl Endpoints for DialogueFlow {
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.answer_at {
            self.answer(now, host);
        }
        if self.server.card.is_some() {
            self.poll_at_server(now, host);
        }
        self.server.sender.on_timer(now, &mut Half::of_server(host));
        self.server.receiver.on_timer(now, &mut Half::of_client(host));
    }

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.start {
            self.start = Instant::NEVER;
            self.client.sender.connect(now, &mut Half::of_client(host));
            if !matches!(self.script, Script::Told { .. }) {
                self.ask_at = now;
            }
        }
        if now >= self.ask_at {
            self.put(now, host);
        }
        if self.client.card.is_some() {
            self.poll_at_client(now, host);
        }
        self.client.sender.on_timer(now, &mut Half::of_client(host));
        self.client.receiver.on_timer(now, &mut Half::of_server(host));
    }

    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        match at_source {
            true => self.server.sender.on_room(now, &mut Half::of_server(host)),
            false => self.client.sender.on_room(now, &mut Half::of_client(host)),
        }
    }

    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        self.server.sender.on_departure(now, &mut Half::of_server(host));
    }

    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: Arrived, host: &mut impl Host) {
        match &mut self.client.card {
            None => self.arrived_at_client(now, header, packet.ecn, host),
            Some(card) => card.receive(now, header, packet.ecn),
        }
    }

    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: Arrived, host: &mut impl Host) {
        match &mut self.server.card {
            None => self.arrived_at_server(now, header, packet.ecn, host),
            Some(card) => card.receive(now, header, packet.ecn),
        }
    }

    fn ask(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        self.exchange = exchange;
        self.put(now, host);
    }

    fn close(&mut self, now: Instant, host: &mut impl Host) {
        self.client.sender.close(now, &mut Half::of_client(host));
    }

    fn source_deadline(&self) -> Instant {
        self.server.deadline().min(self.answer_at)
    }

    fn sink_deadline(&self) -> Instant {
        self.client.deadline().min(self.start).min(self.ask_at)
    }

    fn status(&self) -> Status {
        status(&self.server.sender, &self.client.receiver)
    }
}

/// One half of the connection: the client's data and their acknowledgments, or the server's.
pub(super) struct Half<'a, W> {
    wire: &'a mut W,
    mark: Flags,
}

impl<'a, W: Wire> Half<'a, W> {
    pub fn of_client(wire: &'a mut W) -> Self {
        Self { wire, mark: Flags::default() }
    }

    pub fn of_server(wire: &'a mut W) -> Self {
        Self { wire, mark: Flags::ANSWER }
    }
}

impl<W: Wire> Wire for Half<'_, W> {
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
    fn leaves(&self) -> Instant {
        self.wire.leaves()
    }

    #[inline]
    fn waits_below(&self) -> Option<u64> {
        self.wire.waits_below()
    }

    fn hold(&mut self) {
        self.wire.hold();
    }

    fn paces(&self) -> bool {
        self.wire.paces()
    }

    fn departs(&mut self, at: Instant) {
        self.wire.departs(at);
    }

    #[inline]
    fn watches(&self) -> bool {
        self.wire.watches()
    }

    #[inline]
    fn tell<'e>(&mut self, event: impl FnOnce() -> Event<'e>) {
        self.wire.tell(event);
    }
}
