//! Changes of parameters and limits while packets are queued, compared with the `*_change` functions of Linux 6.1.

use sojourn_aqm::registry::{ALGORITHMS, parse};
use sojourn_aqm::{DequeueResult, DropReason, Ecn, EnqueueResult, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng};

type Queue = Box<dyn Qdisc<u32> + Send>;

const LINK: Link = Link::new(Rate::from_bps(7_300_000), 1500);

fn queue(aqm: &str, limit: u32) -> Queue {
    let host = Host { link: LINK, rng: Rng::from_state(0x5eed) };
    parse(aqm).unwrap().build(Limits::packets(limit), host)
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// Offers `count` packets of odd sizes of three flows, one per 211 us from `us`.
fn fill(queue: &mut Queue, us: u64, count: u32) {
    for id in 0..count {
        let meta = Meta { ecn: Ecn::NotEct, ..Meta::new(700 + id % 7 * 113, id % 3) };
        let queued = queue.enqueue(at(us + 211 * u64::from(id)), meta, id, &mut |_, _, _| {});
        assert_eq!(queued, EnqueueResult::Queued, "{id}");
    }
}

/// The drops when a queue of `aqm` and `limit` takes over from `old`.
fn change(old: &mut Queue, aqm: &str, limit: u32, us: u64) -> (Queue, Vec<(u32, DropReason)>) {
    let (mut new, mut dropped) = (queue(aqm, limit), Vec::new());
    let state = old.as_any().unwrap_or_else(|| panic!("{aqm} shows itself"));
    new.inherit(state, at(us), &mut |_: Meta, id, reason| dropped.push((id, reason))).unwrap();
    (new, dropped)
}

fn observed(queue: &Queue) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    queue.observe(&mut |name, value| all.push((name, value)));
    all
}

/// The queued packets in order of departure.
fn drained(queue: &mut Queue, us: u64) -> Vec<u32> {
    let mut order = Vec::new();
    while let DequeueResult::Packet(_, id) = queue.dequeue(at(us), &mut |_, _, _| {}) {
        order.push(id);
    }
    order
}

#[test]
fn a_fifo_with_a_smaller_limit_drops_nothing() {
    // fifo_init sets sch->limit and nothing else.
    for aqm in ["droptail", "drophead"] {
        let mut old = queue(aqm, 50);
        fill(&mut old, 0, 41);
        let (mut new, dropped) = change(&mut old, aqm, 7, 9_000);
        assert_eq!((dropped.len(), new.backlog().packets), (0, 41), "{aqm}");
        let refused = new.enqueue(at(9_001), Meta::new(300, 0), 99, &mut |_, _, _| {});
        assert!(aqm == "drophead" || refused == EnqueueResult::Dropped(DropReason::Limit));
        let waiting = if aqm == "drophead" { 7 } else { 41 };
        assert_eq!(new.backlog().packets, waiting, "head drop makes room when something comes");
    }
}

#[test]
fn codel_and_pie_with_a_smaller_limit_drop_their_oldest() {
    // codel_change and pie_change: while (sch->q.qlen > sch->limit), a packet from the head of sch->q is dropped.
    for aqm in ["codel", "codel@linux", "codel@acm2012", "codel@mahimahi", "pie", "pie@linux", "pie@docsis"] {
        let mut old = queue(aqm, 50);
        fill(&mut old, 0, 37);
        let (mut new, dropped) = change(&mut old, aqm, 11, 9_000);
        let oldest: Vec<_> = (0..26).map(|id| (id, DropReason::Limit)).collect();
        assert_eq!(dropped, oldest, "{aqm}");
        assert_eq!(new.backlog().packets, 11);
        let stats = *new.stats();
        assert_eq!(stats.arrived.packets, 37, "counters go on");
        assert_eq!(stats.dropped_total().packets, 26);
        assert!(matches!(new.dequeue(at(9_000), &mut |_, _, _| {}), DequeueResult::Packet(_, 26)), "{aqm}");
    }
}

#[test]
fn codel_goes_on_with_its_count_and_judges_by_the_new_target() {
    for version in ["codel", "codel@linux", "codel@acm2012", "codel@act"] {
        let mut old = queue(version, 10_000);
        let (mut id, mut dropped) = (0, 0);
        // An arrival every 500 us, a departure every 900 us: drops begin after an interval.
        for us in (0..900_000).step_by(100) {
            if us % 500 == 0 {
                old.enqueue(at(us), Meta::new(1000, id % 3), id, &mut |_, _, _| {});
                id += 1;
            }
            if us % 900 == 0 {
                old.dequeue(at(us), &mut |_: Meta, _, _| dropped += 1);
            }
        }
        assert!(dropped > 5, "{version}: {dropped}");
        let before = observed(&old);
        let (mut new, lost) = change(&mut old, &format!("{version} target 3s interval 4s"), 10_000, 900_000);
        assert_eq!((observed(&new), lost.len()), (before, 0), "{version}: codel_vars stay");
        let mut dropped = 0;
        for us in (900_000..1_300_000).step_by(900) {
            new.dequeue(at(us), &mut |_: Meta, _, _| dropped += 1);
        }
        assert_eq!(dropped, 0, "{version}: the head is below the new target");
    }
}

#[test]
fn pie_keeps_its_probability_and_its_timer() {
    for version in ["pie", "pie@linux", "pie@cisco2013", "pie@docsis"] {
        let mut old = queue(version, 10_000);
        let mut id = 0;
        for us in (0..2_000_000).step_by(100) {
            if us % 500 == 0 {
                old.enqueue(at(us), Meta::new(1000, id % 3), id, &mut |_, _, _| {});
                id += 1;
            }
            if us % 900 == 0 {
                old.dequeue(at(us), &mut |_, _, _| {});
            }
        }
        old.settle(at(2_000_000));
        let before = observed(&old);
        assert!(before.iter().any(|&(_, value)| value > 0.0), "{version}: {before:?}");
        let (new, _) = change(&mut old, &format!("{version} target 60ms"), 10_000, 2_000_000);
        assert_eq!(observed(&new), before, "{version}");
    }
}

#[test]
fn fq_codel_sends_nowhere_what_no_longer_fits() {
    // fq_codel_change: while (sch->q.qlen > sch->limit), the packet returned by fq_codel_dequeue is dropped.
    for aqm in ["fq_codel", "fq_codel@linux", "fq_pie", "fq(droptail)"] {
        let (mut old, mut twin) = (queue(aqm, 100), queue(aqm, 100));
        fill(&mut old, 0, 53);
        fill(&mut twin, 0, 53);
        let (mut new, dropped) = change(&mut old, aqm, 20, 12_000);
        let order = drained(&mut twin, 12_000);
        assert_eq!(order.len(), 53, "{aqm}: nothing is dropped below the target");
        let first: Vec<_> = order[..33].iter().map(|&id| (id, DropReason::Limit)).collect();
        assert_eq!(dropped, first, "{aqm}");
        let stats = *new.stats();
        assert_eq!((stats.departed.packets, stats.dropped_total().packets), (0, 33));
        assert_eq!(drained(&mut new, 12_000), order[33..], "{aqm}: flows keep their turns and credits");
    }
}

#[test]
fn sfq_drops_from_the_longest_flow() {
    // sfq_change: while (sch->q.qlen > q->limit) sfq_drop, which drops the tail of the longest slot.
    let mut old = queue("sfq", 100);
    fill(&mut old, 0, 40);
    for id in 100..120 {
        old.enqueue(at(9_000), Meta::new(400, 9), id, &mut |_, _, _| {});
    }
    let (new, dropped) = change(&mut old, "sfq", 53, 12_000);
    let tails: Vec<_> = (113..120).rev().map(|id| (id, DropReason::Limit)).collect();
    assert_eq!((dropped, new.backlog().packets), (tails, 53));
}

#[test]
fn linux_red_starts_with_an_empty_queue() {
    // red_change with a limit, which tc always sends, replaces the bfifo with a new one; red_set_vars.
    let mut old = queue("red@linux", 200);
    fill(&mut old, 0, 31);
    let (new, dropped) = change(&mut old, "red@linux target 9ms", 200, 9_000);
    assert_eq!(dropped, (0..31).map(|id| (id, DropReason::Replaced)).collect::<Vec<_>>());
    assert_eq!(new.backlog().packets, 0);
    let average = observed(&new).into_iter().find(|(name, _)| name.contains("avg") || *name == "ave");
    assert_eq!(average.map(|(_, value)| value), Some(0.0), "{:?}", observed(&new));
    // ns-2 has no such function: the average is kept.
    let mut old = queue("red", 200);
    fill(&mut old, 0, 31);
    let before = observed(&old);
    let (new, dropped) = change(&mut old, "red target 9ms", 200, 9_000);
    assert_eq!((observed(&new), dropped.len()), (before, 0));
}

#[test]
fn a_token_bucket_is_filled_and_keeps_what_waits() {
    // tbf_change: q->tokens = q->buffer.
    let mut old = queue("tbf rate 1mbit burst 3000B limit 100kB", 1000);
    fill(&mut old, 0, 20);
    let sent = drained(&mut old, 5_000).len();
    assert!((2..6).contains(&sent), "{sent}");
    let DequeueResult::NotBefore(when) = old.dequeue(at(5_000), &mut |_, _, _| {}) else { panic!("no tokens") };
    assert!(when > at(5_000));
    let (mut new, dropped) = change(&mut old, "tbf rate 2mbit burst 6000B limit 100kB", 1000, 5_000);
    assert_eq!((dropped.len(), new.backlog().packets as usize), (0, 20 - sent));
    let bytes: u32 = std::iter::from_fn(|| match new.dequeue(at(5_000), &mut |_, _, _| {}) {
        DequeueResult::Packet(meta, _) => Some(meta.len),
        _ => None,
    })
    .sum();
    assert!((4_600..=6_000).contains(&bytes), "{bytes} B of the 6000 that are there");
}

#[test]
fn cake_shapes_to_another_rate_and_keeps_its_flows() {
    // cake_change, cake_reconfigure: only packets of removed tins are dropped.
    let (mut old, mut twin) = (queue("cake bandwidth 2mbit", 1000), queue("cake bandwidth 2mbit", 1000));
    fill(&mut old, 0, 30);
    fill(&mut twin, 0, 30);
    let order = in_time(&mut twin, 7_000).1;
    let (mut new, dropped) = change(&mut old, "cake bandwidth 6mbit", 1000, 6_900);
    assert_eq!((dropped.len(), new.backlog().packets), (0, 30));
    let (us, sent, bytes) = in_time(&mut new, 7_000);
    assert_eq!(sent, order, "flows keep their turns");
    // The shaper has been waiting since the first arrival, at 0 us.
    let bps = bytes as f64 * 8e6 / (us + 7_000) as f64;
    assert!((bps / 6e6 - 1.0).abs() < 0.02, "{bps} bit/s");
    // With a smaller memory limit, the next arrival causes drops.
    let mut old = queue("cake", 1000);
    fill(&mut old, 0, 40);
    let (mut new, dropped) = change(&mut old, "cake memlimit 20000B", 1000, 9_000);
    assert_eq!((dropped.len(), new.backlog().packets), (0, 40));
    let mut lost = 0;
    new.enqueue(at(9_100), Meta::new(500, 0), 99, &mut |_: Meta, _, _| lost += 1);
    assert!(lost > 10 && new.backlog().bytes <= 20_000, "{lost}, {:?}", new.backlog());
}

/// Time from `us` until the last packet may leave, the order, and the bytes of the packets before it.
fn in_time(queue: &mut Queue, us: u64) -> (u64, Vec<u32>, u64) {
    let (mut now, mut order, mut bytes, mut last) = (at(us), Vec::new(), 0, 0);
    loop {
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, id) => {
                order.push(id);
                (bytes, last) = (bytes + last, u64::from(meta.len));
            }
            DequeueResult::NotBefore(later) => now = later,
            DequeueResult::Empty => return ((now - at(us)).as_nanos() as u64 / 1000, order, bytes),
        }
    }
}

#[test]
fn dualpi2_keeps_its_probability_and_drops_classic_heads_first() {
    for version in ["dualpi2", "dualpi2@linux"] {
        let mut old = queue(version, 10_000);
        let mut id = 0;
        for us in (0..2_000_000).step_by(100) {
            if us % 500 == 0 {
                let ecn = if id % 4 == 3 { Ecn::Ect1 } else { Ecn::NotEct };
                old.enqueue(at(us), Meta::new(1000, id % 3).with_ecn(ecn), id, &mut |_, _, _| {});
                id += 1;
            }
            if us % 900 == 0 {
                old.dequeue(at(us), &mut |_, _, _| {});
            }
        }
        old.settle(at(2_000_000));
        let before = observed(&old);
        assert!(before.iter().any(|seen| seen.0 == "p" && seen.1 > 0.0), "{before:?}");
        let (same, dropped) = change(&mut old, &format!("{version} target 60ms"), 10_000, 2_000_000);
        assert_eq!((observed(&same), dropped.len()), (before, 0), "{version}");

        // Ten of 40 packets are in the L queue.
        let mut old = queue(version, 100);
        for id in 0..40_u32 {
            let ecn = if id % 4 == 3 { Ecn::Ect1 } else { Ecn::NotEct };
            old.enqueue(at(u64::from(id) * 97), Meta::new(900, id % 3).with_ecn(ecn), id, &mut |_, _, _| {});
        }
        let (mut less, dropped) = change(&mut old, version, 17, 5_000);
        let classic: Vec<u32> = (0..40).filter(|id| id % 4 != 3).collect();
        let lost = |ids: &[u32]| ids.iter().map(|&id| (id, DropReason::Limit)).collect::<Vec<_>>();
        assert_eq!(dropped, lost(&classic[..23]), "{version}");
        let (least, dropped) = change(&mut less, version, 6, 5_000);
        assert_eq!(dropped, lost(&[&classic[23..], &[3, 7, 11, 15]].concat()), "{version}");
        assert_eq!(least.backlog().packets, 6);
    }
}

#[test]
fn what_cannot_be_changed_says_so() {
    let refusal = |before: &str, after: &str| {
        let (mut old, mut new) = (queue(before, 100), queue(after, 100));
        fill(&mut old, 0, 10);
        let error = new.inherit(old.as_any().unwrap(), at(9_000), &mut |_, _, _| panic!("nothing is dropped"));
        assert_eq!(old.backlog().packets, 10, "nothing has changed");
        error.unwrap_err().to_string()
    };
    for (before, after, name) in [
        ("fq_codel", "fq_codel flows 64", "flows"),
        ("fq_codel", "fq_codel isolation host-pair", "isolation"),
        ("fq_codel", "fq_codel scheduler drr", "scheduler"),
        ("sfq", "sfq perturb_period 10s", "perturb_period"),
        ("codel", "codel@linux", "version"),
        ("pie", "pie@linux", "version"),
        ("cake", "cake besteffort", "tins"),
        ("dualpi2", "dualpi2@linux", "version"),
    ] {
        let text = format!("{name} cannot be changed while it runs; keep its initial value");
        assert_eq!(refusal(before, after), text, "{after}");
    }
}

/// Departures of all queued packets and their times, on a link of infinite rate, from `us`.
fn left(queue: &mut Queue, us: u64) -> Vec<(u32, u64)> {
    let (mut left, mut now) = (Vec::new(), at(us));
    loop {
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(_, id) => left.push((id, now.as_nanos() / 1000)),
            DequeueResult::NotBefore(later) => now = later,
            DequeueResult::Empty => return left,
        }
    }
}

#[test]
fn netem_keeps_the_times_of_what_waits_and_drops_nothing() {
    // netem_change sets latency, jitter and sch->limit; the packets in its tree have their time_to_send.
    let mut old = queue("netem delay 30ms", 50);
    fill(&mut old, 0, 3);
    let (mut new, dropped) = change(&mut old, "netem delay 5ms limit 4", 50, 9_000);
    assert_eq!((dropped.len(), new.backlog().packets, old.backlog().packets), (0, 3, 0));
    for id in 10..12 {
        new.enqueue(at(10_000), Meta::new(700, 0), id, &mut |_, _, _| {});
    }
    let stats = new.stats();
    assert_eq!((stats.arrived.packets, stats.dropped_total().packets), (5, 1), "there is room for a fourth one");
    // A later arrival with less delay overtakes.
    assert_eq!(left(&mut new, 9_000), [(10, 15_000), (0, 30_000), (1, 30_211), (2, 30_422)]);
    // The child in the braces is taken over too.
    let mut old = queue("netem delay 1ms { codel target 5ms }", 50);
    fill(&mut old, 0, 3);
    assert!(matches!(old.dequeue(at(1_300), &mut |_, _, _| {}), DequeueResult::Packet(_, 0)));
    let (mut new, _) = change(&mut old, "netem delay 9ms { codel target 7ms }", 50, 1_350);
    assert_eq!(left(&mut new, 1_350), [(1, 1_350), (2, 1_422)]);
    // A change begins a slot: a packet that is due need not wait for the next one.
    let mut old = queue("netem delay 1ms", 50);
    fill(&mut old, 0, 2);
    let (mut new, _) = change(&mut old, "netem delay 1ms slot 40ms packets 1", 50, 5_000);
    assert_eq!(left(&mut new, 5_000), [(0, 5_000), (1, 45_000)]);
}

/// Every discipline that can be changed returns each packet once, in any sequence of changes.
#[test]
fn no_packet_is_lost_or_made() {
    let mut changed = 0;
    for name in ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()) {
        let mut old = queue(&name, 64);
        let mut fates = vec![0_u8; 400];
        let mut now = 0;
        for id in 0..400_u32 {
            now += 173 + u64::from(id % 11) * 91;
            let meta = Meta::new(80 + id * 37 % 1400, id % 5);
            old.enqueue(at(now), meta, id, &mut |_: Meta, id: u32, _| fates[id as usize] += 1);
            if id % 3 == 0 {
                if let DequeueResult::Packet(_, id) =
                    old.dequeue(at(now), &mut |_: Meta, id: u32, _| fates[id as usize] += 1)
                {
                    fates[id as usize] += 1;
                }
            }
            if id % 60 == 59 {
                let mut new = queue(&name, 64 - id / 10);
                let Some(state) = old.as_any() else { break };
                if new.inherit(state, at(now), &mut |_: Meta, id: u32, _| fates[id as usize] += 1).is_err() {
                    break;
                }
                changed += 1;
                old = new;
            }
        }
        let waiting = old.backlog().packets as usize;
        assert!(fates.iter().all(|&fate| fate <= 1), "{name}: a packet has two fates");
        let (recorded, offered) =
            (fates.iter().filter(|&&fate| fate == 1).count(), old.stats().arrived.packets as usize);
        assert_eq!(recorded + waiting, offered, "{name}");
    }
    assert!(changed > 6 * 30, "{changed} changes");
}
