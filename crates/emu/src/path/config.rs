//! Configuration of a direction.

use super::ports::PortRules;
use sojourn_aqm::Duration;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
use std::path::PathBuf;

/// Direction of packets through a shell.
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

    /// Number of its link in results and random streams: 0 for down, the forward direction, 1 for up, the reverse
    /// direction.
    pub const fn index(self) -> usize {
        match self {
            Self::Down => 0,
            Self::Up => 1,
        }
    }
}

/// Processing of packets by a direction.
#[derive(Clone, Debug, PartialEq)]
pub enum PathKind {
    /// A link with its queue, delay and loss; it has no buffer below.
    Link(Box<LinkSpec>),
    /// A one-way delay, constant or in steps; packets keep their order.
    Delay(Steps<Duration>),
    /// Random loss; `None` loses nothing.
    Loss(Option<LossSpec>),
    /// A link that is alternately on and off; while off, it loses every packet.
    OnOff {
        /// Time on, above zero: the mean of an exponential distribution, or each time.
        on: Duration,
        /// Time off, likewise; zero for always on.
        off: Duration,
        /// Whether times are fixed.
        fixed: bool,
    },
}

/// Handling of super-packets (GSO): up to 64 kB of one flow that a sender's kernel hands over at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gso {
    /// Split before the queue, which gets packets of at most one MTU.
    #[default]
    Cut,
    /// The queue gets them whole, like the qdisc of a Linux sender; the link splits them after the queue. Without a
    /// link they leave unchanged, but a lossy medium splits them.
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

/// Format of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Fixed-size records, one per arrival, departure, drop, mark and late decision: results are computed from them.
    Records,
    /// Mahimahi's grammar, in whole milliseconds.
    Mahimahi,
}

/// A log that a direction writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// The file; an existing one is replaced.
    pub path: PathBuf,
    /// Its format.
    pub format: LogFormat,
    /// Command line of the shell, for the log's head.
    pub command: String,
}

/// Everything that determines a direction except the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Its side, which names its logs.
    pub side: Side,
    /// Number of its link in results and random streams; in a shell, that of the side.
    pub number: usize,
    /// Processing of packets.
    pub kind: PathKind,
    /// Packets that follow each other within this time leave together, in one write if they can be joined. Zero: each
    /// packet leaves by itself.
    pub window: Duration,
    /// Maximum IP packet in bytes.
    pub mtu: u32,
    /// Nanoseconds since 1970 at virtual time zero.
    pub epoch_ns: u64,
    /// Logs of every packet, one per format.
    pub logs: Vec<LogConfig>,
    /// Path prefix of captures of arrivals and departures (pcapng, nanoseconds).
    pub pcap: Option<PathBuf>,
    /// Handling of super-packets.
    pub gso: Gso,
    /// Whether frames are Ethernet, whose non-IP frames are queued and sent too; otherwise IP.
    pub ethernet: bool,
    /// Classes and hosts of packets by port.
    pub ports: PortRules,
}

impl DirectionConfig {
    /// A direction of `kind` with the default window, the MTU of its link or else Ethernet's, and no logs.
    pub fn new(side: Side, kind: PathKind) -> Self {
        let mtu = if let PathKind::Link(spec) = &kind { spec.mtu } else { MTU };
        let number = side.index();
        Self {
            side,
            number,
            kind,
            window: WINDOW,
            mtu,
            epoch_ns: 0,
            logs: Vec::new(),
            pcap: None,
            gso: Gso::Cut,
            ethernet: false,
            ports: PortRules::default(),
        }
    }
}

/// Default of [`DirectionConfig::window`].
pub(crate) const WINDOW: Duration = Duration::from_micros(100);

/// Ethernet's MTU in bytes.
const MTU: u32 = 1500;
