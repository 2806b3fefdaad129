//! The receiving endpoint: what it does with a segment, and when it acknowledges.
//!
//! Source: Linux `tcp_data_queue`, `__tcp_ack_snd_check`. What has arrived is in `reassembly.rs`, how long an
//! acknowledgment waits in `delay.rs`, marks in `ecn.rs`. Linux 6.1 acknowledges out-of-order data through
//! `compressed_ack.rs`. The application reads at once, so only what waits out of order takes room in the window
//! (`offered.rs`).

mod delay;
mod ecn;
mod kind;
mod reassembly;
#[cfg(test)]
mod tests;

use super::cc::Needs;
use super::compressed_ack::AckCompression;
use super::receive_window::AdvertisedWindow;
use super::rtt::RttEstimator;
use super::stack::Stack;
use super::{Clock, FIRST_BYTE, Flags, Header, SeqRange, Ticks, Wire, is_newer, unwrap_timestamp};
use delay::DelayedAck;
use ecn::{AckRequest, CodepointSet, EcnReceiver};
use kind::{AnySegment, InOrderSegment, SackExtension, SegmentKind};
use reassembly::{Placement, Reassembly};
use sojourn_aqm::{Ecn, Instant};

/// What a receiver is made of.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The stack's mechanisms.
    pub stack: &'static Stack,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Whether SACK is negotiated.
    pub sack: bool,
    /// Acknowledges every second segment or after a delay; else every segment.
    pub delayed_ack: bool,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Bytes of the window if its size is fixed.
    pub receive_window: Option<u64>,
}

/// Packets that arrived with a congestion mark, and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeCounters {
    /// Packets, pure acknowledgments included.
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
}

/// The receiving half of a connection. In this order, so that
/// what every segment is asked for lies together.
#[repr(C)]
#[derive(Debug)]
pub struct Receiver {
    /// Under which codepoints the next segment in order [needs nothing else](Self::calm_under) than its acknowledgment.
    fast_path_codepoints: CodepointSet,
    /// Under which the next segment behind a hole, where the newest block of all ends, needs nothing else.
    sack_fast_path_codepoints: CodepointSet,
    open: bool,
    sack: bool,
    /// More is about to come up at this instant, and the application reads then.
    reads_later: bool,
    /// The end of a burst has come since the last acknowledgment.
    pushed: bool,
    mss: u32,
    ts_recent: u32,
    /// IP bytes of an acknowledgment that tells nothing else.
    ack_len: u32,
    /// The next sequence number in the last acknowledgment sent.
    rcv_wup: u64,
    clock: Clock,
    delay: DelayedAck,
    reassembly: Reassembly,
    /// The instant of the event that is being dealt with.
    at: Instant,
    ecn: EcnReceiver,
    compression: Option<AckCompression>,
    /// The window, while it may grow.
    window: Option<Box<AdvertisedWindow>>,
    /// When the SYN was answered, if that was done once.
    syn_ack_sent: Option<Instant>,
    /// Sampled once, by the handshake: a receiver that sends no data learns nothing more.
    rtt: RttEstimator,
    stack: &'static Stack,
}

cloned_in_place! {
    Receiver {
        fast_path_codepoints, sack_fast_path_codepoints, open, sack, reads_later, pushed, mss, ts_recent, ack_len, rcv_wup, clock, delay,
        reassembly, at, ecn, compression, window, syn_ack_sent, rtt, stack,
    }
}

impl Receiver {
    /// A receiver that listens.
    pub fn new(config: ReceiverConfig) -> Self {
        let stack = config.stack;
        Self {
            stack,
            clock: stack.clock(),
            at: Instant::ZERO,
            syn_ack_sent: None,
            rtt: RttEstimator::for_stack(stack),
            mss: config.mss,
            sack: config.sack,
            fast_path_codepoints: CodepointSet::NONE,
            sack_fast_path_codepoints: CodepointSet::NONE,
            ack_len: Header::ip_overhead_of(stack),
            open: false,
            reassembly: Reassembly::new(),
            rcv_wup: 0,
            ts_recent: 0,
            delay: DelayedAck::new(stack, config.delayed_ack),
            compression: stack.compressed_acks.filter(|_| config.sack).map(AckCompression::new),
            window: stack.tunes_window_of(config.receive_window).then(|| Box::new(AdvertisedWindow::new(config.mss))),
            ecn: EcnReceiver::new(stack, config.ecn),
            reads_later: false,
            pushed: false,
        }
    }

    /// The same at the other end of a sender whose congestion control has `needs`: both hosts run it, so ECN, its form and
    /// its codepoints are as it asks.
    pub fn serving(mut self, needs: &Needs) -> Self {
        self.ecn.apply_needs(needs);
        self
    }

    /// The same behind a card that lays segments down in fragments, which the buffer joins (`tcp_try_coalesce`): where the
    /// sender's host has segmentation offload. A segment that its host cut by itself is a packet of its own.
    pub fn with_fragments(mut self) -> Self {
        self.window = self.window.map(|raised| Box::new(raised.with_fragments()));
        self
    }

    /// Of the segments that come up in one poll of a card: `more` of them follow the next one, and the application reads
    /// when all have come (`tcp_cleanup_rbuf`). Without a card it reads after every segment.
    pub fn set_more_segments(&mut self, more: bool) {
        self.reads_later = more;
    }

    /// Takes a segment from the sender.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        if self.fast_path_codepoints.has(ecn) && self.reassembly.is_next(header) {
            self.on_data_inline::<InOrderSegment>(self.clock.ticks(now), header, ecn, wire);
        } else {
            self.on_any_segment(now, header, ecn, wire);
        }
    }

    #[inline(never)]
    fn on_any_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        // Asked here and not in `on_segment`, which is compiled into the loop of events.
        if self.sack_fast_path_codepoints.has(ecn) && self.reassembly.extends_newest_block(header) {
            return self.on_data::<SackExtension>(self.clock.ticks(now), header, ecn, wire);
        }
        self.at = now;
        let now = self.clock.ticks(now);
        (self.fast_path_codepoints, self.sack_fast_path_codepoints) = (CodepointSet::NONE, CodepointSet::NONE);
        if header.flags.contains(Flags::SYN) {
            self.on_syn(now, header, ecn, wire);
        } else if self.open {
            self.measure_handshake(now, header);
            if header.end_seq() > header.seq {
                self.on_data_inline::<AnySegment>(now, header, ecn, wire);
            } else if self.ecn.is_on() {
                self.ecn.on_pure_ack(header, ecn);
            }
        }
    }

    /// The time of [`Self::deadline`] has come (or may have: an early call does nothing).
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        self.at = now;
        let tick = self.clock.ticks(now);
        if self.delay.expires(tick, self.rtt.rto()) {
            self.send_ack(tick, wire);
        }
        if self.compression.as_ref().is_some_and(|c| c.due <= now) {
            self.send_ack(tick, wire);
        }
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn deadline(&self) -> Instant {
        let delayed = self.delay.deadline(self.clock);
        if self.fast_path_codepoints != CodepointSet::NONE {
            return delayed;
        }
        self.compression.as_ref().map_or(delayed, |c| c.due.min(delayed))
    }

    /// Takes the answer to the SYN, where the host that sent it also receives: the handshake opened both directions.
    pub fn connected(&mut self, now: Instant, header: &Header) {
        if self.open || !header.flags.contains(Flags::SYN.with(Flags::ACK)) {
            return;
        }
        self.open = true;
        self.reassembly.open();
        self.rcv_wup = FIRST_BYTE;
        self.ts_recent = header.ts_val;
        self.ecn.on_answer(header.flags);
        self.measure_handshake(self.clock.ticks(now), header);
    }

    /// Whether everything has arrived, up to the sender's FIN.
    pub fn has_ended(&self) -> bool {
        self.reassembly.has_ended()
    }

    /// Bytes handed to the application, in order.
    pub fn delivered(&self) -> u64 {
        self.reassembly.delivered()
    }

    /// Bytes that wait for others before them, each counted once.
    pub fn waiting(&self) -> u64 {
        self.reassembly.waiting()
    }

    /// What arrived with a congestion mark, counted where accurate ECN is in use.
    pub fn marked(&self) -> CeCounters {
        self.ecn.marked()
    }

    fn on_syn(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        self.syn_ack_sent = (!self.open).then_some(self.at);
        self.open = true;
        self.ts_recent = header.ts_val;
        if self.reassembly.open() {
            self.rcv_wup = FIRST_BYTE;
        }
        let (answer, ecn) = self.ecn.on_syn(header.flags, ecn);
        let flags = Flags::SYN.with(Flags::ACK).with(answer);
        let header = Header { seq: 0, flags, ..self.empty_header(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), ecn);
    }

    #[inline(always)]
    fn measure_handshake(&mut self, now: Ticks, header: &Header) {
        if !self.rtt.is_measured() {
            self.measure_first_rtt(now, header);
        }
    }

    /// The first segment after the SYN echoes the time of the SYN-ACK. A stack that times segments more finely than by
    /// timestamps does so with this one, too, unless it was sent again (`tcp_synack_rtt_meas`).
    #[inline(never)]
    fn measure_first_rtt(&mut self, now: Ticks, header: &Header) {
        let echoed = || now.saturating_sub(unwrap_timestamp(now, header.ts_ecr)) as u32 * self.rtt.per_tick();
        let timed = self.syn_ack_sent.filter(|_| self.rtt.per_tick() > 1).map(|answered| self.at - answered);
        let rtt = timed.map_or_else(echoed, |rtt| (rtt.as_nanos() / self.stack.rtt_unit.as_nanos()) as u32);
        self.rtt.sample(rtt, FIRST_BYTE, FIRST_BYTE);
        self.delay.set_max(self.rtt.srtt_eighths(8));
        if let Some(raised) = &mut self.window {
            raised.round_start = self.at;
        }
    }

    /// RFC 7323 §4.3: the timestamp of the earliest segment not yet acknowledged is echoed.
    #[inline(always)]
    fn note_time(&mut self, header: &Header) {
        // Without a branch: of segments that are acknowledged two at a time, every second one is the earliest.
        let earliest = (header.seq <= self.rcv_wup) & is_newer(header.ts_val, self.ts_recent);
        self.ts_recent = if earliest { header.ts_val } else { self.ts_recent };
    }

    /// [`Self::on_data_inline`], compiled out of the caller.
    #[inline(never)]
    fn on_data<K: SegmentKind>(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        self.on_data_inline::<K>(now, header, ecn, wire);
    }

    /// Takes a segment with data or a FIN (`tcp_data_queue`).
    #[inline(always)]
    fn on_data_inline<K: SegmentKind>(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        debug_assert!(!K::FAST_PATH || (self.ecn.of_ack(), self.pushed) == ((Flags::ACK, Ecn::NotEct), false));
        if K::PLACEMENT != Some(Placement::OutOfOrder) {
            // What lies beyond a hole is not the earliest segment that waits for its acknowledgment.
            self.note_time(header);
        }
        let end = if K::FAST_PATH { header.seq + u64::from(header.len) } else { header.end_seq() };
        let ecn_needs_ack = !K::FAST_PATH && self.ecn.is_on() && self.on_codepoint(now, header, ecn, wire);
        let place = K::PLACEMENT.unwrap_or_else(|| self.reassembly.classify(header));
        if place == Placement::Duplicate {
            // RFC 2883: report the duplicate, at once.
            self.delay.enter_quickack_on_reordering();
            self.send_ack(now, wire);
            return;
        }
        let grew = !K::FAST_PATH && self.raise_window(now, header, place == Placement::OutOfOrder);
        if place == Placement::OutOfOrder {
            if !K::FAST_PATH {
                // Without SACK a duplicate acknowledgment has to look like one.
                self.delay.quick_once(grew && self.sack);
            }
            let at_once = ecn_needs_ack && self.ecn.is_prompt();
            let block = (header.seq, end);
            if K::FAST_PATH {
                return self.on_out_of_order_inline::<K>(block, at_once, now, wire);
            }
            self.on_out_of_order(block, at_once, now, wire);
            return self.read_late();
        }
        let had_hole = !K::FAST_PATH && self.reassembly.has_hole();
        if K::FAST_PATH {
            self.reassembly.advance_to(end);
        } else {
            self.reassembly.advance(end);
        }
        if had_hole {
            self.fill();
        }
        self.delay.adapt(now, || self.rtt.rto());
        if K::FAST_PATH {
            return self.acknowledge::<K>(now, false, false, wire);
        }
        self.delay.quick_once(grew);
        let hole_left = had_hole && self.reassembly.has_hole();
        // A burst has ended: the application has read all of it and nothing more may come soon.
        self.pushed |= header.flags.contains(Flags::PSH) && self.stack.bursts && header.len as u32 >= self.mss;
        let needs_ack = (had_hole && !hole_left) || ecn_needs_ack;
        if self.window.is_some() {
            self.acknowledge_and_read(now, (had_hole, hole_left), needs_ack, wire);
        } else {
            let pushed = self.pushed && !self.reads_later;
            self.acknowledge::<K>(now, needs_ack || pushed, hole_left, wire);
            if !hole_left && self.reassembly.is_fast_path() {
                self.fast_path_codepoints = self.insignificant_codepoints();
            }
        }
    }

    /// A segment may raise the window. Returns whether it did.
    #[inline(always)]
    fn raise_window(&mut self, now: Ticks, header: &Header, beyond: bool) -> bool {
        let waiting = self.reassembly.waiting();
        self.window.as_mut().is_some_and(|raised| raised.on_segment(now, header, waiting, beyond))
    }

    /// Under which codepoints a segment that the reassembly expects needs nothing else than its acknowledgment: none, unless the
    /// receiver has none of the mechanisms that look at every segment.
    fn insignificant_codepoints(&self) -> CodepointSet {
        let looks = self.window.is_some() || self.compression.is_some() || self.stack.bursts;
        let knows = self.open && self.rtt.is_measured();
        if looks || !knows { CodepointSet::NONE } else { self.ecn.fast_path_codepoints() }
    }

    /// Acknowledges now, when the application has read what has come, or later.
    #[inline]
    fn acknowledge_and_read(
        &mut self,
        now: Ticks,
        (had_hole, hole_left): (bool, bool),
        at_once: bool,
        wire: &mut impl Wire,
    ) {
        let nxt = self.reassembly.nxt();
        let Some(raised) = &mut self.window else { return };
        // Where the window would be smaller than it was the application reads first.
        if had_hole && !at_once && !raised.does_not_shrink(nxt, self.reassembly.waiting()) {
            self.wait_or_acknowledge::<AnySegment>(now, false, hole_left, wire);
        } else {
            self.acknowledge::<AnySegment>(now, at_once, hole_left, wire);
        }
        if self.reads_later {
            return;
        }
        let Some(raised) = &mut self.window else { return };
        raised.on_read(self.at, nxt);
        if nxt > self.rcv_wup && self.is_due_after_read(hole_left) {
            self.send_ack_inline::<AnySegment>(now, wire);
        }
    }

    /// What followed on a hole is in order now.
    #[inline(never)]
    fn fill(&mut self) {
        if let Some(raised) = &mut self.window {
            raised.on_hole_filled(self.reassembly.nxt());
        }
    }

    /// The poll has ended with a segment beyond a hole: the application reads what came before it.
    fn read_late(&mut self) {
        let nxt = self.reassembly.nxt();
        if let Some(raised) = self.window.as_mut().filter(|_| !self.reads_later) {
            raised.on_read(self.at, nxt);
        }
    }

    /// Whether what has not been acknowledged is, once the application has read it (`__tcp_cleanup_rbuf`).
    fn is_due_after_read(&self, hole_left: bool) -> bool {
        let nxt = self.reassembly.nxt();
        let doubles = || self.window.as_ref().is_some_and(|raised| raised.would_double(nxt, self.reassembly.waiting()));
        (self.pushed && !hole_left) || nxt - self.rcv_wup > u64::from(self.mss) || (hole_left && doubles())
    }

    /// What the codepoint of a segment means. Returns whether an acknowledgment is due.
    #[inline(never)]
    fn on_codepoint(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) -> bool {
        if self.ecn.flushes_before(ecn) && self.delay.is_pending() {
            // What waits goes under the old mark; it is acknowledged once more with this packet (`__tcp_send_ack`).
            self.write_ack::<AnySegment>(now, wire);
        }
        let AckRequest { at_once: now, enters_quickack: quick } = self.ecn.on_data(header, ecn);
        if quick {
            self.delay.enter_quickack(QUICKACKS_ON_ECN);
        }
        now
    }

    #[inline(never)]
    fn on_out_of_order(&mut self, block: SeqRange, at_once: bool, now: Ticks, wire: &mut impl Wire) {
        self.on_out_of_order_inline::<AnySegment>(block, at_once, now, wire);
    }

    /// The same, compiled into the caller.
    #[inline(always)]
    fn on_out_of_order_inline<K: SegmentKind>(
        &mut self,
        block: SeqRange,
        at_once: bool,
        now: Ticks,
        wire: &mut impl Wire,
    ) {
        if self.stack.quickacks_on_reordering {
            // The sender is about to recover: acknowledge everything for a while.
            self.delay.enter_quickack_on_reordering();
        }
        let flushed = !K::FAST_PATH && self.compression.is_some() && self.flush_compressed(block, now, wire);
        self.reassembly.queue(block, self.stack.forgets_blocks);
        if !K::FAST_PATH && self.sack && self.compression.is_none() && self.reassembly.is_sack_fast_path() {
            self.sack_fast_path_codepoints = self.insignificant_codepoints();
        }
        // That it was due for this segment, too, is forgotten with what is sent (`inet_csk_ack_scheduled`).
        if !flushed {
            self.acknowledge::<K>(now, at_once, true, wire);
        }
    }

    /// Acknowledges now or later; at once where that was `asked` for, as by what fills a hole.
    #[inline(always)]
    fn acknowledge<K: SegmentKind>(&mut self, now: Ticks, at_once: bool, hole_left: bool, wire: &mut impl Wire) {
        let unacknowledged = self.reassembly.nxt() - self.rcv_wup;
        let needs_ack = at_once || unacknowledged > self.mss as u64;
        self.wait_or_acknowledge::<K>(now, needs_ack, hole_left, wire);
    }

    /// The same without regard to how much has come.
    #[inline(always)]
    fn wait_or_acknowledge<K: SegmentKind>(
        &mut self,
        now: Ticks,
        at_once: bool,
        hole_left: bool,
        wire: &mut impl Wire,
    ) {
        let at_once = at_once || self.delay.is_quick() || (!K::FAST_PATH && self.reassembly.has_ended());
        let may_wait = |receiver: &mut Self| !K::FAST_PATH && receiver.may_wait();
        if at_once || (hole_left && !may_wait(self)) || (!hole_left && self.delay.defer(now)) {
            self.send_ack_inline::<K>(now, wire);
        }
    }

    /// Whether the acknowledgment of data that leaves a hole may wait; if so, its timer runs.
    #[inline(never)]
    fn may_wait(&mut self) -> bool {
        // By the handshake, or by the segments since if that is shorter.
        let (timed, echoed) = (i64::from(self.rtt.srtt_x8()), self.window.as_ref().map(|raised| raised.rtt_x8()));
        let rtt = self.stack.rtt_unit * echoed.map_or(timed, |echoed| timed.min(echoed)) / 8;
        let (now, nxt) = (self.at, self.reassembly.nxt());
        let delayed = self.delay.timer(self.clock);
        self.compression.as_mut().is_some_and(|c| c.may_defer(now, nxt, rtt, delayed))
    }

    /// Sends a waiting acknowledgment before its SACK blocks change beyond what one option can tell. Returns whether it did.
    #[inline(never)]
    fn flush_compressed(&mut self, block: SeqRange, now: Ticks, wire: &mut impl Wire) -> bool {
        let Some(compression) = &self.compression else { return false };
        let must = compression.must_flush_before(self.reassembly.touched_by(block));
        if must {
            self.send_ack(now, wire);
        }
        must
    }

    #[inline(never)]
    fn send_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.send_ack_inline::<AnySegment>(now, wire);
    }

    #[inline(always)]
    fn send_ack_inline<K: SegmentKind>(&mut self, now: Ticks, wire: &mut impl Wire) {
        if let Some(compression) = self.compression.as_mut().filter(|_| !K::FAST_PATH) {
            compression.on_ack_sent();
        }
        self.delay.on_ack_sent();
        if !K::FAST_PATH {
            self.pushed = false;
        }
        self.rcv_wup = self.reassembly.nxt();
        self.write_ack::<K>(now, wire);
    }

    /// Sends an acknowledgment of all that has arrived.
    #[inline(always)]
    fn write_ack<K: SegmentKind>(&mut self, now: Ticks, wire: &mut impl Wire) {
        if K::FAST_PATH {
            let mut header = Header { seq: FIRST_BYTE, flags: Flags::ACK, ..self.empty_header(now) };
            let mut len = self.ack_len;
            if K::PLACEMENT == Some(Placement::OutOfOrder) {
                header.sack = self.reassembly.most_recent();
                len += header.sack.ip_len_of(self.stack);
            }
            debug_assert_eq!(len, header.ip_len_of(self.stack));
            return wire.send_ack(&header, len, Ecn::NotEct);
        }
        let (flags, ecn) = self.ecn.of_ack();
        let (nxt, waiting) = (self.reassembly.nxt(), self.reassembly.waiting());
        let (window, is_tight) = self.window.as_mut().map_or((0, false), |raised| raised.advertise(nxt, waiting));
        if is_tight {
            self.delay.end_quickack();
        }
        let mut header = Header { seq: FIRST_BYTE, flags, window, ..self.empty_header(now) };
        if self.sack {
            self.reassembly.fill_sack(&mut header.sack);
        } else {
            self.reassembly.forget_duplicate();
        }
        wire.send_ack(&header, header.ip_len_of(self.stack), ecn);
    }

    fn empty_header(&self, now: Ticks) -> Header {
        Header { ack: self.reassembly.nxt(), ts_val: now as u32, ts_ecr: self.ts_recent, ..Header::default() }
    }
}

/// Quick acknowledgments after a mark.
const QUICKACKS_ON_ECN: u32 = 2;
