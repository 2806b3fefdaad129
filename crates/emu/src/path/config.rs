//! What determines a direction.

use sojourn_aqm::Duration;
use sojourn_aqm::class::ClassId;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
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

    /// Number of its link in results and random streams: down is the forward direction, 0, and up the reverse direction, 1.
    pub const fn index(self) -> usize {
        match self {
            Self::Down => 0,
            Self::Up => 1,
        }
    }
}

/// What a direction does with packets.
#[derive(Clone, Debug, PartialEq)]
pub enum PathKind {
    /// A link with its queue, delay and loss; it has no buffer below.
    Link(Box<LinkSpec>),
    /// A one-way delay, constant or in steps; packets keep their order.
    Delay(Steps<Duration>),
    /// Loss; `None` loses nothing.
    Loss(Option<LossSpec>),
    /// A link that is on and off in turn; off, it loses every packet.
    OnOff {
        /// Time on, above zero; the mean of exponentially distributed ones, or each.
        on: Duration,
        /// Time off, likewise; zero for always on.
        off: Duration,
        /// Whether times are fixed.
        fixed: bool,
    },
}

/// What becomes of super-packets: what a sender's kernel hands over at once of one flow, up to 64 kB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gso {
    /// They are cut before the queue: it judges packets of at most one MTU.
    #[default]
    Cut,
    /// The queue judges them whole, as the queue disciplines of a Linux sender do; the link cuts them below it. Where there
    /// is no link they leave as they came; what loses packets cuts them.
    Keep,
}

impl Gso {
    /// `cut` or `keep`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Keep => "keep",
        }
    }
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
    /// Which way it goes; the names of its logs follow.
    pub side: Side,
    /// Number of its link in results and random streams: of a shell, that of the side.
    pub number: usize,
    /// What it does.
    pub kind: PathKind,
    /// Where packets follow each other within this time, those that are due within it leave together, as one write where
    /// they can be joined; zero: strictly one by one.
    pub window: Duration,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Nanoseconds since 1970 at virtual time zero.
    pub epoch_ns: u64,
    /// Log of every packet; several for several formats.
    pub logs: Vec<LogConfig>,
    /// Captures (pcapng, nanoseconds) of what arrives and what leaves: what their paths begin with.
    pub pcap: Option<PathBuf>,
    /// What becomes of super-packets.
    pub gso: Gso,
    /// Whether frames are those of Ethernet, of which what is not IP waits and leaves as well; else they are IP.
    pub ethernet: bool,
    /// Classes that packets from or to a port of TCP or UDP name, as a sender's `SO_PRIORITY` or a filter of its host would.
    pub classes: Vec<(u16, ClassId)>,
}

impl DirectionConfig {
    /// A direction that does `kind`, with the default window and Ethernet's largest packet, or that of its link, and without
    /// logs.
    pub fn new(side: Side, kind: PathKind) -> Self {
        let mtu = if let PathKind::Link(spec) = &kind { spec.mtu } else { MTU };
        let (logs, classes) = (Vec::new(), Vec::new());
        let number = side.index();
        Self {
            side,
            number,
            kind,
            window: WINDOW,
            mtu,
            epoch_ns: 0,
            logs,
            pcap: None,
            gso: Gso::Cut,
            ethernet: false,
            classes,
        }
    }
}

/// What leaves together, unless a shell is told otherwise.
pub(crate) const WINDOW: Duration = Duration::from_micros(100);

/// Largest IP packet, as Ethernet's.
const MTU: u32 = 1500;
