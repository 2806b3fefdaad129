use super::*;
use crate::aqm::DropReason;
use crate::packet::Ecn;
use crate::params::Bytes;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry;
use crate::rng::Rng;
use crate::time::Duration;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::string::ToString;

const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);
/// The average is between the thresholds after some packets, and early drops are very unlikely.
const BETWEEN: [&str; 2] = [
    "red min 6000B max 600kB weight 0.5 probability 0.000001",
    "red@linux min 6000B max 600kB burst 7 probability 0.000001",
];
/// The average is beyond twice max after a few packets.
const BEYOND: [&str; 2] = ["red min 3000B max 4500B weight 1 ecn", "red@linux min 3000B max 4500B burst 4 ecn"];

fn queue(aqm: &str, limits: Limits) -> Box<dyn Qdisc<u32> + Send> {
    registry::parse(aqm).expect("an AQM").build(limits, Host { link: LINK, rng: Rng::from_state(1) })
}

fn at(i: u32) -> Instant {
    Instant::ZERO + Duration::from_micros(100 * i as i64)
}

fn push(queue: &mut dyn Qdisc<u32>, i: u32, ecn: Ecn) -> EnqueueResult {
    queue.enqueue(at(i), Meta::new(1500, 0).with_ecn(ecn), i, &mut |_, _, _| {})
}

fn state(queue: &dyn Qdisc<u32>, name: &str) -> f64 {
    let mut value = f64::NAN;
    queue.observe(&mut |n, x| value = if n == name { x } else { value });
    value
}

#[test]
fn the_hard_limit_holds_while_the_average_is_between_the_thresholds() {
    for aqm in BETWEEN {
        let mut queue = queue(aqm, Limits::packets(20));
        for i in 0..100 {
            let expected = if i < 20 { EnqueueResult::Queued } else { EnqueueResult::Dropped(DropReason::Limit) };
            assert_eq!(push(&mut *queue, i, Ecn::NotEct), expected, "{aqm}: packet {i}");
        }
        let avg = state(&*queue, "avg");
        assert!((6000.0..=30_000.0).contains(&avg), "{aqm}: {avg}");
        assert!(avg > 29_000.0, "{aqm}: arrivals at a full queue count: {avg}");
        assert_eq!(queue.backlog().packets, 20);
    }
}

#[test]
fn a_forced_drop_starts_ns2s_spacing_again() {
    let mut queue = queue(BETWEEN[0], Limits::packets(20));
    (0..20).for_each(|i| assert_eq!(push(&mut *queue, i, Ecn::NotEct), EnqueueResult::Queued));
    assert!(state(&*queue, "count") > 5.0);
    push(&mut *queue, 20, Ecn::NotEct);
    assert_eq!(state(&*queue, "count"), 0.0);
}

#[test]
fn a_packet_that_came_marked_is_not_counted_as_marked() {
    for aqm in BEYOND {
        // Without an upper bound for marks, so that both mark beyond max.
        let unlimited = "max 100kB mark_p 1 probability 1";
        let aqm = if aqm.contains("linux") { String::from(aqm) } else { aqm.replace("max 4500B", unlimited) };
        let mut queue = queue(&aqm, Limits::packets(100));
        let mut marked = 0;
        for i in 0..60 {
            let ecn = if i % 2 == 0 { Ecn::Ce } else { Ecn::Ect0 };
            let enqueued = push(&mut *queue, i, ecn);
            assert!(ecn == Ecn::Ect0 || enqueued == EnqueueResult::Queued, "{aqm}: {i}, {enqueued:?}");
            marked += u64::from(enqueued == EnqueueResult::Marked);
        }
        assert!(marked > 2, "{aqm}: {marked}");
        assert_eq!(queue.stats().marked.packets, marked, "{aqm}");
        let mut ce = 0;
        while let DequeueResult::Packet(meta, i) = queue.dequeue(at(100), &mut |_, _, _| {}) {
            ce += u64::from(i % 2 == 1 && meta.ecn == Ecn::Ce);
        }
        assert_eq!(ce, marked, "{aqm}");
    }
}

#[test]
fn the_average_decays_from_when_the_link_asks_in_vain() {
    for aqm in BETWEEN {
        let mut red = queue(aqm, Limits::packets(100));
        (0..20).for_each(|i| assert_eq!(push(&mut *red, i, Ecn::NotEct), EnqueueResult::Queued));
        let full = state(&*red, "avg");
        while red.dequeue(at(20), &mut |_, _, _| {}) != DequeueResult::Empty {}
        push(&mut *red, 20, Ecn::NotEct);
        assert!(state(&*red, "avg") >= 0.49 * full, "{aqm}: no time has passed");
        while red.dequeue(at(20), &mut |_, _, _| {}) != DequeueResult::Empty {}
        push(&mut *red, 10_000, Ecn::NotEct);
        assert!(state(&*red, "avg") < 1.0, "{aqm}: a second is long: {}", state(&*red, "avg"));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (aqm, error) in [
        ("red min 5000B max 5000B", "min (5000 B) must be below max (5000 B); write e.g. min 12500B max 37500B"),
        ("red weight -0.5", "weight (-0.5) must be from 0 to 1, or -1 or -2 for ns-2's rules"),
        ("red probability 1.5", "probability = 1.5 is out of range; from 0.000001 to 1"),
        ("red probability 0", "probability = 0 is out of range; from 0.000001 to 1"),
        ("red bandwidth 10", r#"bandwidth: "10" has no unit; write e.g. "10 Mbit/s""#),
        ("ared bottom 0.6", "bottom (0.6) must be below top (0.5)"),
        ("ared beta 2", "alpha (0.01) and beta (2) of aimd must be at most 1; write e.g. alpha 0.01 beta 0.9"),
        ("ared@1999 beta 0.9", "alpha (3) and beta (0.9) of mimd must be at least 1; write e.g. alpha 3 beta 2"),
        ("red@linux nodrop", "nodrop needs ecn; write e.g. ecn nodrop"),
        ("red@linux adaptive mimd", "adaptive mimd exists only in ns-2; use adaptive aimd"),
        (
            "red@linux min 10kB max 30kB burst 3",
            "no averaging weight lets a burst of 3 packets of 1000 B pass below min (10000 B); tc refuses it too; write e.g. min 12500B max 37500B avpkt 1000B burst 25",
        ),
        (
            "red@linux min 30kB max 90kB burst 2000",
            "burst 2000 is too large: the kernel cannot represent so slow an average up to max (90000 B); tc refuses it too; write at most burst 985",
        ),
        (
            "ared@linux min 30kB max 90kB burst 986",
            "burst 986 is too large: the kernel cannot represent so slow an average up to max (90000 B); tc refuses it too; write at most burst 985",
        ),
        (
            "choke min 20 max 80 burst 25257",
            "burst 25257 is too large: the kernel cannot represent so slow an average up to max (80 packets); tc refuses it too; write at most burst 25256",
        ),
        (
            "sfq_red min 8333B max 25000B avpkt 1000B burst 984",
            "burst 984 is too large: the kernel cannot represent so slow an average up to max (25000 B); tc refuses it too; write at most burst 983",
        ),
        ("ared@linx", r#"unknown profile "linx"; did you mean "linux"?"#),
        ("choke min 20", "min (20) needs max too; write e.g. min 20 max 80"),
        ("choke min 80 max 80", "min (80) must be below max (80); write e.g. min 20 max 80"),
        (
            "choke min 20 max 80 burst 5",
            "no averaging weight lets a burst of 5 packets pass below min (20); tc refuses it too; write e.g. min 20 max 80 burst 50",
        ),
    ] {
        assert_eq!(registry::parse(aqm).unwrap_err().to_string(), error, "{aqm}");
    }
}

/// Maximum bursts that tc 6.1 and Linux 6.1.192 accept; one more fails with "Burst … seems to be too large" and
/// "Invalid argument".
#[test]
fn the_largest_bursts_of_the_kernel_are_taken() {
    for aqm in [
        "red@linux min 30kB max 90kB burst 985",
        "choke min 20 max 80 burst 25256",
        "sfq_red min 8333B max 25000B avpkt 1000B burst 983",
    ] {
        registry::parse(aqm).expect(aqm);
    }
    let link = Link::new(Rate::from_bps(10_000_000), 1500);
    let check = |aqm: &str, limits| {
        registry::parse(aqm).expect(aqm).check_link(limits, link).map_err(|wrong| wrong.to_string())
    };
    // Thresholds derived from the limit: a quarter and a twelfth of it.
    let error = check("red@linux burst 3000", Limits::packets(500)).unwrap_err();
    assert!(error.starts_with("burst 3000 is too large: the kernel") && error.contains("max (187500 B)"), "{error}");
    let error = check("prio { band 1 { choke burst 99999 } }", Limits::packets(500)).unwrap_err();
    assert!(error.contains("max (125 packets)"), "{error}");
    assert_eq!(check("red@linux burst 300", Limits::packets(500)), Ok(()));
    assert_eq!(check("red@linux", Limits::packets(5)), Ok(()));
}

#[test]
fn profiles_of_ared_are_those_of_red_with_adaptation() {
    for (ared, red) in [
        ("ared", "red adaptive aimd"),
        ("ared@linux", "red@linux adaptive aimd"),
        ("ared@1999", "red adaptive mimd alpha 3 beta 2"),
        ("ared@linux-5.7", "red@linux"),
    ] {
        let (ared, red) = (registry::parse(ared).expect("an AQM"), registry::parse(red).expect("an AQM"));
        for param in registry::Algorithm::find("red").expect("it is registered").params {
            assert_eq!(ared.value(param.name), red.value(param.name), "{}", param.name);
        }
    }
}

#[test]
fn the_plain_name_is_the_default_of_ns_2_35() {
    // ns-default.tcl: bytes_, queue_in_bytes_, gentle_, wait_ and use_mark_p_ are true, the others as here.
    let c: Config = crate::testing::config("ns2", &[]);
    assert_eq!(c, Config::default());
    assert_eq!(
        [c.bytes, c.queue_in_bytes, c.gentle, c.wait, c.use_mark_p, c.ecn],
        [true, true, true, true, true, false]
    );
    assert_eq!((c.min, c.max, c.avpkt, c.target), (Bytes(0), Bytes(0), Bytes(500), Duration::from_millis(5)));
    assert_eq!([c.weight, c.probability, c.mark_p], [-1.0, 0.1, 0.1]);
    assert_eq!((c.adaptive, [c.alpha, c.beta, c.top, c.bottom]), (AdaptiveMode::Off, [0.01, 0.9, 0.5, 0.0]));
    assert_eq!(c.interval, Duration::from_millis(500));
}
