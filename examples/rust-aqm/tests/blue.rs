//! BLUE by name: in scenarios, below `fq(…)`, and in the conformance suite of `sojourn-aqm`.

use proptest::prelude::*;
use sojourn_aqm::conformance::{Op, Order, check};
use sojourn_aqm::registry::{Catalogue, NamedConfig, REGISTERED};
use sojourn_aqm::{Duration, Ecn, Host, Limits, Link, Meta, Qdisc, Rate, Rng};
use sojourn_example_aqm::BLUE;
use sojourn_sim::{Output, Simulation, scenario::Scenario};
use std::path::Path;

const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);
const SCENARIO: &str = r#"
duration = "10 s"
link = { rate = "10 Mbit/s", limit = "50 packets" }
flows = [{ kind = "tcp", stack = "linux-2.6.29", cc = "reno", count = 8, rtt = "40 ms", spread = "1 s", ecn = true }]
probes = { state = "100 ms" }
"#;

fn parse(aqm: &str, own: &dyn Catalogue) -> Result<Scenario, String> {
    let sets = [("link.aqm".to_string(), aqm.to_string())];
    Scenario::parse_with(SCENARIO, &sets, Path::new("."), own).map_err(|e| e.to_string())
}

fn run(aqm: &str) -> Output {
    Simulation::new(&parse(aqm, &[&BLUE]).expect("a valid scenario"), 1).finish()
}

#[test]
fn blue_is_simulated_by_name() {
    let (tail, blue) = (run("droptail"), run("my_blue"));
    let (tail, blue) = (tail.summary.links.forward, blue.summary.links.forward);
    assert_eq!(tail.dropped_by["early"], 0);
    assert!(blue.dropped_by["early"] > 50, "it drops by itself: {}", blue.dropped_by["early"]);
    assert!(blue.dropped_by["limit"] < tail.dropped_by["limit"], "and spares the limit");
    assert!(run("my_blue ecn").summary.links.forward.marked > 50);
}

#[test]
fn blue_manages_each_flow_under_fq() {
    let output = run("fq(my_blue increment 0.05) quantum 300B limit 20");
    assert!(output.summary.links.forward.dropped_by["limit"] > 0);
    let state = output.tables.iter().find(|table| table.name == "state").expect("its probe is on");
    let columns: Vec<&str> = state.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert!(columns.contains(&"p") && columns.contains(&"old_flows"), "{columns:?}");
}

#[test]
fn the_canonical_scenario_names_it_and_reads_again() {
    for (aqm, text) in [
        ("my_blue", "my_blue"),
        ("my_blue freeze_time 0.05s increment 0.02", "my_blue freeze_time 50ms"),
        ("fq(my_blue  ecn) flows 16", "fq(my_blue ecn) flows 16"),
    ] {
        let scenario = parse(aqm, &[&BLUE]).unwrap();
        assert_eq!(scenario.link.aqm.text, text);
        assert_eq!(
            scenario.link.aqm.algorithm().source,
            NamedConfig::parse_with(aqm, &[&BLUE]).unwrap().algorithm().source
        );
        let again = Scenario::parse_with(&scenario.canonical(), &[], Path::new("/"), &[&BLUE]).unwrap();
        assert_eq!(again, scenario);
    }
}

#[test]
fn refusals_name_the_mend() {
    for (aqm, error) in [
        ("my_blu", r#"link.aqm: unknown AQM "my_blu"; did you mean "my_blue"?"#),
        ("my_blue increment 2", "link.aqm: increment = 2 is out of range; from 0 to 1"),
        ("my_blue incremnt 1", r#"link.aqm: unknown parameter "incremnt"; did you mean "increment"?"#),
        ("my_blue@red", r#"link.aqm: unknown profile "red"; expected one of plain"#),
        (
            "fq(my_blue decrement 0.1)",
            "link.aqm: decrement (0.1) must not exceed increment (0.02); write e.g. increment 0.02 decrement 0.002",
        ),
    ] {
        assert_eq!(parse(aqm, &[&BLUE]).unwrap_err(), error, "{aqm}");
    }
    assert!(parse("my_blue", REGISTERED).unwrap_err().starts_with(r#"link.aqm: unknown AQM "my_blue"; "#));
}

#[test]
fn the_program_prints_a_line_for_each() {
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_sojourn-example-aqm")).output().expect("it starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).expect("text");
    let names: Vec<&str> = printed.lines().map(|line| line[..24].trim_end()).collect();
    assert_eq!(names, ["aqm", "droptail", "codel", "my_blue", "my_blue increment 0.05", "fq(my_blue)"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blue_keeps_to_the_rules(ops in proptest::collection::vec(op(), 1..400), seed: u64) {
        for (aqm, order) in [("my_blue increment 0.3 ecn", Order::Fifo), ("fq(my_blue increment 0.3)", Order::PerFlow)] {
            let config = NamedConfig::parse_with(aqm, &[&BLUE]).expect("valid").config;
            let limits = Limits::packets(10);
            let make = || -> Box<dyn Qdisc<u32>> {
                config.build::<u32>(limits, Host { link: LINK, rng: Rng::from_state(seed) })
            };
            check(make, &limits, LINK, order, &ops).map_err(|e| TestCaseError::fail(format!("{aqm}: {e}")))?;
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => (0i64..200).prop_map(|ms| Op::Wait(Duration::from_millis(ms))),
        4 => (40u32..1500, 0u32..4, any::<bool>()).prop_map(|(len, flow, ect)| {
            Op::Enqueue(Meta::new(len, flow).with_ecn(if ect { Ecn::Ect0 } else { Ecn::NotEct }))
        }),
        2 => Just(Op::Dequeue),
    ]
}
