//! The queue discipline of a link; it owns the host's packets.

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::link::Link;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::tcp_view::TcpView;
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// Result of a dequeue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DequeueResult<P> {
    /// Transmit this packet now.
    Packet(Meta, P),
    /// The queue is empty.
    Empty,
    /// Packets are queued, but none may leave before this instant (shapers, rings).
    NotBefore(Instant),
}

impl<P> DequeueResult<P> {
    /// The packet's metadata, if there is a packet.
    #[inline]
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Packet(meta, _) => Some(meta),
            Self::Empty | Self::NotBefore(_) => None,
        }
    }
}

/// Host callbacks: dropped packets return through them, and disciplines query packets. The queries are part of the
/// sink, because every call that may drop has one, and only ACK filters and pacing need them: [`Meta`] and hosts
/// without TCP stay unchanged.
pub trait Sink<P> {
    /// `packet` was dropped for `reason`; `meta` is its state in the queue.
    fn dropped(&mut self, meta: Meta, packet: P, reason: DropReason);

    /// Returns a duplicate of `packet`, which enters the discipline as `meta`. `None` from a host that cannot
    /// duplicate; it rejects a discipline that does ([`Effects`](crate::registry::Effects)) at configuration.
    fn duplicated(&mut self, meta: &Meta, packet: &P) -> Option<P> {
        let _ = (meta, packet);
        None
    }

    /// Flips bit `bit` (0 to 7) of byte `byte` of a packet, counted from the first byte that the discipline accounts. A
    /// host that cannot do that rejects a discipline that corrupts ([`Effects`](crate::registry::Effects)).
    fn corrupt(&mut self, packet: &mut P, byte: u32, bit: u8) {
        let _ = (packet, byte, bit);
    }

    /// TCP header of an offered or queued packet; `None` if it has none or the host does not keep it.
    fn tcp_header(&self, packet: &P) -> Option<TcpView> {
        let _ = packet;
        None
    }

    /// Earliest departure time of an offered or queued packet (Linux's `skb->tstamp`), set by its sender; `None` if it
    /// may leave at once or the host does not keep it.
    fn departure_time(&self, packet: &P) -> Option<Instant> {
        let _ = packet;
        None
    }
}

impl<P, F: FnMut(Meta, P, DropReason)> Sink<P> for F {
    fn dropped(&mut self, meta: Meta, packet: P, reason: DropReason) {
        self(meta, packet, reason);
    }
}

/// Drops all packets of a discipline that is replaced at `now`. A shaper is queried at the time of each packet.
pub fn drop_all<P, Q: Qdisc<P> + ?Sized>(qdisc: &mut Q, now: Instant, sink: &mut dyn Sink<P>) {
    qdisc.drop_delayed(now, &mut |meta, packet, _| sink.dropped(meta, packet, DropReason::Replaced));
    let mut at = now;
    loop {
        let mut replaced = |meta, packet, _| sink.dropped(meta, packet, DropReason::Replaced);
        match qdisc.dequeue(at, &mut replaced) {
            DequeueResult::Packet(meta, packet) => sink.dropped(meta, packet, DropReason::Replaced),
            DequeueResult::NotBefore(later) if later > at && later < Instant::NEVER => at = later,
            DequeueResult::NotBefore(_) | DequeueResult::Empty => return,
        }
    }
}

/// Counters of a queue discipline since creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets offered.
    pub arrived: Count,
    /// Packets handed out for transmission.
    pub departed: Count,
    /// Packets dropped, by [`DropReason`].
    pub dropped: [Count; DropReason::ALL.len()],
    /// Packets newly marked CE here.
    pub marked: Count,
}

impl Stats {
    /// Packets dropped for any reason.
    pub fn dropped_total(&self) -> Count {
        self.dropped
            .iter()
            .fold(Count::default(), |sum, &c| Count { packets: sum.packets + c.packets, bytes: sum.bytes + c.bytes })
    }
}

/// A packet on its way into a queue.
#[derive(Debug)]
pub(crate) struct Arrival<P> {
    pub meta: Meta,
    pub packet: P,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }
}

/// Fate of an arriving packet. A dropped one has gone to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueResult {
    /// Queued.
    Queued,
    /// Queued, newly marked CE.
    Marked,
    /// The packet, or for some disciplines another one in its stead, was dropped.
    Dropped(DropReason),
}

/// A queue inside a queue discipline, for display.
pub struct SubqueueInfo<'a> {
    /// Kind: `flow`, `L4S`, `tin`, ….
    pub kind: &'static str,
    /// Number within the discipline, from 0: the bucket of a flow, the band.
    pub number: u32,
    /// Name of the scheduler's list that contains it; empty if none does or there is only one list.
    pub list: &'static str,
    /// Its backlog.
    pub backlog: Backlog,
    /// Bytes that it may send before the next queue's turn.
    pub deficit: Option<i64>,
    /// Its head packet.
    pub head: Option<Meta>,
    /// Reports the state of its manager, as [`Qdisc::observe`] does.
    pub observe: &'a ObserveFn<'a>,
}

/// Reports state variables by name.
pub type ObserveFn<'a> = dyn Fn(&mut dyn FnMut(&'static str, f64)) + 'a;

/// A queue discipline over the host's own packet handles `P`.
///
/// Calls come in the order of time. The discipline runs the algorithm's periodic updates itself: before it acts at
/// `now`, it runs every update due before `now`, each at its scheduled time. The queue does not change between two
/// calls, so updates see the same queue as with a timer of their own, and the host needs none.
pub trait Qdisc<P> {
    /// Offers a packet at `now`; `meta.enqueued` is stamped here.
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult;
    /// Requests the next packet to transmit at `now`.
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P>;
    /// Passes a packet through an empty queue to an idle link, with the result of [`Self::enqueue`] and an immediate
    /// [`Self::dequeue`]. `None` if nothing was done and these two must be called.
    fn bypass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        let _ = (now, meta);
        None
    }
    /// From now on packets that carry CE are invisible to the algorithm, in its backlog and in its sojourn times (N.
    /// Khademi et al. 2013, section 7). Called before the first packet. A view of the queue does it, so algorithms and
    /// the plain queue contain no code for it. Returns whether the discipline supports it.
    fn exclude_ce(&mut self) -> bool {
        false
    }
    /// Allocates what its limits allow, before the first packet: none of the later calls with packets allocates or
    /// frees. A limit in bytes or time becomes one in packets as well; packets beyond it are dropped by the rule of the
    /// limit.
    ///
    /// # Errors
    ///
    /// The memory is refused, or the discipline cannot reserve it. Some of it may be reserved then.
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let _ = memory;
        Err(ReservationError::Impossible("this discipline allocates memory while packets arrive"))
    }
    /// Whether the discipline splits super-packets before it queues them (`split-gso`): its host offers the segments.
    fn splits_gso(&self) -> bool {
        false
    }
    /// Whether the discipline holds packets until the departure times that senders set ([`Sink::departure_time`]), so
    /// that senders need not delay them.
    fn paces(&self) -> bool {
        false
    }
    /// Whether the discipline may query TCP headers ([`Sink::tcp_header`]); a host without stored packets, such as a
    /// log, must keep them then.
    fn needs_tcp_headers(&self) -> bool {
        false
    }
    /// Takes over from `old`, the value of its [`Self::as_any`]: keeps its own parameters and limits and continues with
    /// the packets and the state of `old`, as after `tc qdisc change`. Packets that no longer fit are dropped by the
    /// discipline's rule.
    ///
    /// # Errors
    ///
    /// The change is impossible while the queue is in use; nothing has changed then.
    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let _ = (old, now, sink);
        Err(ConfigError::Immutable)
    }
    /// Drops packets that are delayed on their way to a child, which would stamp them at their release; other packets
    /// stay.
    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let _ = (now, sink);
    }
    /// The discipline itself, if another one of its type can take over from it.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
    /// Runs every update due up to and including `now`, so that the state can be read at `now`.
    fn settle(&mut self, now: Instant);
    /// The backlog.
    fn backlog(&self) -> Backlog;
    /// Counters.
    fn stats(&self) -> &Stats;
    /// Statistics as `tc -s -j qdisc` gives them, a JSON object; `None` for a discipline that tc does not know.
    fn statistics(&self) -> Option<String> {
        None
    }
    /// Reports the algorithm's state variables by name.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64));
    /// Names of the inner queues that packets join by their headers: bands, tins, classes, the two of a coupled pair.
    /// Empty for one queue and for a queue per flow.
    fn queues(&self) -> Vec<String> {
        Vec::new()
    }
    /// Index in [`Self::queues`] of the queue that an arriving packet joins.
    fn queue_of(&self, meta: &Meta) -> usize {
        let _ = meta;
        0
    }
    /// Reports the inner queues that hold packets or are scheduled, by number; none if the discipline has one queue.
    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        let _ = see;
    }
}

/// Environment of a queue discipline: its link and its random stream.
#[derive(Clone, Debug)]
pub struct Host {
    /// The link below.
    pub link: Link,
    /// The queue's own random stream.
    pub rng: Rng,
}
