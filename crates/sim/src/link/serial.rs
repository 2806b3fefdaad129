//! Servers that send one packet after the other, whatever their pace.

use super::core::LinkCore;
use super::server::{OpportunitySource, Pace, Server, TransmissionTimes};
use super::{LinkContext, NextCall, QueueEntry, ServiceResult};
use crate::fingerprint::Fate;
use crate::packet::{Handle, Packets};
use crate::probe::Probe;
use crate::queue_event::QueueEvent;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{DequeueResult, Instant, Meta, Rate, Serializer};

/// A transmitter with its pace.
#[derive(Debug)]
pub(crate) struct SerialServer<T> {
    pace: T,
    /// When the last transmission began.
    last_start: Instant,
    /// When the next packet can be taken.
    busy_until: Instant,
    /// The queue has not been asked since: a transmitter asks when it falls idle, and learns that there is nothing.
    poll_pending: bool,
    /// Whether an event is pending for when it falls idle.
    pending: bool,
    /// The event is for when what waits may go, and the transmitter is idle: what comes may go earlier.
    throttled: bool,
}

/// A constant rate.
impl Pace for Serializer {
    #[inline(always)]
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        let end = start + self.time_for(bytes);
        TransmissionTimes { end, free: end }
    }
}

impl<T: Pace> SerialServer<T> {
    pub fn new(pace: T) -> Self {
        Self {
            pace,
            last_start: Instant::ZERO,
            busy_until: Instant::ZERO,
            poll_pending: false,
            pending: false,
            throttled: false,
        }
    }

    /// Starts a transmission of `bytes` at `now`.
    #[inline(always)]
    fn start(&mut self, now: Instant, bytes: u32) -> TransmissionTimes {
        let sent = self.pace.send(now, bytes);
        (self.last_start, self.busy_until) = (now, sent.free);
        sent
    }

    /// When the last transmission began.
    pub fn last_start(&self) -> Instant {
        self.last_start
    }

    /// Books a transmission.
    #[inline(always)]
    fn book(&self, start: Instant, end: Instant, tally: &mut Tally) {
        tally.transmission(start, end, |from, to| self.pace.capacity(from, to));
    }
}

impl SerialServer<Serializer> {
    /// The constant rate.
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }
}

/// `PLAIN` code is for links that are plain: it does not look for what they do not have.
impl<T: Pace> SerialServer<T> {
    /// A packet arrives: it goes straight through if the transmitter is idle and the discipline agrees, else it is offered
    /// to the queue.
    #[inline(always)]
    pub fn offer<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        mut entry: QueueEntry,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        if self.busy_until <= now && !self.pending && !body.is_buffered::<PLAIN>() {
            // A super-packet is cut on its way out of the queue.
            entry.meta.enqueued = now;
            let is_whole = PLAIN || entry.packet.segment == 0;
            if is_whole && body.queue.qdisc.try_pass(now, &mut entry.meta) {
                return self.pass::<PLAIN, P>(entry, Fate::Passed, body, books);
            }
            self.poll_pending(body, books);
            if is_whole && body.queue.qdisc.try_pass_single(now, &mut entry.meta) {
                body.queue.tally.fingerprint.record(now, books.link, &entry.meta, Fate::Queued);
                return self.pass::<PLAIN, P>(entry, Fate::Departed, body, books);
            }
        }
        body.queue.enqueue(now, entry.meta, entry.handle, books);
        self.wake::<PLAIN, P>(now, body, books)
    }

    /// The transmitter is free: starts the next transmission.
    #[inline(always)]
    pub fn serve<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.throttled = false;
        let (meta, handle) = match body.take::<PLAIN, P>(now, books) {
            DequeueResult::Packet(meta, handle) => (meta, handle),
            DequeueResult::Empty => {
                (self.pending, self.poll_pending) = (false, false);
                return ServiceResult::nothing(NextCall::At(Instant::NEVER));
            }
            DequeueResult::NotBefore(at) => {
                (self.pending, self.throttled) = (true, true);
                return ServiceResult::nothing(NextCall::At(at));
            }
        };
        self.send::<PLAIN, P>(now, (meta.len, handle), body, books)
    }

    /// Sends a packet of so many bytes that was taken out of the queue.
    #[inline(always)]
    fn send<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        (len, handle): (u32, Handle),
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        let TransmissionTimes { end, free } = self.start(now, body.to_send::<PLAIN>(len));
        let waiting = body.waits::<PLAIN>();
        // With an empty queue there is nothing to wake up for; the poll is made up for on the next arrival. A buffer below
        // has asked the queue until it was full or the queue empty.
        self.poll_pending = !waiting && !body.is_buffered::<PLAIN>();
        self.book(now, free, &mut body.queue.tally);
        let packet = *books.packets.packet(handle);
        let left = body.leave::<PLAIN, P>(end, handle, packet, books);
        if !waiting && !self.pending {
            return ServiceResult { departure: left, next_call: NextCall::Unchanged };
        }
        self.pending = waiting;
        ServiceResult { departure: left, next_call: NextCall::At(if waiting { free } else { Instant::NEVER }) }
    }

    /// Goes on at `now` with a packet of so many bytes that was taken out of the queue already.
    #[inline(always)]
    pub fn go_on_with<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        packet: (u32, Handle),
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.throttled = false;
        self.send::<PLAIN, P>(now, packet, body, books)
    }

    /// Whether what arrives at `now` has to wait until the transmitter is free.
    #[inline(always)]
    pub fn is_busy(&self, now: Instant) -> bool {
        self.busy_until > now || (self.pending && !self.throttled)
    }

    /// Something waits until then: when the transmitter is to be called.
    #[inline(always)]
    pub fn schedule_call(&mut self) -> NextCall {
        let again = if self.pending { NextCall::Unchanged } else { NextCall::At(self.busy_until) };
        self.pending = true;
        again
    }

    /// A packet arrives, stamped, at a transmitter that is [free](Self::is_taken). Whether it goes straight through, and how
    /// that is called; else nothing was done that the queue would not have done anyhow.
    #[inline(always)]
    pub fn try_pass_through<P: Probe>(
        &mut self,
        meta: &mut Meta,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> Option<Fate> {
        let now = meta.enqueued;
        if self.pending || !body.queue.qdisc.may_pass() {
            return None;
        }
        if body.queue.qdisc.try_pass(now, meta) {
            return Some(Fate::Passed);
        }
        self.poll_pending(body, books);
        if !body.queue.qdisc.try_pass_single(now, meta) {
            return None;
        }
        body.queue.tally.fingerprint.record(now, books.link, meta, Fate::Queued);
        Some(Fate::Departed)
    }

    /// Something waits: the transmitter starts, or is told to go on when it is free.
    #[inline(always)]
    fn wake<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        if (!self.pending || self.throttled) && self.busy_until <= now {
            return self.serve::<PLAIN, P>(now, body, books);
        }
        let again = if self.pending { NextCall::Unchanged } else { NextCall::At(self.busy_until) };
        self.pending = true;
        body.fill_below::<PLAIN, P>(now, books);
        ServiceResult::nothing(again)
    }

    /// A packet goes straight through an empty queue to an idle transmitter.
    #[inline(always)]
    pub fn pass<const PLAIN: bool, P: Probe>(
        &mut self,
        QueueEntry { meta, handle, packet }: QueueEntry,
        fate: Fate,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        let now = meta.enqueued;
        let TransmissionTimes { end, free } = self.start(now, body.to_send::<PLAIN>(meta.len));
        // A queue that has handed it on has nothing to take note of: the packet has shown it all that the poll would.
        self.poll_pending = false;
        body.queue.tally.pass_through(now, &meta);
        self.book(now, free, &mut body.queue.tally);
        body.queue.tally.fingerprint.record(now, books.link, &meta, fate);
        books.probe.sent(QueueEvent { at: now, link: books.link, packet: handle, meta: &meta }, false);
        ServiceResult { departure: body.leave::<PLAIN, P>(end, handle, packet, books), next_call: NextCall::Unchanged }
    }

    /// A transmitter that fell idle has asked its queue once more, when it did: some disciplines take note.
    #[inline(always)]
    fn poll_pending<P: Probe>(&mut self, body: &mut LinkCore, books: &mut LinkContext<P>) {
        if std::mem::take(&mut self.poll_pending) {
            self.poll(body, books.link, books.packets, books.probe);
        }
    }

    /// With the parts of [`LinkContext`], which then need not be in memory where nothing is called.
    #[inline(never)]
    fn poll<P: Probe>(&mut self, body: &mut LinkCore, link: usize, packets: &mut Packets, probe: &mut P) {
        let polled = body.queue.poll(self.busy_until, &mut LinkContext { link, packets, probe });
        debug_assert_eq!(polled, DequeueResult::Empty, "the queue was empty when the transmitter fell idle");
    }
}

impl<T: Pace> Server for SerialServer<T> {
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        entry: QueueEntry,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.offer::<false, P>(now, entry, body, books)
    }

    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, books: &mut LinkContext<P>) -> ServiceResult {
        self.serve::<false, P>(now, body, books)
    }

    fn before_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, books: &mut LinkContext<P>) {
        if self.busy_until <= now && !self.pending && !body.is_buffered::<false>() {
            self.poll_pending(body, books);
        }
    }

    fn after_change<P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        if self.throttled && self.busy_until <= now {
            return self.serve::<false, P>(now, body, books);
        }
        ServiceResult::nothing(NextCall::Unchanged)
    }

    /// It comes after those before it.
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally) {
        let start = now.max(self.busy_until);
        let free = self.start(start, bytes).free;
        self.book(start, free, tally);
    }

    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64) {
        let ahead = self.pace.capacity(now, self.busy_until.max(now));
        (used - ahead, self.pace.capacity(Instant::ZERO, now))
    }

    fn usable_from(&mut self, window: &Window, number: usize) -> u64 {
        self.pace.capacity(window.starts()[number], window.end)
    }

    fn usable(&mut self, from: Instant, to: Instant) -> u64 {
        self.pace.capacity(from, to)
    }

    fn used(&mut self, start: Instant, free: Instant, _bytes: u32) -> u64 {
        self.pace.capacity(start, free)
    }

    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        self.pace.send(start, bytes)
    }

    fn opportunity(&self) -> Option<Instant> {
        None
    }

    fn opportunities(&mut self) -> Option<&mut dyn OpportunitySource> {
        None
    }
}
