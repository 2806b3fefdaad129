use super::rfc9332::Recur;
use super::*;
use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::coupled::RandomTrial;
use crate::dual::{DualQueue, QueueSnapshot};
use crate::limits::Limits;
use crate::packet::Ecn::{self, Ce, Ect0, Ect1, NotEct};
use crate::params::Config as _;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::rate::Rate;
use crate::registry;
use crate::rng::Rng;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

/// One packet of 1500 bytes per millisecond.
const LINK: Link = Link::new(Rate::from_bps(12_000_000), 1500);

fn us(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

fn config(profile: &str, params: &[(&str, &str)]) -> Config {
    let mut config = Config::profile(profile).expect("a profile");
    params.iter().for_each(|(name, text)| config.set(name, text).expect("a parameter in its range"));
    config
}

fn queue(config: &Config) -> DualQueue<DualPi2, u32> {
    DualQueue::new(DualPi2::new(config), Limits::default(), Host { link: LINK, rng: Rng::from_state(1) })
}

/// DualPI2 at a given p'.
fn at(config: &Config, p: f64) -> DualPi2 {
    let mut pi2 = DualPi2::new(config);
    match &mut pi2.0 {
        Engine::Rfc9332(pi2) => pi2.controller.p = p,
        Engine::Linux(pi2) => pi2.pi2_prob = (p * u32::MAX as f64) as u32,
    }
    pi2
}

/// Shares of marks and drops among packets judged at p' after `sojourn_us`, with a long backlog.
fn shares(config: &Config, p: f64, ecn: Ecn, sojourn_us: u64) -> (f64, f64) {
    const PACKETS: usize = 100_000;
    let mut pi2 = at(config, p);
    let mut rng = Rng::from_state(7);
    let backlog = Backlog { packets: 10, bytes: 15_000 };
    let mut cx = Cx { now: us(sojourn_us), rng: &mut rng, total_backlog: backlog, backlog, link: LINK };
    let meta = Meta::new(1500, 0).with_ecn(ecn);
    let side = pi2.classify(&meta);
    let verdicts: Vec<_> = (0..PACKETS).map(|_| pi2.judge(&mut cx, &meta, side)).collect();
    let share = |of| verdicts.iter().filter(|&&verdict| verdict == of).count() as f64 / PACKETS as f64;
    (share(Verdict::Mark), share(Verdict::Drop))
}

#[test]
fn l4s_is_marked_with_the_greater_of_k_p_and_its_own_probability_and_classic_with_the_square() {
    for (profile, params, p, ecn, sojourn_us, marks, drops) in [
        ("rfc9332", &[][..], 0.3, NotEct, 0, 0.0, 0.09),
        ("rfc9332", &[], 0.3, Ect0, 0, 0.09, 0.0),
        ("rfc9332", &[], 0.3, Ect1, 0, 0.6, 0.0),
        ("rfc9332", &[], 0.3, Ce, 0, 0.6, 0.0),
        // The ramp: 0 at 800 us, 1 at 1200 us.
        ("rfc9332", &[], 0.0, Ect1, 800, 0.0, 0.0),
        ("rfc9332", &[], 0.0, Ect1, 900, 0.25, 0.0),
        ("rfc9332", &[], 0.0, Ect1, 1100, 0.75, 0.0),
        ("rfc9332", &[], 0.0, Ect1, 1200, 1.0, 0.0),
        ("rfc9332", &[], 0.3, Ect1, 1000, 0.6, 0.0),
        ("rfc9332", &[], 0.3, Ect1, 1100, 0.75, 0.0),
        ("rfc9332", &[], 0.3, Ect0, 50_000, 0.09, 0.0),
        ("rfc9332", &[("coupling_factor", "1")], 0.3, Ect1, 0, 0.3, 0.0),
        // Linux: a step above 1 ms.
        ("linux", &[], 0.3, NotEct, 0, 0.0, 0.09),
        ("linux", &[], 0.3, Ect1, 1000, 0.6, 0.0),
        ("linux", &[], 0.0, Ect1, 1000, 0.0, 0.0),
        ("linux", &[], 0.0, Ect1, 1001, 1.0, 0.0),
        ("linux", &[("step_packets", "10")], 0.0, Ect1, 5000, 0.0, 0.0),
        ("linux", &[("step_packets", "9")], 0.0, Ect1, 0, 1.0, 0.0),
        ("linux", &[("min_qlen_step", "11")], 0.0, Ect1, 5000, 0.0, 0.0),
        // Other classification.
        ("linux", &[("classify", "any-ect")], 0.3, Ect0, 0, 0.6, 0.0),
        // Overload, k p' > 1: both kinds are dropped alike, and the remaining L4S packets are marked.
        ("rfc9332", &[], 0.6, NotEct, 0, 0.0, 0.36),
        ("rfc9332", &[], 0.6, Ect0, 0, 0.0, 0.36),
        ("rfc9332", &[], 0.6, Ect1, 0, 0.64, 0.36),
        ("linux", &[], 0.6, Ect1, 0, 0.64, 0.36),
        ("linux", &[("drop_on_overload", "off")], 0.5, Ect0, 0, 0.25, 0.0),
        ("linux", &[("drop_on_overload", "off")], 0.5, Ect1, 0, 1.0, 0.0),
    ] {
        let config = config(profile, params);
        let (found_marks, found_drops) = shares(&config, p, ecn, sojourn_us);
        // Sums of probabilities are exact to one packet, draws to three standard deviations.
        let tolerance = if config.marking == Marking::Recur { 2e-5 } else { 0.005 };
        let close = |a: f64, b: f64| (a - b).abs() < tolerance;
        assert!(
            close(found_marks, marks) && close(found_drops, drops),
            "{profile} {params:?} {p} {ecn:?} {sojourn_us}: {found_marks} {found_drops}"
        );
    }
}

#[test]
fn recur_spaces_evenly() {
    let mut sum = 0.0;
    let picked: Vec<_> = (1..=21).filter(|_| Recur(&mut sum).with_probability(0.25)).collect();
    // The sum exceeds one at the fifth packet, then at every fourth.
    assert_eq!(picked, [5, 9, 13, 17, 21]);
}

#[test]
fn below_two_packets_linux_has_only_its_step() {
    for (behind, ecn, sojourn_us, expected) in [
        (1, NotEct, 0, Verdict::Accept),
        (2, NotEct, 0, Verdict::Drop),
        (1, Ect1, 1000, Verdict::Accept),
        (1, Ect1, 1001, Verdict::Mark),
        (2, Ect1, 0, Verdict::Mark),
    ] {
        // p' ends at 1/k = 1, so it always hits.
        let linux = config("linux", &[("drop_on_overload", "off"), ("coupling_factor", "1")]);
        let mut pi2 = at(&linux, 1.0);
        let mut rng = Rng::from_state(1);
        let total_backlog = Backlog { packets: behind, bytes: 1500 * behind as u64 };
        let mut cx = Cx { now: us(sojourn_us), rng: &mut rng, total_backlog, backlog: total_backlog, link: LINK };
        let meta = Meta::new(1500, 0).with_ecn(ecn);
        let side = pi2.classify(&meta);
        assert_eq!(pi2.judge(&mut cx, &meta, side), expected, "{behind} {ecn:?} {sojourn_us}");
    }
}

#[test]
fn updates_by_hand() {
    // Greater delay of both queues at 15, 30, … ms.
    let mut queue = queue(&config("rfc9332", &[]));
    let push = |queue: &mut DualQueue<_, _>, now, ecn| {
        assert_eq!(
            queue.enqueue(now, Meta::new(1500, 0).with_ecn(ecn), 0u32, &mut |_, _, _| {}),
            EnqueueResult::Queued
        );
    };
    push(&mut queue, us(10_000), NotEct);
    push(&mut queue, us(4_000 + 10_000), Ect1);
    let mut expected = 0.0;
    let p = |queue: &DualQueue<_, _>| {
        let mut p = f64::NAN;
        queue.observe(&mut |name, value| p = if name == "p" { value } else { p });
        p
    };
    for (at, qdelay, change) in [(15_000, 0.005, 0.005), (30_000, 0.020, 0.015), (45_000, 0.035, 0.015)] {
        queue.settle(us(at));
        expected += 0.15 * (qdelay - 0.015) + 3.0 * change;
        assert!((p(&queue) - expected).abs() < 1e-12, "at {at} us");
    }
    // The L4S packet leaves first. A sum of probabilities equal to one does not exceed it yet.
    assert!(matches!(queue.dequeue(us(50_000), &mut |_, _, _| {}), DequeueResult::Packet(meta, _) if meta.ecn == Ect1));
    queue.settle(us(60_000));
    expected += 0.15 * (0.050 - 0.015) + 3.0 * 0.015;
    assert!((p(&queue) - expected).abs() < 1e-12);
    // The classic packet has left too: p' falls by α target and by β times the previous delay.
    queue.dequeue(us(65_000), &mut |_, _, _| {});
    queue.settle(us(75_000));
    expected -= 0.15 * 0.015 + 3.0 * 0.050;
    assert!((p(&queue) - expected).abs() < 1e-12);
}

/// Queues served while both have packets of these sizes.
fn served(config: &Config, sizes: (u32, u32), packets: usize) -> Vec<QueueKind> {
    let mut pi2 = DualPi2::new(config);
    let waiting = |bytes| QueueSnapshot { backlog: Backlog { packets: 9, bytes }, head_enqueued: Some(Instant::ZERO) };
    let both = DualSnapshot { classic: waiting(9_000), l4s: waiting(9_000) };
    let mut served = vec![];
    for _ in 0..packets {
        let side = pi2.choose(us(5), LINK, &both).expect("both have packets");
        pi2.sent(side, if side == QueueKind::Classic { sizes.0 } else { sizes.1 }, &both);
        served.push(side);
    }
    served
}

#[test]
fn the_classic_queue_gets_its_share_of_the_bytes_and_comes_second() {
    let plain = config("linux", &[]);
    let sides = served(&plain, (1500, 1500), 2_000);
    // Credit of 80 packets at 10 per packet: eight L4S packets first, and one more when it is used up.
    assert_eq!(sides.iter().position(|&side| side == QueueKind::Classic), Some(9));
    for (percent, sizes) in
        [(10u64, (1500u32, 1500u32)), (10, (1500, 100)), (10, (100, 1500)), (25, (700, 1500)), (50, (1500, 1500))]
    {
        let config = config("linux", &[("classic_protection", &format!("{percent}"))]);
        let sides = served(&config, sizes, 50_000);
        let classic = sides.iter().filter(|&&side| side == QueueKind::Classic).count() as f64 * sizes.0 as f64;
        let l4s = sides.iter().filter(|&&side| side == QueueKind::L4s).count() as f64 * sizes.1 as f64;
        let share = 100.0 * classic / (classic + l4s);
        assert!((share - percent as f64).abs() < 0.1, "{percent} % of {sizes:?}: {share}");
    }
    assert!(
        !served(&config("linux", &[("classic_protection", "0")]), (1500, 1500), 1_000).contains(&QueueKind::Classic)
    );
}

#[test]
fn credit_starts_again_when_both_queues_are_empty() {
    let mut pi2 = DualPi2::new(&config("linux", &[]));
    let waiting = QueueSnapshot { backlog: Backlog { packets: 1, bytes: 1500 }, head_enqueued: Some(Instant::ZERO) };
    let both = DualSnapshot { classic: waiting, l4s: waiting };
    let idle = DualSnapshot::default();
    for _ in 0..3 {
        for _ in 0..9 {
            assert_eq!(pi2.choose(us(1), LINK, &both), Some(QueueKind::L4s));
            pi2.sent(QueueKind::L4s, 1500, &both);
        }
        assert_eq!(pi2.choose(us(1), LINK, &both), Some(QueueKind::Classic));
        // A queue alone is served without credit.
        let classic = DualSnapshot { classic: waiting, ..idle };
        assert_eq!(pi2.choose(us(1), LINK, &classic), Some(QueueKind::Classic));
        pi2.sent(QueueKind::Classic, 1500, &classic);
        assert_eq!(pi2.choose(us(1), LINK, &both), Some(QueueKind::Classic), "and it changes none");
        assert_eq!(pi2.choose(us(1), LINK, &idle), None);
    }
}

#[test]
fn a_time_shifted_fifo_prefers_l4s_by_tshift() {
    let mut pi2 = DualPi2::new(&config("rfc9332", &[("scheduler", "ts-fifo"), ("tshift", "30 ms")]));
    for (classic_us, l4s_us, side) in [
        (0, 30_000, QueueKind::L4s),
        (0, 30_001, QueueKind::Classic),
        (50_000, 0, QueueKind::L4s),
        (1, 30_001, QueueKind::L4s),
    ] {
        let waiting = |at| QueueSnapshot { backlog: Backlog { packets: 1, bytes: 1500 }, head_enqueued: Some(us(at)) };
        let both = DualSnapshot { classic: waiting(classic_us), l4s: waiting(l4s_us) };
        assert_eq!(pi2.choose(us(60_000), LINK, &both), Some(side), "{classic_us} {l4s_us}");
    }
}

/// Result of constant traffic on a link of one packet per millisecond, from 20 s to 60 s.
struct TrafficResult {
    /// Shares of the arrived packets, per queue: classic, L4S.
    dropped: [f64; 2],
    marked: [f64; 2],
    /// Mean sojourn times of sent packets, in ms.
    sojourn_ms: [f64; 2],
    sent: [f64; 2],
}

/// Random arrivals of each kind, in packets per packet that the link can send.
fn constant_traffic(aqm: &str, classic: (f64, Ecn), l4s: f64) -> TrafficResult {
    let config = registry::parse(aqm).expect("an AQM");
    let mut queue = config.build::<u32>(Limits::default(), Host { link: LINK, rng: Rng::from_state(1) });
    let mut load = Rng::from_state(2);
    let (mut arrived, mut dropped, mut marked, mut sent, mut waited) =
        ([0.0f64; 2], [0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2]);
    let side = |flow: u32| flow as usize;
    for step in 0..240_000u64 {
        let now = us(step * 250);
        let counts = step >= 80_000;
        for (flow, rate, ecn) in [(0, classic.0, classic.1), (1, l4s, Ect1)] {
            if load.uniform() < rate / 4.0 {
                arrived[side(flow)] += f64::from(counts);
                let mut lost = 0.0;
                queue.enqueue(now, Meta::new(1500, flow).with_ecn(ecn), 0, &mut |_, _, _| lost = 1.0);
                assert_eq!(lost, 0.0, "nothing is dropped on arrival");
            }
        }
        if step % 4 == 0 {
            let mut lost = [0.0; 2];
            let out = queue.dequeue(now, &mut |meta: Meta, _, reason| {
                assert_eq!(reason, DropReason::Late);
                lost[meta.flow as usize] += 1.0;
            });
            if !counts {
                continue;
            }
            (0..2).for_each(|i| dropped[i] += lost[i]);
            if let DequeueResult::Packet(meta, _) = out {
                sent[side(meta.flow)] += 1.0;
                marked[side(meta.flow)] += f64::from(meta.ecn == Ce);
                waited[side(meta.flow)] += (now - meta.enqueued).as_millis_f64();
            }
        }
    }
    let share = |of: [f64; 2], all: [f64; 2]| [0, 1].map(|i| of[i] / all[i].max(1.0));
    TrafficResult {
        dropped: share(dropped, arrived),
        marked: share(marked, arrived),
        sojourn_ms: share(waited, sent),
        sent,
    }
}

#[test]
fn constant_classic_load_is_cut_to_the_link_at_the_target_delay_and_l4s_feels_its_root() {
    for profile in ["dualpi2", "dualpi2@linux", "dualpi2 scheduler ts-fifo"] {
        // 1.07 of the link's rate in classic packets, 0.03 in L4S ones: p'² = 1 - 0.97 / 1.07, and L4S is marked with 2
        // p'.
        let met = constant_traffic(profile, (1.07, NotEct), 0.03);
        let p_c = 1.0 - 0.97 / 1.07;
        // The link is idle for 1 % of the time, because arrivals are random.
        assert!((met.dropped[0] - p_c).abs() < 0.015, "{profile}: {} {p_c}", met.dropped[0]);
        assert!((met.sojourn_ms[0] - 15.0).abs() < 1.5, "{profile}: {} ms", met.sojourn_ms[0]);
        let p_cl = 2.0 * libm::sqrt(met.dropped[0]);
        assert!((met.marked[1] - p_cl).abs() < 0.04, "{profile}: {} {p_cl}", met.marked[1]);
        assert!(
            met.dropped[1] < 0.002 && met.sojourn_ms[1] < 2.0,
            "{profile}: {} {} ms",
            met.dropped[1],
            met.sojourn_ms[1]
        );
    }
}

#[test]
fn overload_by_l4s_alone_is_dropped_with_the_square() {
    // 1.5 of the link's rate, without reaction to marks: p'² = 1/3, so k p' > 1.
    for profile in ["dualpi2", "dualpi2@linux"] {
        let met = constant_traffic(profile, (0.0, NotEct), 1.5);
        assert!((met.dropped[1] - 1.0 / 3.0).abs() < 0.01, "{profile}: {}", met.dropped[1]);
        assert!((met.marked[1] - 2.0 / 3.0).abs() < 0.01, "{profile}: {}", met.marked[1]);
        assert!((met.sojourn_ms[1] - 15.0).abs() < 1.5, "{profile}: {} ms", met.sojourn_ms[1]);
    }
}

#[test]
fn overload_by_l4s_leaves_classic_traffic_its_share() {
    // Unresponsive L4S traffic of 1.5 and classic traffic of 0.3: both lose the same share until classic gets its 10 %.
    let met = constant_traffic("dualpi2@linux", (0.3, NotEct), 1.5);
    let classic = met.sent[0] / (met.sent[0] + met.sent[1]);
    assert!(classic > 0.098, "{classic}");
    assert!((met.dropped[0] - met.dropped[1]).abs() < 0.02, "{:?}", met.dropped);
}

#[test]
fn without_drops_on_overload_ecn_traffic_fills_the_limit() {
    let mut queue = queue(&config("linux", &[("drop_on_overload", "off")]));
    let mut dropped = 0;
    for i in 0..20_000u64 {
        queue.enqueue(us(i * 500), Meta::new(1500, 0).with_ecn(Ect1), 0, &mut |_, _, _| dropped += 1);
        if i % 2 == 0 {
            queue.dequeue(us(i * 500), &mut |_, _, _| dropped += 1);
        }
    }
    assert_eq!((dropped, queue.backlog().packets), (0, 10_000));
}

#[test]
fn on_arrival_what_is_dropped_never_waits() {
    let config = config("linux", &[("drop_enqueue", "on")]);
    let mut queue = DualQueue::new(at(&config, 1.0), Limits::default(), Host { link: LINK, rng: Rng::from_state(1) });
    let mut push = |ecn| queue.enqueue(us(0), Meta::new(1500, 0).with_ecn(ecn), 0u32, &mut |_, _, _| {});
    assert_eq!([push(NotEct), push(Ect1)], [EnqueueResult::Queued; 2], "two packets are left alone");
    assert_eq!([push(NotEct), push(Ect0), push(Ect1)], [EnqueueResult::Dropped(DropReason::Early); 3]);
    let out = |queue: &mut DualQueue<DualPi2, u32>| match queue.dequeue(us(100), &mut |_, _, _| panic!("dropped")) {
        DequeueResult::Packet(meta, _) => Some(meta.ecn),
        _ => None,
    };
    assert_eq!([out(&mut queue), out(&mut queue), out(&mut queue)], [Some(Ect1), Some(NotEct), None]);
}

#[test]
fn the_limit_is_that_of_both_queues() {
    let config = registry::parse("dualpi2 limit 5").expect("an AQM");
    let mut queue = config.build::<u32>(Limits::packets(8), Host { link: LINK, rng: Rng::from_state(1) });
    for i in 0..10 {
        let ecn = if i % 2 == 0 { Ect1 } else { NotEct };
        let expected = if i < 5 { EnqueueResult::Queued } else { EnqueueResult::Dropped(DropReason::Limit) };
        assert_eq!(queue.enqueue(us(0), Meta::new(100, 0).with_ecn(ecn), i, &mut |_, _, _| {}), expected);
    }
    assert_eq!(
        registry::parse("fq(dualpi2)").unwrap_err().to_string(),
        r#"dualpi2 has two queues itself; write e.g. "fq(codel)""#
    );
}
