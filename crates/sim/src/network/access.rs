//! Access links: they delay packets but never drop or share.
//!
//! An access link is an unbounded queue of one flow, so its packets need no event of their own before they reach the
//! bottleneck.

use crate::link::Pipe;
use crate::packet::{Handle, Origin};
use crate::scenario::Middlebox;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Ecn, Instant, Rate, Serializer};

/// Route of a flow: the fields used for every packet, in half a cache line.
#[repr(align(32))]
pub(crate) struct Route {
    /// The current flow; [`NO_FLOW`] after its end.
    pub flow: u32,
    /// The hosts of its source and of its sink.
    pub hosts: (u32, u32),
    /// DSCP and class set by the flow's group.
    pub dscp: u8,
    pub class: ClassId,
    /// The middlebox on its path, which rewrites its packets. It belongs to flows, not to links, because it affects
    /// some of the flows that share a queue.
    pub middlebox: Option<Middlebox>,
    /// First link of its data, and first link of its acknowledgments.
    pub data_link: u16,
    pub ack_link: u16,
    /// Wireless LANs of its source and its sink, if they are stations; otherwise [`NO_CELL`].
    pub cells: (u16, u16),
    /// Index of its paths.
    pub paths: u32,
    /// Whether the access link takes no time.
    pub transparent: bool,
}

/// Fields of a flow's route that fewer packets use. When a connection ends, the next one in its slot inherits the
/// access links with the packets in flight on them.
pub(crate) struct RouteDetail {
    /// The flow's group.
    pub group: u32,
    pub uplink: AccessLink,
    pub downlink: AccessLink,
}

/// Sentinel: no flow; nothing is delivered.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// Sentinel: no wireless LAN; a scenario has fewer.
const NO_CELL: u16 = u16::MAX;

/// A wireless LAN as [`Route`] stores it.
pub(crate) fn cell_number(cell: Option<u16>) -> u16 {
    cell.unwrap_or(NO_CELL)
}

/// A packet that is sent reads one cache line of its route.
const _: () = assert!(size_of::<Route>() == 32);

impl Route {
    /// Whether the access link is at its source, as in a wired network, or at its sink. A station's access takes no
    /// time.
    #[inline(always)]
    pub fn access_at_source(&self) -> bool {
        self.cells.0 == NO_CELL
    }

    /// Properties for a queue, of the packets of one direction; `flow` is the number that queues use.
    #[inline(always)]
    pub fn origin(&self, to_sink: bool, flow: u32) -> Origin {
        let (source, sink) = self.hosts;
        Origin { hosts: if to_sink { (source, sink) } else { (sink, source) }, class: self.class, flow }
    }

    /// The ECN field after the flow's middlebox.
    #[cold]
    pub fn rewrite_ecn(&self, ecn: Ecn) -> Ecn {
        if self.middlebox == Some(Middlebox::Ect1) && ecn == Ecn::Ect0 { Ecn::Ect1 } else { ecn }
    }

    /// The wireless LAN of one end, if it is a station.
    pub fn cell_at(&self, source: bool) -> Option<usize> {
        let (of_source, of_sink) = self.cells;
        Some(if source { of_source } else { of_sink }).filter(|&cell| cell != NO_CELL).map(usize::from)
    }
}

/// One direction of an access link: an unbounded queue and a transmitter of one flow, so the arrival at its end is
/// known when a packet enters.
pub(crate) struct AccessLink {
    serializer: Option<Serializer>,
    delay: Duration,
    free_at: Instant,
    /// Packets out of order with the common pipe.
    pub pipe: Pipe,
}

/// The ends of all access links at a link.
#[derive(Debug, Default)]
pub(crate) struct AccessPipes {
    /// Packets on access links towards the link.
    pub entry: Pipe,
    /// Packets on the link's pipe and then on access links.
    pub exit: Pipe,
}

/// The pipe that a packet takes to the end of an access link; with the time of its event if the packet is the first in
/// it.
pub(crate) enum PipeChoice {
    /// The pipe shared by all flows.
    Shared(Option<Instant>),
    /// The flow's own pipe.
    Private(Option<Instant>),
}

impl AccessLink {
    pub fn new(rate: Option<Rate>, delay: Duration) -> Self {
        let serializer = rate.map(Serializer::new);
        Self { serializer, delay, free_at: Instant::ZERO, pipe: Pipe::new() }
    }

    /// Whether packets pass without delay.
    #[inline]
    pub fn is_transparent(&self) -> bool {
        self.serializer.is_none() && self.delay == Duration::ZERO
    }

    /// Whether transmission takes time.
    pub fn has_rate(&self) -> bool {
        self.serializer.is_some()
    }

    /// When everything that has entered will have been sent.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    #[inline]
    pub fn arrival(&mut self, now: Instant, bytes: u32) -> Instant {
        let Some(serializer) = &mut self.serializer else { return now + self.delay };
        self.free_at = now.max(self.free_at) + serializer.time_for(bytes);
        self.free_at + self.delay
    }

    /// When the transmission of a packet started that arrives at `arrival`.
    pub fn sent_at(&self, arrival: Instant, bytes: u32) -> Instant {
        let sending =
            self.serializer.as_ref().map_or(Duration::ZERO, |serializer| serializer.rate().time_for(bytes.into()));
        arrival - self.delay - sending
    }

    /// A packet enters at `now`. It takes the `common` pipe if it arrives after all packets there and the flow's own
    /// pipe is empty, or if `all` packets must take it.
    #[inline(always)]
    pub fn enter(&mut self, now: Instant, (bytes, handle): (u32, Handle), common: &mut Pipe, all: bool) -> PipeChoice {
        let at = self.arrival(now, bytes);
        if self.pipe.is_empty() && common.is_in_order(at) {
            PipeChoice::Shared(common.push(at, handle))
        } else if all {
            PipeChoice::Shared(common.insert(at, handle))
        } else {
            PipeChoice::Private(self.pipe.push(at, handle))
        }
    }
}
