//! FQ-PIE: a PIE per flow on one clock, and the cost of idle flows.

use super::{LINK, QdiscHarness};
use crate::aqm::{Aqm, Cx, Fifo, PoppedPacket, Timer, Verdict};
use crate::flow::{Config, FlowQueue};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::params::Config as _;
use crate::pie::{self, Pie};
use crate::qdisc::{EnqueueResult, Host};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

/// PIE that counts its updates.
struct CountingPie(Pie, Arc<AtomicU32>);

impl Aqm for CountingPie {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.0.attach(limits, link);
    }
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        self.0.enqueue(cx, meta, queue)
    }
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        self.0.dequeue(cx, queue)
    }
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.observe(see);
    }
}

impl Timer for CountingPie {
    fn next_update(&mut self) -> Option<Instant> {
        self.0.timer().and_then(|timer| timer.next_update())
    }
    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.timer().expect("PIE has updates").update(at, cx);
    }
    fn skip_idle(&mut self, until: Instant) {
        self.0.timer().expect("PIE has updates").skip_idle(until);
    }
}

#[test]
fn an_idle_flow_does_not_run_every_update_of_its_absence() {
    for profile in ["linux", "rfc8033", "cisco2013"] {
        let mut pie = pie::Config::profile(profile).expect("a profile");
        if profile == "rfc8033" {
            pie.activation = pie::Activation::Always;
        }
        let updates = Arc::new(AtomicU32::new(0));
        let counter = updates.clone();
        let make = move || CountingPie(Pie::new(&pie), counter.clone());
        let host = Host { link: LINK, rng: Rng::from_state(1) };
        let queue = FlowQueue::new(&Config::default(), make, Limits::default(), host);
        let mut bench = QdiscHarness { queue: Box::new(queue), ..QdiscHarness::new("fq_pie") };
        for flow in 0..3 {
            // More than 62,500 updates are due in between, without any event.
            bench.wait_ms(1_000_000);
            bench.push(flow, 1500);
            bench.push(0, 1500);
            while bench.pop().is_some() {}
        }
        let updates = updates.load(Ordering::Relaxed);
        assert!(updates < 20, "{profile}: {updates}");
    }
}

#[test]
fn a_flow_that_comes_late_is_as_one_that_was_there_from_the_start() {
    // In Linux all flows exist from the start. Flow 1 sends its first packet at 0 or at 20 s, and a burst at 30 s.
    let run = |first_ms: i64| {
        let mut bench = QdiscHarness::new("fq_pie hash perfect");
        bench.wait_ms(first_ms);
        bench.push(1, 1500);
        bench.pop();
        bench.pop();
        bench.wait_ms(30_000 - first_ms);
        let mut seen = Vec::new();
        for id in 0..3_000u32 {
            let meta = Meta::new(1500, 1);
            seen.push(bench.queue.enqueue(bench.now, meta, id, &mut |_, _, _| {}));
            bench.now += Duration::from_micros(800);
            if id % 2 == 0 {
                bench.pop();
            }
        }
        (seen, format!("{:?}", ["p", "qdelay", "qdelay_old", "accu_prob"].map(|name| bench.state(name))))
    };
    let (seen, state) = run(0);
    assert!(seen.iter().filter(|&&one| one != EnqueueResult::Queued).count() > 100, "it is congested");
    assert_eq!((seen, state), run(20_000));
}

#[test]
fn all_flows_are_updated_at_once_first_after_half_a_second() {
    let mut bench = QdiscHarness::new("fq_pie hash perfect");
    let delay_of = |bench: &mut QdiscHarness, flow| {
        bench.push(flow, 1500);
        bench.push(flow, 1500);
        bench.wait_ms(30);
        assert_eq!(bench.flows(1), [flow]);
        bench.state("qdelay")
    };
    // Two flows with 30 ms of delay at different times; PIE samples it at its next update, 504 ms, 520 ms, ….
    assert!((delay_of(&mut bench, 1) - 0.030).abs() < 1e-4);
    assert_eq!(bench.state("p"), 0.0);
    bench.queue.settle(Instant::from_nanos(503_999_999));
    assert_eq!(bench.state("p"), 0.0);
    bench.queue.settle(Instant::from_nanos(504_000_000));
    let first = bench.state("p");
    // 0.125 (30 ms - 15 ms) + 1.25 * 30 ms, scaled by 1/2048.
    assert!((first - (0.125 * 0.015 + 1.25 * 0.030) / 2048.0).abs() < 1e-7, "{first}");
    bench.queue.settle(Instant::from_nanos(519_999_999));
    assert_eq!(bench.state("p"), first);
    bench.queue.settle(Instant::from_nanos(520_000_000));
    assert!(bench.state("p") > first);
}

#[test]
fn the_memory_limit_is_not_enforced_and_the_packet_limit_is_that_of_all_flows() {
    let mut bench = QdiscHarness::new("fq_pie hash perfect limit 3");
    for flow in [1, 2, 3] {
        assert_eq!(bench.push(flow, 60_000), EnqueueResult::Queued);
    }
    assert_eq!(bench.push(4, 100), EnqueueResult::Dropped(crate::aqm::DropReason::Limit), "the arrival is refused");
    assert_eq!(bench.dropped, [(4, 4)]);
    let mut bench = QdiscHarness::new("fq_pie");
    for i in 0..1_000 {
        assert_eq!(bench.push(i, 60_000), EnqueueResult::Queued, "32 MiB are passed");
    }
}

#[test]
fn marks_end_at_ecn_prob() {
    let marks_at = |params: &str| {
        let mut bench = QdiscHarness::new(&format!("fq_pie ecn {params}"));
        let mut highest: f64 = 0.0;
        for id in 0..30_000u32 {
            let meta = Meta::new(1500, 1).with_ecn(Ecn::Ect0);
            if bench.queue.enqueue(bench.now, meta, id, &mut |_, _, _| {}) == EnqueueResult::Marked {
                highest = highest.max(bench.state("p"));
            }
            bench.now += Duration::from_micros(500);
            if id % 2 == 0 {
                bench.pop();
            }
        }
        highest
    };
    let (ten, thirty) = (marks_at(""), marks_at("mark_ecnth 0.3"));
    assert!((0.05..=0.1).contains(&ten) && (0.2..=0.3).contains(&thirty), "{ten} {thirty}");
}
