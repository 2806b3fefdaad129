//! Servers that transmit one packet at a time, at any pace.
//!
//! Linux and ns-2 dequeue once more when a transmitter falls idle, and find nothing. Here the next arrival makes up for
//! that
//! poll, with the time at which it was due, so an idle link needs no event.

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
    /// Start of the last transmission.
    last_start: Instant,
    /// When the transmitter is free for the next packet.
    busy_until: Instant,
    /// The poll at the moment of falling idle is still to be made up for.
    poll_pending: bool,
    /// Whether an event is scheduled.
    pending: bool,
    /// The event is the qdisc's `NotBefore` and the transmitter is idle: an arrival may be sent earlier.
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

    /// Start of the last transmission.
    pub fn last_start(&self) -> Instant {
        self.last_start
    }

    /// Counts a transmission.
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

/// `PLAIN` instances serve plain links and skip the checks for features that those lack.
impl<T: Pace> SerialServer<T> {
    /// Handles an arrival: the packet bypasses the queue if the transmitter is idle and the qdisc allows it, otherwise
    /// it is enqueued.
    #[inline(always)]
    pub fn offer<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        mut entry: QueueEntry,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        if self.busy_until <= now && !self.pending && !body.is_buffered::<PLAIN>() {
            // Super-packets do not bypass: they are segmented when they leave the queue.
            entry.meta.enqueued = now;
            let is_whole = PLAIN || entry.packet.segment == 0;
            if is_whole && body.queue.qdisc.try_pass(now, &mut entry.meta) {
                return self.pass::<PLAIN, P>(entry, Fate::Passed, body, cx);
            }
            self.poll_pending(body, cx);
            if is_whole && body.queue.qdisc.try_pass_single(now, &mut entry.meta) {
                // `queued` and `departed`, as the general path records it; `passed` would change every fingerprint.
                body.queue.tally.fingerprint.record(now, cx.link, &entry.meta, Fate::Queued);
                return self.pass::<PLAIN, P>(entry, Fate::Departed, body, cx);
            }
        }
        body.queue.enqueue(now, entry.meta, entry.handle, cx);
        self.wake::<PLAIN, P>(now, body, cx)
    }

    /// Starts the next transmission; the transmitter is free.
    #[inline(always)]
    pub fn serve<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.throttled = false;
        let (meta, handle) = match body.take::<PLAIN, P>(now, cx) {
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
        self.send::<PLAIN, P>(now, (meta.len, handle), body, cx)
    }

    /// Transmits a dequeued packet of `len` accounted bytes.
    #[inline(always)]
    fn send<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        (len, handle): (u32, Handle),
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        let TransmissionTimes { end, free } = self.start(now, body.to_send::<PLAIN>(len));
        let waiting = body.waits::<PLAIN>();
        // An empty queue needs no event; the next arrival makes up for the poll. A driver ring has polled the queue
        // already, until it was full or the queue empty.
        self.poll_pending = !waiting && !body.is_buffered::<PLAIN>();
        self.book(now, free, &mut body.queue.tally);
        let packet = *cx.packets.packet(handle);
        let departure = body.leave::<PLAIN, P>(end, handle, packet, cx);
        if !waiting && !self.pending {
            return ServiceResult { departure, next_call: NextCall::Unchanged };
        }
        self.pending = waiting;
        ServiceResult { departure, next_call: NextCall::At(if waiting { free } else { Instant::NEVER }) }
    }

    /// [`Self::serve`] for a packet that was dequeued already, with its accounted bytes.
    #[inline(always)]
    pub fn go_on_with<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        packet: (u32, Handle),
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.throttled = false;
        self.send::<PLAIN, P>(now, packet, body, cx)
    }

    /// Whether a packet that arrives at `now` has to wait for the transmitter.
    #[inline(always)]
    pub fn is_busy(&self, now: Instant) -> bool {
        self.busy_until > now || (self.pending && !self.throttled)
    }

    /// Schedules a call for when the transmitter is free; a packet waits.
    #[inline(always)]
    pub fn schedule_call(&mut self) -> NextCall {
        let next_call = if self.pending { NextCall::Unchanged } else { NextCall::At(self.busy_until) };
        self.pending = true;
        next_call
    }

    /// Tries to send a stamped arrival through a transmitter that is not [busy](Self::is_busy), without enqueueing it.
    /// Returns the fate to record, or `None` if the packet has to be enqueued; the queue has not changed then, except
    /// by the poll made up for.
    #[inline(always)]
    pub fn try_pass_through<P: Probe>(
        &mut self,
        meta: &mut Meta,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> Option<Fate> {
        let now = meta.enqueued;
        if self.pending || !body.queue.qdisc.may_pass() {
            return None;
        }
        if body.queue.qdisc.try_pass(now, meta) {
            return Some(Fate::Passed);
        }
        self.poll_pending(body, cx);
        if !body.queue.qdisc.try_pass_single(now, meta) {
            return None;
        }
        body.queue.tally.fingerprint.record(now, cx.link, meta, Fate::Queued);
        Some(Fate::Departed)
    }

    /// Starts the transmitter, or schedules it for when it is free; a packet waits.
    #[inline(always)]
    fn wake<const PLAIN: bool, P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        if (!self.pending || self.throttled) && self.busy_until <= now {
            return self.serve::<PLAIN, P>(now, body, cx);
        }
        let next_call = if self.pending { NextCall::Unchanged } else { NextCall::At(self.busy_until) };
        self.pending = true;
        body.fill_below::<PLAIN, P>(now, cx);
        ServiceResult::nothing(next_call)
    }

    /// Sends a packet through an empty queue to an idle transmitter.
    #[inline(always)]
    pub fn pass<const PLAIN: bool, P: Probe>(
        &mut self,
        QueueEntry { meta, handle, packet }: QueueEntry,
        fate: Fate,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        let now = meta.enqueued;
        let TransmissionTimes { end, free } = self.start(now, body.to_send::<PLAIN>(meta.len));
        // The bypass has updated the qdisc's state as the poll would have.
        self.poll_pending = false;
        body.queue.tally.pass_through(now, &meta);
        self.book(now, free, &mut body.queue.tally);
        body.queue.tally.fingerprint.record(now, cx.link, &meta, fate);
        cx.probe.sent(QueueEvent { at: now, link: cx.link, packet: handle, meta: &meta }, false, cx.packets);
        ServiceResult { departure: body.leave::<PLAIN, P>(end, handle, packet, cx), next_call: NextCall::Unchanged }
    }

    /// Makes up for the poll of a transmitter that fell idle: some qdiscs change state on an empty dequeue.
    #[inline(always)]
    fn poll_pending<P: Probe>(&mut self, body: &mut LinkCore, cx: &mut LinkContext<P>) {
        if std::mem::take(&mut self.poll_pending) {
            self.poll(body, cx.link, cx.packets, cx.probe);
        }
    }

    /// Takes the parts of [`LinkContext`], so that the caller can keep them in registers unless it polls.
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
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        self.offer::<false, P>(now, entry, body, cx)
    }

    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        self.serve::<false, P>(now, body, cx)
    }

    fn before_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) {
        if self.busy_until <= now && !self.pending && !body.is_buffered::<false>() {
            self.poll_pending(body, cx);
        }
    }

    fn after_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        if self.throttled && self.busy_until <= now {
            return self.serve::<false, P>(now, body, cx);
        }
        ServiceResult::nothing(NextCall::Unchanged)
    }

    /// Starts when the transmission before it has ended.
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally) {
        let start = now.max(self.busy_until);
        let free = self.start(start, bytes).free;
        self.book(start, free, tally);
    }

    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64) {
        // `used` counts whole transmissions when they start.
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
