//! Expected numbers were computed outside of this crate, with big integers, from the arithmetic of sch_dualpi2.c.

use super::super::config::ControllerParams;
use super::*;
use crate::backlog::Backlog;
use crate::dual::DualQueue;
use crate::limits::Limits;
use crate::packet::Ecn::{self, Ce, Ect0, Ect1, NotEct};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::testing::{self, ETHERNET, ms};
use alloc::vec;
use alloc::vec::Vec;

fn config(params: &[(&str, &str)]) -> Config {
    testing::config("linux", params)
}

fn pi2(params: &[(&str, &str)]) -> Linux {
    Linux::new(&config(params))
}

fn queue(params: &[(&str, &str)]) -> DualQueue<Linux, u32> {
    let config = config(params);
    let limits = config.within(Limits::default(), ETHERNET);
    DualQueue::new(Linux::new(&config), limits, Host { link: ETHERNET, rng: Rng::from_state(1) })
}

/// Queue whose head has waited for `nanos` at the update `at`.
fn waited(at: Instant, nanos: i64) -> QueueSnapshot {
    let since = Instant::from_nanos((at.as_nanos() as i64 - nanos) as u64);
    QueueSnapshot { backlog: Backlog { packets: 1, bytes: 1514 }, head_enqueued: Some(since) }
}

/// Probability after each of the delays, which alternate between the L and the C queue.
fn probabilities(pi2: &mut Linux, delays: &[i64]) -> Vec<u32> {
    let update = |(i, &delay): (usize, &i64)| {
        let at = Instant::from_nanos(10_000_000_000 + 16_000_000 * i as u64);
        let (long, short) = (waited(at, delay), waited(at, delay / 2));
        let queues = match (delay, i % 2) {
            (0, _) => DualSnapshot::default(),
            (_, 0) => DualSnapshot { l4s: long, classic: short },
            _ => DualSnapshot { l4s: short, classic: long },
        };
        pi2.update(at, &queues);
        pi2.pi2_prob
    };
    delays.iter().enumerate().map(update).collect()
}

#[test]
fn gains_are_the_kernels_units_of_64_ns() {
    // (v (2^32 - 1) >> 2) / 10^9 for v = 41, 819; tc rounds 0.16 · 256 down to 40.
    for (params, gains) in [
        (&[][..], (44, 879)),
        (&[("alpha", "0.16"), ("beta", "3.2")], (42, 879)),
        (&[("alpha", "0.00390625"), ("beta", "1")], (1, 274)),
    ] {
        let pi2 = pi2(params);
        assert_eq!((pi2.pi2_alpha, pi2.pi2_beta), gains, "{params:?}");
    }
}

#[test]
fn round_trip_times_become_what_tc_makes_of_them() {
    for (max_rtt, typical_rtt, target_us, tupdate_us, alpha, beta) in [
        ("100 ms", "0 s", 16_666, 16_666, 42, 768),
        ("0 s", "15 ms", 15_000, 15_000, 47, 853),
        ("80 ms", "50 ms", 50_000, 26_666, 106, 960),
        ("33333 us", "7777 us", 7_777, 7_777, 179, 2_304),
    ] {
        let found = config(&[("max_rtt", max_rtt), ("typical_rtt", typical_rtt)]).controller_params();
        assert_eq!(found, ControllerParams { target_us, tupdate_us, alpha, beta }, "{max_rtt} {typical_rtt}");
    }
}

#[test]
fn the_first_update_is_due_an_interval_after_the_queue_was_made() {
    for (created, tupdate, first, second) in
        [("0 s", "16 ms", 16_000_000, 32_000_000), ("12345 ns", "1001 us", 1_013_345, 2_014_345)]
    {
        let mut pi2 = pi2(&[("created", created), ("tupdate", tupdate)]);
        assert_eq!(pi2.next_update(), Instant::from_nanos(first), "{created}");
        pi2.update(pi2.next_update(), &DualSnapshot::default());
        assert_eq!(pi2.next_update(), Instant::from_nanos(second), "{created}");
    }
}

#[test]
fn the_probability_follows_the_greater_delay_in_integers() {
    let delays = [6_000_000, 22_000_000, 38_000_000, 54_321_987, 0, 0];
    let expected = [76_218_750, 300_781_250, 536_343_750, 787_549_906, 31_158_866, 20_846_366];
    assert_eq!(probabilities(&mut pi2(&[]), &delays), expected);
}

#[test]
fn the_probability_ends_at_one_or_where_k_times_it_is_one() {
    let climb: Vec<i64> = (1..=15).map(|i| 16_000_001 * i).collect();
    let expected = [
        220_437_514,
        451_875_029,
        694_312_544,
        947_750_060,
        1_212_187_577,
        1_487_625_094,
        1_774_062_612,
        2_071_500_131,
        2_379_937_650,
        2_699_375_170,
        3_029_812_691,
        3_371_250_212,
        3_723_687_734,
        4_087_125_257,
        4_294_967_295,
    ];
    assert_eq!(probabilities(&mut pi2(&[]), &climb), expected);
    let mut capped = pi2(&[("drop_on_overload", "off")]);
    assert_eq!(probabilities(&mut capped, &climb)[7..10], [2_071_500_131, 2_147_483_647, 2_147_483_647]);
}

#[test]
fn a_step_of_more_than_32_bits_is_cut_as_in_the_kernel() {
    // From 400 ms to 0: (15 · 44 + 400 · 879) · 10^6 / 64 = 5,504,062,500, truncated to 1,209,095,204.
    let mut pi2 = pi2(&[]);
    (pi2.pi2_prob, pi2.last_qdelay) = (3_000_000_000, 400_000_000);
    assert_eq!(probabilities(&mut pi2, &[0]), [1_790_904_796]);
}

#[test]
fn credit_starts_at_an_mtu_times_wc_less_wl_and_changes_by_what_is_sent() {
    let mut pi2 = pi2(&[]);
    let waiting = waited(ms(1), 0);
    let both = DualSnapshot { classic: waiting, l4s: waiting };
    let mut seen = vec![];
    for _ in 0..12 {
        let side = pi2.choose(ms(1), ETHERNET, &both).expect("both wait");
        pi2.sent(side, 1514, &both);
        seen.push((side, (pi2.wrr.bytes() * 100.0) as i64));
    }
    // -121,120 at first; L adds 10 · 1514 = 15,140, C takes 90 · 1514 = 136,260.
    assert_eq!(seen[0], (QueueKind::L4s, -105_980));
    assert_eq!(seen[7..10], [(QueueKind::L4s, 0), (QueueKind::L4s, 15_140), (QueueKind::Classic, -121_120)]);
    assert_eq!(seen[10], (QueueKind::L4s, -105_980));
}

/// Judges a packet with a given backlog. Returns the verdict and the generator after its draws.
fn judged(pi2: &mut Linux, ecn: Ecn, backlog: u64, seed: u64) -> (Verdict, Rng) {
    let mut rng = Rng::from_state(seed);
    let backlog = Backlog { packets: 9, bytes: backlog };
    let mut cx = Cx { now: ms(5), rng: &mut rng, total_backlog: backlog, backlog, link: ETHERNET };
    let meta = Meta { enqueued: ms(5), ..Meta::new(1500, 0).with_ecn(ecn) };
    let side = pi2.classify(&meta);
    (pi2.judge(&mut cx, &meta, side), rng)
}

#[test]
fn each_decision_draws_32_bits_and_is_met_up_to_the_probability_itself() {
    // The stream from 11 gives 1,358,259,325 and 1,126,849,746; that from 3 gives 487,265,508 and 3,007,737,738.
    for (seed, prob, ecn, backlog, verdict, draws) in [
        // Classic: two draws, the second only if the first hits.
        (11, 1_358_259_325, NotEct, 3028, Verdict::Drop, 2),
        (11, 1_358_259_325, Ect0, 3028, Verdict::Mark, 2),
        (11, 1_358_259_324, NotEct, 3028, Verdict::Accept, 1),
        (3, 2_000_000_000, NotEct, 3028, Verdict::Accept, 2),
        // L4S: one draw against twice the probability.
        (11, 679_129_663, Ect1, 3028, Verdict::Mark, 1),
        (11, 679_129_662, Ect1, 3028, Verdict::Accept, 1),
        (11, 679_129_663, Ce, 3028, Verdict::Mark, 1),
        // Less than two maximum packets: no draw.
        (11, u32::MAX, NotEct, 3027, Verdict::Accept, 0),
        (11, u32::MAX, Ce, 3027, Verdict::Accept, 0),
        // Overload, 2 p > 2^32 - 1: all packets are dropped with the square, and the remaining L4S packets are marked.
        (11, 2_147_483_648, Ect0, 3028, Verdict::Drop, 2),
        (11, 2_147_483_648, Ect1, 3028, Verdict::Drop, 2),
        (3, 2_147_483_648, Ect1, 3028, Verdict::Mark, 2),
        (3, 2_147_483_648, Ect0, 3028, Verdict::Accept, 2),
        (11, 2_147_483_647, Ect0, 3028, Verdict::Mark, 2),
    ] {
        let mut pi2 = pi2(&[]);
        pi2.pi2_prob = prob;
        let mut drawn = Rng::from_state(seed);
        for _ in 0..draws {
            drawn.next_u32();
        }
        assert_eq!(judged(&mut pi2, ecn, backlog, seed), (verdict, drawn), "{prob} {ecn:?} {backlog}");
    }
}

#[test]
fn a_probability_of_zero_is_met_by_a_draw_of_zero_only() {
    let mut zero = Rng::from_state(ZERO_DRAW);
    assert_eq!(zero.next_u32(), 0);
    assert_eq!(judged(&mut pi2(&[]), Ect1, 3028, ZERO_DRAW).0, Verdict::Mark);
    assert_eq!(judged(&mut pi2(&[]), Ect1, 3028, 1).0, Verdict::Accept);
}

#[test]
fn the_step_is_strict_and_comes_after_the_probability() {
    for (params, sojourn_ns, behind, verdict) in [
        (&[][..], 1_000_000, 0, Verdict::Accept),
        (&[], 1_000_001, 0, Verdict::Mark),
        (&[("step_thresh", "750500 ns")], 750_000, 0, Verdict::Accept), // whole microseconds
        (&[("step_thresh", "750500 ns")], 750_001, 0, Verdict::Mark),
        (&[("step_packets", "5")], 900_000_000, 5, Verdict::Accept),
        (&[("step_packets", "5")], 0, 6, Verdict::Mark),
        (&[("min_qlen_step", "1")], 5_000_000, 9, Verdict::Accept), // arrived at an empty queue
    ] {
        let mut pi2 = pi2(params);
        let (now, mut rng) = (ms(10_000), Rng::from_state(1));
        let empty = Backlog::default();
        let meta =
            Meta { enqueued: Instant::from_nanos(10_000_000_000 - sojourn_ns), ..Meta::new(1500, 0).with_ecn(Ect1) };
        let mut cx = Cx { now, rng: &mut rng, total_backlog: empty, backlog: empty, link: ETHERNET };
        assert_eq!(pi2.enqueue(&mut cx, &meta, QueueKind::L4s), Verdict::Accept);
        cx.backlog.packets = behind;
        assert_eq!(pi2.judge(&mut cx, &meta, QueueKind::L4s), verdict, "{params:?} {sojourn_ns} {behind}");
    }
}

#[test]
fn min_qlen_step_counts_what_an_arrival_finds() {
    let mut queue = queue(&[("min_qlen_step", "2"), ("alpha", "0.00390625"), ("beta", "0.00390625")]);
    for i in 0..4 {
        assert_eq!(queue.enqueue(ms(0), Meta::new(100, 0).with_ecn(Ect1), i, &mut |_, _, _| {}), EnqueueResult::Queued);
    }
    let left: Vec<_> = (0..4)
        .map(|_| match queue.dequeue(ms(3), &mut |_, _, _| panic!("dropped")) {
            DequeueResult::Packet(meta, _) => meta.ecn,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(left, [Ect1, Ect1, Ce, Ce]);
}

#[test]
fn memory_is_limited_to_twice_the_limit_in_largest_packets() {
    for (params, len, fit) in [
        (&[("limit", "3")][..], 4000, 2), // 9084 B
        (&[("limit", "3")], 100, 3),
        (&[("memlimit", "5 kB")], 1500, 3),
        (&[("limit", "1000000000")], 1_000_000, 4294), // 2^32 - 1 B
    ] {
        let mut queue = queue(params);
        let mut arrived = 0;
        while queue.enqueue(ms(0), Meta::new(len, 0), arrived, &mut |_, _, _| {}) == EnqueueResult::Queued {
            arrived += 1;
        }
        assert_eq!(arrived, fit, "{params:?} {len}");
    }
}

#[test]
fn updates_come_every_tupdate_from_the_start() {
    let mut pi2 = pi2(&[("tupdate", "16000500 ns")]);
    assert_eq!(pi2.next_update(), ms(16), "whole microseconds");
    pi2.update(ms(16), &DualSnapshot::default());
    assert_eq!(pi2.next_update(), ms(32));
    assert_eq!(Linux::new(&config(&[("tupdate", "10 s")])).next_update(), Instant::from_nanos(4_294_967_295));
}

/// State whose first 32 random bits are zero, found by inverting the generator's mixing for the word 12345.
const ZERO_DRAW: u64 = 0x48d1_00da_d6a4_a8cd;
