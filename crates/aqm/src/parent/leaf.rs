//! A discipline that another one holds, and the books that the parent keeps of all that it holds.

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
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::tcp_view::TcpView;
use crate::time::Instant;
use alloc::boxed::Box;

/// What a parent has counted, packets that wait at a door included.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    pub stats: Stats,
    pub total: Backlog,
}

impl Accounting {
    /// A packet has come.
    pub fn arrived(&mut self, len: u32) {
        self.stats.arrived.add(len);
    }

    /// A packet that does not wait is dropped by the parent itself, which is full.
    pub fn refuse<P>(&mut self, now: Instant, arrival: Arrival<P>, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.drop_arrival(now, arrival, DropReason::Limit, sink)
    }

    /// A packet that does not wait is dropped by the parent itself.
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

    /// A packet that waits is dropped by the parent itself.
    #[cold]
    pub fn drop_queued<P>(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) {
        self.removed(meta.len);
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
    }

    /// A packet is newly marked by the parent itself.
    pub fn marked(&mut self, len: u32) {
        self.stats.marked.add(len);
    }

    /// A packet waits from now on.
    pub fn queued(&mut self, len: u32) {
        self.total.packets += 1;
        self.total.bytes += len as u64;
    }

    /// A packet leaves for transmission.
    pub fn departed(&mut self, len: u32) {
        self.removed(len);
        self.stats.departed.add(len);
    }

    /// A packet waits no more.
    pub fn removed(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= len as u64;
    }
}

/// Hears of what a leaf drops on its way to the host.
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
    fn damaged(&mut self, packet: &mut P, byte: u32, bit: u8) {
        self.sink.damaged(packet, byte, bit);
    }
    fn tcp_header(&self, packet: &P) -> Option<TcpView> {
        self.sink.tcp_header(packet)
    }
    fn departure_time(&self, packet: &P) -> Option<Instant> {
        self.sink.departure_time(packet)
    }
}

/// The answer to a look at the head.
pub(crate) enum PeekResult {
    /// The next packet has so many bytes.
    Bytes(u32),
    /// Nothing waits.
    Empty,
    /// What waits may not go before then.
    NotBefore(Instant),
}

/// A discipline that a parent holds.
pub(crate) struct Leaf<P, Q: ?Sized = dyn Qdisc<P> + Send> {
    qdisc: Box<Q>,
    /// The packet that was taken to be looked at, which stays one of the queue (`qdisc_peek_dequeued`).
    peeked: Option<(Meta, P)>,
    /// Of a discipline that is looked at: what it may hold with the packet at the door, which it does not count.
    limits: Option<Limits>,
    link: Link,
    /// It leaves room for a packet of the largest size by itself.
    leaves_room: bool,
    /// A packet may come with a copy.
    duplicates: bool,
}

impl<P: Send + 'static> Leaf<P> {
    /// The discipline `held`, or a queue that drops at its tail.
    pub fn new(held: Option<&impl ChildConfig>, limits: Limits, host: Host) -> Self {
        let link = host.link;
        let qdisc = match held {
            Some(held) => held.build(limits, host),
            None => {
                let fifo = droptail::DropTail::new(&droptail::Config::default());
                Box::new(SingleQueue::new(fifo, limits, host)) as Box<dyn Qdisc<P> + Send>
            }
        };
        Self::holding(qdisc, link)
    }

    /// The same, to be [peeked](Self::peek) at. A single queue refuses what does not fit behind the packet at the door; one
    /// that makes room by rules of its own is given less room instead.
    pub fn with_peek(held: Option<&impl ChildConfig>, limits: Limits, host: Host) -> Self {
        let is_single = held.is_none_or(|held| held.queues() == QueueLayout::One);
        let smaller = reserve_one_packet(limits, host.link).filter(|_| !is_single);
        let leaf = Self::new(held, smaller.unwrap_or(limits), host);
        let duplicates = held.is_some_and(ChildConfig::duplicates);
        Self { limits: Some(limits), leaves_room: smaller.is_some(), duplicates, ..leaf }
    }
}

impl<P, Q: Qdisc<P> + ?Sized> Leaf<P, Q> {
    /// The discipline `qdisc`, which is not peeked at.
    pub fn holding(qdisc: Box<Q>, link: Link) -> Self {
        Self { qdisc, peeked: None, limits: None, link, leaves_room: false, duplicates: false }
    }

    /// The discipline.
    pub fn qdisc(&self) -> &Q {
        &self.qdisc
    }

    /// The discipline.
    pub fn qdisc_mut(&mut self) -> &mut Q {
        &mut self.qdisc
    }
}

/// The limits without a packet of the largest size; none where they are too small for that.
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

/// What leaf `index` of several is built from, which is sent at no more than `rate`.
pub(crate) fn leaf_host(host: &Host, index: usize, rate: Rate) -> Host {
    Host { link: Link { rate, ..host.link }, rng: Rng::stream(host.rng.state(), "leaf", index as u64) }
}

impl<P, Q: Qdisc<P> + ?Sized> Leaf<P, Q> {
    /// What waits.
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

    /// Offers a packet that has been counted as arrived.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        arrival: Arrival<P>,
        books: &mut Accounting,
        sink: &mut dyn Sink<P>,
    ) -> EnqueueResult {
        let Arrival { meta, packet } = arrival;
        if let (Some((held, _)), Some(limits)) = (&self.peeked, self.limits) {
            let has_room = self.leaves_room && held.len <= self.link.mtu;
            let copies =
                if self.duplicates { Backlog { packets: 1, bytes: meta.len as u64 } } else { Backlog::default() };
            let Backlog { packets, bytes } = self.backlog();
            let before = Backlog { packets: packets + copies.packets, bytes: bytes + copies.bytes };
            if !has_room && !limits.admit(before, meta.len, self.link) {
                return books.refuse(now, Arrival { meta, packet }, sink);
            }
        }
        books.queued(meta.len);
        self.with_accounting(books, sink, |qdisc, heard| qdisc.enqueue(now, meta, packet, heard))
    }

    /// Asks for a packet.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, books: &mut Accounting, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        let next = match self.peeked.take() {
            Some((meta, packet)) => DequeueResult::Packet(meta, packet),
            None => self.with_accounting(books, sink, |qdisc, heard| qdisc.dequeue(now, heard)),
        };
        if let DequeueResult::Packet(meta, _) = &next {
            books.departed(meta.len);
        }
        next
    }

    /// Looks at the next packet, which the discipline has then given up.
    #[inline]
    pub fn peek(&mut self, now: Instant, books: &mut Accounting, sink: &mut dyn Sink<P>) -> PeekResult {
        if let Some((meta, _)) = &self.peeked {
            return PeekResult::Bytes(meta.len);
        }
        match self.with_accounting(books, sink, |qdisc, heard| qdisc.dequeue(now, heard)) {
            DequeueResult::Packet(meta, packet) => {
                self.peeked = Some((meta, packet));
                PeekResult::Bytes(meta.len)
            }
            DequeueResult::Empty => PeekResult::Empty,
            DequeueResult::NotBefore(at) => PeekResult::NotBefore(at),
        }
    }

    /// Has the discipline do something, and books what it drops and marks.
    #[inline]
    fn with_accounting<R>(
        &mut self,
        books: &mut Accounting,
        sink: &mut dyn Sink<P>,
        act: impl FnOnce(&mut Q, &mut dyn Sink<P>) -> R,
    ) -> R {
        let before = self.qdisc.stats().marked;
        let done = act(&mut *self.qdisc, &mut AccountingSink { accounting: books, sink });
        let (after, marked) = (self.qdisc.stats().marked, &mut books.stats.marked);
        marked.packets += after.packets - before.packets;
        marked.bytes += after.bytes - before.bytes;
        done
    }

    /// See [`Qdisc::succeed`]; what is dropped is booked in the `books` of `old`'s parent.
    pub fn inherit(
        &mut self,
        old: &mut Self,
        now: Instant,
        books: &mut Accounting,
        sink: &mut dyn Sink<P>,
    ) -> Result<(), ConfigError> {
        let qdisc = old.qdisc.as_any().ok_or(ConfigError::Immutable)?;
        self.qdisc.inherit(qdisc, now, &mut AccountingSink { accounting: books, sink })?;
        self.peeked = old.peeked.take();
        Ok(())
    }

    /// See [`Qdisc::drop_delayed`].
    pub fn drop_delayed(&mut self, now: Instant, books: &mut Accounting, sink: &mut dyn Sink<P>) {
        self.qdisc.drop_delayed(now, &mut AccountingSink { accounting: books, sink });
    }

    /// See [`Qdisc::splits`].
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

    /// Shows it as queue `number` of its parent.
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
