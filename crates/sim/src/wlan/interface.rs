//! A node's interface: the queue above its driver ring, and the packets that have arrived from it over the channel.

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
    /// End of the last transmission.
    busy_until: Instant,
    /// Packets from this node that have arrived over the channel.
    pub pipe: Pipe,
}

/// One queue, or one per station.
enum InterfaceQueue {
    Shared(Queue),
    PerStation(Queue<StationQueues>),
}

impl Interface {
    /// The interface of `node` with queue index `queue`, in a run with `seed`.
    pub fn new(spec: &LinkSpec, (node, queue): (usize, usize), seed: u64, window: &Window) -> Self {
        let queue = InterfaceQueue::Shared(Queue::new(spec, queue, seed, window));
        Self::with(queue, spec, node != ACCESS_POINT)
    }

    /// The interface of an access point with a queue per station.
    pub fn by_station(spec: &LinkSpec, queues: StationQueues, window: &Window) -> Self {
        let queue = Queue::under(queues, spec, window);
        Self::with(InterfaceQueue::PerStation(queue), spec, false)
    }

    fn with(queue: InterfaceQueue, spec: &LinkSpec, is_station: bool) -> Self {
        Self { queue, framing: spec.framing, is_station, busy_until: Instant::ZERO, pipe: Pipe::new() }
    }

    /// Bytes that the queue accounts for a packet.
    pub fn accounted(&self, ip_bytes: u32) -> u32 {
        self.framing.accounted(ip_bytes)
    }

    /// Whether each station has its own queue.
    pub fn is_by_station(&self) -> bool {
        matches!(self.queue, InterfaceQueue::PerStation(_))
    }

    /// Selects the queue of `station` for the next dequeue, if stations have their own.
    pub fn select_station(&mut self, station: usize) {
        if let InterfaceQueue::PerStation(queue) = &mut self.queue {
            queue.qdisc.current_station = station;
        }
    }

    /// Enqueues a packet stamped with its arrival.
    #[inline(always)]
    pub fn enqueue<P: Probe>(&mut self, meta: Meta, handle: Handle, cx: &mut LinkContext<P>, sockets: &mut Sockets) {
        if let InterfaceQueue::Shared(queue) = &mut self.queue {
            if queue.try_store(&meta, handle, cx) || queue.try_store_in_flow(&meta, handle, cx) {
                return;
            }
        }
        self.enqueue_with_verdict(meta, handle, cx, sockets);
    }

    /// General path of [`Self::enqueue`], with a verdict of the qdisc.
    #[inline(never)]
    fn enqueue_with_verdict<P: Probe>(
        &mut self,
        meta: Meta,
        handle: Handle,
        cx: &mut LinkContext<P>,
        sockets: &mut Sockets,
    ) {
        let now = meta.enqueued;
        with_socket_probe(cx, sockets, self.is_station, |cx| match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.enqueue(now, meta, handle, cx),
            InterfaceQueue::PerStation(queue) => queue.enqueue(now, meta, handle, cx),
        });
    }

    /// Fast path: dequeues the next packet if it needs no verdict. If it returns `None`, nothing has changed.
    #[inline(always)]
    pub fn try_dequeue_head<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> Option<(&Meta, Handle)> {
        match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.try_dequeue_head_meta(now, cx),
            InterfaceQueue::PerStation(_) => None,
        }
    }

    /// Whether a dequeue would find nothing and change nothing.
    #[inline(always)]
    pub fn is_dequeue_noop(&self) -> bool {
        if let InterfaceQueue::Shared(queue) = &self.queue { queue.qdisc.is_dequeue_noop() } else { false }
    }

    /// Dequeues the next packet.
    #[inline(never)]
    pub fn dequeue<P: Probe>(
        &mut self,
        now: Instant,
        cx: &mut LinkContext<P>,
        sockets: &mut Sockets,
    ) -> DequeueResult<Handle> {
        if let InterfaceQueue::Shared(queue) = &mut self.queue {
            if let Some((meta, handle)) = queue.try_dequeue_flow_head_meta(now, cx) {
                return DequeueResult::Packet(*meta, handle);
            }
        }
        with_socket_probe(cx, sockets, self.is_station, |cx| match &mut self.queue {
            InterfaceQueue::Shared(queue) => queue.dequeue(now, cx),
            InterfaceQueue::PerStation(queue) => queue.dequeue(now, cx),
        })
    }

    /// Counts a transmission of the node alone.
    pub fn record_transmission(&mut self, now: Instant, airtime: Duration) {
        self.busy_until = now + airtime;
        self.tally_mut().transmission(now, now + airtime, |from, to| (to - from).as_nanos() as u64);
    }

    /// Counts a station's transmission that collides with others; `counted` is the end of the longest of those counted
    /// so far. The busy time of all stations is a union.
    pub fn record_collision(&mut self, now: Instant, airtime: Duration, counted: Instant) {
        self.busy_until = now + airtime;
        self.tally_mut().shared_transmission((now, now + airtime), counted);
    }
}

/// The server is the channel, with its whole time as capacity.
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

/// Calls with a probe that also notifies the senders' sockets of drops.
#[inline(always)]
fn with_socket_probe<P: Probe, R>(
    cx: &mut LinkContext<P>,
    sockets: &mut Sockets,
    is_station: bool,
    call: impl FnOnce(&mut LinkContext<SocketProbe<P>>) -> R,
) -> R {
    let LinkContext { link, packets, probe } = cx;
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
    fn sent(&mut self, event: QueueEvent<'_>, newly_marked: bool, packets: &Packets) {
        self.probe.sent(event, newly_marked, packets);
    }
    fn dropped(&mut self, event: QueueEvent<'_>, reason: DropReason, packets: &Packets) {
        if is_counted(self.is_station, packets, event.packet) {
            self.sockets.on_departure(packets.packet(event.packet).slot);
        }
        self.probe.dropped(event, reason, packets);
    }
}
