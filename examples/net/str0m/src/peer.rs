//! str0m as a program of `sojourn-net`.

use sojourn_net::{Cx, Endpoint, Instant, Received, Transmit};
use std::collections::VecDeque;
use str0m::net::{Protocol, Receive, Transmit as Sent};
use str0m::{Event, Input, Output, Rtc};

/// User of a call.
pub trait Application: Send {
    /// Handles an event of str0m.
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event);
    /// Writes media that is due.
    fn proceed(&mut self, cx: &mut Cx<'_>, rtc: &mut Rtc, now: std::time::Instant);
    /// Time of the next media.
    fn next(&self) -> Option<Instant> {
        None
    }
}

/// One end.
pub struct Peer<A> {
    rtc: Rtc,
    /// Start of the run.
    zero: std::time::Instant,
    /// Tags of RTP and of RTCP.
    tags: [u8; 2],
    unsent: VecDeque<Sent>,
    /// Deadline of str0m.
    timeout: Instant,
    application: A,
}

impl<A: Application> Peer<A> {
    pub fn new(rtc: Rtc, zero: std::time::Instant, tags: [u8; 2], application: A) -> Self {
        Self { rtc, zero, tags, unsent: VecDeque::new(), timeout: Instant::ZERO, application }
    }

    fn std(&self, at: Instant) -> std::time::Instant {
        self.zero + std::time::Duration::from_nanos(at.as_nanos())
    }

    /// Hands in an input, then media, and takes all output after each, as str0m demands.
    fn handle(&mut self, cx: &mut Cx<'_>, input: Input<'_>) {
        let now = self.std(cx.now());
        self.rtc.handle_input(input).expect("str0m accepts it");
        self.drain(cx);
        self.application.proceed(cx, &mut self.rtc, now);
        self.drain(cx);
    }

    fn drain(&mut self, cx: &mut Cx<'_>) {
        loop {
            match self.rtc.poll_output().expect("str0m has not failed") {
                Output::Transmit(sent) => self.unsent.push_back(sent),
                Output::Event(event) => self.application.on_event(cx, event),
                Output::Timeout(at) => {
                    let nanos = at.saturating_duration_since(self.zero).as_nanos();
                    self.timeout = Instant::from_nanos(nanos as u64);
                    return;
                }
            }
        }
    }

    /// The tag of a datagram by its first two bytes (RFC 7983 §7, RFC 5761 §4); none for STUN and DTLS.
    fn tag(&self, bytes: &[u8]) -> u8 {
        match bytes {
            [128..=191, 192..=223, ..] => self.tags[1],
            [128..=191, ..] => self.tags[0],
            _ => 0,
        }
    }
}

impl<A: Application> Endpoint for Peer<A> {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        let now = self.std(cx.now());
        self.handle(cx, Input::Timeout(now));
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        let (source, destination) = (datagram.from, datagram.local);
        let contents = datagram.bytes.try_into().expect("both ends send STUN, DTLS, RTP and RTCP");
        let input = Input::Receive(self.std(cx.now()), Receive { proto: Protocol::Udp, source, destination, contents });
        self.handle(cx, input);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = self.std(cx.now());
        self.handle(cx, Input::Timeout(now));
    }

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        let sent = self.unsent.pop_front()?;
        into.extend_from_slice(&sent.contents);
        Some(Transmit { local: Some(sent.source), tag: self.tag(&sent.contents), ..Transmit::to(sent.destination) })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        Some(self.application.next().map_or(self.timeout, |next| next.min(self.timeout)))
    }
}
