//! The receiving endpoint: reassembly, SACK and D-SACK, delayed and quick acknowledgments.
//!
//! Source: Linux `tcp_data_queue`, `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`.
//! Linux 6.1 acknowledges out-of-order data through `compressed_ack.rs`. The application reads at once, so only what
//! waits out of order takes room in the window (`offered.rs`).

use super::compressed_ack::Compression;
use super::offered::Raised;
use super::rtt::RttEstimator;
use super::stack::Stack;
use super::{Block, Clock, FIRST_BYTE, Flags, Header, Sack, Ticks, Wire};
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

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    stack: &'static Stack,
    clock: Clock,
    /// The instant of the event that is being dealt with.
    at: Instant,
    /// Least delay of an acknowledgment, in ticks.
    ato_min: u32,
    /// … and most, once the RTT is known.
    ato_max: u32,
    /// Sampled once, by the handshake: a receiver that sends no data learns nothing more.
    rtt: RttEstimator,
    mss: u32,
    sack: bool,
    delayed_ack: bool,
    ecn: bool,
    open: bool,
    rcv_nxt: u64,
    /// `rcv_nxt` in the last acknowledgment sent.
    rcv_wup: u64,
    /// What arrived beyond `rcv_nxt`, in order of sequence, disjoint.
    out_of_order: Vec<Block>,
    /// SACK blocks, most recent first.
    sacks: Vec<Block>,
    duplicate: Option<Block>,
    ts_recent: u32,
    /// Delay of delayed acknowledgments, adapted to the arrivals; zero before the first data.
    ato: u32,
    last_data: u32,
    quick: u32,
    /// Tick at which a delayed acknowledgment is due.
    delayed: Option<u32>,
    /// … and when its timer expires.
    delayed_expiry: Ticks,
    compression: Option<Compression>,
    /// The window, while it may grow.
    raised: Option<Raised>,
    /// ECN-capable data has arrived.
    ect_seen: bool,
    /// CE arrived and the sender has not said CWR.
    echo: bool,
    /// Sequence number of the FIN; beyond all others until it arrives.
    fin: u64,
}

impl Receiver {
    /// A receiver that listens.
    pub fn new(config: ReceiverConfig) -> Self {
        let clock = config.stack.clock();
        Self {
            stack: config.stack,
            clock,
            at: Instant::ZERO,
            compression: config.stack.compressed_acks.filter(|_| config.sack).map(Compression::new),
            raised: config.stack.tunes_window_of(config.receive_window).then(|| Raised::new(config.mss)),
            ato_min: clock.span(config.stack.ato_min),
            ato_max: clock.span(config.stack.ato_min),
            rtt: config.stack.rtt_estimator(),
            mss: config.mss,
            sack: config.sack,
            delayed_ack: config.delayed_ack && !config.stack.acks_every_segment,
            ecn: config.ecn,
            open: false,
            rcv_nxt: 0,
            rcv_wup: 0,
            out_of_order: Vec::with_capacity(ROOM_FOR_HOLES),
            sacks: Vec::with_capacity(MOST_SACKS + 1),
            duplicate: None,
            ts_recent: 0,
            ato: 0,
            last_data: 0,
            quick: 0,
            delayed: None,
            delayed_expiry: 0,
            ect_seen: false,
            echo: false,
            fin: u64::MAX,
        }
    }

    /// Takes a segment from the sender.
    pub fn on_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        self.at = now;
        let now = self.clock.ticks(now);
        if header.flags.contains(Flags::SYN) {
            self.on_syn(now, header, wire);
        } else if self.open {
            self.measure_handshake(now, header);
            if header.end_seq() > header.seq {
                self.on_data(now, header, ecn, wire);
            }
        }
    }

    /// The time of [`Self::deadline`] has come (or may have: an early call does nothing).
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        self.at = now;
        let tick = self.clock.ticks(now);
        if self.delayed.is_some() && self.delayed_expiry <= tick {
            // The acknowledgment was late: expect the data to keep coming slowly.
            self.ato = (self.ato * 2).min(self.rtt.rto());
            self.send_ack(tick, wire);
        }
        if self.compression.as_ref().is_some_and(|c| c.due <= now) {
            self.send_ack(tick, wire);
        }
    }

    /// When [`Self::on_timer`] is to be called.
    pub fn deadline(&self) -> Instant {
        let delayed = self.delayed.map_or(Instant::NEVER, |_| self.clock.instant(self.delayed_expiry));
        self.compression.as_ref().map_or(delayed, |c| c.due.min(delayed))
    }

    /// Takes the answer to the SYN, where the host that sent it also receives: the handshake opened both directions.
    pub fn connected(&mut self, now: Instant, header: &Header) {
        if self.open || !header.flags.contains(Flags::SYN.with(Flags::ACK)) {
            return;
        }
        self.open = true;
        (self.rcv_nxt, self.rcv_wup) = (FIRST_BYTE, FIRST_BYTE);
        self.ts_recent = header.ts_val;
        self.measure_handshake(self.clock.ticks(now), header);
    }

    /// Whether everything has arrived, up to the sender's FIN.
    pub fn has_ended(&self) -> bool {
        self.rcv_nxt > self.fin
    }

    /// Bytes handed to the application, in order.
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt.min(self.fin).saturating_sub(FIRST_BYTE)
    }

    /// Bytes that wait for others before them, each counted once.
    pub fn waiting(&self) -> u64 {
        self.out_of_order.iter().map(|&(from, end)| end.min(self.fin).saturating_sub(from)).sum()
    }

    fn on_syn(&mut self, now: Ticks, header: &Header, wire: &mut impl Wire) {
        self.open = true;
        self.ts_recent = header.ts_val;
        if self.rcv_nxt == 0 {
            (self.rcv_nxt, self.rcv_wup) = (FIRST_BYTE, FIRST_BYTE);
        }
        // RFC 3168 §6.1.1: ECN is used if the SYN asks for it.
        self.ecn &= header.flags.contains(Flags::ECE.with(Flags::CWR));
        let flags = Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, self.ecn);
        let header = Header { seq: 0, flags, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    /// The first segment after the SYN echoes the time of the SYN-ACK.
    fn measure_handshake(&mut self, now: Ticks, header: &Header) {
        if !self.rtt.is_measured() {
            let rtt = now.saturating_sub(header.ts_ecr) * self.rtt.per_tick();
            self.rtt.sample(rtt, FIRST_BYTE, FIRST_BYTE);
            self.ato_max = self.ato_min.max(self.rtt.srtt_eighths(8));
            if let Some(raised) = &mut self.raised {
                raised.since = self.at;
            }
        }
    }

    fn on_data(&mut self, now: Ticks, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        // RFC 7323 §4.3: echo the timestamp of the earliest segment not yet acknowledged.
        if header.seq <= self.rcv_wup {
            self.ts_recent = self.ts_recent.max(header.ts_val);
        }
        let asked = self.ecn && self.on_ecn(header, ecn);
        let (seq, end) = (header.seq, header.end_seq());
        if header.flags.contains(Flags::FIN) {
            self.fin = end - 1;
        }
        if end <= self.rcv_nxt {
            // RFC 2883: report the duplicate, at once.
            self.duplicate = Some((seq, end));
            self.enter_quick_mode();
            self.send_ack(now, wire);
            return;
        }
        let grew = self.raised.as_mut().is_some_and(|raised| raised.arrived(now, header));
        if seq > self.rcv_nxt {
            // Without SACK a duplicate acknowledgment has to look like one.
            self.quick |= (grew && self.sack) as u32;
            self.on_out_of_order((seq, end), now, wire);
            return;
        }
        if seq < self.rcv_nxt {
            self.duplicate = Some((seq, self.rcv_nxt));
        }
        let had_hole = !self.out_of_order.is_empty();
        self.advance(end);
        self.adapt(now);
        self.quick |= grew as u32;
        if let Some(raised) = &mut self.raised {
            raised.read(self.at, self.rcv_nxt);
        }
        let hole_left = had_hole && !self.out_of_order.is_empty();
        // A burst has ended: the application has read all of it and nothing more may come soon.
        let pushed = header.flags.contains(Flags::PSH) && self.stack.bursts && header.len as u32 >= self.mss;
        self.acknowledge(now, (had_hole && !hole_left) || asked || pushed, hole_left, wire);
    }

    #[inline(never)]
    fn on_out_of_order(&mut self, block: Block, now: Ticks, wire: &mut impl Wire) {
        if self.stack.quickacks_on_reordering {
            // The sender is about to recover: acknowledge everything for a while.
            self.enter_quick_mode();
        }
        if self.compression.is_some() {
            self.flush_compressed(block, now, wire);
        }
        self.queue_out_of_order(block);
        self.acknowledge(now, false, true, wire);
    }

    /// Acknowledges now or later; at once where a hole was `filled`.
    #[inline(always)]
    fn acknowledge(&mut self, now: Ticks, filled: bool, hole_left: bool, wire: &mut impl Wire) {
        let unacknowledged = self.rcv_nxt - self.rcv_wup;
        let at_once = !self.delayed_ack
            || unacknowledged > self.mss as u64
            || self.quick > 0
            || filled
            || self.rcv_nxt > self.fin;
        if at_once || (hole_left && !self.may_wait()) {
            self.send_ack(now, wire);
        } else if !hole_left {
            self.delay_ack(now, wire);
        }
    }

    /// Whether the acknowledgment of data that leaves a hole may wait; if so, its timer runs.
    #[inline(never)]
    fn may_wait(&mut self) -> bool {
        let rtt = self.stack.rtt_unit * self.rtt.srtt() as i64;
        let (now, rcv_nxt) = (self.at, self.rcv_nxt);
        self.compression.as_mut().is_some_and(|c| c.holds(now, rcv_nxt, rtt))
    }

    /// Sends a waiting acknowledgment before its SACK blocks change beyond what one option can tell.
    #[inline(never)]
    fn flush_compressed(&mut self, (seq, end): Block, now: Ticks, wire: &mut impl Wire) {
        let Some(compression) = &self.compression else { return };
        let touching = self.sacks.iter().position(|b| seq <= b.1 && b.0 <= end);
        if compression.must_go_before(touching.unwrap_or(self.sacks.len())) {
            self.send_ack(now, wire);
        }
    }

    /// RFC 3168 §6.1.3: CWR ends the echo, a new mark starts it again. Returns whether an acknowledgment is due.
    #[inline(never)]
    fn on_ecn(&mut self, header: &Header, ecn: Ecn) -> bool {
        let cwr = header.flags.contains(Flags::CWR);
        let (echoing, marked) = (self.echo && !cwr, ecn == Ecn::Ce);
        self.echo = echoing || marked;
        if !self.stack.quickacks_on_ecn {
            return false;
        }
        // The sender's window may be very small after a mark, or a retransmission, which is not ECN-capable.
        if (marked && !echoing) || (ecn == Ecn::NotEct && self.ect_seen) {
            self.quick = self.quick.max(QUICKACKS_ON_ECN);
            self.ato = self.ato_min;
        }
        self.ect_seen |= ecn != Ecn::NotEct;
        cwr
    }

    /// Adapts the delay of acknowledgments to the gaps between data.
    #[inline(always)]
    fn adapt(&mut self, now: Ticks) {
        if self.ato == 0 {
            self.quick = self.quick.max(self.stack.quickacks_at_start);
            self.ato = self.ato_min;
        } else {
            let gap = now - self.last_data;
            if gap <= self.ato_min / 2 {
                self.ato = self.ato / 2 + self.ato_min / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(self.rtt.rto());
            } else if gap > self.rtt.rto() {
                // A gap longer than the time-out: the sender starts slowly, it needs acknowledgments quickly.
                self.quick = self.quick.max(self.stack.quickacks);
            }
        }
        self.last_data = now;
    }

    fn delay_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        // A known RTT bounds the delay, but not below its least.
        let ato = self.ato.min(self.ato_max);
        let mut due = now + ato;
        if let Some(pending) = self.delayed {
            // About to expire: it can go now.
            if pending <= now + ato / 4 {
                self.send_ack(now, wire);
                return;
            }
            due = due.min(pending);
        }
        self.delayed = Some(due);
        self.delayed_expiry = self.stack.expiry(now, due - now);
    }

    fn send_ack(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.delayed = None;
        if let Some(compression) = &mut self.compression {
            compression.sent();
        }
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                // Leaving quick mode: the delay is not what it was before.
                self.ato = self.ato_min;
            }
        }
        self.rcv_wup = self.rcv_nxt;
        let mut sack = Sack::default();
        if self.sack {
            self.duplicate.take().into_iter().chain(self.sacks.iter().copied()).for_each(|block| sack.push(block));
        }
        self.duplicate = None;
        let flags = Flags::ACK.with_if(Flags::ECE, self.echo);
        let header = Header { seq: FIRST_BYTE, flags, sack, ..self.blank(now) };
        wire.transmit(&header, header.ip_len_of(self.stack), Ecn::NotEct);
    }

    fn blank(&self, now: Ticks) -> Header {
        Header { ack: self.rcv_nxt, ts_val: now, ts_ecr: self.ts_recent, ..Header::default() }
    }

    fn enter_quick_mode(&mut self) {
        self.quick = self.quick.max(self.stack.quickacks);
        self.ato = self.ato_min;
    }

    fn advance(&mut self, to: u64) {
        self.rcv_nxt = to;
        let filled = self.out_of_order.iter().take_while(|&&(from, _)| from <= to).count();
        for (_, end) in self.out_of_order.drain(..filled) {
            self.rcv_nxt = self.rcv_nxt.max(end);
        }
        if !self.sacks.is_empty() {
            let rcv_nxt = self.rcv_nxt;
            self.sacks.retain(|&(from, _)| from > rcv_nxt);
        }
    }

    fn queue_out_of_order(&mut self, block: Block) {
        let i = self.out_of_order.partition_point(|b| b.1 < block.0);
        if self.out_of_order.get(i).is_some_and(|b| b.0 <= block.0 && block.1 <= b.1) {
            self.duplicate = Some(block);
        }
        let merged = merge_at(&mut self.out_of_order, i, block);
        // The block that holds the newest segment comes first; what it swallowed goes.
        self.sacks.retain(|b| b.1 < merged.0 || merged.1 < b.0);
        self.sacks.insert(0, merged);
        self.sacks.truncate(MOST_SACKS);
    }
}

/// Adds `block` to sorted disjoint blocks; `i` is the first that ends at or after its start. Returns the block it became.
fn merge_at(blocks: &mut Vec<Block>, i: usize, mut block: Block) -> Block {
    let overlapping = blocks[i..].iter().take_while(|b| b.0 <= block.1).count();
    for b in &blocks[i..i + overlapping] {
        block = (block.0.min(b.0), block.1.max(b.1));
    }
    if overlapping == 0 {
        blocks.insert(i, block);
    } else {
        blocks[i] = block;
        blocks.drain(i + 1..i + overlapping);
    }
    block
}

/// Holes that a usual loss makes: more cost an allocation.
const ROOM_FOR_HOLES: usize = 16;

/// Quick acknowledgments after a mark.
const QUICKACKS_ON_ECN: u32 = 2;

/// Linux keeps four blocks, of which those that fit are sent.
const MOST_SACKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Duration;

    const MSS: u64 = 1448;

    struct Rig {
        receiver: Receiver,
        sent: Vec<(u64, Vec<Block>)>,
        now: Instant,
    }

    impl Rig {
        fn new(delayed_ack: bool) -> Self {
            let stack = Stack::find("linux-2.6.29").unwrap();
            let config =
                ReceiverConfig { stack, mss: MSS as u32, sack: true, delayed_ack, ecn: false, receive_window: None };
            let mut rig = Self { receiver: Receiver::new(config), sent: Vec::new(), now: Instant::ZERO };
            rig.segment(Header { flags: Flags::SYN, ..Header::default() });
            rig.sent.clear();
            rig
        }

        fn segment(&mut self, header: Header) {
            let sent = &mut self.sent;
            let mut wire = |h: &Header, _: Ecn| sent.push((h.ack, h.sack.blocks().to_vec()));
            self.receiver.on_segment(self.now, &header, Ecn::NotEct, &mut wire);
        }

        /// Full segment `n` (from 0) arrives; returns what it made the receiver send.
        fn data(&mut self, n: u64) -> Vec<(u64, Vec<Block>)> {
            self.segment(Header { seq: 1 + n * MSS, len: MSS as u16, flags: Flags::ACK, ..Header::default() });
            std::mem::take(&mut self.sent)
        }

        fn wait_for_timer(&mut self) -> Duration {
            let waited = self.receiver.deadline() - self.now;
            self.now = self.receiver.deadline();
            let sent = &mut self.sent;
            let mut wire = |h: &Header, _: Ecn| sent.push((h.ack, h.sack.blocks().to_vec()));
            self.receiver.on_timer(self.now, &mut wire);
            waited
        }
    }

    fn at(n: u64) -> u64 {
        1 + n * MSS
    }

    #[test]
    fn quick_acknowledgments_then_every_second_segment() {
        let mut rig = Rig::new(true);
        for n in 0..2 {
            assert_eq!(rig.data(n), [(at(n + 1), vec![])], "quick acknowledgment {n}");
        }
        assert_eq!(rig.data(2), []);
        assert_eq!(rig.data(3), [(at(4), vec![])]);
    }

    #[test]
    fn sixteen_quick_acknowledgments_after_a_hole() {
        let mut rig = Rig::new(true);
        (0..4).for_each(|n| drop(rig.data(n)));
        rig.data(5);
        rig.data(4);
        for n in 6..20 {
            assert_eq!(rig.data(n), [(at(n + 1), vec![])], "two are used up by the hole, this is {n}");
        }
        assert_eq!(rig.data(20), []);
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_the_delay() {
        let mut rig = Rig::new(true);
        (0..2).for_each(|n| drop(rig.data(n)));
        assert_eq!(rig.data(2), []);
        assert_eq!(rig.wait_for_timer(), Duration::from_millis(40));
        assert_eq!(rig.sent, [(at(3), vec![])]);
    }

    #[test]
    fn without_delay_every_segment_is_acknowledged() {
        let mut rig = Rig::new(false);
        for n in 0..40 {
            assert_eq!(rig.data(n).len(), 1);
        }
    }

    #[test]
    fn holes_are_told_at_once_most_recent_first() {
        let mut rig = Rig::new(true);
        rig.data(0);
        assert_eq!(rig.data(2), [(at(1), vec![(at(2), at(3))])]);
        assert_eq!(rig.data(4), [(at(1), vec![(at(4), at(5)), (at(2), at(3))])]);
        assert_eq!(rig.data(3), [(at(1), vec![(at(2), at(5))])]);
        assert_eq!(rig.data(1), [(at(5), vec![])], "the hole is filled");
    }

    #[test]
    fn at_most_three_blocks_beside_timestamps() {
        let mut rig = Rig::new(true);
        rig.data(0);
        for n in [2, 4, 6] {
            rig.data(n);
        }
        let blocks = vec![(at(8), at(9)), (at(6), at(7)), (at(4), at(5))];
        assert_eq!(rig.data(8), [(at(1), blocks)]);
    }

    #[test]
    fn duplicates_are_reported_first() {
        let mut rig = Rig::new(true);
        rig.data(0);
        rig.data(2);
        assert_eq!(rig.data(0), [(at(1), vec![(at(0), at(1)), (at(2), at(3))])], "below the acknowledgment");
        assert_eq!(rig.data(2), [(at(1), vec![(at(2), at(3)), (at(2), at(3))])], "inside a block");
    }

    #[test]
    fn delivered_bytes_are_in_order() {
        let mut rig = Rig::new(true);
        rig.data(1);
        assert_eq!(rig.receiver.delivered(), 0);
        rig.data(0);
        assert_eq!(rig.receiver.delivered(), 2 * MSS);
    }

    #[test]
    fn bytes_that_wait_count_once_whatever_comes_twice() {
        let mut rig = Rig::new(true);
        let mut seen = |n: u64| {
            rig.data(n);
            (rig.receiver.delivered() / MSS, rig.receiver.waiting() / MSS)
        };
        for (n, expected) in [(2, (0, 1)), (2, (0, 1)), (4, (0, 2)), (3, (0, 3)), (0, (1, 3)), (0, (1, 3)), (1, (5, 0))]
        {
            assert_eq!(seen(n), expected, "after segment {n}");
        }
        // Half of it is there already, and half of another one.
        for seq in [at(6), at(6) + MSS / 2] {
            rig.segment(Header { seq, len: MSS as u16, flags: Flags::ACK, ..Header::default() });
        }
        assert_eq!((rig.receiver.delivered(), rig.receiver.waiting()), (5 * MSS, MSS + MSS / 2));
        // A FIN takes a number, but it is no byte.
        let last = Header { seq: at(8), len: 100, flags: Flags::ACK.with(Flags::FIN), ..Header::default() };
        rig.segment(last);
        assert_eq!(rig.receiver.waiting(), MSS + MSS / 2 + 100);
        (5..8).for_each(|n| drop(rig.data(n)));
        assert_eq!((rig.receiver.delivered(), rig.receiver.waiting()), (8 * MSS + 100, 0));
    }
}
