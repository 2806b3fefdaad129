//! What a link holds: a queue discipline that owns the host's packets.

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::link::Link;
use crate::packet::Meta;
use crate::rng::Rng;
use crate::tcp_view::TcpView;
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// The answer of a queue discipline that was asked for the next packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DequeueResult<P> {
    /// Transmit this one now.
    Packet(Meta, P),
    /// Nothing is queued.
    Empty,
    /// Something is queued that may not go before this instant (shapers, rings).
    NotBefore(Instant),
}

impl<P> DequeueResult<P> {
    /// The packet's metadata, if there is one.
    #[inline]
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Packet(meta, _) => Some(meta),
            Self::Empty | Self::NotBefore(_) => None,
        }
    }
}

/// Where a queue discipline hands back what it drops, and asks what the host knows of a packet.
pub trait Sink<P> {
    /// `packet` was dropped for `reason`; `meta` is as it stood in the queue.
    fn dropped(&mut self, meta: Meta, packet: P, reason: DropReason);

    /// A second packet like `packet`, which comes to the discipline as `meta`. None from a host that has no such; it refuses
    /// a discipline that duplicates ([`Effects`](crate::registry::Effects)) when it is configured.
    fn duplicated(&mut self, meta: &Meta, packet: &P) -> Option<P> {
        let _ = (meta, packet);
        None
    }

    /// Bit `bit`, from 0 to 7, of byte `byte` of a packet is flipped, counted from the beginning of what the discipline
    /// accounts. A host that cannot do that refuses a discipline that damages ([`Effects`](crate::registry::Effects)).
    fn damaged(&mut self, packet: &mut P, byte: u32, bit: u8) {
        let _ = (packet, byte, bit);
    }

    /// The TCP header of a packet that is offered or queued; none if it has none, or if the host does not tell.
    fn tcp_header(&self, packet: &P) -> Option<TcpView> {
        let _ = packet;
        None
    }

    /// When a packet that is offered or queued may leave at the earliest, as its sender has it (Linux's earliest departure
    /// time, `skb->tstamp`); none if it may go at once, or if the host does not tell.
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

/// Drops all that waits in a discipline that another one takes the place of at `now`. Shapers are asked for each packet when it
/// may go.
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

/// Counters of a queue discipline since its start.
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

/// What became of an arriving packet. A dropped one has gone to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueResult {
    /// It waits.
    Queued,
    /// It waits, newly marked CE.
    Marked,
    /// It, or for some disciplines another one in its place, was dropped.
    Dropped(DropReason),
}

/// A queue within a queue discipline, as it is shown to people.
pub struct SubqueueInfo<'a> {
    /// What it is: `flow`, `L4S`, `tin`, ….
    pub kind: &'static str,
    /// Its number within the discipline, from 0: the bucket of a flow, the band.
    pub number: u32,
    /// The scheduler's list that it is in; empty if it is in none, or if there is only one.
    pub list: &'static str,
    /// What waits in it.
    pub backlog: Backlog,
    /// What it may still send before another one's turn, in bytes.
    pub deficit: Option<i64>,
    /// Its first packet.
    pub head: Option<Meta>,
    /// Shows the state of its manager, as [`Qdisc::observe`] does.
    pub observe: &'a ObserveFn<'a>,
}

/// Shows state variables by name.
pub type ObserveFn<'a> = dyn Fn(&mut dyn FnMut(&'static str, f64)) + 'a;

/// A queue discipline over the host's own packet handles `P`.
///
/// Calls come in the order of time. Periodic updates of the algorithm are the discipline's own
/// business: before it does anything at `now`, it runs every update that was due before `now`, each at
/// its scheduled time; the host needs no timer for them.
pub trait Qdisc<P> {
    /// Offers a packet at `now`; `meta.enqueued` is stamped here.
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult;
    /// Asks for the next packet to transmit at `now`.
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P>;
    /// Takes a packet straight through an empty queue to an idle link: what [`Self::enqueue`] and, at once,
    /// [`Self::dequeue`] would do. `None` when nothing was done and these two are to be called.
    fn bypass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        let _ = (now, meta);
        None
    }
    /// From now on the algorithm does not see the packets that carry CE, neither in the backlog it is told nor in the
    /// sojourn times it measures (N. Khademi et al. 2013, section 7); before the first packet. Whether the discipline
    /// can do that.
    fn exclude_ce(&mut self) -> bool {
        false
    }
    /// Whether the discipline cuts super-packets before it queues them (`split-gso`): its host offers it their segments.
    fn splits_gso(&self) -> bool {
        false
    }
    /// Whether the discipline lets packets go at the departure times that their senders give ([`Sink::departs`]), so that these
    /// need not wait for them.
    fn paces(&self) -> bool {
        false
    }
    /// Whether the discipline may ask for TCP headers ([`Sink::tcp`]): a host that keeps no packets, such as a log, has to
    /// keep these then.
    fn needs_tcp_headers(&self) -> bool {
        false
    }
    /// Takes the place of `old`, which [`Self::as_any`] shows: keeps its own parameters and limits and goes on with the packets
    /// and the state of `old`, as after `tc qdisc change`. Packets that no longer fit are dropped as the discipline does it.
    /// An error says why that cannot be done while the queue is in use; then nothing has changed.
    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let _ = (old, now, sink);
        Err(ConfigError::Immutable)
    }
    /// Drops the packets that wait for their time before they go on to a discipline inside, which would stamp them with that
    /// time; the others are left.
    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let _ = (now, sink);
    }
    /// The discipline itself, where another one of its type can take its place.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
    /// Runs every update due up to and including `now`, for whoever looks at the state at `now`.
    fn settle(&mut self, now: Instant);
    /// What waits.
    fn backlog(&self) -> Backlog;
    /// Counters.
    fn stats(&self) -> &Stats;
    /// Statistics as `tc -s -j qdisc` gives them, a JSON object; `None` for a discipline that tc does not know.
    fn statistics(&self) -> Option<String> {
        None
    }
    /// The algorithm's state variables by name.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64));
    /// Names of the queues within that packets join by their headers: bands, tins, classes, the two of a coupled pair. Empty for
    /// one queue and for a queue per flow.
    fn queues(&self) -> Vec<String> {
        Vec::new()
    }
    /// Index in [`Self::queues`] of the queue that an arriving packet joins.
    fn queue_of(&self, meta: &Meta) -> usize {
        let _ = meta;
        0
    }
    /// Shows the queues within that hold packets or have a turn, in the order of their numbers; none of a discipline that has one queue.
    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        let _ = see;
    }
}

/// What every queue discipline is built from: who it feeds and where its randomness comes from.
#[derive(Clone, Debug)]
pub struct Host {
    /// The link below.
    pub link: Link,
    /// The queue's own random stream.
    pub rng: Rng,
}
