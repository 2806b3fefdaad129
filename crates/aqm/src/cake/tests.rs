use super::flow::{FlowList, Set};
use super::*;
use crate::link::Link;
use crate::packet::Ecn;
use crate::rate::Rate;
use crate::registry::{AnyConfig, parse};
use crate::rng::Rng;
use crate::testing::ms;
use crate::time::Duration;
use alloc::vec;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(1_000_000_000), 1514);

/// CAKE from a user's command line, with packets numbered on arrival.
fn cake(words: &str) -> Cake<u32> {
    let AnyConfig::Cake(config) = parse(words).unwrap_or_else(|e| panic!("{words}: {e}")) else { panic!("not cake") };
    Cake::new(&config, Limits::default(), Host { link: LINK, rng: Rng::from_state(7) })
}

fn push(queue: &mut Cake<u32>, now: Instant, meta: Meta) -> EnqueueResult {
    queue.enqueue(now, meta, 0, &mut |_, _, _| {})
}

fn pop(queue: &mut Cake<u32>, now: Instant) -> DequeueResult<u32> {
    queue.dequeue(now, &mut |_, _, _| {})
}

/// Keeps 20 packets of each kind queued for `seconds`, and sends as soon as the queue allows. Returns bytes per kind.
fn saturate(queue: &mut Cake<u32>, kinds: &[Meta], seconds: u64) -> Vec<u64> {
    let (mut now, end) = (ms(1), ms(1 + 1000 * seconds));
    let mut sent = vec![0; kinds.len()];
    let mut waiting = vec![0u32; kinds.len()];
    while now < end {
        for (kind, meta) in kinds.iter().enumerate() {
            while waiting[kind] < 20 {
                waiting[kind] += 1;
                queue.enqueue(now, *meta, kind as u32, &mut |_, _, _| {});
            }
        }
        let next = queue.dequeue(now, &mut |_: Meta, kind: u32, _: DropReason| waiting[kind as usize] -= 1);
        match next {
            DequeueResult::Packet(meta, kind) => {
                sent[kind as usize] += meta.len as u64;
                waiting[kind as usize] -= 1;
            }
            DequeueResult::NotBefore(at) => now = at,
            DequeueResult::Empty => panic!("it is saturated"),
        }
    }
    sent
}

fn flow_between(flow: u32, hosts: (u32, u32)) -> Meta {
    Meta { hosts, ..Meta::new(1514, flow).with_ecn(Ecn::Ect0) }
}

#[test]
fn packets_leave_at_the_rate_and_idle_time_is_not_saved() {
    let mut queue = cake("cake bandwidth 10mbit besteffort flowblind rtt 1000s");
    let mut times = Vec::new();
    let mut now = ms(500);
    for _ in 0..40 {
        push(&mut queue, now, Meta::new(1514, 3));
    }
    loop {
        match pop(&mut queue, now) {
            DequeueResult::Packet(..) => times.push(now),
            DequeueResult::NotBefore(at) => now = at,
            DequeueResult::Empty => break,
        }
    }
    let gaps: Vec<_> = times.windows(2).map(|two| (two[1] - two[0]).as_nanos()).collect();
    assert_eq!((times[0], gaps), (ms(500), vec![1_211_200; 39]));
    // Bytes charged beyond now stay charged.
    push(&mut queue, now, Meta::new(1514, 3));
    assert_eq!(pop(&mut queue, now), DequeueResult::NotBefore(now + Duration::from_nanos(1_211_200)));
}

#[test]
fn a_flow_has_one_of_eight_places_before_it_collides() {
    let mut queue = cake("cake besteffort flows hash modulo");
    let place = |queue: &mut Cake<u32>, flow: u32| {
        push(queue, ms(1), Meta::new(100, flow));
        let tin = &queue.tins[0];
        (0..1024).find(|&i| tin.tags[i] == flow && tin.flows[i].set != Set::None)
    };
    let places: Vec<_> = (0..8).map(|n| place(&mut queue, 5 + 1024 * n)).collect();
    assert_eq!(places, [5, 6, 7, 0, 1, 2, 3, 4].map(Some));
    assert_eq!((queue.tins[0].way_stats.misses, queue.tins[0].way_stats.collisions), (8, 0));
    assert_eq!(place(&mut queue, 5 + 8 * 1024), Some(5));
    assert_eq!((queue.tins[0].way_stats.collisions, queue.tins[0].tags[5]), (1, 5 + 8 * 1024));
    assert_eq!(place(&mut queue, 5), Some(5));
    assert_eq!(queue.tins[0].way_stats.collisions, 2, "its tag is gone");
    assert_eq!(place(&mut queue, 5 + 1024), Some(6));
    assert_eq!((queue.tins[0].way_stats.hits, queue.tins[0].way_stats.directs), (1, 0));
    assert_eq!(place(&mut queue, 77), Some(77));
    assert_eq!(place(&mut queue, 77), Some(77));
    assert_eq!(queue.tins[0].way_stats.directs, 1);
}

#[test]
fn tins_share_by_their_thresholds() {
    // CS1, CS0, AF41, EF with packets of 1514 B.
    let kinds = [8, 0, 34, 46].map(|dscp| Meta { dscp, ..flow_between(dscp as u32, (1, 2)) });
    let sent = saturate(&mut cake("cake bandwidth 10mbit diffserv4"), &kinds, 20);
    let total: u64 = sent.iter().sum();
    assert!((total as f64 / (1.25e6 * 20.0) - 1.0).abs() < 0.001, "{total}");
    let shares: Vec<_> = sent.iter().map(|&bytes| bytes as f64 / total as f64).collect();
    for (share, ideal) in shares.iter().zip([0.0625, 0.1875, 0.5, 0.25]) {
        assert!((share - ideal).abs() < 0.01, "{shares:?}");
    }
}

#[test]
fn without_a_rate_tins_share_by_their_quanta() {
    let kinds = [8, 0, 46].map(|dscp| Meta { dscp, ..flow_between(dscp as u32, (1, 2)) });
    let mut queue = cake("cake unlimited");
    let mut sent = [0u64; 3];
    for n in 0..60_000u64 {
        let now = ms(1) + Duration::from_micros(12 * n as i64);
        kinds.iter().enumerate().for_each(|(kind, meta)| {
            if n < 5 || queue.tins[queue.table[meta.dscp as usize] as usize].backlog < 9000 {
                queue.enqueue(now, *meta, kind as u32, &mut |_, _, _| {});
            }
        });
        if let DequeueResult::Packet(meta, kind) = pop(&mut queue, now) {
            sent[kind as usize] += meta.len as u64;
        }
    }
    let total = sent.iter().sum::<u64>() as f64;
    let shares = sent.map(|bytes| bytes as f64 / total);
    for (share, quantum) in shares.iter().zip([64.0, 1024.0, 256.0]) {
        assert!((share - quantum / 1344.0).abs() < 0.01, "{shares:?}");
    }
}

/// Share of the first flow among flows between these hosts.
fn first_share(words: &str, hosts: &[(u32, u32)]) -> f64 {
    let flows: Vec<_> = hosts.iter().enumerate().map(|(i, &hosts)| flow_between(11 + 7 * i as u32, hosts)).collect();
    let sent = saturate(&mut cake(words), &flows, 20);
    sent[0] as f64 / sent.iter().sum::<u64>() as f64
}

#[test]
fn hosts_share_before_their_flows_do() {
    // One flow of host 1, nine of host 2, each to its own destination.
    let up: Vec<_> = (0..10).map(|n| (1 + u32::from(n > 0), 100 + n)).collect();
    let down: Vec<_> = up.iter().map(|&(source, destination)| (destination, source)).collect();
    for (isolation, hosts, ideal) in [
        ("triple-isolate", &up, 0.5),
        ("triple-isolate", &down, 0.5),
        ("dual-srchost", &up, 0.5),
        ("dual-dsthost", &up, 0.1),
        ("dual-dsthost", &down, 0.5),
        ("flows", &up, 0.1),
        ("srchost", &up, 0.5),
        ("hosts", &up, 0.1),
    ] {
        let share = first_share(&alloc::format!("cake bandwidth 20mbit besteffort {isolation}"), hosts);
        assert!((share - ideal).abs() < 0.02, "{isolation}: {share}");
    }
}

#[test]
fn drops_on_ingress_are_charged_but_two_thirds_of_the_rate_go_on() {
    for (drops, of, ideal) in [(0, 5, 1.0), (1, 5, 0.8), (1, 2, 2.0 / 3.0), (9, 10, 2.0 / 3.0)] {
        let mut queue = cake("cake bandwidth 10mbit besteffort ingress");
        let (mut now, mut sent) = (ms(1), 0u64);
        let meta = Meta::new(1514, 0);
        queue.shaper.refresh(&mut queue.tins[0], true, now);
        for n in 0.. {
            if let Some(at) = queue.shaper.not_before(now) {
                now = at;
            }
            if now > ms(20_001) {
                break;
            }
            let dropped = n % of < drops;
            queue.charge(0, &meta, now, dropped);
            sent += if dropped { 0 } else { meta.len as u64 };
        }
        let share = sent as f64 / (1.25e6 * 20.0);
        assert!((share - ideal).abs() < 0.005, "{drops} of {of}: {share}");
    }
}

#[test]
fn a_flow_without_credit_waits_for_its_next_turn() {
    let mut queue = cake("cake besteffort hash modulo");
    push(&mut queue, ms(1), Meta::new(1000, 4));
    push(&mut queue, ms(1), Meta::new(1000, 4));
    queue.tins[0].flows[4].deficit = 0;
    assert!(matches!(pop(&mut queue, ms(1)), DequeueResult::Packet(..)));
    let flow = &queue.tins[0].flows[4];
    assert!((513..=514).contains(&flow.deficit), "a quantum less the packet: {}", flow.deficit);
    assert_eq!((flow.set, flow.list, queue.tins[0].bulk), (Set::Bulk, FlowList::Old, 1));
}

#[test]
fn a_bulk_flow_among_ten_of_its_host_has_a_tenth_of_a_turn() {
    let mut queue = cake("cake besteffort hash modulo dual-srchost");
    for flow in 0..10 {
        for _ in 0..4 {
            push(&mut queue, ms(1), Meta { hosts: (9, 5), ..Meta::new(1500, flow) });
        }
    }
    while queue.tins[0].bulk < 10 {
        pop(&mut queue, ms(1));
    }
    assert_eq!(queue.tins[0].hosts[9].bulk, [10, 0]);
    let before: Vec<_> = queue.tins[0].flows[..10].iter().map(|flow| flow.deficit).collect();
    let isolation = queue.config.isolation;
    queue.tins[0].replenish(3, isolation, &mut queue.host.rng);
    assert!((151..=152).contains(&(queue.tins[0].flows[3].deficit - before[3])), "1514 / 10");
}

#[test]
fn a_flow_leaves_when_its_state_is_at_rest() {
    let mut queue = cake("cake besteffort hash modulo");
    push(&mut queue, ms(1), Meta::new(1000, 4));
    pop(&mut queue, ms(1));
    // Judged once, it has a timeout of an interval; nothing happens while the queue is empty.
    assert_eq!(pop(&mut queue, ms(2)), DequeueResult::Empty);
    assert_eq!(queue.tins[0].flows[4].set, Set::Sparse);
    let visit = |queue: &mut Cake<u32>, now| {
        push(queue, now, Meta::new(900, 5));
        pop(queue, now);
        (queue.tins[0].flows[4].set, queue.tins[0].decaying)
    };
    assert_eq!(visit(&mut queue, ms(3)), (Set::Decaying, 1));
    assert_eq!(visit(&mut queue, ms(100)), (Set::Decaying, 1));
    // Its timeout ends at 101 ms; flow 5 is served.
    assert_eq!(visit(&mut queue, ms(101)), (Set::None, 0));
}

#[test]
fn the_longest_queue_makes_room_at_its_head() {
    let mut queue = cake("cake besteffort hash modulo memlimit 10kb");
    let mut lost = Vec::new();
    let mut offer = |queue: &mut Cake<u32>, flow, len, id| {
        queue.enqueue(ms(11), Meta::new(len, flow), id, &mut |meta: Meta, id, _| lost.push((meta.flow, id)))
    };
    for id in 0..6 {
        offer(&mut queue, 1, 1000, id);
    }
    for id in 6..9 {
        offer(&mut queue, 2, 1300, id);
    }
    assert_eq!(queue.backlog().bytes, 9900);
    assert_eq!(offer(&mut queue, 3, 1400, 9), EnqueueResult::Queued);
    assert_eq!(lost, [(1, 0), (1, 1)]);
    assert_eq!(queue.tins[0].unresponsive, 1);
    // A packet that exceeds the limit alone is dropped itself, after the others.
    let mut lost = 0;
    let fate = queue.enqueue(ms(12), Meta::new(11_000, 4), 10, &mut |_, _, _| lost += 1);
    assert_eq!((fate, lost), (EnqueueResult::Dropped(DropReason::Limit), 1));
}

#[test]
fn of_equal_queues_the_heaps_first_is_taken() {
    let mut queue = cake("cake besteffort hash modulo memlimit 12kb");
    let mut lost = Vec::new();
    for round in 0..5 {
        for flow in [700, 3, 41] {
            let now = ms(1 + round);
            queue.enqueue(now, Meta::new(1000, flow), 0, &mut |meta: Meta, _, _| lost.push(meta.flow));
        }
    }
    // Twelve fit. The thirteenth makes flow 700 the longest; after that it is the queue that has just grown.
    assert_eq!(lost, [700, 3, 41]);
}

#[test]
fn every_count_is_that_of_the_flows() {
    for (n, words) in [
        "cake bandwidth 7mbit diffserv8 triple-isolate ingress",
        "cake diffserv4 dual-srchost",
        "cake bandwidth 1300kbit precedence dual-dsthost memlimit 40kb wash",
        "cake besteffort triple-isolate memlimit 90kb",
        "cake bandwidth 3mbit autorate-ingress diffserv3 hash modulo",
    ]
    .into_iter()
    .enumerate()
    {
        let mut queue = cake(words);
        let mut rng = Rng::from_state(1000 + n as u64);
        let mut now = ms(1);
        for step in 0..20_000 {
            now += Duration::from_nanos((rng.exponential() * 4e5) as i64);
            if step % 2000 < 1200 || rng.below(3) == 0 {
                let flow = rng.below(40) as u32;
                let meta = Meta { hosts: (flow % 5, flow % 7), dscp: (flow % 6 * 8) as u8, ..Meta::new(0, flow) };
                push(&mut queue, now, Meta { len: 40 + rng.below(1475) as u32, ..meta });
            }
            pop(&mut queue, now);
            if step % 7 == 0 {
                check(&queue, words);
            }
        }
    }
}

fn check(queue: &Cake<u32>, words: &str) {
    let mut backlog = Backlog::default();
    for tin in &queue.tins {
        let in_set = |set: &[Set]| tin.flows.iter().filter(|flow| set.contains(&flow.set)).count() as u32;
        assert_eq!(tin.sparse, in_set(&[Set::Sparse, Set::SparseWait]), "{words}");
        assert_eq!((tin.bulk, tin.decaying), (in_set(&[Set::Bulk]), in_set(&[Set::Decaying])), "{words}");
        assert_eq!(tin.unresponsive, tin.flows.iter().filter(|flow| flow.state.p_drop > 0).count() as u32, "{words}");
        let bytes: u64 = tin.flows.iter().map(|flow| flow.queue.bytes).sum();
        assert_eq!(tin.backlog, bytes, "{words}");
        backlog.bytes += bytes;
        backlog.packets += tin.flows.iter().map(|flow| flow.queue.packets).sum::<u32>();
        let mut bulk = vec![[0u16; 2]; tin.hosts.len()];
        for flow in tin.flows.iter().filter(|flow| flow.set == Set::Bulk) {
            for (end, place) in [(0, flow.hosts.0), (1, flow.hosts.1)] {
                bulk[place as usize][end] += u16::from(queue.config.isolation.counts(end));
            }
        }
        assert!(tin.hosts.iter().zip(&bulk).all(|(host, bulk)| host.bulk == *bulk), "{words}");
    }
    assert_eq!(queue.total, backlog, "{words}");
    assert!(backlog.bytes <= queue.memory_limit, "{words}");
}

#[test]
fn never_more_leaves_than_the_rate_and_a_packet() {
    for (words, rate, overhead) in [
        ("cake bandwidth 7777kbit besteffort", 7_777_000u64 / 8, 0u64),
        ("cake bandwidth 3mbit diffserv4 docsis", 375_000, 18),
        ("cake bandwidth 97mbit diffserv8 ethernet", 97_000_000 / 8, 38),
    ] {
        let mut queue = cake(words);
        let mut rng = Rng::from_state(rate);
        let (mut now, mut departures, mut arrivals) = (ms(3), Vec::new(), ms(3));
        while departures.len() < 10_000 {
            while arrivals <= now {
                let meta = Meta { dscp: (rng.below(8) * 8) as u8, ..Meta::new(60 + rng.below(1455) as u32, 0) };
                push(&mut queue, now, Meta { flow: rng.below(9) as u32, ..meta });
                // Bursts, slightly below the rate on average.
                let gap = if rng.below(3) > 0 { 0.0 } else { 3.0 * 900.0 * rng.exponential() };
                arrivals += Duration::from_nanos((gap * 1e9 / rate as f64) as i64);
            }
            // The host polls as soon as it may.
            now = match pop(&mut queue, now) {
                DequeueResult::Packet(meta, _) => {
                    departures.push((now, (meta.len as u64 + overhead).max(64)));
                    now
                }
                DequeueResult::NotBefore(at) => at.min(arrivals),
                DequeueResult::Empty => arrivals,
            };
        }
        // Excess over the rate since any earlier departure.
        let (mut excess, mut last, mut most) = (0.0f64, departures[0].0, 0.0f64);
        for &(at, bytes) in &departures {
            excess = (excess - (at - last).as_secs_f64() * rate as f64).max(0.0) + bytes as f64;
            (last, most) = (at, most.max(excess));
        }
        // Times are rounded down by less than a nanosecond per packet.
        let rounded = departures.len() as f64 * rate as f64 / 1e9;
        assert!(most > 1400.0 && most <= 1514.0 + overhead as f64 + rounded, "{words}: {most}");
    }
}

#[test]
fn wash_clears_the_dscp_behind_the_choice_of_the_tin() {
    let mut queue = cake("cake diffserv4 wash");
    push(&mut queue, ms(1), Meta { dscp: 46, ..Meta::new(200, 1).with_ecn(Ecn::Ect1) });
    assert_eq!(queue.tins[3].backlog, 200);
    let DequeueResult::Packet(meta, _) = pop(&mut queue, ms(1)) else { panic!("it waits") };
    assert_eq!((meta.dscp, meta.ecn), (0, Ecn::Ect1));
}

#[test]
fn the_capacity_is_found_on_ingress() {
    let mut queue = cake("cake bandwidth 2mbit besteffort autorate-ingress ingress");
    // 6 Mbit/s with gaps of 1.4 and 2.6 ms.
    let mut now = ms(1);
    for n in 0..6_000u64 {
        now += Duration::from_micros(if n % 2 == 0 { 1400 } else { 2600 });
        push(&mut queue, now, Meta::new(1500, 1));
        pop(&mut queue, now);
    }
    let found = queue.rate as f64 / (1500.0 / 0.002);
    assert!((found - 15.0 / 16.0).abs() < 0.03, "{found}");
    assert_eq!(queue.shaper.rate, queue.tins[0].rate);
}

#[test]
fn statistics_are_spelled_as_tcs() {
    let mut queue = cake("cake bandwidth 10mbit diffserv4 docsis link_header 14");
    push(&mut queue, ms(1), Meta { dscp: 8, ..Meta::new(60, 1) });
    push(&mut queue, ms(1), Meta::new(1514, 2));
    pop(&mut queue, ms(1));
    pop(&mut queue, ms(1));
    let text = queue.statistics().expect("tc knows it");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let tins = json["tins"].as_array().expect("an array");
    let thresholds: Vec<_> = tins.iter().map(|tin| tin["threshold_rate"].as_u64()).collect();
    assert_eq!(thresholds, [78125, 1250000, 625000, 312500].map(Some));
    let targets: Vec<_> = tins.iter().map(|tin| tin["target_us"].as_u64()).collect();
    assert_eq!(targets, [29068, 5000, 5000, 7267].map(Some));
    assert_eq!((&json["min_network_size"], &json["max_network_size"]), (&46.into(), &1500.into()));
    assert_eq!((&json["min_adj_size"], &json["max_adj_size"]), (&64.into(), &1518.into()));
    assert_eq!((&json["packets"], &json["overlimits"]), (&1.into(), &1.into()));
    assert_eq!(tins[0]["sent_packets"], 1);
}
