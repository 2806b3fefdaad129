//! One direction of a shell: what happens to a packet between a read of one TUN device and a write to the other.
//!
//! Time is virtual: [`Instant`] counts nanoseconds since the shell's start on the monotonic clock, and what is due at t
//! is decided as of t, however late [`Direction::run`] is called. The caller reads first and runs then: an arrival is
//! never older than the instant of the last `run`.

mod buffer;

pub use buffer::{Buffer, Pool};

use crate::Error;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::Histogram;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::path::PathBuf;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From inside the shell to the outside.
    Up,
    /// From the outside to the inside.
    Down,
}

impl Side {
    /// `up` or `down`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// What a direction does with packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A link with its queue; its delay, loss and `below` are empty.
    Link(Box<LinkSpec>),
    /// A one-way delay, constant or in steps; packets keep their order.
    Delay(Steps<Duration>),
    /// Loss; `None` loses nothing.
    Loss(Option<LossSpec>),
    /// A link that is on and off for exponentially distributed times with these means; off, it loses every packet.
    OnOff {
        /// Mean time on; above zero.
        on: Duration,
        /// Mean time off; zero for always on.
        off: Duration,
    },
}

/// What a log file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Fixed records, one per arrival, departure, drop, mark and late decision: what results are made from.
    Records,
    /// Mahimahi's grammar, in whole milliseconds.
    Mahimahi,
}

/// A log that a direction writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// The file; made anew.
    pub path: PathBuf,
    /// Its form.
    pub format: LogFormat,
    /// The command line of the shell, for the log's head.
    pub command: String,
}

/// Everything that determines a direction, but for the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Which way it goes; its random streams and the names of its logs follow.
    pub side: Side,
    /// What it does.
    pub kind: Kind,
    /// Packets due within this time leave as one write where they can be joined; zero: strictly one by one.
    pub window: Duration,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Nanoseconds since 1970 at virtual time zero.
    pub epoch_ns: u64,
    /// Log of every packet; several for several formats.
    pub logs: Vec<LogConfig>,
    /// Capture (pcapng, nanoseconds) of what arrives and what leaves.
    pub pcap: Option<PathBuf>,
}

/// Where a direction writes what leaves it.
pub trait Sink {
    /// Writes one frame: virtio header and IP packet, of one flow, in parts.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()>;
}

/// Counters of a direction; packets are those of at most one MTU, never superframes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived, and their bytes of IP.
    pub arrived: (u64, u64),
    /// Packets that left, and their bytes of IP.
    pub departed: (u64, u64),
    /// Packets that the queue or the medium dropped.
    pub dropped: u64,
    /// Packets newly marked CE.
    pub marked: u64,
    /// Frames that were no IP packet and were thrown away.
    pub malformed: u64,
    /// Packets that the kernel refused to take; they left in virtual time.
    pub refused: u64,
    /// Packets waiting now.
    pub backlog: u64,
    /// Delay in the direction of the packet that left last, in nanoseconds.
    pub delay_ns: u64,
}

/// What a direction did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which way it went.
    pub side: Side,
    /// Counters at the end.
    pub counters: Counters,
    /// Writing minus due time of every packet.
    pub lateness: Histogram,
    /// Why a log is not complete: the first error of writing it, with the file's name.
    pub log_error: Option<String>,
}

/// One direction at work.
pub struct Direction {
    config: DirectionConfig,
    waiting: VecDeque<(Instant, Buffer)>,
    counters: Counters,
    lateness: Histogram,
}

impl Direction {
    /// A direction with random streams of `seed`; opens its logs.
    pub fn new(config: DirectionConfig, seed: u64) -> Result<Self, Error> {
        let _ = seed;
        Ok(Self { config, waiting: VecDeque::new(), counters: Counters::default(), lateness: Histogram::default() })
    }

    /// One read of the TUN device at `at`, never before the last [`Self::run`]: virtio header and packet or superframe.
    pub fn arrive(&mut self, at: Instant, buffer: Buffer) {
        self.counters.arrived.0 += 1;
        self.counters.arrived.1 += buffer.frame().len() as u64;
        self.waiting.push_back((at, buffer));
    }

    /// Does everything that is due up to and including `now`.
    pub fn run(&mut self, now: Instant, out: &mut dyn Sink) {
        while let Some((at, buffer)) = self.waiting.pop_front() {
            self.lateness.record(now - at);
            if out.write(&[IoSlice::new(buffer.frame())]).is_err() {
                self.counters.refused += 1;
            }
            self.counters.departed.0 += 1;
            self.counters.departed.1 += buffer.frame().len() as u64;
        }
    }

    /// When [`Self::run`] has something to do next; `None` until a packet arrives.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.front().map(|&(at, _)| at)
    }

    /// Counters so far, for the live view.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Ends the direction: closes its logs. What still waits is lost.
    pub fn finish(self) -> Report {
        Report { side: self.config.side, counters: self.counters, lateness: self.lateness, log_error: None }
    }
}
