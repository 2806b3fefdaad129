//! A player of adaptive video: it fetches segment after segment over one connection, each in the rate that it takes the
//! network to carry, and waits when its buffer is full.
//!
//! The rule is that of throughput alone: the highest rate that is at most 0.9 of the harmonic mean of the throughput of the
//! last four segments, the lowest one at the start. Source: dash.js `ThroughputRule` (`getSafeAverageThroughput`: sliding
//! window of four samples, `bandwidthSafetyFactor` 0.9), of whose kinds of mean the harmonic one is that of FESTIVE (Jiang,
//! Sekar and Zhang, CoNEXT 2012, there over twenty segments). A segment's throughput counts from its request.
//! `Differs:` segments have their nominal size, the window does not grow with the variation, and no download is given up.

use super::app::{ActionQueue, App, AppRecord, ConnectionEvent};
use super::exchange::Exchange;
use crate::scenario::{TcpSpec, VideoSpec};
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

pub(super) struct Player {
    spec: VideoSpec,
    start: Instant,
    stop: Instant,
    connection: Connection,
    /// When the next segment is asked for; never while one is under way.
    request_at: Instant,
    /// Of the segment that was asked for last: when, and the step of its rate on the ladder.
    requested_at: Instant,
    step: Option<usize>,
    /// Throughput of the last segments, in bit/s.
    throughputs: VecDeque<f64>,
    picture: PlaybackState,
    /// Segments that have arrived, and how long the picture stood since the last of them.
    segments: u32,
    stalled_for: Duration,
}

enum Connection {
    /// Not open yet, opened as this number, or not needed any more.
    None,
    Open(u32),
    Closed,
}

/// What is on the screen.
enum PlaybackState {
    /// So much video is there, too little to play; it stands since then, after a stall.
    Stalled { held: Duration, since: Option<Instant> },
    /// The video that is there lasts until then.
    Playing { until: Instant },
}

impl Player {
    pub fn new(spec: &VideoSpec, (start, stop): (Instant, Instant)) -> Self {
        Self {
            spec: spec.clone(),
            start,
            stop,
            connection: Connection::None,
            request_at: start,
            requested_at: start,
            step: None,
            throughputs: VecDeque::new(),
            picture: PlaybackState::Stalled { held: Duration::ZERO, since: None },
            segments: 0,
            stalled_for: Duration::ZERO,
        }
    }

    fn request(&mut self, now: Instant, number: u32, orders: &mut ActionQueue) {
        let step = self.choose();
        let switched = self.step.is_some_and(|before| before != step);
        (self.request_at, self.requested_at, self.step) = (Instant::NEVER, now, Some(step));
        if switched {
            orders.record(AppRecord::Switched);
        }
        let VideoSpec { request, think, .. } = self.spec;
        orders.request(number, Exchange { pause: Duration::ZERO, request, think, response: self.bytes(step) });
    }

    /// The step of the ladder for the next segment.
    fn choose(&self) -> usize {
        if self.throughputs.is_empty() {
            return 0;
        }
        let harmonic = self.throughputs.len() as f64 / self.throughputs.iter().map(|bps| 1.0 / bps).sum::<f64>();
        let fits = |rate: &sojourn_aqm::Rate| rate.as_bps() as f64 <= SAFETY * harmonic;
        self.spec.ladder.rates().iter().rposition(fits).unwrap_or(0)
    }

    fn bytes(&self, step: usize) -> u64 {
        self.spec.ladder.rates()[step].bytes_in(self.spec.segment).max(1)
    }

    /// The segment that was asked for is there.
    fn on_segment(&mut self, now: Instant, number: u32, orders: &mut ActionQueue) {
        let step = self.step.expect("a segment was asked for");
        let bytes = self.bytes(step);
        self.throughputs.push_back(bytes as f64 * 8.0 / (now - self.requested_at).as_secs_f64());
        if self.throughputs.len() > WINDOW {
            self.throughputs.pop_front();
        }
        let level = self.add_segment(now, orders);
        let rate_bps = self.spec.ladder.rates()[step].as_bps();
        let stalled_for = std::mem::replace(&mut self.stalled_for, Duration::ZERO);
        orders.completed(number, self.requested_at, bytes);
        orders.record(AppRecord::Segment {
            number: self.segments,
            requested_at: self.requested_at,
            bytes,
            rate_bps,
            level,
            stalled_for,
        });
        self.segments += 1;
        // What is there beyond room for another segment has to be played first.
        let room = self.spec.buffer - self.spec.segment;
        self.request_at = if level > room { now + (level - room) } else { now };
    }

    /// A segment more is there; returns how much there is now.
    fn add_segment(&mut self, now: Instant, orders: &mut ActionQueue) -> Duration {
        let segment = self.spec.segment;
        match &mut self.picture {
            PlaybackState::Playing { until } => {
                *until += segment;
                *until - now
            }
            PlaybackState::Stalled { held, since } => {
                *held += segment;
                let (level, since) = (*held, *since);
                if level >= self.spec.startup_level() {
                    match since {
                        None => orders.record(AppRecord::Started(now - self.start)),
                        Some(since) => {
                            self.stalled_for = now - since;
                            orders.record(AppRecord::StallEnded(since, now));
                        }
                    }
                    self.picture = PlaybackState::Playing { until: now + level };
                }
                level
            }
        }
    }

    /// The player is closed.
    fn end(&mut self, now: Instant, number: u32, orders: &mut ActionQueue) {
        self.close(now, orders);
        self.picture = PlaybackState::Stalled { held: Duration::ZERO, since: None };
        (self.connection, self.request_at) = (Connection::Closed, Instant::NEVER);
        orders.close(number);
    }

    /// When the picture comes to a halt.
    fn buffer_end(&self) -> Instant {
        match self.picture {
            PlaybackState::Playing { until } => until,
            PlaybackState::Stalled { .. } => Instant::NEVER,
        }
    }
}

impl App for Player {
    fn due(&self) -> Instant {
        match self.connection {
            Connection::None if self.request_at < self.stop => self.request_at,
            Connection::Open(_) => self.request_at.min(self.stop).min(self.buffer_end()),
            _ => Instant::NEVER,
        }
    }

    fn on_timer(&mut self, now: Instant, orders: &mut ActionQueue) {
        match self.connection {
            Connection::None => {
                self.request_at = Instant::NEVER;
                self.connection = Connection::Open(orders.open());
            }
            Connection::Open(number) if now >= self.stop => self.end(now, number, orders),
            Connection::Open(_) if now >= self.buffer_end() => {
                orders.record(AppRecord::Stalled);
                self.picture = PlaybackState::Stalled { held: Duration::ZERO, since: Some(now) };
            }
            Connection::Open(number) => self.request(now, number, orders),
            Connection::Closed => {}
        }
    }

    fn on_event(&mut self, now: Instant, number: u32, news: ConnectionEvent, orders: &mut ActionQueue) {
        match (news, &self.connection) {
            (_, Connection::Closed) => {}
            (ConnectionEvent::Connected, _) => self.request(now, number, orders),
            (ConnectionEvent::ResponseReceived, _) => self.on_segment(now, number, orders),
            (ConnectionEvent::ProbeAnswered { .. } | ConnectionEvent::Counted(_), _) => {}
        }
    }

    fn close(&mut self, end: Instant, orders: &mut ActionQueue) {
        if let PlaybackState::Stalled { since: Some(since), .. } = self.picture {
            orders.record(AppRecord::StallEnded(since, end));
        }
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}

/// How many segments are looked back at, and how much of their throughput is taken.
const WINDOW: usize = 4;
const SAFETY: f64 = 0.9;
