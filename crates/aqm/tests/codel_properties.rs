//! Properties of CoDel and its variants under random load, judged by packets checked, dropped and sent.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use sojourn_aqm::{DequeueResult, DropReason, Duration, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, registry};
use std::cell::Cell;
use std::collections::BTreeMap;

/// One packet of 1500 bytes per millisecond.
const LINK: Link = Link::new(Rate::from_bps(12_000_000), 1500);
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
const LINUX_TICK: Duration = Duration::from_nanos(1024);

/// A check of the head: every packet that leaves at the head is checked.
#[derive(Clone, Debug, PartialEq)]
struct HeadCheck {
    now: Instant,
    sojourn: Duration,
    len: u32,
    /// Bytes queued after it.
    left: u64,
    dropped: Option<DropReason>,
}

/// A queue above a saturated or idle link, under a load that changes randomly.
struct Run {
    queue: Box<dyn Qdisc<()> + Send>,
    load: Rng,
    phase: (u32, f64),
    mixed_sizes: bool,
    now: Instant,
}

impl Run {
    fn new(aqm: &str, seed: u64, mixed_sizes: bool) -> Self {
        let config = registry::parse(aqm).expect("an AQM");
        let host = Host { link: LINK, rng: Rng::from_state(seed) };
        let queue = config.build(Limits::packets(600), host);
        Self { queue, load: Rng::stream(seed, "load", 0), phase: (0, 0.0), mixed_sizes, now: Instant::ZERO }
    }

    /// One millisecond: arrivals of the load's current phase, then a dequeue.
    fn step(&mut self) -> Vec<HeadCheck> {
        if self.phase.0 == 0 {
            self.phase = (50 + self.load.below(800) as u32, 2.2 * self.load.uniform());
        }
        self.phase.0 -= 1;
        let whole = self.phase.1 as u64;
        let arrivals = whole + u64::from(self.load.uniform() < self.phase.1 - whole as f64);
        for _ in 0..arrivals {
            let small = self.mixed_sizes && self.load.uniform() < 0.2;
            let meta = Meta::new(if small { 300 } else { 1500 }, 0);
            self.queue.enqueue(self.now, meta, (), &mut |_, _, _| {});
        }
        // Off the grid, so that times do not coincide by accident.
        self.now += Duration::from_nanos(1_000_000 + self.load.below(1000) as i64);
        self.dequeue()
    }

    fn dequeue(&mut self) -> Vec<HeadCheck> {
        let (now, mut left, mut looks) = (self.now, self.queue.backlog().bytes, vec![]);
        let mut look = |meta: Meta, dropped| {
            left -= meta.len as u64;
            looks.push(HeadCheck { now, sojourn: now - meta.enqueued, len: meta.len, left, dropped });
        };
        let out = self.queue.dequeue(now, &mut |meta, (), reason| look(meta, Some(reason)));
        if let DequeueResult::Packet(meta, ()) = out {
            look(meta, None);
        }
        looks
    }

    fn state(&self) -> BTreeMap<&'static str, f64> {
        let mut state = BTreeMap::new();
        self.queue.observe(&mut |name, value| {
            state.insert(name, value);
        });
        state
    }
}

/// Runs `property` on loads of ten seconds.
fn for_loads(property: impl Fn(u64) -> Result<(), TestCaseError>) {
    // `make soak` sets a higher number.
    let cases = std::env::var("PROPTEST_CASES").map_or(40, |n| n.parse().expect("PROPTEST_CASES is a number"));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(&any::<u64>(), property).unwrap_or_else(|e| panic!("{e}"));
}

const STEPS: usize = 10_000;

#[test]
fn drops_need_a_long_sojourn_a_backlog_and_an_interval_of_both() {
    // Profile; initial maximum packet size; whether a backlog of one such packet is small.
    for (aqm, initial, at_most) in [
        ("codel", 1500, true),
        ("codel@linux", 1500, true),
        ("codel@linux-3.10", 256, true),
        ("codel@draft00", 512, true),
        ("codel@ns2-2012", 256, true),
        ("codel@count-n", 512, true),
        ("codel@acm2012", 512, false),
        ("codel@hardlimit max_delay 99s", 512, false),
    ] {
        let slack = if aqm.starts_with("codel@linux") { LINUX_TICK } else { Duration::ZERO };
        let drops = Cell::new(0);
        for_loads(|seed| {
            let mut run = Run::new(aqm, seed, true);
            let (mut maxpacket, mut above_since) = (initial, None);
            for look in (0..STEPS).flat_map(|_| run.step()) {
                maxpacket = look.len.max(maxpacket);
                let small = if at_most { look.left <= maxpacket as u64 } else { look.left < maxpacket as u64 };
                if small || look.sojourn + slack < TARGET {
                    above_since = None;
                    prop_assert_eq!(look.dropped, None, "{}: {:?}", aqm, look);
                    continue;
                }
                let since = *above_since.get_or_insert(look.now);
                if look.dropped.is_some() {
                    drops.set(drops.get() + 1);
                    prop_assert!(look.now - since + slack >= INTERVAL, "{}: {:?}, above since {:?}", aqm, look, since);
                }
            }
            Ok(())
        });
        assert!(drops.get() > 1000, "{aqm}: {drops:?} drops");
    }
}

#[test]
fn within_a_phase_drop_next_follows_the_control_law() {
    for aqm in ["codel", "codel@draft00", "codel@ns2-2012", "codel@act", "codel@acm2012"] {
        let steps = Cell::new(0);
        for_loads(|seed| {
            let mut run = Run::new(aqm, seed, false);
            for _ in 0..STEPS {
                let before = run.state();
                let now = run.now;
                run.step();
                let after = run.state();
                if before["dropping"] == 0.0 || after["dropping"] == 0.0 {
                    continue;
                }
                let counts = before["count"] as u32 + 1..=after["count"] as u32;
                steps.set(steps.get() + counts.clone().count());
                let law: f64 = counts.clone().map(|count| 0.1 / f64::from(count).sqrt()).sum();
                let moved = after["drop_next"] - before["drop_next"];
                prop_assert!((moved - law).abs() < 1e-7, "{} at {:?}: {} by {:?}", aqm, now, moved, counts);
            }
            Ok(())
        });
        assert!(steps.get() > 1000, "{aqm}: {steps:?} steps of the law");
    }
}

#[test]
fn act_and_draft00_agree_while_count_is_one() {
    let drops = Cell::new(0);
    for_loads(|seed| {
        let (mut act, mut draft) = (Run::new("codel@act", seed, false), Run::new("codel@draft00", seed, false));
        for _ in 0..STEPS {
            let looks = act.step();
            prop_assert_eq!(&looks, &draft.step());
            drops.set(drops.get() + looks.iter().filter(|look| look.dropped.is_some()).count());
            if act.state()["count"] > 1.0 {
                break;
            }
        }
        Ok(())
    });
    assert!(drops.get() >= 40, "each load brings a drop before count is 2: {drops:?}");
}

#[test]
fn hard_limit_bounds_the_delay_of_what_is_sent_and_strictness_changes_nothing_in_a_plain_queue() {
    let hard_drops = Cell::new(0);
    for_loads(|seed| {
        let mut printed = Run::new("codel@hardlimit", seed, true);
        let mut strict = Run::new("codel@hardlimit-strict", seed, true);
        for _ in 0..STEPS {
            let looks = printed.step();
            for look in &looks {
                let is_hard = look.dropped == Some(DropReason::HardLimit);
                prop_assert_eq!(look.sojourn > Duration::from_millis(50), is_hard, "{:?}", look);
                hard_drops.set(hard_drops.get() + u64::from(is_hard));
            }
            prop_assert_eq!(looks, strict.step());
        }
        Ok(())
    });
    assert!(hard_drops.get() > 1000, "{hard_drops:?}");
}
