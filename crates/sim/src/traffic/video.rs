//! A player of adaptive video: it fetches segment after segment over one connection, each in the rate that it takes the
//! network to carry, and waits when its buffer is full.
//!
//! The rule is that of throughput alone: the highest rate that is at most 0.9 of the harmonic mean of the throughput of the
//! last four segments, the lowest one at the start. Source: dash.js `ThroughputRule` (`getSafeAverageThroughput`: sliding
//! window of four samples, `bandwidthSafetyFactor` 0.9), of whose kinds of mean the harmonic one is that of FESTIVE (Jiang,
//! Sekar and Zhang, CoNEXT 2012, there over twenty segments). A segment's throughput counts from its request.
//! `Differs:` segments have their nominal size, the window does not grow with the variation, and no download is given up.

use super::app::{App, News, Orders, Record};
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
    ask_at: Instant,
    /// Of the segment that was asked for last: when, and the step of its rate on the ladder.
    asked: Instant,
    step: Option<usize>,
    /// Throughput of the last segments, in bit/s.
    seen: VecDeque<f64>,
    picture: Picture,
    /// Segments that have arrived, and how long the picture stood since the last of them.
    segments: u32,
    stood: Duration,
}

enum Connection {
    /// Not open yet, opened as this number, or not needed any more.
    None,
    Open(u32),
    Over,
}

/// What is on the screen.
enum Picture {
    /// So much video is there, too little to play; it stands since then, after a stall.
    Stands { held: Duration, since: Option<Instant> },
    /// The video that is there lasts until then.
    Plays { until: Instant },
}

impl Player {
    pub fn new(spec: &VideoSpec, (start, stop): (Instant, Instant)) -> Self {
        Self {
            spec: spec.clone(),
            start,
            stop,
            connection: Connection::None,
            ask_at: start,
            asked: start,
            step: None,
            seen: VecDeque::new(),
            picture: Picture::Stands { held: Duration::ZERO, since: None },
            segments: 0,
            stood: Duration::ZERO,
        }
    }

    fn ask(&mut self, now: Instant, number: u32, orders: &mut Orders) {
        let step = self.choose();
        let switched = self.step.is_some_and(|before| before != step);
        (self.ask_at, self.asked, self.step) = (Instant::NEVER, now, Some(step));
        if switched {
            orders.record(Record::Switched);
        }
        let VideoSpec { request, think, .. } = self.spec;
        orders.ask(number, Exchange { pause: Duration::ZERO, request, think, response: self.bytes(step) });
    }

    /// The step of the ladder for the next segment.
    fn choose(&self) -> usize {
        if self.seen.is_empty() {
            return 0;
        }
        let harmonic = self.seen.len() as f64 / self.seen.iter().map(|bps| 1.0 / bps).sum::<f64>();
        let fits = |rate: &sojourn_aqm::Rate| rate.as_bps() as f64 <= SAFETY * harmonic;
        self.spec.ladder.rates().iter().rposition(fits).unwrap_or(0)
    }

    fn bytes(&self, step: usize) -> u64 {
        self.spec.ladder.rates()[step].bytes_in(self.spec.segment).max(1)
    }

    /// The segment that was asked for is there.
    fn arrived(&mut self, now: Instant, number: u32, orders: &mut Orders) {
        let step = self.step.expect("a segment was asked for");
        let bytes = self.bytes(step);
        self.seen.push_back(bytes as f64 * 8.0 / (now - self.asked).as_secs_f64());
        if self.seen.len() > WINDOW {
            self.seen.pop_front();
        }
        let level = self.fill(now, orders);
        let rate_bps = self.spec.ladder.rates()[step].as_bps();
        let stood = std::mem::replace(&mut self.stood, Duration::ZERO);
        orders.completed(number, self.asked, bytes);
        orders.record(Record::Segment { number: self.segments, asked: self.asked, bytes, rate_bps, level, stood });
        self.segments += 1;
        // What is there beyond room for another segment has to be played first.
        let room = self.spec.buffer - self.spec.segment;
        self.ask_at = if level > room { now + (level - room) } else { now };
    }

    /// A segment more is there; returns how much there is now.
    fn fill(&mut self, now: Instant, orders: &mut Orders) -> Duration {
        let segment = self.spec.segment;
        match &mut self.picture {
            Picture::Plays { until } => {
                *until += segment;
                *until - now
            }
            Picture::Stands { held, since } => {
                *held += segment;
                let (level, since) = (*held, *since);
                if level >= self.spec.enough() {
                    match since {
                        None => orders.record(Record::Began(now - self.start)),
                        Some(since) => {
                            self.stood = now - since;
                            orders.record(Record::Stood(since, now));
                        }
                    }
                    self.picture = Picture::Plays { until: now + level };
                }
                level
            }
        }
    }

    /// The player is closed.
    fn end(&mut self, now: Instant, number: u32, orders: &mut Orders) {
        self.close(now, orders);
        self.picture = Picture::Stands { held: Duration::ZERO, since: None };
        (self.connection, self.ask_at) = (Connection::Over, Instant::NEVER);
        orders.close(number);
    }

    /// When the picture comes to a halt.
    fn dry(&self) -> Instant {
        match self.picture {
            Picture::Plays { until } => until,
            Picture::Stands { .. } => Instant::NEVER,
        }
    }
}

impl App for Player {
    fn due(&self) -> Instant {
        match self.connection {
            Connection::None if self.ask_at < self.stop => self.ask_at,
            Connection::Open(_) => self.ask_at.min(self.stop).min(self.dry()),
            _ => Instant::NEVER,
        }
    }

    fn act(&mut self, now: Instant, orders: &mut Orders) {
        match self.connection {
            Connection::None => {
                self.ask_at = Instant::NEVER;
                self.connection = Connection::Open(orders.open());
            }
            Connection::Open(number) if now >= self.stop => self.end(now, number, orders),
            Connection::Open(_) if now >= self.dry() => {
                orders.record(Record::Stalled);
                self.picture = Picture::Stands { held: Duration::ZERO, since: Some(now) };
            }
            Connection::Open(number) => self.ask(now, number, orders),
            Connection::Over => {}
        }
    }

    fn hear(&mut self, now: Instant, number: u32, news: News, orders: &mut Orders) {
        match (news, &self.connection) {
            (_, Connection::Over) => {}
            (News::Connected, _) => self.ask(now, number, orders),
            (News::Answered, _) => self.arrived(now, number, orders),
            (News::Probed { .. } | News::Counted(_), _) => {}
        }
    }

    fn close(&mut self, end: Instant, orders: &mut Orders) {
        if let Picture::Stands { since: Some(since), .. } = self.picture {
            orders.record(Record::Stood(since, end));
        }
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}

/// How many segments are looked back at, and how much of their throughput is taken.
const WINDOW: usize = 4;
const SAFETY: f64 = 0.9;
