use super::law::{HeadPacket, KernelRelease, Params, State};
use super::*;
use crate::packet::Ecn;
use crate::params::Config as _;
use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::testing::{self, ETHERNET, LINK, ms};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

/// Vector of the kernel's functions, compiled separately: target 5 ms, interval 100 ms, one packet per millisecond.
struct Vector {
    state: State,
    params: Params,
    rng: Rng,
}

impl Vector {
    fn new(release: KernelRelease) -> Self {
        let params = Params::new(Duration::from_millis(5), Duration::from_millis(100), release);
        Self { state: State::default(), params, rng: Rng::from_state(1) }
    }

    /// Whether the packet dequeued at `at` milliseconds after `sojourn` is dropped.
    fn drops(&mut self, at: u64, sojourn: u64) -> bool {
        // The clock has run for a second, so a packet may have arrived before the origin.
        let enqueued = ms(at) - Duration::from_millis(sojourn as i64);
        let judged = self.state.should_drop(
            &self.params,
            HeadPacket { now: ms(at), enqueued, bulk: 0, markable: false },
            &mut self.rng,
        );
        assert!(!judged.mark);
        judged.drop
    }

    fn drop_times(&mut self, sojourn: impl Fn(u64) -> u64, until: u64) -> Vec<(u64, i64)> {
        let drops = (0..until).filter_map(|at| self.drops(at, sojourn(at)).then_some((at, self.state.drop_next)));
        drops.collect()
    }
}

#[test]
fn a_virgin_queue_has_no_grace() {
    let mut vector = Vector::new(KernelRelease::Linux612);
    assert!(!vector.drops(0, 10));
    assert_eq!((vector.state.count, vector.state.drop_next), (1, 0));
    assert!(vector.drops(1, 10), "the second packet over target");
    let State { count, rec_inv_sqrt, drop_next, .. } = vector.state;
    assert_eq!((count, rec_inv_sqrt, drop_next), (2, 3037000500, 70710678));
}

#[test]
fn an_overflow_right_after_the_boot_does_not_raise_blue() {
    for (uptime, raised) in [(0, false), (10, true)] {
        let mut vector = Vector::new(KernelRelease::Linux612);
        vector.state = State::cleared(Instant::ZERO - Duration::from_secs(uptime));
        assert_eq!(vector.state.queue_full(&vector.params, ms(5)), raised, "5 ms after a boot {uptime} s before");
    }
}

#[test]
fn drops_under_constant_overload_are_the_kernels() {
    let drops = Vector::new(KernelRelease::Linux612).drop_times(|_| 10, 1200);
    assert_eq!(drops.len(), 51);
    let next: Vec<_> = drops.iter().map(|&(_, next)| next).collect();
    let at: Vec<_> = drops.iter().map(|&(at, _)| at).collect();
    assert_eq!(at[..12], [1, 71, 129, 179, 224, 264, 302, 338, 371, 403, 433, 462]);
    assert_eq!(
        next[..12],
        [
            70710678, 128445704, 178445703, 223167062, 263991891, 301788338, 337143677, 370477010, 402099786,
            432250920, 461118433, 488853442
        ]
    );
}

#[test]
fn in_linux_6_1_signals_are_due_40_us_sooner() {
    let (exact, iterated) = (
        Vector::new(KernelRelease::Linux612).drop_times(|_| 10, 1200),
        Vector::new(KernelRelease::Linux61).drop_times(|_| 10, 1200),
    );
    let at = |drops: &[(u64, i64)]| drops.iter().map(|&(at, _)| at).collect::<Vec<_>>();
    // One of 51 drops falls into the previous millisecond.
    let differing: Vec<_> = at(&exact).into_iter().zip(at(&iterated)).filter(|(a, b)| a != b).collect();
    assert_eq!((exact.len(), iterated.len(), &differing[..]), (51, 51, &[(1133, 1132)][..]));
    let next: Vec<_> = iterated.iter().map(|&(_, next)| next).collect();
    assert_eq!(
        next[..9],
        [70670846, 128405871, 178405870, 223127229, 263952058, 301748505, 337103844, 370437177, 402059953]
    );
}

#[test]
fn the_count_decays_as_it_grew_and_the_next_episode_has_its_grace() {
    let mut vector = Vector::new(KernelRelease::Linux612);
    // B: one packet below target sets the activity timeout.
    assert!(!vector.drops(0, 1));
    assert_eq!((vector.state.count, vector.state.drop_next), (0, 100_000_000));
    assert!(!vector.drops(1, 10));
    assert_eq!((vector.state.count, vector.state.drop_next), (1, 1_000_000));
    let drops: Vec<_> = (2..600).filter(|&at| vector.drops(at, 10)).collect();
    assert_eq!(drops[..14], [2, 72, 130, 180, 225, 265, 303, 339, 372, 404, 434, 463, 490, 517]);
    // C: below target from 600 ms.
    let mut changes = vec![(599, vector.state.count, vector.state.drop_next)];
    for at in 600..1400 {
        assert!(!vector.drops(at, 1));
        if vector.state.count != changes.last().expect("it has one").1 {
            changes.push((at, vector.state.count, vector.state.drop_next));
        }
    }
    assert_eq!(
        changes[..6],
        [
            (599, 18, 615124048),
            (616, 17, 639346680),
            (640, 16, 664310797),
            (665, 15, 690130685),
            (691, 14, 716856809),
            changes[5]
        ]
    );
    assert_eq!(changes[changes.len() - 2..], [(1206, 1, 1305710250), (1306, 0, 1406000000)]);
    // D: over target again.
    assert!(!vector.drops(1400, 10), "count 1");
    assert_eq!(vector.state.drop_next, 1_400_000_000 + 99_999_999);
    assert_eq!((1401..1600).find(|&at| vector.drops(at, 10)), Some(1500));
}

#[test]
fn blue_rises_with_an_overflow_per_target_and_falls_when_the_queue_is_found_empty() {
    let Vector { mut state, params, .. } = Vector::new(KernelRelease::Linux612);
    let full = [10, 14, 20].map(|at| (state.queue_full(&params, ms(at)), state.p_drop));
    assert_eq!(full, [(true, 1 << 24), (false, 1 << 24), (false, 1 << 25)]);
    assert_eq!((state.count, state.dropping, state.drop_next), (1, true, 20_000_000));
    let empty = [21, 25, 26, 31].map(|at| (state.queue_empty(&params, ms(at)), state.p_drop));
    let (first, second) = ((1 << 25) - (1 << 20), (1 << 25) - (2 << 20));
    assert_eq!(empty, [(false, 1 << 25), (false, 1 << 25), (false, first), (false, first)]);
    assert!(!state.queue_empty(&params, ms(32)) && state.p_drop == second);
    let falls: Vec<_> = (0..40).map(|k| state.queue_empty(&params, ms(100 + 6 * k))).collect();
    assert_eq!(falls.iter().position(|&down| down), Some(29), "32 steps of 1/4096 in all");
    assert!(!falls[30] && state.p_drop == 0);
}

#[test]
fn from_linux_7_on_blue_does_not_draw_for_what_the_law_drops() {
    for (release, draws) in [(KernelRelease::Linux61, 1), (KernelRelease::Linux612, 1), (KernelRelease::Linux73, 0)] {
        let params = Params::new(Duration::from_millis(5), Duration::from_millis(100), release);
        let judge = |state: &mut State, at: u64, markable| {
            let mut rng = Rng::from_state(1);
            let judged = state.should_drop(
                &params,
                HeadPacket { now: ms(at), enqueued: ms(at - 10), bulk: 0, markable },
                &mut rng,
            );
            (judged, rng.state() != Rng::from_state(1).state())
        };
        // An overflow makes BLUE draw, and a packet is due in its drop phase.
        let mut state = State::default();
        state.queue_full(&params, ms(20));
        let (mut marked, mut dropped) = (state, state);
        let (judged, drew) = judge(&mut marked, 30, true);
        assert!(judged.mark && drew, "a mark is no drop: {release:?}");
        let (judged, drew) = judge(&mut dropped, 30, false);
        assert_eq!((judged.drop, drew as u32), (true, draws), "{release:?}");
    }
}

#[test]
fn packet_times_of_a_slow_link_are_not_congestion() {
    let mut params = Params::new(Duration::from_millis(5), Duration::from_millis(100), KernelRelease::Linux612);
    params.mtu_time = 3_000_000;
    let over = |sojourn: i64, bulk| {
        let (mut state, mut rng) = (State::default(), Rng::from_state(1));
        let now = ms(50);
        state.should_drop(
            &params,
            HeadPacket { now, enqueued: now - Duration::from_nanos(sojourn), bulk, markable: false },
            &mut rng,
        );
        state.dropping
    };
    let around = [12_000_000, 12_000_001].map(|sojourn| over(sojourn, 0));
    assert_eq!(around, [false, true], "more than four packet times");
    // Seven bulk flows on ingress: two packet times each.
    assert_eq!([42_000_000, 42_000_001].map(|sojourn| over(sojourn, 7)), [false, true]);
}

fn cobalt(profile: &str, params: &[(&str, &str)]) -> Cobalt {
    Cobalt::new(&testing::config(profile, params))
}

/// Twice the link's rate from time zero. Returns the times of head drops, and the number of marks.
fn overload(queue: &mut SingleQueue<Cobalt, u32>, ecn: Ecn, until: u64) -> (Vec<u64>, u64) {
    let mut dropped = Vec::new();
    for at in 0..until {
        for _ in 0..2 {
            queue.enqueue(ms(at), Meta::new(1500, 0).with_ecn(ecn), 0, &mut |_, _, _| {});
        }
        queue.dequeue(ms(at), &mut |_: Meta, _: u32, _: DropReason| dropped.push(at));
    }
    (dropped, queue.stats().marked.packets)
}

#[test]
fn marks_come_where_drops_would() {
    let queue = |profile: &str| testing::queue_under(cobalt(profile, &[]), Limits::packets(10_000), LINK);
    let (dropped, marked) = overload(&mut queue("linux"), Ecn::NotEct, 300);
    // 11 ms, then steps of 100 ms over the roots of 2, 3, 4 and so on.
    assert_eq!((&dropped[..], marked), (&[12, 82, 140, 190, 235, 275][..], 0));
    let (none, marked) = overload(&mut queue("linux"), Ecn::Ect0, 300);
    assert_eq!((none.len(), marked), (0, 6));
    // ns-3's first signal comes an interval later.
    let (late, _) = overload(&mut queue("ns3"), Ecn::Ect0, 300);
    assert_eq!((dropped[0], late[0]), (12, 111), "the first packets over 5 ms leave at 11 ms");
}

#[test]
fn the_last_packet_of_a_queue_is_spared_but_for_ns3() {
    for (profile, survives) in [("linux", true), ("linux-6.1", true), ("ns3", false)] {
        let mut queue = testing::queue_under(cobalt(profile, &[]), Limits::packets(100), LINK);
        let mut dropped = 0;
        // One packet that waits for 20 ms, every 21 ms: always over target, never idle long enough to decay.
        for round in 0..60 {
            testing::push(&mut queue, ms(21 * round), 1500, Ecn::NotEct);
            queue.dequeue(ms(21 * round + 20), &mut |_, _, _| dropped += 1);
        }
        assert_eq!(dropped == 0, survives, "{profile}: {dropped} dropped");
    }
}

#[test]
fn an_overflow_takes_the_oldest_packets_and_raises_blue() {
    let mut queue = testing::queue_under(cobalt("linux", &[]), Limits::packets(3), LINK);
    let mut lost = Vec::new();
    for id in 0..5u32 {
        let now = ms(10 + 6 * id as u64);
        let meta = Meta::new(999, 7);
        assert_eq!(queue.enqueue(now, meta, id, &mut |_, id, _| lost.push(id)), EnqueueResult::Queued);
    }
    assert_eq!(lost, [0, 1]);
    assert_eq!(queue.aqm().state.p_drop, 2 << 24);
    let mut ns3 = testing::queue_under(cobalt("ns3", &[]), Limits::packets(3), LINK);
    let fates: Vec<_> = (0..4).map(|id| ns3.enqueue(ms(10), Meta::new(999, 7), id, &mut |_, _, _| {})).collect();
    assert_eq!(fates[3], EnqueueResult::Dropped(DropReason::Limit), "ns-3 drops the arrival");
    assert_eq!(ns3.aqm().state.p_drop, 1 << 24);
}

#[test]
fn blue_finds_the_share_of_what_does_not_listen() {
    // 3,000 packets per second into 1,000: the queue overflows until two of three are dropped, by CoDel or BLUE.
    let mut queue = testing::queue_under(cobalt("linux", &[]), Limits::packets(300), LINK);
    let (mut limit, mut late) = (0u32, 0u32);
    for at in 0..30_000 {
        (0..3).for_each(|_| {
            queue.enqueue(ms(at), Meta::new(1500, 0), 0, &mut |_, _, _| limit += u32::from(at >= 20_000));
        });
        queue.dequeue(ms(at), &mut |_, _, _| late += u32::from(at >= 20_000));
    }
    assert!(limit < late / 50, "{limit} at the limit, {late} by the law");
    assert!((19_000..=20_500).contains(&(limit + late)), "{limit} + {late}");
}

#[test]
fn blue_drops_what_understands_marks() {
    let mut queue = testing::queue_under(cobalt("linux", &[]), Limits::packets(50), LINK);
    let mut late = 0;
    for at in 0..5_000 {
        (0..2).for_each(|_| {
            queue.enqueue(ms(at), Meta::new(1500, 0).with_ecn(Ecn::Ect0), 0, &mut |_, _, _| {});
        });
        queue.dequeue(ms(at), &mut |_, _, _| late += 1);
    }
    assert!(late > 1_000 && queue.stats().marked.packets > 100, "{late} dropped");
}

#[test]
fn a_slow_rate_raises_target_and_interval() {
    let mut slow = cobalt("linux", &[("bandwidth", "1mbit")]);
    slow.attach(&Limits::packets(10), ETHERNET);
    assert_eq!((slow.params.target, slow.params.mtu_time), (18_168_000, 12_112_000));
    let rate = Rate::from_bps(1_000_000);
    assert_eq!(slow.config.bandwidth, rate);
}

#[test]
fn what_marks_and_drops_in_ns3s_l4s_mode() {
    let params = [("l4s", "on"), ("ce_threshold", "1ms"), ("ecn", "on")];
    let mut queue = testing::queue_under(cobalt("ns3", &params), Limits::packets(1000), LINK);
    let mut taken = |ecn, sojourn: i64| {
        let now = ms(500);
        queue.enqueue(now - Duration::from_micros(sojourn), Meta::new(1500, 0).with_ecn(ecn), 0, &mut |_, _, _| {});
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, _) => meta.ecn,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(taken(Ecn::Ect1, 1001), Ecn::Ce);
    assert_eq!(taken(Ecn::Ect1, 1000), Ecn::Ect1);
    assert_eq!(taken(Ecn::Ect0, 4000), Ecn::Ect0, "only L4S is marked at the threshold");
}

#[test]
fn combinations_that_say_nothing_are_refused() {
    for (profile, params, says) in [
        ("linux", vec![("target", "100ms")], "target (100 ms) must be below interval (100 ms)"),
        ("linux", vec![("bandwidth", "511 bit/s")], "below 512 bit/s (64 B/s)"),
        ("linux", vec![("blue_threshold", "1s")], "version linux of COBALT does not have this parameter"),
        ("ns3", vec![("bandwidth", "1mbit")], "version ns3 of COBALT does not have this parameter"),
    ] {
        let config: Config = testing::config(profile, &params);
        let error = config.validate().expect_err("it is refused").to_string();
        assert!(error.contains(says), "{error}");
    }
    let slowest: Config = testing::config("linux", &[("bandwidth", "512 bit/s")]);
    assert_eq!(slowest.validate(), Ok(()));
}
