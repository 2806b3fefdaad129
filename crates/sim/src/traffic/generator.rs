//! Generators of connections: when to open them, and for which job. The connections are flows like any other, in slots
//! that are reused, so that memory follows the number of concurrent connections.
//!
//! Sizes and pauses are drawn when a connection is requested, so that neither the queue manager nor the fate of other
//! connections changes the traffic.

use super::exchange::Exchange;
use super::job::Job;
use super::opening::{ConnectionTemplate, Opening};
use super::packmime::PackMime;
use super::pattern::Pattern;
use super::quic;
use super::replay::Transfers;
use super::tcp::TcpTemplate;
use super::web::WebPages;
use crate::scenario::{FileSpec, TcpSpec};
use sojourn_aqm::{Duration, Instant, Rng};
use std::collections::VecDeque;

/// A source of connections.
pub(crate) struct Generator {
    pub group: u32,
    member: u32,
    /// Connections opened.
    opened: u32,
    pattern: AnyPattern,
    /// Parameters of the connections.
    pub template: ConnectionTemplate,
    stop: Instant,
    /// Slots of closed connections.
    free: Vec<u32>,
    open: u32,
    /// Seeds the generators of the connections' congestion controls.
    rng: Rng,
    /// Connections requested while the maximum number was open, with their times.
    waiting: VecDeque<(Instant, Job)>,
    /// Memory for the exchanges of the next connection.
    spare_exchanges: Vec<Exchange>,
}

macro_rules! patterns {
    ($( $kind:ident($type:ty); )+) => {
        /// Any kind of pattern.
        pub(super) enum AnyPattern { $( $kind($type), )+ }

        impl Pattern for AnyPattern {
            fn due(&self) -> Instant {
                match self { $( Self::$kind(pattern) => pattern.due(), )+ }
            }
            fn draw(&mut self, spare: &mut Vec<Exchange>) -> Job {
                match self { $( Self::$kind(pattern) => pattern.draw(spare), )+ }
            }
            fn on_closed(&mut self, now: Instant) {
                match self { $( Self::$kind(pattern) => pattern.on_closed(now), )+ }
            }
            fn tcp(&self) -> &TcpSpec {
                match self { $( Self::$kind(pattern) => pattern.tcp(), )+ }
            }
            fn max_open(&self) -> u32 {
                match self { $( Self::$kind(pattern) => pattern.max_open(), )+ }
            }
        }
    };
}

patterns! {
    Files(FileTransfers);
    Pages(WebPages);
    PackMime(Box<PackMime>);
    Transfers(Box<Transfers>);
}

impl Generator {
    pub(super) fn new(pattern: AnyPattern, (group, member): (u32, u32), stop: Instant, rng: Rng) -> Self {
        let tcp = pattern.tcp();
        let template = if tcp.is_quic() {
            ConnectionTemplate::Quic(quic::QuicTemplate::new(tcp))
        } else {
            ConnectionTemplate::Tcp(TcpTemplate::new(tcp))
        };
        let (free, waiting, spare_exchanges) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { group, member, opened: 0, pattern, template, stop, free, open: 0, rng, waiting, spare_exchanges }
    }

    /// Number in its group of the flow that the last connection opened is part of: each transfer of a capture is one.
    pub fn member(&self) -> u32 {
        if let AnyPattern::Transfers(_) = self.pattern { self.opened.saturating_sub(1) } else { self.member }
    }

    /// When [`Self::next`] must be called.
    pub fn due(&self) -> Instant {
        let due = self.pattern.due();
        if due < self.stop { due } else { Instant::NEVER }
    }

    /// The next connection to open at `now`, with a free slot if there is one.
    pub fn next(&mut self, now: Instant) -> Option<(Opening, Option<u32>)> {
        while self.due() <= now {
            let requested_at = self.pattern.due();
            self.waiting.push_back((requested_at, self.pattern.draw(&mut self.spare_exchanges)));
        }
        if self.open >= self.pattern.max_open() {
            return None;
        }
        let (requested_at, job) = self.waiting.pop_front()?;
        self.open += 1;
        self.opened += 1;
        let rng = Rng::from_state(self.rng.next_u64());
        Some((Opening { requested_at, rng, job }, self.free.pop()))
    }

    /// Keeps the memory of completed exchanges for reuse.
    pub fn recycle(&mut self, mut exchanges: Vec<Exchange>) {
        exchanges.clear();
        self.spare_exchanges = exchanges;
    }

    /// Times of the connections requested until `end`, if none of them is ever closed.
    pub fn request_times_until(mut self, end: Instant) -> Vec<Instant> {
        let mut times = Vec::new();
        while self.due() <= end {
            times.push(self.due());
            self.pattern.draw(&mut self.spare_exchanges);
        }
        times
    }

    /// Frees the slot of a closed connection.
    pub fn on_closed(&mut self, now: Instant, slot: u32) {
        self.free.push(slot);
        self.open -= 1;
        self.pattern.on_closed(now);
    }
}

/// Transfers of a file, one after the other.
pub(super) struct FileTransfers {
    spec: FileSpec,
    size: u64,
    pause: Duration,
    due: Instant,
}

/// Transfers of a file: the first at `start`, each other one a pause after the end of the one before.
pub(super) fn files(spec: &FileSpec, start: Instant) -> AnyPattern {
    let (size, pause) = spec.size.zip(spec.pause).expect("a pause comes with a size");
    AnyPattern::Files(FileTransfers { spec: spec.clone(), size, pause, due: start })
}

impl Pattern for FileTransfers {
    fn due(&self) -> Instant {
        self.due
    }

    fn draw(&mut self, _: &mut Vec<Exchange>) -> Job {
        self.due = Instant::NEVER;
        Job::Upload(self.size)
    }

    fn on_closed(&mut self, now: Instant) {
        self.due = now + self.pause;
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}
