//! The receiver, segment by segment.

use super::*;
use sojourn_aqm::{Duration, Rng};

const MSS: u64 = 1448;

struct ReceiverHarness {
    receiver: Receiver,
    sent: Vec<(u64, Vec<SeqRange>)>,
    now: Instant,
}

impl ReceiverHarness {
    fn new(delayed_ack: bool) -> Self {
        Self::of("linux-2.6.29", delayed_ack)
    }

    fn of(stack: &str, delayed_ack: bool) -> Self {
        let stack = Stack::find(stack).unwrap();
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

    /// Full segment `n` (from 0) arrives; returns the acknowledgments sent.
    fn data(&mut self, n: u64) -> Vec<(u64, Vec<SeqRange>)> {
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
    let mut rig = ReceiverHarness::new(true);
    for n in 0..2 {
        assert_eq!(rig.data(n), [(at(n + 1), vec![])], "quick acknowledgment {n}");
    }
    assert_eq!(rig.data(2), []);
    assert_eq!(rig.data(3), [(at(4), vec![])]);
}

#[test]
fn sixteen_quick_acknowledgments_after_a_hole() {
    let mut rig = ReceiverHarness::new(true);
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
    let mut rig = ReceiverHarness::new(true);
    (0..2).for_each(|n| drop(rig.data(n)));
    assert_eq!(rig.data(2), []);
    assert_eq!(rig.wait_for_timer(), Duration::from_millis(40));
    assert_eq!(rig.sent, [(at(3), vec![])]);
}

#[test]
fn the_application_reads_when_all_of_a_poll_has_come() {
    let pushed = |n: u64| Header {
        seq: at(n),
        len: MSS as u16,
        flags: Flags::ACK.with(Flags::PSH),
        ts_ecr: 1,
        ..Header::default()
    };
    // Whether more segments follow the end of a burst; acknowledgments sent then, and with the next segment, which ends
    // no burst.
    for (more, sent) in [(false, [vec![(at(41), vec![])], vec![]]), (true, [vec![], vec![(at(42), vec![])]])] {
        let mut rig = ReceiverHarness::of("linux-6.1", true);
        (0..40).for_each(|n| drop(rig.data(n)));
        assert_eq!(rig.receiver.rcv_wup, at(40), "nothing waits for its acknowledgment");
        rig.receiver.set_more_segments(more);
        rig.segment(pushed(40));
        let first = std::mem::take(&mut rig.sent);
        rig.receiver.set_more_segments(false);
        assert_eq!([first, rig.data(41)], sent);
    }
    // The end of a burst that was acknowledged with the segment after it needs no other acknowledgment.
    let mut rig = ReceiverHarness::of("linux-6.1", true);
    (0..40).for_each(|n| drop(rig.data(n)));
    rig.receiver.set_more_segments(true);
    rig.segment(pushed(40));
    assert_eq!(rig.data(41), [(at(42), vec![])]);
    rig.receiver.set_more_segments(false);
    assert_eq!(rig.data(42), []);
}

#[test]
fn without_delay_every_segment_is_acknowledged() {
    let mut rig = ReceiverHarness::new(false);
    for n in 0..40 {
        assert_eq!(rig.data(n).len(), 1);
    }
}

#[test]
fn holes_are_told_at_once_most_recent_first() {
    let mut rig = ReceiverHarness::new(true);
    rig.data(0);
    assert_eq!(rig.data(2), [(at(1), vec![(at(2), at(3))])]);
    assert_eq!(rig.data(4), [(at(1), vec![(at(4), at(5)), (at(2), at(3))])]);
    assert_eq!(rig.data(3), [(at(1), vec![(at(2), at(5))])]);
    assert_eq!(rig.data(1), [(at(5), vec![])], "the hole is filled");
}

#[test]
fn at_most_three_blocks_beside_timestamps() {
    let mut rig = ReceiverHarness::new(true);
    rig.data(0);
    for n in [2, 4, 6] {
        rig.data(n);
    }
    let blocks = vec![(at(8), at(9)), (at(6), at(7)), (at(4), at(5))];
    assert_eq!(rig.data(8), [(at(1), blocks)]);
}

#[test]
fn duplicates_are_reported_first() {
    let mut rig = ReceiverHarness::new(true);
    rig.data(0);
    rig.data(2);
    assert_eq!(rig.data(0), [(at(1), vec![(at(0), at(1)), (at(2), at(3))])], "below the acknowledgment");
    assert_eq!(rig.data(2), [(at(1), vec![(at(2), at(3)), (at(2), at(3))])], "inside a block");
}

#[test]
fn delivered_bytes_are_in_order() {
    let mut rig = ReceiverHarness::new(true);
    rig.data(1);
    assert_eq!(rig.receiver.delivered(), 0);
    rig.data(0);
    assert_eq!(rig.receiver.delivered(), 2 * MSS);
}

#[test]
fn bytes_that_wait_count_once_whatever_comes_twice() {
    let mut rig = ReceiverHarness::new(true);
    let mut seen = |n: u64| {
        rig.data(n);
        (rig.receiver.delivered() / MSS, rig.receiver.waiting() / MSS)
    };
    for (n, expected) in [(2, (0, 1)), (2, (0, 1)), (4, (0, 2)), (3, (0, 3)), (0, (1, 3)), (0, (1, 3)), (1, (5, 0))] {
        assert_eq!(seen(n), expected, "after segment {n}");
    }
    // Half of the first is a duplicate, and half of the second.
    for seq in [at(6), at(6) + MSS / 2] {
        rig.segment(Header { seq, len: MSS as u16, flags: Flags::ACK, ..Header::default() });
    }
    assert_eq!((rig.receiver.delivered(), rig.receiver.waiting()), (5 * MSS, MSS + MSS / 2));
    // A FIN takes a sequence number, but is no byte.
    let last = Header { seq: at(8), len: 100, flags: Flags::ACK.with(Flags::FIN), ..Header::default() };
    rig.segment(last);
    assert_eq!(rig.receiver.waiting(), MSS + MSS / 2 + 100);
    (5..8).for_each(|n| drop(rig.data(n)));
    assert_eq!((rig.receiver.delivered(), rig.receiver.waiting()), (8 * MSS + 100, 0));
}

/// Packets sent, deadline, and counters after a call.
fn trace(receiver: &mut Receiver, act: impl FnOnce(&mut Receiver, &mut dyn FnMut(&Header, Ecn))) -> String {
    let mut sent = Vec::new();
    act(receiver, &mut |header: &Header, ecn: Ecn| sent.push((*header, ecn)));
    format!("{sent:?} {:?} {} {}", receiver.deadline(), receiver.delivered(), receiver.waiting())
}

/// The whole state of a receiver, apart from the sets that select its fast paths and the instant that not all need.
fn full_state(receiver: &Receiver) -> String {
    let mut receiver = receiver.clone();
    receiver.leave_fast_paths();
    receiver.at = Instant::ZERO;
    format!("{receiver:?}")
}

#[test]
fn the_next_segment_in_order_or_behind_a_hole_is_dealt_with_as_any_other() {
    let named = |name: &str| *Stack::find(name).expect("a stack");
    let quick_on_ecn = Stack { quickacks_on_ecn: true, ..named("linux-3.13") };
    let stacks =
        crate::stack::NAMES.iter().map(|&(name, _)| (name, named(name))).chain([("quick on ECN", quick_on_ecn)]);
    let stacks: Vec<(&str, &'static Stack)> = stacks.map(|(name, stack)| (name, &*Box::leak(stack.into()))).collect();
    let (mut calm, mut grown, mut tracked) = (0, 0, 0);
    for (seed, &(name, stack)) in (0..40).flat_map(|seed| stacks.iter().map(move |stack| (seed, stack))) {
        let (mut rng, mss) = (Rng::stream(seed, name, 0), MSS as u32);
        let [sack, delayed_ack, ecn] = [0.8, 0.8, 0.5].map(|share| rng.uniform() < share);
        let receive_window = (rng.uniform() < 0.5).then_some(1 << 20);
        let fragments = rng.uniform() < 0.2;
        let config = ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window };
        let mut quick = Receiver::new(config);
        quick = if fragments { quick.with_fragments() } else { quick };
        let mut slow = quick.clone();
        let (mut now, mut next, mut behind) = (Instant::ZERO, 0, 1);
        let syn = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), ecn);
        for n in 0..400 {
            now += Duration::from_nanos((rng.uniform() * rng.uniform() * 3e7) as i64);
            for due in [quick.deadline(); 2].into_iter().filter(|&due| due <= now) {
                let on_timer = |receiver: &mut Receiver, wire: &mut dyn FnMut(&Header, Ecn)| {
                    receiver.on_timer(due, &mut |header: &Header, ecn: Ecn| wire(header, ecn));
                };
                assert_eq!(trace(&mut quick, on_timer), trace(&mut slow, on_timer), "{name}, {seed}, {n}");
            }
            let (first, flags) = if n == 0 { (0, syn) } else { (1 + next * MSS, Flags::ACK) };
            // Losses come in bursts, with loss-free times between them.
            let lossy = (n / 50) % 2 == 1;
            let odd = lossy && rng.uniform() < 0.3;
            // After a loss most segments continue in order.
            let goes_on = lossy && behind > first && rng.uniform() < 0.8;
            let seq = match rng.below(6) {
                _ if goes_on => behind,
                0 if odd => first + MSS * (1 + rng.below(3)),
                1 if odd => first.saturating_sub(MSS * rng.below(3)),
                2 if odd => first + rng.below(2 * MSS),
                _ => first,
            };
            let flags = flags.with_if(Flags::CWR, odd && rng.below(3) == 0).with_if(Flags::PSH, rng.below(8) == 0);
            let len = if n == 0 || (odd && rng.below(5) == 0) { 0 } else { MSS as u16 - (rng.below(9) / 8) as u16 };
            let flags = flags.with_if(Flags::FIN, n == 399).with_if(Flags::SYN, odd && rng.below(40) == 0);
            let flags = flags.with_if(Flags::CUT, rng.below(3) > 0);
            let tick = stack.clock().ticks(now) as u32;
            let header = Header { seq, len, flags, ts_val: tick.wrapping_sub(40), ts_ecr: tick, ..Header::default() };
            let ecn = if rng.below(40) == 0 { Ecn::ALL[rng.below(4) as usize] } else { Ecn::Ect0 };
            calm += u32::from(quick.fast_path_codepoints.has(ecn) && quick.reassembly.is_next(&header));
            grown +=
                u32::from(quick.sack_fast_path_codepoints.has(ecn) && quick.reassembly.extends_newest_block(&header));
            tracked += u32::from(quick.tracked_fast_path_codepoints.has(ecn) && quick.reassembly.is_next(&header));
            slow.leave_fast_paths();
            let more = rng.below(6) == 0;
            [&mut quick, &mut slow].into_iter().for_each(|receiver| receiver.set_more_segments(more));
            let on_segment = |receiver: &mut Receiver, wire: &mut dyn FnMut(&Header, Ecn)| {
                receiver.on_segment(now, &header, ecn, &mut |header: &Header, ecn: Ecn| wire(header, ecn));
            };
            assert_eq!(trace(&mut quick, on_segment), trace(&mut slow, on_segment), "{name}, {seed}, {n}");
            assert_eq!(full_state(&quick), full_state(&slow), "{name}, {seed}, {n}");
            behind = header.end_seq().max(behind);
            next = (quick.reassembly.nxt().saturating_sub(1)) / MSS;
        }
    }
    assert!(
        calm > 10_000 && grown > 5_000 && tracked > 2_000,
        "{calm}, {grown} and {tracked} segments took a short way"
    );
}
