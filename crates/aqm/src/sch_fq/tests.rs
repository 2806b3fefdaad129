use crate::class::ClassId;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink};
use crate::registry::{NamedConfig, parse};
use crate::{DropReason, Ecn, Instant, Limits, Link, Meta, Rate, Rng};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

fn queue(text: &str) -> Box<dyn Qdisc<u32> + Send> {
    let link = Link::new(Rate::from_bps(1_000_000_000), 1514);
    let config = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    config.build(Limits::default(), Host { link, rng: Rng::from_state(1) })
}

/// Host that gives packet 1000 + n a departure time after n milliseconds; other packets have none.
struct TimedHost;

impl Sink<u32> for TimedHost {
    fn dropped(&mut self, _: Meta, _: u32, _: DropReason) {}
    fn departure_time(&self, packet: &u32) -> Option<Instant> {
        (1000..2000).contains(packet).then(|| ms(*packet as u64 - 1000))
    }
}

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn offer(queue: &mut dyn Qdisc<u32>, now: Instant, id: u32, flow: u32) -> EnqueueResult {
    queue.enqueue(now, Meta::new(1000, flow), id, &mut TimedHost)
}

fn departures(queue: &mut dyn Qdisc<u32>, mut now: Instant) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    loop {
        match queue.dequeue(now, &mut TimedHost) {
            DequeueResult::Packet(_, id) => left.push((id, now.as_nanos() / 1000)),
            DequeueResult::NotBefore(at) => now = at,
            DequeueResult::Empty => return left,
        }
    }
}

fn state(queue: &dyn Qdisc<u32>, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    queue.observe(&mut |name, value| {
        if name == wanted {
            found = value
        }
    });
    found
}

#[test]
fn a_bounded_flow_goes_by_quanta_and_a_slow_one_by_packets() {
    // 1,000,000 B/s. The initial quantum of 15140 B covers 15 packets and the start of a 16th; then the flow waits for
    // a quantum of 3028 B, 3028 us, which three packets use up: 2168, 1168, 168 B of credit are left, then 196.
    let mut queue = self::queue("fq maxrate 8mbit");
    (0..22).for_each(|id| assert_eq!(offer(&mut *queue, ms(0), id, 0), EnqueueResult::Queued));
    let times = [vec![0; 16], vec![3028; 3], vec![6056; 3]].concat();
    assert_eq!(departures(&mut *queue, ms(0)).into_iter().map(|(_, at)| at).collect::<Vec<_>>(), times);
    // 50,000 B/s are below the threshold of 550 kbit/s: 20 ms after each packet; nopacing sends all at once.
    for (text, gap) in [("fq maxrate 400kbit", 20_000), ("fq maxrate 400kbit nopacing", 0)] {
        let mut queue = self::queue(text);
        (0..3).for_each(|id| _ = offer(&mut *queue, ms(0), id, 0));
        assert_eq!(departures(&mut *queue, ms(0)), [(0, 0), (1, gap), (2, 2 * gap)], "{text}");
    }
    // A packet that leaves 4 ms late shortens the next wait by 4 ms; one that is 30 ms late by half of it.
    for (late, next) in [(24, 40), (50, 60)] {
        let mut queue = self::queue("fq maxrate 400kbit");
        (0..3).for_each(|id| _ = offer(&mut *queue, ms(0), id, 0));
        assert!(matches!(queue.dequeue(ms(0), &mut TimedHost), DequeueResult::Packet(..)));
        assert_eq!(queue.dequeue(ms(0), &mut TimedHost), DequeueResult::NotBefore(ms(20)));
        assert!(matches!(queue.dequeue(ms(late), &mut TimedHost), DequeueResult::Packet(..)));
        assert_eq!(queue.dequeue(ms(late), &mut TimedHost), DequeueResult::NotBefore(ms(next)));
    }
}

#[test]
fn packets_go_at_their_own_times_and_in_that_order() {
    let mut queue = self::queue("fq horizon 50ms");
    for (id, flow) in [(1003, 0), (1002, 0), (1004, 1), (1001, 0)] {
        assert_eq!(offer(&mut *queue, ms(0), id, flow), EnqueueResult::Queued);
    }
    assert_eq!(state(&*queue, "fastpath"), 0.0);
    assert_eq!(offer(&mut *queue, ms(0), 1051, 2), EnqueueResult::Dropped(DropReason::Limit), "beyond the horizon");
    // A packet without a departure time may pass those that wait.
    assert_eq!(queue.dequeue(ms(0), &mut TimedHost), DequeueResult::NotBefore(ms(1)));
    offer(&mut *queue, ms(0), 1, 3);
    assert_eq!(departures(&mut *queue, ms(0)), [(1, 0), (1001, 1000), (1002, 2000), (1003, 3000), (1004, 4000)]);
    let mut capped = self::queue("fq horizon 50ms horizon_cap");
    assert_eq!(offer(&mut *capped, ms(0), 1051, 2), EnqueueResult::Queued);
    assert_eq!(departures(&mut *capped, ms(0)), [(1051, 50_000)]);
}

#[test]
fn what_finds_all_flows_idle_takes_the_short_way_up_to_eight() {
    for (text, fastpath, order) in [
        ("fq", 8.0, vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 9, 11, 13]),
        ("fq@linux-6.1", f64::NAN, vec![0, 2, 4, 6, 8, 10, 12, 1, 3, 5, 7, 9, 11, 13]),
    ] {
        // Even packets belong to one flow, odd ones to the other; each has an initial quantum for 15 packets.
        let mut queue = self::queue(text);
        (0..14).for_each(|id| _ = offer(&mut *queue, ms(0), id, id % 2));
        if !fastpath.is_nan() {
            assert_eq!(state(&*queue, "fastpath"), fastpath);
        }
        assert_eq!(departures(&mut *queue, ms(0)).into_iter().map(|(id, _)| id).collect::<Vec<_>>(), order, "{text}");
    }
}

#[test]
fn old_flows_take_turns_by_quanta_and_new_ones_go_first() {
    // Quanta of 2000 B, also initially: two packets per turn, because the credit must fall to 0.
    let mut queue = self::queue("fq@linux-6.1 quantum 2kB initial_quantum 2kB");
    for id in 0..12 {
        offer(&mut *queue, ms(0), id, id / 6);
    }
    let mut next = || match queue.dequeue(ms(0), &mut TimedHost) {
        DequeueResult::Packet(_, id) => id,
        other => panic!("{other:?}"),
    };
    // Both are new first: each spends its initial quantum, then goes to the end of the old ones.
    assert_eq!([(); 8].map(|()| next()), [0, 1, 6, 7, 2, 3, 8, 9]);
    offer(&mut *queue, ms(0), 20, 9);
    let order: Vec<_> = departures(&mut *queue, ms(0)).into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, [20, 4, 5, 10, 11], "a new flow goes before the old ones");
}

#[test]
fn bands_share_by_their_weights_and_control_goes_first_in_6_1() {
    let mut queue = self::queue("fq flow_limit 100000 limit 100000");
    // Eight packets take the fast path; then three bands are kept full: low delay (4), best effort (0), throughput (2).
    for id in 0..30_000u32 {
        let band = id % 3;
        let meta = Meta { dscp: [4, 0, 2][band as usize], ..Meta::new(1000, band) };
        queue.enqueue(ms(0), meta, band, &mut TimedHost);
    }
    let mut sent = [0u32; 3];
    for _ in 0..10_000 {
        let DequeueResult::Packet(_, band) = queue.dequeue(ms(0), &mut TimedHost) else { panic!("packets wait") };
        sent[band as usize] += 1;
    }
    // 9 : 3 : 1 by bytes, within a turn of the first band, 590 packets.
    for (sent, share) in sent.iter().zip([9.0, 3.0, 1.0]) {
        assert!(
            (*sent as f64 - 10_000.0 * share / 13.0).abs() < 600.0,
            "{sent} of 10000 where the share is {share} of 13"
        );
    }
    let mut old = self::queue("fq@linux-6.1");
    offer(&mut *old, ms(0), 0, 0);
    old.enqueue(ms(0), Meta { class: ClassId::new(0, 7), ..Meta::new(1000, 1) }, 1, &mut TimedHost);
    assert_eq!(departures(&mut *old, ms(0)), [(1, 0), (0, 0)]);
}

#[test]
fn limits_are_of_flows_and_bands_and_late_packets_are_marked() {
    let mut queue = self::queue("fq@linux-6.1 flow_limit 2 limit 3");
    let fates = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]
        .map(|(id, flow)| offer(&mut *queue, ms(0), id, flow) == EnqueueResult::Queued);
    assert_eq!(fates, [true, true, false, true, false]);
    // A packet that leaves more than 5 ms late is marked; one that is not ECN-capable is sent unchanged.
    for (ecn, late, marked) in [(Ecn::Ect0, 5, false), (Ecn::Ect0, 6, true), (Ecn::NotEct, 6, false)] {
        let mut queue = self::queue("fq@linux-6.1 ce_threshold 5ms");
        queue.enqueue(ms(0), Meta::new(1000, 0).with_ecn(ecn), 0, &mut TimedHost);
        let DequeueResult::Packet(meta, _) = queue.dequeue(ms(late), &mut TimedHost) else { panic!("one waits") };
        assert_eq!(meta.ecn == Ecn::Ce, marked, "{ecn:?} {late}");
        assert_eq!(queue.stats().marked.packets, u64::from(marked));
    }
}

#[test]
fn a_flow_is_never_forgotten_and_refilled_after_the_delay() {
    // After 16 packets the credit is -860 B, and 2168 B with the quantum of the turn in which the flow is found empty.
    // If the flow soon becomes active again, that suffices for three packets; after the delay it has a whole quantum,
    // for four, however long it was idle.
    for (pause, at_once) in [(30, 3), (100, 4), (3100, 4)] {
        let mut queue = self::queue("fq maxrate 8mbit");
        // The flow gets turns only while others have packets.
        (0..16).for_each(|id| _ = offer(&mut *queue, ms(0), id, 0));
        assert_eq!(departures(&mut *queue, ms(0)).len(), 16);
        (0..20).for_each(|id| _ = offer(&mut *queue, ms(0), id, 1));
        assert_eq!(departures(&mut *queue, ms(0)).len(), 20);
        let now = ms(pause);
        (0..20).for_each(|id| _ = offer(&mut *queue, now, id, 0));
        let sent = departures(&mut *queue, now).iter().filter(|&&(_, at)| at == pause * 1000).count();
        assert_eq!(sent, at_once, "{pause} ms");
    }
}

/// Flows in order of departure at `now`; packets are numbered by flow.
fn order(queue: &mut dyn Qdisc<u32>, now: Instant, packets: usize) -> Vec<u32> {
    let next = |_| match queue.dequeue(now, &mut TimedHost) {
        DequeueResult::Packet(_, flow) => flow,
        other => panic!("{other:?}"),
    };
    (0..packets).map(next).collect()
}

#[test]
fn the_delay_is_of_whole_ticks_from_an_odd_one_on() {
    // Flow 0 falls idle in jiffy 0, stored as 1 as in the kernel, and has 500 B. The delay of 39.2 ms is 40 jiffies, so
    // the whole quantum is available after jiffy 41.
    for (at, expected) in [(41, [0, 2, 2, 0, 0, 2]), (42, [0, 0, 0, 2, 2, 2])] {
        let mut queue = self::queue("fq@linux-6.1 quantum 3kB initial_quantum 1500B refill_delay 39.2ms");
        (0..2).for_each(|flow| _ = offer(&mut *queue, ms(0), flow, flow));
        assert_eq!(order(&mut *queue, ms(0), 2), [0, 1]);
        [0, 0, 0, 2, 2, 2].into_iter().for_each(|flow| _ = offer(&mut *queue, ms(at), flow, flow));
        assert_eq!(order(&mut *queue, ms(at), 6), expected, "{at} ms");
    }
}

#[test]
fn in_6_1_an_empty_new_flow_makes_no_round_among_no_old_ones() {
    let mut queue = self::queue("fq@linux-6.1 quantum 3kB initial_quantum 1500B");
    offer(&mut *queue, ms(0), 0, 0);
    assert_eq!(order(&mut *queue, ms(0), 1), [0]);
    [1, 1, 1].into_iter().for_each(|flow| _ = offer(&mut *queue, ms(0), flow, flow));
    assert_eq!(order(&mut *queue, ms(0), 1), [1]);
    // Flow 0 was found empty without old flows: it is new again, and precedes flow 2.
    [0, 2].into_iter().for_each(|flow| _ = offer(&mut *queue, ms(0), flow, flow));
    assert_eq!(order(&mut *queue, ms(0), 4), [1, 0, 2, 1]);
}

#[test]
fn spellings_and_what_is_refused() {
    for (text, spelling) in [
        ("fq", "sch_fq"),
        ("fq bands 3 weights 589824 196608 65536 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "sch_fq"),
        (
            "fq@linux-6.1 maxrate 20mbit nopacing horizon_cap",
            "sch_fq@linux-6.1 nopacing maxrate 20Mbit/s nohorizon_drop",
        ),
        ("sch_fq weights 600000 200000 70000", "sch_fq weight_1 600000 weight_2 200000 weight_3 70000"),
    ] {
        let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(named.spelling(), spelling, "{text}");
        assert_eq!(NamedConfig::parse(spelling).expect(spelling), named);
    }
    for (text, error) in [
        ("fq weights 1 2", "weights: fq has three; write e.g. weights 589824 196608 65536"),
        ("fq weights 1 2 3", "weight_1 = 1 is out of range; from 16384 to 2147483647"),
        ("fq bands 4", r#"bands: fq has three, not "4"; write bands 3, or leave it out"#),
        ("fq priomap 3 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "priomap names band 3; fq has bands 0 to 2"),
        (
            "fq@linux-6.1 weights 600000 200000 70000",
            "fq of Linux 6.1 has no bands; leave priomap and weights out, or use fq without @linux-6.1",
        ),
        ("fq horizon_cap horizon_drop", "horizon_drop of fq is given twice; leave one of them out"),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
    }
}
