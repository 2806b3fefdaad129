use super::*;
use crate::codel::Codel;
use crate::codel::testing::{MockFifo, SaturatedLink, dequeue, ms, state};
use crate::packet::Ecn;
use crate::testing::config;
use alloc::vec;
use alloc::vec::Vec;

/// Dequeues at `now_ms`. Returns the enqueue times of the delivered packet and of those left.
fn deliver<A: Aqm>(codel: &mut A, now_ms: f64, line: &mut MockFifo) -> (Option<Instant>, Vec<Instant>) {
    let delivered = dequeue(codel, now_ms, line).map(|meta| meta.enqueued);
    (delivered, line.packets.iter().map(|meta| meta.enqueued).collect())
}

fn mahimahi() -> Mahimahi {
    Mahimahi::new(&config("mahimahi", &[]))
}

#[test]
fn the_packet_behind_the_judged_one_is_dropped() {
    for (profile, delivered, left) in
        [("rfc8289", 2.0, &[3.0, 4.0, 5.0, 6.0][..]), ("mahimahi", 1.0, &[3.0, 4.0, 5.0, 6.0])]
    {
        let mut codel = Codel::new(&config(profile, &[]));
        dequeue(&mut codel, 10.0, &mut MockFifo { others: 9000, ..MockFifo::of(&[0.0]) });
        let mut line = MockFifo::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let expected = (Some(ms(delivered)), left.iter().copied().map(ms).collect());
        assert_eq!(deliver(&mut codel, 111.0, &mut line), expected, "{profile}");
        assert_eq!((line.dropped.len(), state(&codel, "count")), (1, 1.0));
    }
}

#[test]
fn several_drops_at_once_spare_the_first() {
    let mut codel = mahimahi();
    (codel.dropping, codel.count) = (true, 1);
    codel.first_above_time = Millis(100);
    // Two drop times have passed, at 205 and 275 ms; the next is at 332.
    codel.drop_next = Millis(205);
    let mut line = MockFifo::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let expected = (Some(ms(1.0)), [4.0, 5.0, 6.0].map(ms).to_vec());
    assert_eq!(deliver(&mut codel, 300.0, &mut line), expected);
    assert_eq!((codel.count, codel.drop_next, codel.dropping), (3, Millis(332), true));
}

#[test]
fn the_packet_dropped_last_decides_whether_dropping_goes_on() {
    // After the head: an old packet; a fresh one; one with too small a backlog.
    for (line, dropping, drop_next) in [
        (&[1.0, 2.0, 3.0, 4.0][..], true, 275),
        (&[1.0, 249.0, 250.0, 250.0], false, 205),
        (&[1.0, 2.0, 3.0], false, 205),
    ] {
        let mut codel = mahimahi();
        (codel.dropping, codel.count) = (true, 1);
        (codel.first_above_time, codel.drop_next) = (Millis(100), Millis(205));
        let expected = (Some(ms(line[0])), line[2..].iter().copied().map(ms).collect());
        assert_eq!(deliver(&mut codel, 250.0, &mut MockFifo::of(line)), expected, "{line:?}");
        assert_eq!((codel.dropping, codel.drop_next, codel.count), (dropping, Millis(drop_next), 2), "{line:?}");
    }
}

#[test]
fn a_lone_packet_is_never_dropped() {
    let mut codel = mahimahi();
    (codel.dropping, codel.first_above_time, codel.drop_next) = (true, Millis(100), Millis(205));
    let mut line = MockFifo { others: 9000, ..MockFifo::of(&[1.0]) };
    assert_eq!(deliver(&mut codel, 300.0, &mut line), (Some(ms(1.0)), vec![]));
    assert_eq!((line.dropped.len(), codel.dropping, codel.count), (0, false, 1), "but the attempt counts");
}

/// Above target from 5 ms on, ok to drop at 105; then 100, 70, 57, 50, 44 and 40 ms: rounded down, unlike the other
/// versions.
#[test]
fn drop_times_are_whole_milliseconds() {
    let mut link = SaturatedLink::new(&config("mahimahi", &[]), Ecn::NotEct);
    assert_eq!(link.signals(500)[..7], [105, 205, 275, 332, 382, 426, 466]);
}

#[test]
fn the_step_ends_at_nothing() {
    let mut codel = mahimahi();
    for (count, millis) in [(1, 100), (2, 70), (3, 57), (2500, 2), (2501, 1), (10_000, 1), (10_001, 0)] {
        codel.count = count;
        assert_eq!(codel.control_law(Millis(7)), Millis(7 + millis), "count {count}");
    }
    assert_eq!(Millis::at(Instant::from_nanos(2_999_999)), Millis(2));
    assert_eq!((Millis::of(Duration::from_micros(5_900)), Millis(5).as_secs_f64()), (Millis(5), 0.005));
}

#[test]
fn a_backlog_of_1504_bytes_is_small() {
    for (behind, above) in [(1504, false), (1505, true)] {
        let mut codel = mahimahi();
        dequeue(&mut codel, 10.0, &mut MockFifo { others: behind, ..MockFifo::of(&[0.0]) });
        assert_eq!(codel.first_above_time > Millis::ZERO, above, "{behind} bytes behind");
    }
    // The successor's backlog consists of the packets after it.
    let mut codel = mahimahi();
    (codel.dropping, codel.first_above_time, codel.drop_next) = (true, Millis(100), Millis(205));
    let mut line = MockFifo { others: 4, ..MockFifo::of(&[1.0, 2.0, 3.0]) };
    deliver(&mut codel, 300.0, &mut line);
    assert!(!codel.dropping, "1504 bytes behind it");
}

#[test]
fn a_drop_time_ahead_is_not_recent() {
    for (now, count) in [(1_000, 7), (899, 1), (2_499, 7), (2_500, 1)] {
        let mut codel = mahimahi();
        (codel.count, codel.lastcount, codel.drop_next) = (10, 3, Millis(900));
        assert_eq!(codel.reentry_count(Millis(now)), count, "at {now} ms");
    }
}
