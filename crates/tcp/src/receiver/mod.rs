//! The receiving endpoint: processes segments and decides when to acknowledge.
//!
//! Source: Linux `tcp_data_queue`, `__tcp_ack_snd_check`. Reassembly is in `reassembly.rs`, the delay of
//! acknowledgments in `delay.rs`, ECN in `ecn.rs`. Linux 6.1 acknowledges out-of-order data through
//! `compressed_ack.rs`. The application reads at once, so only out-of-order data takes room in the window
//! (`receive_window.rs`).

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
use kind::{AnySegment, InOrderSegment, SackExtension, SegmentKind, TrackedInOrderSegment};
use reassembly::{Placement, Reassembly};
use sojourn_aqm::{Ecn, Instant};

/// Configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The stack's mechanisms.
    pub stack: &'static Stack,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// Whether SACK is negotiated.
    pub sack: bool,
    /// Acknowledges every second segment or after a delay; otherwise every segment.
    pub delayed_ack: bool,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Bytes of the window if its size is fixed.
    pub receive_window: Option<u64>,
}

/// Number of CE-marked packets, and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeCounters {
    /// Packets, pure acknowledgments included.
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
}

/// The receiving half of a connection. Fields used for every segment come first and share a cache line.
#[repr(C)]
#[derive(Debug)]
pub struct Receiver {
    /// Codepoints with which the next in-order segment needs nothing but its acknowledgment
    /// ([`Self::insignificant_codepoints`]). Nearly all conditions change only by arriving segments, so this is
    /// computed once per segment of the slow path and tested with one byte per segment of the fast path.
    fast_path_codepoints: CodepointSet,
    /// The same for the next segment at the end of the newest block beyond a hole.
    sack_fast_path_codepoints: CodepointSet,
    /// The same for the next in-order segment of a receiver that [tracks reads](Self::tracks_reads).
    tracked_fast_path_codepoints: CodepointSet,
    open: bool,
    sack: bool,
    /// More segments follow at this instant (GRO), and the application reads after them.
    read_deferred: bool,
    /// The end of a burst has arrived since the last acknowledgment.
    pushed: bool,
    mss: u32,
    ts_recent: u32,
    /// IP bytes of an acknowledgment without SACK blocks.
    ack_len: u32,
    /// The acknowledgment number sent last (`rcv_wup`).
    rcv_wup: u64,
    clock: Clock,
    delay: DelayedAck,
    reassembly: Reassembly,
    /// The instant of the current event.
    at: Instant,
    ecn: EcnReceiver,
    compression: Option<AckCompression>,
    /// The receive window, if it may grow.
    window: Option<Box<AdvertisedWindow>>,
    /// Time of the SYN-ACK, if it was sent once.
    syn_ack_sent: Option<Instant>,
    /// One sample, from the handshake: a receiver that sends no data has no other.
    rtt: RttEstimator,
    stack: &'static Stack,
}

cloned_in_place! {
    Receiver {
        fast_path_codepoints, sack_fast_path_codepoints, tracked_fast_path_codepoints, open, sack, read_deferred, pushed, mss, ts_recent, ack_len, rcv_wup, clock, delay,
        reassembly, at, ecn, compression, window, syn_ack_sent, rtt, stack,
    }
}

impl Receiver {
    /// A listening receiver.
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
            tracked_fast_path_codepoints: CodepointSet::NONE,
            ack_len: Header::ip_overhead_of(stack),
            open: false,
            reassembly: Reassembly::new(),
            rcv_wup: 0,
            ts_recent: 0,
            delay: DelayedAck::new(stack, config.delayed_ack),
            compression: stack.compressed_acks.filter(|_| config.sack).map(AckCompression::new),
            window: stack.tunes_window_of(config.receive_window).then(|| Box::new(AdvertisedWindow::new(config.mss))),
            ecn: EcnReceiver::new(stack, config.ecn),
            read_deferred: false,
            pushed: false,
        }
    }

    /// For a sender whose congestion control has `needs`. Both hosts run the same control, so its needs decide about
    /// ECN, its form and its codepoints.
    pub fn serving(mut self, needs: &Needs) -> Self {
        self.ecn.apply_needs(needs);
        self
    }

    /// With a NIC that places payload in page fragments, which the buffer coalesces (`tcp_try_coalesce`): used if the
    /// sender's host has segmentation offload. A segment cut by its host is an skb of its own.
    pub fn with_fragments(mut self) -> Self {
        self.window = self.window.map(|window| Box::new(window.with_fragments()));
        self
    }

    /// For segments from one poll of a NIC: whether `more` segments follow the next one, after which the application
    /// reads (`tcp_cleanup_rbuf`). So the end of a burst in the middle of a poll has no acknowledgment of its own.
    /// Otherwise the application reads after every segment.
    pub fn set_more_segments(&mut self, more: bool) {
        self.read_deferred = more;
    }

    /// Processes a segment from the sender.
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
        // Tested here and not in `on_segment`, which is inlined into the event loop.
        if self.tracked_fast_path_codepoints.has(ecn) && self.reassembly.is_next(header) {
            self.at = now;
            return self.on_data_inline::<TrackedInOrderSegment>(self.clock.ticks(now), header, ecn, wire);
        }
        if self.sack_fast_path_codepoints.has(ecn) && self.reassembly.extends_newest_block(header) {
            return self.on_data::<SackExtension>(self.clock.ticks(now), header, ecn, wire);
        }
        self.at = now;
        let now = self.clock.ticks(now);
        self.leave_fast_paths();
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

    /// The next segment takes no fast path unless this one ends in the state of one.
    fn leave_fast_paths(&mut self) {
        self.fast_path_codepoints = CodepointSet::NONE;
        self.sack_fast_path_codepoints = CodepointSet::NONE;
        self.tracked_fast_path_codepoints = CodepointSet::NONE;
    }

    /// To be called at [`Self::deadline`]; an early call does nothing.
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
        if self.fast_path_codepoints != CodepointSet::NONE || self.tracked_fast_path_codepoints != CodepointSet::NONE {
            return delayed;
        }
        self.compression.as_ref().map_or(delayed, |c| c.due.min(delayed))
    }

    /// Processes the SYN-ACK, if this host sent the SYN and also receives: the handshake opens both directions.
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

    /// Bytes delivered to the application, in order.
    pub fn delivered(&self) -> u64 {
        self.reassembly.delivered()
    }

    /// Out-of-order bytes, each counted once.
    pub fn waiting(&self) -> u64 {
        self.reassembly.waiting()
    }

    /// CE-marked packets, counted if accurate ECN is in use.
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

    /// The first segment after the SYN echoes the timestamp of the SYN-ACK. A stack with finer RTT units uses the send
    /// time of the SYN-ACK, unless that was retransmitted (`tcp_synack_rtt_meas`): a twentieth of the RTT bounds the
    /// delay of compressed acknowledgments, for which ticks of 1 ms are too coarse.
    #[inline(never)]
    fn measure_first_rtt(&mut self, now: Ticks, header: &Header) {
        let echoed = || now.saturating_sub(unwrap_timestamp(now, header.ts_ecr)) as u32 * self.rtt.per_tick();
        let timed = self.syn_ack_sent.filter(|_| self.rtt.per_tick() > 1).map(|answered| self.at - answered);
        let rtt = timed.map_or_else(echoed, |rtt| (rtt.as_nanos() / self.stack.rtt_unit.as_nanos()) as u32);
        self.rtt.sample(rtt, FIRST_BYTE, FIRST_BYTE);
        self.delay.set_max(self.rtt.srtt_eighths(8));
        if let Some(window) = &mut self.window {
            window.round_start = self.at;
        }
    }

    /// RFC 7323 §4.3: echo the timestamp of the earliest unacknowledged segment.
    #[inline(always)]
    fn note_time(&mut self, header: &Header) {
        // Branch-free: with an acknowledgment per two segments, every second segment is the earliest.
        let earliest = (header.seq <= self.rcv_wup) & is_newer(header.ts_val, self.ts_recent);
        self.ts_recent = if earliest { header.ts_val } else { self.ts_recent };
    }

    /// [`Self::on_data_inline`], outlined: inlined into the event loop, the kind for segments beyond a hole would cost
    /// every stack 5 to 20 instructions per packet.
    #[inline(never)]
    fn on_data<K: SegmentKind>(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        self.on_data_inline::<K>(now, header, ecn, wire);
    }

    /// Processes a segment with data or a FIN (`tcp_data_queue`).
    #[inline(always)]
    fn on_data_inline<K: SegmentKind>(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        debug_assert!(!K::FAST_PATH || self.ecn.of_ack() == (Flags::ACK, Ecn::NotEct));
        debug_assert!(K::TRACKS_READS || !self.pushed);
        if K::PLACEMENT != Some(Placement::OutOfOrder) {
            // A segment beyond a hole is not the earliest unacknowledged one.
            self.note_time(header);
        }
        let end = if K::FAST_PATH { header.seq + u64::from(header.len) } else { header.end_seq() };
        let ecn_needs_ack = !K::FAST_PATH && self.ecn.is_on() && self.on_codepoint(now, header, ecn, wire);
        let placement = K::PLACEMENT.unwrap_or_else(|| self.reassembly.classify(header));
        if placement == Placement::Duplicate {
            // RFC 2883: report the duplicate, at once.
            self.delay.enter_quickack_on_reordering();
            self.send_ack(now, wire);
            return;
        }
        let grew = K::TRACKS_READS && self.raise_window(now, header, placement == Placement::OutOfOrder);
        if placement == Placement::OutOfOrder {
            if !K::FAST_PATH {
                // Without SACK a duplicate acknowledgment must not carry a window update.
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
        if !K::TRACKS_READS {
            return self.acknowledge::<K>(now, false, false, wire);
        }
        self.delay.quick_once(grew);
        let hole_left = had_hole && self.reassembly.has_hole();
        // A burst has ended: the application has read all of it, and no more data may follow soon.
        self.pushed |= header.flags.contains(Flags::PSH) && self.stack.bursts && header.len as u32 >= self.mss;
        let needs_ack = (had_hole && !hole_left) || ecn_needs_ack;
        if self.window.is_some() {
            self.acknowledge_and_read::<K>(now, (had_hole, hole_left), needs_ack, wire);
        } else {
            let pushed = self.pushed && !self.read_deferred;
            self.acknowledge::<K>(now, needs_ack || pushed, hole_left, wire);
        }
        if !K::FAST_PATH && !hole_left && self.reassembly.is_fast_path() {
            self.enter_fast_path();
        }
    }

    /// The next segment in order needs nothing but its acknowledgment.
    fn enter_fast_path(&mut self) {
        if !self.tracks_reads() {
            self.fast_path_codepoints = self.insignificant_codepoints();
        } else if self.compression.as_ref().is_none_or(|c| c.due == Instant::NEVER) {
            self.tracked_fast_path_codepoints = self.insignificant_codepoints();
        }
    }

    /// Raises the window on a segment. Returns whether it grew.
    #[inline(always)]
    fn raise_window(&mut self, now: Ticks, header: &Header, beyond: bool) -> bool {
        let waiting = self.reassembly.waiting();
        self.window.as_mut().is_some_and(|window| window.on_segment(now, header, waiting, beyond))
    }

    /// Whether a mechanism processes every segment: a window that grows, compressed acknowledgments, or bursts.
    fn tracks_reads(&self) -> bool {
        self.window.is_some() || self.compression.is_some() || self.stack.bursts
    }

    /// Codepoints that need no reaction, so that the expected segment only has to be acknowledged.
    fn insignificant_codepoints(&self) -> CodepointSet {
        let knows = self.open && self.rtt.is_measured();
        if knows { self.ecn.fast_path_codepoints() } else { CodepointSet::NONE }
    }

    /// Acknowledges before or after the application reads the data, or later.
    #[inline(always)]
    fn acknowledge_and_read<K: SegmentKind>(
        &mut self,
        now: Ticks,
        (had_hole, hole_left): (bool, bool),
        at_once: bool,
        wire: &mut impl Wire,
    ) {
        let nxt = self.reassembly.nxt();
        let Some(window) = &mut self.window else { return };
        // If the window would shrink, the application reads first: data that filled a hole takes its memory until it is
        // read.
        if had_hole && !at_once && !window.does_not_shrink(nxt, self.reassembly.waiting()) {
            self.wait_or_acknowledge::<K>(now, false, hole_left, wire);
        } else {
            self.acknowledge::<K>(now, at_once, hole_left, wire);
        }
        if self.read_deferred {
            return;
        }
        let Some(window) = &mut self.window else { return };
        window.on_read(self.at, nxt);
        if nxt > self.rcv_wup && self.is_due_after_read(hole_left) {
            self.send_ack_of::<K>(now, wire);
        }
    }

    /// A hole was filled.
    #[inline(never)]
    fn fill(&mut self) {
        if let Some(window) = &mut self.window {
            window.on_hole_filled(self.reassembly.nxt());
        }
    }

    /// A poll ended with a segment beyond a hole: the application reads the data before it.
    fn read_late(&mut self) {
        let nxt = self.reassembly.nxt();
        if let Some(window) = self.window.as_mut().filter(|_| !self.read_deferred) {
            window.on_read(self.at, nxt);
        }
    }

    /// Whether an acknowledgment is due after the application has read (`__tcp_cleanup_rbuf`). The end of a burst is
    /// acknowledged at once only if no hole is left.
    fn is_due_after_read(&self, hole_left: bool) -> bool {
        let nxt = self.reassembly.nxt();
        let doubles = || self.window.as_ref().is_some_and(|window| window.would_double(nxt, self.reassembly.waiting()));
        (self.pushed && !hole_left) || nxt - self.rcv_wup > u64::from(self.mss) || (hole_left && doubles())
    }

    /// Processes a segment's codepoint. Returns whether an acknowledgment is due.
    #[inline(never)]
    fn on_codepoint(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) -> bool {
        if self.ecn.flushes_before(ecn) && self.delay.is_pending() {
            // Pending data is acknowledged under the old echo, and again with this packet (`__tcp_send_ack`).
            self.write_ack::<AnySegment>(now, wire);
        }
        let AckRequest { at_once: now, enters_quickack } = self.ecn.on_data(header, ecn);
        if enters_quickack {
            self.delay.enter_quickack(QUICKACKS_ON_ECN);
        }
        now
    }

    #[inline(never)]
    fn on_out_of_order(&mut self, block: SeqRange, at_once: bool, now: Ticks, wire: &mut impl Wire) {
        self.on_out_of_order_inline::<AnySegment>(block, at_once, now, wire);
    }

    /// [`Self::on_out_of_order`], compiled into the caller.
    #[inline(always)]
    fn on_out_of_order_inline<K: SegmentKind>(
        &mut self,
        block: SeqRange,
        at_once: bool,
        now: Ticks,
        wire: &mut impl Wire,
    ) {
        if self.stack.quickacks_on_reordering {
            // The sender is about to recover: acknowledge every segment for a while.
            self.delay.enter_quickack_on_reordering();
        }
        let flushed = !K::FAST_PATH && self.compression.is_some() && self.flush_compressed(block, now, wire);
        self.reassembly.queue(block, self.stack.forgets_blocks);
        if !K::FAST_PATH && self.sack && !self.tracks_reads() && self.reassembly.is_sack_fast_path() {
            self.sack_fast_path_codepoints = self.insignificant_codepoints();
        }
        // A flush also clears the acknowledgment scheduled for this segment (`inet_csk_ack_scheduled`).
        if !flushed {
            self.acknowledge::<K>(now, at_once, true, wire);
        }
    }

    /// Acknowledges now or later; `at_once` for example if a hole was filled.
    #[inline(always)]
    fn acknowledge<K: SegmentKind>(&mut self, now: Ticks, at_once: bool, hole_left: bool, wire: &mut impl Wire) {
        let unacknowledged = self.reassembly.nxt() - self.rcv_wup;
        let needs_ack = at_once || unacknowledged > self.mss as u64;
        self.wait_or_acknowledge::<K>(now, needs_ack, hole_left, wire);
    }

    /// [`Self::acknowledge`] regardless of the number of unacknowledged bytes.
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
            if K::TRACKS_READS {
                self.send_ack_of::<K>(now, wire);
            } else {
                self.send_ack_inline::<K>(now, wire);
            }
        }
    }

    /// Whether the acknowledgment of data that leaves a hole may wait; if so, its timer is running.
    #[inline(never)]
    fn may_wait(&mut self) -> bool {
        // The RTT of the handshake, or of the segments since if that is smaller.
        let (timed, echoed) = (i64::from(self.rtt.srtt_x8()), self.window.as_ref().map(|window| window.rtt_x8()));
        let rtt = self.stack.rtt_unit * echoed.map_or(timed, |echoed| timed.min(echoed)) / 8;
        let (now, nxt) = (self.at, self.reassembly.nxt());
        let delayed = self.delay.timer(self.clock);
        self.compression.as_mut().is_some_and(|c| c.may_defer(now, nxt, rtt, delayed))
    }

    /// Sends a waiting acknowledgment before its SACK blocks exceed one option. Returns whether it did.
    #[inline(never)]
    fn flush_compressed(&mut self, block: SeqRange, now: Ticks, wire: &mut impl Wire) -> bool {
        let Some(compression) = &self.compression else { return false };
        let must = compression.must_flush_before(self.reassembly.touched_by(block));
        if must {
            self.send_ack(now, wire);
        }
        must
    }

    fn send_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.send_ack_of::<AnySegment>(now, wire);
    }

    /// [`Self::send_ack_inline`], outlined for kinds with several callers.
    #[inline(never)]
    fn send_ack_of<K: SegmentKind>(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.send_ack_inline::<K>(now, wire);
    }

    #[inline(always)]
    fn send_ack_inline<K: SegmentKind>(&mut self, now: Ticks, wire: &mut impl Wire) {
        if let Some(compression) = self.compression.as_mut().filter(|_| !K::FAST_PATH) {
            compression.on_ack_sent();
        }
        self.delay.on_ack_sent();
        if K::TRACKS_READS {
            self.pushed = false;
        }
        self.rcv_wup = self.reassembly.nxt();
        self.write_ack::<K>(now, wire);
    }

    /// Sends an acknowledgment of everything that has arrived.
    #[inline(always)]
    fn write_ack<K: SegmentKind>(&mut self, now: Ticks, wire: &mut impl Wire) {
        if K::FAST_PATH {
            let window = if K::TRACKS_READS { self.advertise() } else { 0 };
            let mut header = Header { seq: FIRST_BYTE, flags: Flags::ACK, window, ..self.empty_header(now) };
            let mut len = self.ack_len;
            if K::PLACEMENT == Some(Placement::OutOfOrder) {
                header.sack = self.reassembly.most_recent();
                len += header.sack.ip_len_of(self.stack);
            }
            debug_assert_eq!(len, header.ip_len_of(self.stack));
            return wire.send_ack(&header, len, Ecn::NotEct);
        }
        let (flags, ecn) = self.ecn.of_ack();
        let window = self.advertise();
        let mut header = Header { seq: FIRST_BYTE, flags, window, ..self.empty_header(now) };
        if self.sack {
            self.reassembly.fill_sack(&mut header.sack);
        } else {
            self.reassembly.forget_duplicate();
        }
        wire.send_ack(&header, header.ip_len_of(self.stack), ecn);
    }

    /// The window to advertise, in units; 0 if its size is fixed.
    #[inline(always)]
    fn advertise(&mut self) -> u32 {
        let (nxt, waiting) = (self.reassembly.nxt(), self.reassembly.waiting());
        let (window, is_tight) = self.window.as_mut().map_or((0, false), |window| window.advertise(nxt, waiting));
        if is_tight {
            self.delay.end_quickack();
        }
        window
    }

    fn empty_header(&self, now: Ticks) -> Header {
        Header { ack: self.reassembly.nxt(), ts_val: now as u32, ts_ecr: self.ts_recent, ..Header::default() }
    }
}

/// Quick acknowledgments after a CE mark.
const QUICKACKS_ON_ECN: u32 = 2;
