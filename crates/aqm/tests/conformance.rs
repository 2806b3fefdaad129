//! Every registered algorithm, with every profile, random parameters and random limits, satisfies the conformance
//! suite; registration puts an algorithm under test.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::conformance::{Op, Order, case, check};
use sojourn_aqm::registry::{ALGORITHMS, Algorithm, AnyConfig, NamedConfig, QueueLayout};
use sojourn_aqm::{Duration, Ecn, Host, Limits, Link, Meta, Qdisc, Rate, Rng};
use std::cell::Cell;

const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);
/// Sequences per profile.
const CASES: u32 = 200;

#[test]
fn every_registered_algorithm_keeps_to_the_rules() {
    for algorithm in ALGORITHMS {
        let managed: u64 = algorithm
            .profiles
            .iter()
            .map(|(profile, _)| check_all(profile, algorithm, config(algorithm, profile)))
            .sum();
        // The suite proves nothing about an algorithm that never drops or marks.
        let acts = !["droptail", "drophead", "sfq", "drr", "fq", "tbf", "prio", "htb", "pfifo_fast", "sch_fq"]
            .contains(&algorithm.name);
        assert!(managed > 100 || !acts, "{} acted {managed} times", algorithm.name);
    }
}

#[test]
fn flow_queueing_with_every_manager_keeps_to_the_rules() {
    let fq = Algorithm::find("fq").expect("it is registered");
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.queues == QueueLayout::One) {
        for spelling in algorithm.spellings() {
            let inner = NamedConfig::parse(&spelling).expect("a spelling is read");
            let config = config(fq, fq.profiles[0].0).prop_map(move |config| {
                let AnyConfig::Fq(flows) = config else { unreachable!("fq's configuration") };
                AnyConfig::Fq(flows.with_aqm(inner.clone()))
            });
            let managed = check_all(&spelling, fq, config);
            // Tail and head drop have limits only; REM's price takes longer to rise than these sequences last.
            let hardly_acts = ["droptail", "drophead", "rem"].contains(&algorithm.name);
            assert!(managed > 20 || hardly_acts, "fq({spelling}) acted {managed} times");
        }
    }
}

#[test]
fn trees_keep_to_the_rules() {
    for tree in case::SHAPERS.iter().chain(case::TREES) {
        let config = NamedConfig::parse(tree).unwrap_or_else(|e| panic!("{tree}: {e}")).config;
        let algorithm = config.algorithm();
        let managed = check_all(tree, algorithm, Just(config));
        assert!(managed > 20 || case::SHAPERS.contains(tree), "{tree} acted {managed} times");
    }
}

/// Runs the suite on configurations of an algorithm. Returns the number of packets that the algorithm dropped or
/// marked.
fn check_all(name: &str, algorithm: &Algorithm, config: impl Strategy<Value = AnyConfig>) -> u64 {
    let managed = Cell::new(0);
    runner(name)
        .run(&(config, limits(), ops(), any::<u64>()), |(config, limits, ops, seed)| {
            let host = Host { link: LINK, rng: Rng::from_state(seed) };
            let make = || config.build::<u32>(limits, host.clone()) as Box<dyn Qdisc<u32>>;
            let order = Order::of(&config);
            let most = config.max_backlog(limits);
            let stats =
                check(make, &most, LINK, order, &ops).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
            let dropped: u64 = stats.dropped[1..].iter().map(|count| count.packets).sum();
            managed.set(managed.get() + dropped + stats.marked.packets);
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{} {name}: {e}", algorithm.name));
    managed.get()
}

#[test]
fn every_profile_is_valid_and_every_parameter_reads_what_it_prints() {
    for algorithm in ALGORITHMS {
        for (profile, summary) in algorithm.profiles {
            let config = algorithm.configure(profile, &[]).expect("a profile is valid unchanged");
            assert!(!summary.is_empty());
            for (i, param) in algorithm.params.iter().enumerate() {
                let namesakes = algorithm.params[..i].iter().filter(|other| other.name == param.name).count();
                assert_eq!(namesakes, 0, "{} has {} once", algorithm.name, param.name);
                let value = config.value(param.name).expect("a parameter has a value");
                assert_eq!(param.parse(&value.to_string()), Ok(value), "{}@{profile} {}", algorithm.name, param.name);
            }
        }
    }
}

/// A runner with its own sequences per profile, equal in every run.
fn runner(profile: &str) -> TestRunner {
    let mut seed = [0; 32];
    seed.iter_mut().zip(profile.bytes()).for_each(|(byte, letter)| *byte = letter);
    // `make soak` sets a higher number.
    let cases = std::env::var("PROPTEST_CASES").map_or(CASES, |n| n.parse().expect("PROPTEST_CASES is a number"));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// The profile with random values of some parameters, as far as they are compatible.
fn config(algorithm: &'static Algorithm, profile: &'static str) -> impl Strategy<Value = AnyConfig> {
    let draws = proptest::collection::vec(proptest::option::weighted(0.3, any::<u64>()), algorithm.params.len());
    draws.prop_map(move |draws| {
        let drawn = algorithm.params.iter().zip(draws);
        let params = drawn.filter_map(|(param, draw)| Some((param.name.to_string(), case::drawn(param, draw?))));
        case::agreeing(params.collect(), |params| algorithm.configure(profile, params))
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        proptest::option::of(prop_oneof![1u32..20, 20u32..2000]),
        proptest::option::weighted(0.3, 40u64..300_000),
        proptest::option::weighted(0.3, (1i64..300_000).prop_map(Duration::from_micros)),
    )
        .prop_map(|(packets, bytes, time)| Limits { packets, bytes, time })
}

/// Operations in runs that build up queues, keep them full, and drain them.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let wait = (0.0..1.0f64).prop_map(|u| Op::Wait(Duration::from_nanos(10f64.powf(3.0 + 6.5 * u) as i64)));
    let burst = (packet(), 1usize..60).prop_map(|(meta, n)| vec![Op::Enqueue(meta); n]);
    let serve = (1usize..60, 100i64..3_000).prop_map(|(n, gap_us)| {
        let one = [Op::Wait(Duration::from_micros(gap_us)), Op::Dequeue];
        one.into_iter().cycle().take(2 * n).collect()
    });
    let load = (packet(), packet(), 10usize..150, 300i64..2_000).prop_map(|(first, second, n, gap_us)| {
        let round =
            [Op::Enqueue(first), Op::Enqueue(second), Op::Wait(Duration::from_micros(gap_us)), Op::Dequeue, Op::Settle];
        round.into_iter().cycle().take(5 * n).collect()
    });
    let run = prop_oneof![
        3 => wait.prop_map(|op| vec![op]),
        3 => packet().prop_map(|meta| vec![Op::Enqueue(meta)]),
        2 => Just(vec![Op::Dequeue]),
        1 => Just(vec![Op::Settle]),
        2 => burst,
        2 => serve,
        3 => load,
    ];
    proptest::collection::vec(run, 1..25).prop_map(|runs| runs.concat())
}

fn packet() -> impl Strategy<Value = Meta> {
    let len = prop_oneof![3 => Just(1500u32), 2 => 40u32..1500, 1 => Just(40u32), 1 => 1501u32..9000];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let class = prop_oneof![3 => Just((0, 0)), 1 => (0u16..3, 0u16..0x22)];
    (len, 0u32..4, ecn, 0u8..64, class).prop_map(|(len, flow, ecn, dscp, (major, minor))| Meta {
        dscp,
        class: ClassId::new(major, minor),
        hosts: (flow, flow + 1),
        ..Meta::new(len, flow).with_ecn(ecn)
    })
}
