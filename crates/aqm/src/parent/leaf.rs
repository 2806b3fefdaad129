//! A child discipline, and the parent's accounting of all its children.

use super::ChildConfig;
use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::droptail;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::queue_layout::QueueLayout;
use crate::rate::Rate;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::tcp_view::TcpView;
use crate::time::Instant;
use alloc::boxed::Box;

/// Counters and backlog of a parent, peeked packets included.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    pub stats: Stats,
    pub total: Backlog,
}

impl Accounting {
    /// A packet has arrived.
    pub fn arrived(&mut self, len: u32) {
        self.stats.arrived.add(len);
    }

    /// The parent, which is full, drops a packet that is not queued.
    pub fn refuse<P>(&mut self, now: Instant, arrival: Arrival<P>, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.drop_arrival(now, arrival, DropReason::Limit, sink)
    }

    /// The parent drops a packet that is not queued.
    #[cold]
    pub fn drop_arrival<P>(
        &mut self,
        now: Instant,
        arrival: Arrival<P>,
        reason: DropReason,
        sink: &mut dyn Sink<P>,
    ) -> EnqueueResult {
        let Arrival { meta, packet } = arrival;
        let meta = Meta { enqueued: now, ..meta };
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        EnqueueResult::Dropped(reason)
    }

    /// The parent drops a queued packet.
    #[cold]
    pub fn drop_queued<P>(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) {
        self.removed(meta.len);
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
    }

    /// The parent has newly marked a packet.
    pub fn marked(&mut self, len: u32) {
        self.stats.marked.add(len);
    }

    /// A packet is queued.
    pub fn queued(&mut self, len: u32) {
        self.total.packets += 1;
        self.total.bytes += len as u64;
    }

    /// A packet departs.
    pub fn departed(&mut self, len: u32) {
        self.removed(len);
        self.stats.departed.add(len);
    }

    /// A packet leaves the backlog.
    pub fn removed(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= len as u64;
    }
}

/// Sink that accounts for a leaf's drops on their way to the host.
struct AccountingSink<'a, P> {
    accounting: &'a mut Accounting,
    sink: &'a mut dyn Sink<P>,
}

impl<P> Sink<P> for AccountingSink<'_, P> {
    fn dropped(&mut self, meta: Meta, packet: P, reason: DropReason) {
        self.accounting.removed(meta.len);
        self.accounting.stats.dropped[reason as usize].add(meta.len);
        self.sink.dropped(meta, packet, reason);
    }
    fn duplicated(&mut self, meta: &Meta, packet: &P) -> Option<P> {
        let copy = self.sink.duplicated(meta, packet)?;
        self.accounting.arrived(meta.len);
        self.accounting.queued(meta.len);
        Some(copy)
    }
    fn corrupt(&mut self, packet: &mut P, byte: u32, bit: u8) {
        self.sink.corrupt(packet, byte, bit);
    }
    fn tcp_header(&self, packet: &P) -> Option<TcpView> {
        self.sink.tcp_header(packet)
    }
    fn departure_time(&self, packet: &P) -> Option<Instant> {
        self.sink.departure_time(packet)
    }
}

/// Result of a peek.
pub(crate) enum PeekResult {
    /// Size of the next packet.
    Bytes(u32),
    /// The queue is empty.
    Empty,
    /// The next packet may not leave before this instant.
    NotBefore(Instant),
}

/// A child of a parent.
pub(crate) struct Leaf<P, Q: ?Sized = dyn Qdisc<P> + Send> {
    qdisc: Box<Q>,
    /// The peeked packet, which stays in the backlog (`qdisc_peek_dequeued`).
    peeked: Option<(Meta, P)>,
    /// Limits of a child that is peeked; they include the peeked packet, which the child does not count.
    limits: Option<Limits>,
    link: Link,
    /// The child's own limits leave room for one packet of the MTU.
    leaves_room: bool,
    /// The child may duplicate packets.
    duplicates: bool,
}

impl<P: Send + 'static> Leaf<P> {
    /// Builds `child`, or a tail-drop queue.
    pub fn new(child: Option<&impl ChildConfig>, limits: Limits, host: Host) -> Self {
        let link = host.link;
        let qdisc = match child {
            Some(child) => child.build(limits, host),
            None => {
                let fifo = droptail::DropTail::new(&droptail::Config::default());
                Box::new(SingleQueue::new(fifo, limits, host)) as Box<dyn Qdisc<P> + Send>
            }
        };
        Self::holding(qdisc, link)
    }

    /// The same with support for [peeking](Self::peek). A single queue rejects packets that do not fit beside the
    /// peeked one; a child that makes room by its own rules gets a smaller limit instead.
    pub fn with_peek(child: Option<&impl ChildConfig>, limits: Limits, host: Host) -> Self {
        let is_single = child.is_none_or(|child| child.queues() == QueueLayout::One);
        let smaller = reserve_one_packet(limits, host.link).filter(|_| !is_single);
        let leaf = Self::new(child, smaller.unwrap_or(limits), host);
        let duplicates = child.is_some_and(ChildConfig::duplicates);
        Self { limits: Some(limits), leaves_room: smaller.is_some(), duplicates, ..leaf }
    }
}

impl<P, Q: Qdisc<P> + ?Sized> Leaf<P, Q> {
    /// Wraps `qdisc`, without support for peeking.
    pub fn holding(qdisc: Box<Q>, link: Link) -> Self {
        Self { qdisc, peeked: None, limits: None, link, leaves_room: false, duplicates: false }
    }

    /// Its discipline.
    pub fn qdisc(&self) -> &Q {
        &self.qdisc
    }

    /// Its discipline.
    pub fn qdisc_mut(&mut self) -> &mut Q {
        &mut self.qdisc
    }
}

/// The limits less one packet of the MTU; `None` if they are too small.
fn reserve_one_packet(limits: Limits, link: Link) -> Option<Limits> {
    let (mtu, time) = (link.mtu as u64, link.rate.time_for(link.mtu as u64));
    let packets = limits.packets.map(|most| most.checked_sub(1).filter(|&most| most > 0));
    let bytes = limits.bytes.map(|most| most.checked_sub(mtu).filter(|&most| most >= mtu));
    let span = limits.time.map(|most| Some(most - time).filter(|&most| most >= time));
    if packets == Some(None) || bytes == Some(None) || span == Some(None) {
        return None;
    }
    Some(Limits { packets: packets.flatten(), bytes: bytes.flatten(), time: span.flatten() })
}

/// Environment of leaf `index` of several, whose rate is at most `rate`.
pub(crate) fn leaf_host(host: &Host, index: usize, rate: Rate) -> Host {
    Host { link: Link { rate, ..host.link }, rng: Rng::stream(host.rng.state(), "leaf", index as u64) }
}

impl<P, Q: Qdisc<P> + ?Sized> Leaf<P, Q> {
    /// Its backlog.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        let inside = self.qdisc.backlog();
        match &self.peeked {
            None => inside,
            Some((meta, _)) => Backlog { packets: inside.packets + 1, bytes: inside.bytes + meta.len as u64 },
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.peeked.is_none() && self.qdisc.backlog().packets == 0
    }

    /// Offers a packet that is already counted as arrived.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        arrival: Arrival<P>,
        accounting: &mut Accounting,
        sink: &mut dyn Sink<P>,
    ) -> EnqueueResult {
        let Arrival { meta, packet } = arrival;
        if let (Some((peeked, _)), Some(limits)) = (&self.peeked, self.limits) {
            let has_room = self.leaves_room && peeked.len <= self.link.mtu;
            let copies =
                if self.duplicates { Backlog { packets: 1, bytes: meta.len as u64 } } else { Backlog::default() };
            let Backlog { packets, bytes } = self.backlog();
            let before = Backlog { packets: packets + copies.packets, bytes: bytes + copies.bytes };
            if !has_room && !limits.admit(before, meta.len, self.link) {
                return accounting.refuse(now, Arrival { meta, packet }, sink);
            }
        }
        accounting.queued(meta.len);
        self.with_accounting(accounting, sink, |qdisc, sink| qdisc.enqueue(now, meta, packet, sink))
    }

    /// Requests a packet.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, accounting: &mut Accounting, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        let next = match self.peeked.take() {
            Some((meta, packet)) => DequeueResult::Packet(meta, packet),
            None => self.with_accounting(accounting, sink, |qdisc, sink| qdisc.dequeue(now, sink)),
        };
        if let DequeueResult::Packet(meta, _) = &next {
            accounting.departed(meta.len);
        }
        next
    }

    /// Peeks at the next packet. Differs: in Linux a peeked packet stays in the child's backlog; here the child has
    /// released it, and only the limits count it.
    #[inline]
    pub fn peek(&mut self, now: Instant, accounting: &mut Accounting, sink: &mut dyn Sink<P>) -> PeekResult {
        if let Some((meta, _)) = &self.peeked {
            return PeekResult::Bytes(meta.len);
        }
        match self.with_accounting(accounting, sink, |qdisc, sink| qdisc.dequeue(now, sink)) {
            DequeueResult::Packet(meta, packet) => {
                self.peeked = Some((meta, packet));
                PeekResult::Bytes(meta.len)
            }
            DequeueResult::Empty => PeekResult::Empty,
            DequeueResult::NotBefore(at) => PeekResult::NotBefore(at),
        }
    }

    /// Runs a call of the discipline and accounts for its drops and marks.
    #[inline]
    fn with_accounting<R>(
        &mut self,
        accounting: &mut Accounting,
        sink: &mut dyn Sink<P>,
        act: impl FnOnce(&mut Q, &mut dyn Sink<P>) -> R,
    ) -> R {
        let before = self.qdisc.stats().marked;
        let done = act(&mut *self.qdisc, &mut AccountingSink { accounting, sink });
        let (after, marked) = (self.qdisc.stats().marked, &mut accounting.stats.marked);
        marked.packets += after.packets - before.packets;
        marked.bytes += after.bytes - before.bytes;
        done
    }

    /// See [`Qdisc::inherit`]; drops go to the accounting of `old`'s parent.
    pub fn inherit(
        &mut self,
        old: &mut Self,
        now: Instant,
        accounting: &mut Accounting,
        sink: &mut dyn Sink<P>,
    ) -> Result<(), ConfigError> {
        let qdisc = old.qdisc.as_any().ok_or(ConfigError::Immutable)?;
        self.qdisc.inherit(qdisc, now, &mut AccountingSink { accounting, sink })?;
        self.peeked = old.peeked.take();
        Ok(())
    }

    /// See [`Qdisc::reserve`].
    pub fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.qdisc.reserve(memory)
    }

    /// See [`Qdisc::drop_delayed`].
    pub fn drop_delayed(&mut self, now: Instant, accounting: &mut Accounting, sink: &mut dyn Sink<P>) {
        self.qdisc.drop_delayed(now, &mut AccountingSink { accounting, sink });
    }

    /// See [`Qdisc::splits_gso`].
    pub fn splits_gso(&self) -> bool {
        self.qdisc.splits_gso()
    }

    /// See [`Qdisc::needs_tcp_headers`].
    pub fn needs_tcp_headers(&self) -> bool {
        self.qdisc.needs_tcp_headers()
    }

    /// See [`Qdisc::settle`].
    pub fn settle(&mut self, now: Instant) {
        self.qdisc.settle(now);
    }

    /// Reports it as queue `number` of its parent.
    pub fn show(&self, kind: &'static str, number: u32, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        let (backlog, head) = (self.backlog(), self.peeked.as_ref().map(|(meta, _)| *meta));
        see(SubqueueInfo {
            kind,
            number,
            list: "",
            backlog,
            deficit: None,
            head,
            observe: &|see| self.qdisc.observe(see),
        });
    }

    /// See [`Qdisc::observe`].
    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.qdisc.observe(see);
    }
}
