//! The same scenario and seed give the same run with any probes and in any steps.
//!
//! Scenarios are in `scenarios/`, their fingerprints in `fingerprints.txt`. `run_order.txt` has hashes of the order
//! across queues in which the engine makes its records; no result depends on it. It is compared with `--features
//! run-order`.

use crate::common::{folder, scenario, scenarios, whole};
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{Probes, Scenario};
use sojourn_sim::{LinkCounters, Output, Simulation, Summary};
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, thread};

#[test]
fn fingerprints_are_the_recorded_ones() {
    let found: BTreeMap<String, String> = scenarios().iter().map(|(name, s)| (name.clone(), fingerprint(s))).collect();
    compare(&found, "fingerprints.txt", HEADER);
}

#[test]
#[cfg(feature = "run-order")]
fn the_engine_makes_its_records_in_the_recorded_order() {
    let order = |scenario: &Scenario| {
        run(scenario);
        format!("{:016x}", sojourn_sim::run_order::hash())
    };
    let found: BTreeMap<String, String> = scenarios().iter().map(|(name, s)| (name.clone(), order(s))).collect();
    let header = HEADER.replace("Fingerprint of", "Order of the records of all queues in");
    compare(&found, "run_order.txt", &header.replace("determinism", "determinism --features run-order"));
}

/// Compares with a file of hashes by name, or renews it.
fn compare(found: &BTreeMap<String, String>, file: &str, header: &str) {
    let path = folder().join(file);
    if env::var_os("SOJOURN_BLESS").is_some_and(|value| value == "1") {
        let lines: String = found.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
        fs::write(&path, format!("{header}{lines}")).expect("the file of hashes is written");
        return;
    }
    let text = fs::read_to_string(&path).expect("the file of hashes is there");
    let recorded: BTreeMap<String, String> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(' ').expect("a line is a name and a hash"))
        .map(|(name, hash)| (name.to_string(), hash.to_string()))
        .collect();
    assert_eq!(*found, recorded, "results changed; if that is meant, see the head of {file}");
}

#[test]
fn the_scenarios_reach_what_they_are_for() {
    for (name, scenario) in scenarios() {
        let summary = run(&scenario).summary;
        let (forward, flows) = (&summary.links.forward, &summary.flows);
        let timeouts: u64 = flows.iter().map(|flow| flow.timeouts).sum();
        let retransmissions: u64 = flows.iter().map(|flow| flow.retransmissions).sum();
        let reached = match name.as_str() {
            "droptail" => forward.dropped_by["limit"] > 0 && retransmissions > 0,
            "codel" => forward.marked > 0 && forward.dropped_by["late"] > 0 && summary.links.reverse.dropped > 0,
            "codel-act" => forward.dropped_by["late"] > 0 && timeouts > 0,
            "pie-draft00" => forward.dropped_by["early"] > 0,
            "cellular" => forward.lost > 10 && forward.dropped_by["late"] > 0 && retransmissions > 0,
            "steps" => {
                let reverse = &summary.links.reverse;
                let waited = forward.sojourn_ms.max > Some(500.0) && reverse.sojourn_ms.max > Some(100.0);
                waited && forward.dropped_by["late"] > 100 && reverse.utilisation > 0.9
            }
            "stacks" => forward.marked > 0 && flows.iter().take(6).all(|flow| flow.retransmissions > 0) && timeouts > 0,
            "trace" => forward.dropped_by["late"] > 0 && forward.utilisation > 0.5,
            "udp" => forward.dropped_by["early"] > 0 && forward.dropped_by["limit"] > 0 && retransmissions == 0,
            "web" => {
                let (closed, timeouts) = summary.groups[..4]
                    .iter()
                    .fold((u64::MAX, 0), |(least, sum), group| (least.min(group.closed), sum + group.timeouts));
                forward.dropped_by["late"] > 0 && closed > 5 && timeouts > 10
            }
            "applications" => {
                let [pages, video, rpm] = &summary.groups[..] else { panic!("{name}: three groups") };
                let (video, rpm) = (video.video.expect("players"), rpm.rpm.expect("a test"));
                pages.transfers > 3
                    && video.stalls > 0
                    && video.switches > 1
                    && rpm.connections > 3
                    && retransmissions == 0
            }
            "media" => {
                let [download, back] = [0, 1].map(|group| summary.groups[group].media.as_ref().expect("media"));
                let lost_reports = back.reports > back.reports_arrived + 2;
                forward.dropped_by["late"] > 0 && lost_reports && download.frames_late > 0 && retransmissions > 0
            }
            "row" => {
                let [second, third] = &summary.hops[..] else { panic!("{name}: three hops") };
                let reverse = third.links.reverse.dropped_by["limit"];
                forward.dropped_by["late"] > 0 && second.links.forward.dropped_by["early"] > 0 && reverse > 0
            }
            "graph" => {
                let link = |name| &summary.hops.iter().find(|hop| hop.name == name).expect("a link").links;
                let (back, sent) =
                    (&link("ad").forward, summary.groups.iter().all(|group| group.payload.bytes > 50_000));
                sent && back.lost > 0 && link("bc").forward.dropped > 0 && link("bd").forward.dropped_by["late"] > 0
            }
            "wlan" => {
                let wlan = summary.wlan.as_ref().expect("a channel");
                let lost = wlan.access_point.errors;
                let given_up = wlan.access_point.given_up + wlan.stations[2].node.given_up;
                forward.dropped_by["late"] > 0
                    && wlan.collisions > 100
                    && wlan.beacons > 40
                    && lost > 100
                    && given_up > 0
            }
            "aggregation" => {
                let wlan = summary.wlan.as_ref().expect("a channel");
                let (access_point, lossy) = (&wlan.access_point, &wlan.stations[1].node);
                let aggregates = access_point.aggregation.as_ref().expect("aggregates");
                let waited = aggregates.reorder_ms.max > Some(10.0);
                let upwards = wlan.stations[..3].iter().all(|station| station.node.aggregation.is_some());
                forward.dropped_by["late"] > 0
                    && aggregates.failed > 100
                    && access_point.attempts > aggregates.aggregates
                    && access_point.given_up + lossy.given_up > 0
                    && waited
                    && upwards
            }
            "access-points" => {
                let [air, _, attic] = &summary.hops[..] else { panic!("{name}: four links") };
                let [laptops, phones] = [air, attic].map(|hop| hop.wlan.as_ref().expect("a channel"));
                let sent = summary.groups.iter().all(|group| group.payload.bytes > 50_000);
                sent && forward.dropped_by["late"] > 0
                    && summary.links.reverse.dropped_by["limit"] > 0
                    && air.links.forward.packets > 1000
                    && attic.links.forward.dropped > 0
                    && laptops.access_point.aggregation.is_some()
                    && phones.access_point.errors + phones.stations[0].node.errors > 20
                    && phones.collisions > 100
            }
            "quic" => {
                let [marked, .., files, tcp] = &summary.groups[..] else { panic!("{name}: five groups") };
                forward.marked > 0
                    && forward.lost > 10
                    && summary.groups.iter().all(|group| group.payload.bytes > 50_000)
                    && marked.retransmissions > 0
                    && files.transfers > 10
                    && tcp.retransmissions > 0
            }
            other => panic!("{other}: say here what the scenario is for"),
        };
        assert!(reached, "{name}: {summary:?}");
    }
}

#[test]
fn the_same_run_twice() {
    for (name, scenario) in scenarios() {
        let (first, second) = (run(&scenario), run(&scenario));
        assert_eq!(format!("{:?}", first.summary), format!("{:?}", second.summary), "{name}");
        assert_eq!(first.tables, second.tables, "{name}");
    }
}

#[test]
fn threads_change_nothing() {
    let scenarios = scenarios();
    let alone: Vec<String> = scenarios.iter().map(|(_, scenario)| fingerprint(scenario)).collect();
    for threads in [1, 4] {
        let at_once: Vec<Vec<String>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| scenarios.iter().map(|(_, scenario)| fingerprint(scenario)).collect()))
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("a run does not panic")).collect()
        });
        assert!(at_once.iter().all(|fingerprints| *fingerprints == alone), "{threads} threads");
    }
}

#[test]
fn a_run_event_by_event_is_the_same_run_and_time_never_runs_backwards() {
    for (name, scenario) in scenarios() {
        let mut steps = Simulation::new(&scenario, scenario.seed);
        let mut before = steps.now();
        while !steps.advance(1) {
            let now = steps.now();
            assert!(now >= before, "{name}: {now:?} after {before:?}");
            before = now;
        }
        assert_eq!(format!("{:?}", steps.finish().summary), format!("{:?}", run(&scenario).summary), "{name}");
    }
}

#[test]
fn a_run_in_steps_of_any_length_is_the_same_run() {
    // The steps divide neither each other nor a packet time.
    for (i, (name, scenario)) in scenarios().into_iter().enumerate() {
        let step = Duration::from_nanos([7_300_001, 104_729_000, 1_618_033_989][i % 3]);
        let mut run_in_steps = Simulation::new(&scenario, scenario.seed);
        let mut until = Instant::ZERO;
        let mut before = run_in_steps.links();
        while !run_in_steps.advance_until(until) {
            assert!(run_in_steps.now() <= until, "{name}: {:?} is after {until:?}", run_in_steps.now());
            let now = run_in_steps.links();
            for (l, (now, before)) in now.iter().zip(&before).enumerate() {
                let waiting = u64::from(now.backlog.packets);
                let in_and_out = (now.arrived, now.sent + now.dropped() + waiting);
                assert_eq!(in_and_out.0, in_and_out.1, "{name}, link {l} at {until:?}: {now:?}");
                let counts = |of: &LinkCounters| [of.arrived, of.dropped(), of.marked, of.sent, of.bytes];
                assert!(counts(now).iter().zip(counts(before)).all(|(now, before)| *now >= before), "{name}: {now:?}");
            }
            (before, until) = (now, until + step);
        }
        assert_eq!(format!("{:?}", run_in_steps.finish()), format!("{:?}", run(&scenario)), "{name}");
    }
}

#[test]
fn counters_between_steps_end_as_the_summary() {
    let text = "duration = \"9.7 s\"\n[link]\nrate = \"3.3 Mbit/s\"\naqm = \"codel ecn\"\nloss = 0.003\n\
                [[flows]]\nkind = \"tcp\"\necn = true\ncount = 3\nrtt = \"37 ms\"\n\
                [[flows]]\nkind = \"cbr\"\nrate = \"1.7 Mbit/s\"";
    let scenario = Scenario::parse(text, &[("warmup".into(), "0 s".into())], Path::new(".")).unwrap();
    let mut steps = Simulation::new(&scenario, 11);
    let mut until = Instant::ZERO;
    while !steps.advance_until(until) {
        until += Duration::from_nanos(333_333_333);
    }
    let (links, flows) = (steps.links(), steps.flows());
    let summary = steps.finish().summary;
    let [forward, reverse] = links[..] else { panic!("{} links", links.len()) };
    for (found, expected) in [(forward, &summary.links.forward), (reverse, &summary.links.reverse)] {
        assert_eq!(
            (found.arrived, found.dropped(), found.marked, found.sent, found.bytes, found.lost),
            (expected.arrived, expected.dropped, expected.marked, expected.packets, expected.bytes, expected.lost)
        );
        let mean_ms = found.sojourn_ns as f64 / found.sent as f64 / 1e6;
        assert!((mean_ms - expected.sojourn_ms.mean.unwrap()).abs() < 1e-9);
    }
    assert!(forward.marked > 100 && forward.lost > 3 && forward.dropped() > 10, "{forward:?}");
    assert_eq!(flows.len(), 4);
    for (found, expected) in flows.iter().zip(&summary.flows) {
        let payload = &expected.payload;
        assert_eq!((found.arrived_bytes, found.delivered_bytes), (payload.bytes, payload.delivered_bytes));
        assert_eq!((found.sent, found.retransmissions), (expected.sent, expected.retransmissions));
    }
}

#[test]
fn another_seed_is_another_run() {
    for (name, scenario) in scenarios() {
        let of = |seed| Simulation::new(&scenario, seed).finish().summary.fingerprint;
        let fingerprints = [of(1), of(2), of(3)];
        assert!((0..3).all(|i| fingerprints[i] != fingerprints[(i + 1) % 3]), "{name}: {fingerprints:?}");
    }
}

#[test]
fn probes_change_nothing() {
    let step = |ms| Some(sojourn_aqm::Duration::from_millis(ms));
    for (name, scenario) in scenarios() {
        let plain = run(&scenario).summary;
        for probes in (1..32).chain([33]) {
            let on = |bit: u32| probes & (1 << bit) != 0;
            let probes = Probes {
                packets: on(0),
                transfers: on(2),
                headers: on(0) && on(5),
                accesses: scenario.wlan.as_ref().map(|_| on(3)),
                drops: Some(on(3)),
                senders: Some(on(4)),
                media: Some(on(2)),
                queue: step(1).filter(|_| on(1)),
                flows: step(7).filter(|_| on(2)),
                state: step(3).filter(|_| on(3)),
                utilisation: step(100).filter(|_| on(4)),
            };
            let probed = Scenario { probes, ..scenario.clone() };
            // Only the samplers' own events are added.
            let summary = Summary { events: plain.events, ..run(&probed).summary };
            assert_eq!(format!("{summary:?}"), format!("{plain:?}"), "{name} with {:?}", probed.probes);
        }
    }
}

#[test]
fn a_further_link_that_nobody_crosses_changes_nothing() {
    let further: Vec<(String, String)> =
        vec![("links".into(), r#"[{"name": "aside", "rate": "1 Mbit/s", "aqm": "pie"}]"#.into())];
    for (name, scenario) in scenarios() {
        if !scenario.links.is_empty() || scenario.wlan.is_some() {
            continue;
        }
        let longer = Scenario::parse(&scenario.canonical(), &further, Path::new("/")).unwrap();
        let (mut longer, plain) = (run(&longer).summary, run(&scenario).summary);
        let aside = longer.hops.pop().expect("the further hop");
        assert_eq!((aside.links.forward.arrived, aside.links.reverse.arrived), (0, 0), "{name}");
        assert_eq!(format!("{longer:?}"), format!("{plain:?}"), "{name}");
    }
}

#[test]
fn the_queue_manager_does_not_move_the_arrivals_of_a_source_that_does_not_listen() {
    let arrivals_under = |aqm: &str| {
        let output = run(&scenario(&format!(
            r#"
            duration = "5 s"
            [link]
            rate = "10 Mbit/s"
            aqm = "{aqm}"
            [[flows]]
            kind = "poisson"
            count = 2
            rate = "3 Mbit/s"
            size = "600 B"
            spread = "1 s"
            [[flows]]
            kind = "cbr"
            rate = "2 Mbit/s"
            size = "300 B"
            spread = "1 s"
            [[flows]]
            kind = "tcp"
            stack = "linux-2.6.29"
            cc = "reno"
            count = 4
            rtt = "20 ms"
            spread = "1 s"
            [probes]
            packets = true
            "#
        )));
        let sent: Vec<u64> = output.summary.flows[..3].iter().map(|flow| flow.sent).collect();
        (sent, arrivals(&output, 3), output.summary)
    };
    let (sent, arrivals, summary) = arrivals_under("droptail");
    assert!(arrivals.len() > 6000, "{} arrivals", arrivals.len());
    for aqm in ["codel", "codel@act", "pie@draft00", "pie"] {
        let (other_sent, other_arrivals, other_summary) = arrivals_under(aqm);
        assert_eq!(other_sent, sent, "{aqm}");
        assert_ne!(other_summary.fingerprint, summary.fingerprint, "{aqm} did nothing");
        // Packets still queued at the end are not recorded, and differ.
        let seen = |arrivals: &[(u64, u64)]| -> Vec<(u64, u64)> {
            arrivals.iter().copied().filter(|&(at, _)| at < 3_500_000_000).collect()
        };
        assert_eq!(seen(&other_arrivals), seen(&arrivals), "{aqm}");
    }
}

/// Arrival time and flow of every packet of the first `flows` flows, in order of arrival.
fn arrivals(output: &Output, flows: u64) -> Vec<(u64, u64)> {
    let [time, sojourn, flow, link] =
        ["time_ns", "sojourn_ns", "flow", "link"].map(|name| whole(output, "packets", name));
    let mut arrivals: Vec<(u64, u64)> =
        (0..time.len()).filter(|&i| link[i] == 0 && flow[i] < flows).map(|i| (time[i] - sojourn[i], flow[i])).collect();
    arrivals.sort();
    arrivals
}

fn run(scenario: &Scenario) -> Output {
    Simulation::new(scenario, scenario.seed).finish()
}

fn fingerprint(scenario: &Scenario) -> String {
    run(scenario).summary.fingerprint
}

const HEADER: &str = "\
# Fingerprint of each scenario of scenarios/ with its own seed: name, 64 bits in hexadecimal.
# Debug and release builds, the library and the Python module all have to give these.
# A change of results is deliberate and explained in the commit. Then renew this file with
#     SOJOURN_BLESS=1 cargo test -p sojourn-sim --test all determinism
# and look at the difference: which scenarios moved, and whether each one should have.
";
