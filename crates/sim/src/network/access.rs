//! Access links: ways that take time but hold nobody up.

use crate::link::Pipe;
use crate::packet::{Handle, Origin};
use crate::scenario::Middlebox;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::{Duration, Ecn, Instant, Rate, Serializer};

/// How a flow's packets travel: what every packet of it is asked for, in half of a cache line.
#[repr(align(32))]
pub(crate) struct Route {
    /// The flow that travels here now; [`NOBODY`] after its end.
    pub flow: u32,
    /// The hosts of its source and of its sink.
    pub hosts: (u32, u32),
    /// The code point and the class that the flow's group asks for.
    pub dscp: u8,
    pub class: ClassId,
    /// What somebody on the way does to its packets.
    pub middlebox: Option<Middlebox>,
    /// The first link that its data cross, and the first that its acknowledgments cross.
    pub data_link: u16,
    pub ack_link: u16,
    /// The wireless LANs of its source and of its sink, where they are stations; else [`NO_CELL`].
    pub cells: (u16, u16),
    /// Number of its paths.
    pub paths: u32,
    /// Whether its packets pass the access link without taking time.
    pub transparent: bool,
}

/// What fewer packets are asked for of their flow's route. When a connection ends, the next one in its slot inherits the
/// access links with what is still under way in them.
pub(crate) struct RouteDetail {
    /// The group that the flow belongs to.
    pub group: u32,
    pub uplink: AccessLink,
    pub downlink: AccessLink,
}

/// No flow: nothing is delivered.
pub(crate) const NOBODY: u32 = u32::MAX;

/// No wireless LAN: a scenario has fewer.
const NO_CELL: u16 = u16::MAX;

/// How a [`Route`] has a wireless LAN, or none.
pub(crate) fn cell_number(cell: Option<u16>) -> u16 {
    cell.unwrap_or(NO_CELL)
}

/// A packet that is sent takes one line, whatever else it takes.
const _: () = assert!(size_of::<Route>() == 32);

impl Route {
    /// Whether its source has the access link, as sources in a wired network have, or its sink. One at a station takes no
    /// time.
    #[inline(always)]
    pub fn access_at_source(&self) -> bool {
        self.cells.0 == NO_CELL
    }

    /// What a queue learns of the flow's packets in one direction, which it knows by the number `flow`.
    #[inline(always)]
    pub fn origin(&self, to_sink: bool, flow: u32) -> Origin {
        let (source, sink) = self.hosts;
        Origin { hosts: if to_sink { (source, sink) } else { (sink, source) }, class: self.class, flow }
    }

    /// The number by which queues know a packet of `flow`, or the tunnel that it is in.
    #[cold]
    pub fn visible_flow(&self, flow: u32) -> u32 {
        // Flows have numbers from 0 on, hosts too, so that no flow has that of a tunnel.
        if self.middlebox == Some(Middlebox::Tunnel) { NOBODY - 1 - self.hosts.0 } else { flow }
    }

    /// What its middlebox makes of the ECN field of what is sent.
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

/// One direction of an access link: an unbounded queue before a transmitter that nobody else uses, so that
/// the arrival at its end is known when a packet enters.
pub(crate) struct AccessLink {
    serializer: Option<Serializer>,
    delay: Duration,
    free_at: Instant,
    /// What overtook, or was overtaken, on the way to the common pipe.
    pub pipe: Pipe,
}

/// The ends of all access links at a link.
#[derive(Debug, Default)]
pub(crate) struct AccessPipes {
    /// Packets on their way to the link over access links.
    pub entry: Pipe,
    /// Packets travelling over the link's pipe and then over access links.
    pub exit: Pipe,
}

/// Over which pipe a packet reaches the end of an access link, and when that is to be looked at if the packet is the first
/// one in it.
pub(crate) enum PipeChoice {
    /// With those of the other flows.
    Shared(Option<Instant>),
    /// Its flow's own.
    Private(Option<Instant>),
}

impl AccessLink {
    pub fn new(rate: Option<Rate>, delay: Duration) -> Self {
        let serializer = rate.map(Serializer::new);
        Self { serializer, delay, free_at: Instant::ZERO, pipe: Pipe::new() }
    }

    /// Whether packets pass without taking time.
    #[inline]
    pub fn is_transparent(&self) -> bool {
        self.serializer.is_none() && self.delay == Duration::ZERO
    }

    /// Whether sending takes time.
    pub fn has_rate(&self) -> bool {
        self.serializer.is_some()
    }

    /// When all that has entered will have been sent.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    #[inline]
    pub fn arrival(&mut self, now: Instant, bytes: u32) -> Instant {
        let Some(serializer) = &mut self.serializer else { return now + self.delay };
        self.free_at = now.max(self.free_at) + serializer.time_for(bytes);
        self.free_at + self.delay
    }

    /// When the transmission began of a packet that arrives at `arrival`.
    pub fn sent_at(&self, arrival: Instant, bytes: u32) -> Instant {
        let sending =
            self.serializer.as_ref().map_or(Duration::ZERO, |serializer| serializer.rate().time_for(bytes.into()));
        arrival - self.delay - sending
    }

    /// A packet of so many bytes enters at `now`. It travels in the `common` pipe if it arrives behind all others there, and
    /// with none of its flow still in the flow's own; or if that is to hold them `all`.
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
