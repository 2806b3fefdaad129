//! What a node has above its ring: the queue that its driver asks, and what has arrived from it over the channel.

use super::ACCESS_POINT;
use super::queues::StationQueues;
use super::sockets::{Sockets, is_counted};
use crate::link::{LinkContext, MeteredQueue, Pipe, Queue, Subqueues};
use crate::packet::{Handle, Packets};
use crate::probe::Probe;
use crate::queue_event::QueueEvent;
use crate::scenario::{Framing, LinkSpec};
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{DequeueResult, DropReason, Duration, Instant, Meta, Qdisc};

/// The interface of a node.
pub(crate) struct Interface {
    queue: InterfaceQueue,
    framing: Framing,
    is_station: bool,
    /// When its last transmission ends.
    busy_until: Instant,
    /// Packets that have arrived over the channel from this node.
    pub pipe: Pipe,
}

/// How packets wait.
enum InterfaceQueue {
    Shared(Queue),
    PerStation(Queue<StationQueues>),
}

impl Interface {
    /// That of a `node` with the queue of number `queue`, in a run with `seed`.
    pub fn new(spec: &LinkSpec, (node, queue): (usize, usize), seed: u64, window: &Window) -> Self {
        let queue = InterfaceQueue::Shared(Queue::new(spec, queue, seed, window));
        Self::with(queue, spec, node != ACCESS_POINT)
    }

    /// That of an access point with a queue for each station.
    pub fn by_station(spec: &LinkSpec, queues: StationQueues, window: &Window) -> Self {
        let queue = Queue::under(queues, spec, window);
        Self::with(InterfaceQueue::PerStation(queue), spec, false)
    }

    fn with(queue: InterfaceQueue, spec: &LinkSpec, is_station: bool) -> Self {
        Self { queue, framing: spec.framing, is_station, busy_until: Instant::ZERO, pipe: Pipe::new() }
    }

    /// Bytes of a packet as the queue counts them.
    pub fn accounted(&self, ip_bytes: u32) -> u32 {
        self.framing.accounted(ip_bytes)
    }

    /// Whether each station has a queue.
    pub fn is_by_station(&self) -> bool {
        matches!(self.queue, InterfaceQueue::PerStation(_))
    }

    /// The next packet is taken from the queue of `station`, if it has one.
    pub fn select_station(&mut self, station: usize) {
        if let InterfaceQueue::PerStation(queue) = &mut self.queue {
            queue.qdisc.current_station = station;
        }
    }

    /// Offers a packet, stamped with its arrival, to the queue.
    #[inline(always)]
    pub fn enqueue<P: Probe>(&mut self, meta: Meta, handle: Handle, books: &mut LinkContext<P>, sockets: &mut Sockets) {
        if let InterfaceQueue::Shared(queue) = &mut self.queue {
            if queue.try_store(&meta, handle, books) || queue.try_store_in_flow(&meta, handle, books) {
                return;
            }
        }
        self.judge(meta, handle, books, sockets);
    }

    /// The discipline has to decide of a packet that arrives.
    #[inline(never)]
    fn judge<P: Probe>(&mut self, meta: Meta, handle: Handle, books: &mut LinkContext<P>, sockets: &mut Sockets) {
        let now = meta.enqueued;
        with_socket_probe(books, sockets, self.is_station, |books| match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.enqueue(now, meta, handle, books),
            InterfaceQueue::PerStation(queue) => queue.enqueue(now, meta, handle, books),
        });
    }

    /// Takes the next packet, if it goes without the discipline's judgement; else nothing was done.
    #[inline(always)]
    pub fn try_dequeue_head<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> Option<(&Meta, Handle)> {
        match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.try_dequeue_head_meta(now, books),
            InterfaceQueue::PerStation(_) => None,
        }
    }

    /// Whether asking its queue for a packet does nothing and finds none.
    #[inline(always)]
    pub fn is_dequeue_noop(&self) -> bool {
        if let InterfaceQueue::Shared(queue) = &self.queue { queue.qdisc.is_dequeue_noop() } else { false }
    }

    /// Takes the next packet.
    #[inline(never)]
    pub fn dequeue<P: Probe>(
        &mut self,
        now: Instant,
        books: &mut LinkContext<P>,
        sockets: &mut Sockets,
    ) -> DequeueResult<Handle> {
        if let InterfaceQueue::Shared(queue) = &mut self.queue {
            if let Some((meta, handle)) = queue.try_dequeue_flow_head_meta(now, books) {
                return DequeueResult::Packet(*meta, handle);
            }
        }
        with_socket_probe(books, sockets, self.is_station, |books| match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.dequeue(now, books),
            InterfaceQueue::PerStation(queue) => queue.dequeue(now, books),
        })
    }

    /// Books that the node uses the channel, alone.
    pub fn record_transmission(&mut self, now: Instant, airtime: Duration) {
        self.busy_until = now + airtime;
        self.tally_mut().transmission(now, now + airtime, |from, to| (to - from).as_nanos() as u64);
    }

    /// The same of a station whose transmission collides with those of others, of which the longest so far ends at `counted`:
    /// the busy time of all stations is a union.
    pub fn record_collision(&mut self, now: Instant, airtime: Duration, counted: Instant) {
        self.busy_until = now + airtime;
        self.tally_mut().shared_transmission((now, now + airtime), counted);
    }
}

/// Its server is the channel, which it could use all the time.
impl MeteredQueue for Interface {
    fn tally(&self) -> &Tally {
        match &self.queue {
            InterfaceQueue::Shared(queue) => &queue.tally,
            InterfaceQueue::PerStation(queue) => &queue.tally,
        }
    }
    fn tally_mut(&mut self) -> &mut Tally {
        match &mut self.queue {
            InterfaceQueue::Shared(queue) => &mut queue.tally,
            InterfaceQueue::PerStation(queue) => &mut queue.tally,
        }
    }
    fn subqueues(&self) -> Option<&Subqueues> {
        match &self.queue {
            InterfaceQueue::Shared(queue) => queue.subqueues.as_deref(),
            InterfaceQueue::PerStation(queue) => queue.subqueues.as_deref(),
        }
    }
    fn close(&mut self) {
        match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.close(),
            InterfaceQueue::PerStation(queue) => queue.close(),
        }
    }
    fn qdisc(&self) -> &dyn Qdisc<Handle> {
        match &self.queue {
            InterfaceQueue::Shared(queue) => &*queue.qdisc,
            InterfaceQueue::PerStation(queue) => &*queue.qdisc,
        }
    }
    fn qdisc_mut(&mut self) -> &mut dyn Qdisc<Handle> {
        match &mut self.queue {
            InterfaceQueue::Shared(queue) => &mut *queue.qdisc,
            InterfaceQueue::PerStation(queue) => &mut *queue.qdisc,
        }
    }
    fn used_and_usable(&mut self, now: Instant) -> (u64, u64) {
        let ahead = (self.busy_until.max(now) - now).as_nanos() as u64;
        (self.tally().total_used - ahead, (now - Instant::ZERO).as_nanos() as u64)
    }
    fn usable_from(&mut self, number: usize) -> u64 {
        let window = self.tally().window();
        (window.end - window.starts()[number]).as_nanos() as u64
    }
}

/// Calls with books in which drops are told to the senders' sockets, too.
#[inline(always)]
fn with_socket_probe<P: Probe, R>(
    books: &mut LinkContext<P>,
    sockets: &mut Sockets,
    is_station: bool,
    call: impl FnOnce(&mut LinkContext<SocketProbe<P>>) -> R,
) -> R {
    let LinkContext { link, packets, probe } = books;
    let mut socket_probe = SocketProbe { probe: &mut **probe, sockets, is_station };
    call(&mut LinkContext { link: *link, packets, probe: &mut socket_probe })
}

struct SocketProbe<'a, P> {
    probe: &'a mut P,
    sockets: &'a mut Sockets,
    is_station: bool,
}

impl<P: Probe> Probe for SocketProbe<'_, P> {
    fn arrived(&mut self, event: QueueEvent<'_>, packets: &Packets) {
        self.probe.arrived(event, packets);
    }
    fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool) {
        self.probe.sent(event, newly_marked);
    }
    fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, packets: &Packets) {
        if is_counted(self.is_station, packets, event.packet) {
            self.sockets.on_departure(packets.packet(event.packet).slot);
        }
        self.probe.dropped(event, reason, packets);
    }
}
