//! A player of adaptive video: it fetches segment after segment over one connection, each in the rate that it expects
//! the network to carry, and pauses when its buffer is full.
//!
//! The rate rule uses throughput only: the highest rate up to 0.9 times the harmonic mean of the throughput of the last
//! four segments, the lowest rate at the start. Source: dash.js `ThroughputRule` (`getSafeAverageThroughput`: sliding
//! window of four samples, `bandwidthSafetyFactor` 0.9); of its means, the harmonic one is that of FESTIVE (Jiang,
//! Sekar and Zhang, CoNEXT 2012, there over twenty segments). A segment's throughput counts from its request.
//! `Differs:` segments have their nominal size, the window does not grow with the variation, and downloads are never
//! abandoned.

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
    /// When the next segment is requested; never while one is being fetched.
    request_at: Instant,
    /// When the last segment was requested, and the index of its rate in the ladder.
    requested_at: Instant,
    step: Option<usize>,
    /// Throughput of the last segments, in bit/s.
    throughputs: VecDeque<f64>,
    playback: PlaybackState,
    /// Segments received, and the length of the last stall, until a segment reports it.
    segments: u32,
    stalled_for: Duration,
}

enum Connection {
    /// Not opened yet, opened with this number, or closed.
    None,
    Open(u32),
    Closed,
}

/// State of the playback.
enum PlaybackState {
    /// Paused with less video than playback needs; `since` when, after a stall.
    Stalled { buffered: Duration, since: Option<Instant> },
    /// Playing; the buffer lasts until then.
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
            playback: PlaybackState::Stalled { buffered: Duration::ZERO, since: None },
            segments: 0,
            stalled_for: Duration::ZERO,
        }
    }

    fn request(&mut self, now: Instant, number: u32, actions: &mut ActionQueue) {
        let step = self.choose();
        let switched = self.step.is_some_and(|before| before != step);
        (self.request_at, self.requested_at, self.step) = (Instant::NEVER, now, Some(step));
        if switched {
            actions.record(AppRecord::Switched);
        }
        let VideoSpec { request, think, .. } = self.spec;
        actions.request(number, Exchange { pause: Duration::ZERO, request, think, response: self.bytes(step) });
    }

    /// Index in the ladder of the rate for the next segment.
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

    /// Handles the arrival of the requested segment.
    fn on_segment(&mut self, now: Instant, number: u32, actions: &mut ActionQueue) {
        let step = self.step.expect("a segment was requested");
        let bytes = self.bytes(step);
        self.throughputs.push_back(bytes as f64 * 8.0 / (now - self.requested_at).as_secs_f64());
        if self.throughputs.len() > WINDOW {
            self.throughputs.pop_front();
        }
        let level = self.add_segment(now, actions);
        let rate_bps = self.spec.ladder.rates()[step].as_bps();
        let stalled_for = std::mem::replace(&mut self.stalled_for, Duration::ZERO);
        actions.completed(number, self.requested_at, bytes);
        actions.record(AppRecord::Segment {
            number: self.segments,
            requested_at: self.requested_at,
            bytes,
            rate_bps,
            level,
            stalled_for,
        });
        self.segments += 1;
        // Wait until the buffer has room for another segment.
        let room = self.spec.buffer - self.spec.segment;
        self.request_at = if level > room { now + (level - room) } else { now };
    }

    /// Adds a segment to the buffer; returns the buffer level.
    fn add_segment(&mut self, now: Instant, actions: &mut ActionQueue) -> Duration {
        let segment = self.spec.segment;
        match &mut self.playback {
            PlaybackState::Playing { until } => {
                *until += segment;
                *until - now
            }
            PlaybackState::Stalled { buffered, since } => {
                *buffered += segment;
                let (level, since) = (*buffered, *since);
                if level >= self.spec.startup_level() {
                    match since {
                        None => actions.record(AppRecord::Started(now - self.start)),
                        Some(since) => {
                            self.stalled_for = now - since;
                            actions.record(AppRecord::StallEnded(since, now));
                        }
                    }
                    self.playback = PlaybackState::Playing { until: now + level };
                }
                level
            }
        }
    }

    /// Closes the player.
    fn end(&mut self, now: Instant, number: u32, actions: &mut ActionQueue) {
        self.close(now, actions);
        self.playback = PlaybackState::Stalled { buffered: Duration::ZERO, since: None };
        (self.connection, self.request_at) = (Connection::Closed, Instant::NEVER);
        actions.close(number);
    }

    /// When the buffer runs empty and playback stalls.
    fn buffer_end(&self) -> Instant {
        match self.playback {
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

    fn on_timer(&mut self, now: Instant, actions: &mut ActionQueue) {
        match self.connection {
            Connection::None => {
                self.request_at = Instant::NEVER;
                self.connection = Connection::Open(actions.open());
            }
            Connection::Open(number) if now >= self.stop => self.end(now, number, actions),
            Connection::Open(_) if now >= self.buffer_end() => {
                actions.record(AppRecord::Stalled);
                self.playback = PlaybackState::Stalled { buffered: Duration::ZERO, since: Some(now) };
            }
            Connection::Open(number) => self.request(now, number, actions),
            Connection::Closed => {}
        }
    }

    fn on_event(&mut self, now: Instant, number: u32, event: ConnectionEvent, actions: &mut ActionQueue) {
        match (event, &self.connection) {
            (_, Connection::Closed) => {}
            (ConnectionEvent::Connected, _) => self.request(now, number, actions),
            (ConnectionEvent::ResponseReceived, _) => self.on_segment(now, number, actions),
            (ConnectionEvent::ProbeAnswered { .. } | ConnectionEvent::Counted(_), _) => {}
        }
    }

    fn close(&mut self, end: Instant, actions: &mut ActionQueue) {
        if let PlaybackState::Stalled { since: Some(since), .. } = self.playback {
            actions.record(AppRecord::StallEnded(since, end));
        }
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}

/// Number of segments in the throughput average, and the share of it that is used.
const WINDOW: usize = 4;
const SAFETY: f64 = 0.9;
