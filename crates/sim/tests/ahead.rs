//! Sinks and the reverse link may run ahead of the sources without any visible difference. A probe of every packet
//! disables that, so the run with such a probe is the reference.

use crate::common::scenario;
use proptest::prelude::*;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{Probes, Scenario};
use sojourn_sim::{Simulation, Summary};

/// A dumbbell with data in one direction.
#[derive(Clone, Debug)]
struct Case {
    kbps: u32,
    reverse_kbps: u32,
    delay_us: u32,
    rtt_ms: u32,
    aqm: &'static str,
    reverse: &'static str,
    stack: &'static str,
    flows: u32,
    delayed_ack: bool,
    size_kb: Option<u32>,
    warmup: &'static str,
    datagrams_kbps: u32,
    seed: u64,
}

impl Case {
    fn scenario(&self) -> Scenario {
        let Self { kbps, reverse_kbps, delay_us, rtt_ms, aqm, reverse, stack, flows, delayed_ack, .. } = self;
        let size = self.size_kb.map_or(String::new(), |size| format!("size = \"{size} kB\""));
        scenario(&format!(
            r#"
            duration = "4 s"
            warmup = "{}"
            [link]
            rate = "{kbps} kbit/s"
            delay = "{delay_us} us"
            aqm = "{aqm}"
            limit = "60 packets"
            [reverse]
            rate = "{reverse_kbps} kbit/s"
            delay = "{delay_us} us"
            aqm = "{reverse}"
            limit = "9 packets"
            [[flows]]
            kind = "tcp"
            count = {flows}
            stack = "{stack}"
            rtt = "{rtt_ms} ms"
            delayed_ack = {delayed_ack}
            spread = "300 ms"
            stop = "3500 ms"
            {size}
            [[flows]]
            kind = "poisson"
            rate = "{} kbit/s"
            rtt = "{rtt_ms} ms"
            "#,
            self.warmup, self.datagrams_kbps
        ))
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let links = (200u32..20_000, 10u32..2_000, 0u32..60_000, 120u32..300);
    let queues = (prop::sample::select(vec!["droptail", "codel", "pie", "fq_codel", "red"]), {
        prop::sample::select(vec!["droptail", "codel", "pie"])
    });
    let stacks = prop::sample::select(vec!["linux-2.6.29", "linux-3.8", "linux-6.1"]);
    let ends = (stacks, 1u32..9, any::<bool>(), prop::option::of(1u32..300));
    let others = (prop::sample::select(vec!["0 s", "1 s", "auto"]), 1u32..500, any::<u64>());
    (links, queues, ends, others).prop_map(
        |(
            (kbps, reverse_kbps, delay_us, rtt_ms),
            (aqm, reverse),
            (stack, flows, delayed_ack, size_kb),
            (warmup, datagrams_kbps, seed),
        )| Case {
            kbps,
            reverse_kbps,
            delay_us,
            rtt_ms,
            aqm,
            reverse,
            stack,
            flows,
            delayed_ack,
            size_kb,
            warmup,
            datagrams_kbps,
            seed,
        },
    )
}

/// The scenario with probes of a step, and of every packet if `packets`.
fn with(scenario: &Scenario, packets: bool, step_us: Option<u64>) -> Scenario {
    let step = step_us.map(|us| Duration::from_nanos(1000 * us as i64));
    let transfers = step.is_some();
    let senders = Some(step.is_some());
    let probes =
        Probes { packets, transfers, senders, queue: step, flows: step, utilisation: step, ..Probes::default() };
    Scenario { probes, ..scenario.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_ahead_is_the_same_run(case in cases(), step_us in prop::option::of(700u64..90_000)) {
        let scenario = case.scenario();
        let run = |packets| Simulation::new(&with(&scenario, packets, step_us), case.seed).finish();
        let (ahead, in_order) = (run(false), run(true));
        let json = |summary: &Summary| serde_json::to_string(summary).unwrap();
        prop_assert_eq!(json(&ahead.summary), json(&in_order.summary));
        prop_assert!(ahead.summary.events > 0);
        for table in &ahead.tables {
            let same = in_order.tables.iter().find(|other| other.name == table.name).expect("the same tables");
            prop_assert_eq!(format!("{:?}", table), format!("{:?}", same));
        }
    }

    #[test]
    fn what_is_read_between_steps_is_the_same(case in cases(), step_us in 100u64..200_000) {
        let scenario = case.scenario();
        let mut ahead = Simulation::new(&with(&scenario, false, None), case.seed);
        let mut in_order = Simulation::new(&with(&scenario, true, None), case.seed);
        let mut until = Instant::ZERO;
        loop {
            let done = [ahead.advance_until(until), in_order.advance_until(until)];
            prop_assert_eq!(done[0], done[1], "at {:?}", until);
            prop_assert_eq!(ahead.links(), in_order.links(), "at {:?}", until);
            prop_assert_eq!(format!("{:?}", ahead.flows()), format!("{:?}", in_order.flows()), "at {:?}", until);
            if done[0] {
                break;
            }
            until += Duration::from_nanos(1000 * step_us as i64);
        }
    }
}
