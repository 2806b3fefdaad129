//! The log of a run contains every arrival; replayed through the same queue it yields the same verdicts at the same
//! instants.

use crate::common::{scenario, whole};
use sojourn_aqm::replay::{
    self, Arrival, Comparison, DropNotification, RecordedFate, Recording, Reference, Replay, ReplayLink,
};
use sojourn_aqm::{DropReason, Ecn, Host, Instant, Meta, Qdisc, Rate, Rng};
use sojourn_sim::scenario::{Scenario, Service};
use sojourn_sim::{Output, Simulation};

/// Two-way TCP with and without ECN beside unresponsive packets, at a rate that divides no packet evenly.
fn text(aqm: &str) -> String {
    format!(
        r#"
        duration = "8 s"
        [link]
        rate = "7 Mbit/s"
        aqm = "{aqm}"
        limit = "60 packets"
        overhead = "38 B"
        [probes]
        packets = true
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 3
        rtt = "20 ms"
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 2
        rtt = "35 ms"
        ecn = true
        direction = "reverse"
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 2
        rtt = "15 ms"
        ecn = true
        [[flows]]
        kind = "poisson"
        rate = "1 Mbit/s"
        size = "400 B"
        "#
    )
}

/// Arrivals at the forward link in order, and their fates.
fn log(output: &Output) -> (Vec<Arrival>, Vec<RecordedFate>) {
    let until = Instant::from_nanos((output.summary.duration_s * 1e9) as u64);
    let mut rows = Vec::new();
    for table in ["packets", "waiting"] {
        let column = |name| whole(output, table, name);
        let (link, arrival, time) = (column("link"), column("arrival"), column("time_ns"));
        let (bytes, flow, ecn) = (column("bytes"), column("flow"), column("ecn"));
        let (from, to) = (column("from_host"), column("to_host"));
        let fates = (table == "packets").then(|| (column("fate"), column("sojourn_ns")));
        for i in (0..link.len()).filter(|&i| link[i] == 0) {
            let ecn = Ecn::ALL[ecn[i] as usize];
            let hosts = (from[i] as u32, to[i] as u32);
            let meta = Meta { hosts, ..Meta::new(bytes[i] as u32, flow[i] as u32).with_ecn(ecn) };
            let (at, sojourn) = (Instant::from_nanos(time[i]), fates.as_ref().map_or(0, |(_, sojourn)| sojourn[i]));
            let recorded = match fates.as_ref().map(|(fate, _)| fate[i]) {
                None => RecordedFate::Waiting { until },
                Some(fate @ (0 | 1)) => RecordedFate::Sent { at, marked: fate == 1 },
                Some(fate) => RecordedFate::DroppedAt { at, reason: Some(DropReason::ALL[fate as usize - 2]) },
            };
            rows.push((arrival[i], Arrival { at: Instant::from_nanos(time[i] - sojourn), meta }, recorded));
        }
    }
    rows.sort_by_key(|row| row.0);
    assert!(rows.iter().map(|row| row.0).eq(0..rows.len() as u64), "every arrival once");
    rows.into_iter().map(|(_, arrival, recorded)| (arrival, recorded)).unzip()
}

fn rate(scenario: &Scenario) -> Rate {
    let Service::Rate(rate) = scenario.link.service else { panic!("a link of constant rate") };
    rate
}

fn queue(scenario: &Scenario) -> Box<dyn Qdisc<u32>> {
    let link = &scenario.link;
    link.aqm.config.build(link.limits, Host { link: link.nominal_link(), rng: Rng::stream(scenario.seed, "queue", 0) })
}

#[test]
fn a_log_played_again_agrees_on_every_packet() {
    for aqm in ["droptail", "codel ecn", "pie", "red ecn", "choke", "fq_codel flows 4", "fq_pie isolation src-host"] {
        let scenario = scenario(&text(aqm));
        let output = Simulation::new(&scenario, scenario.seed).finish();
        let (arrivals, fates) = log(&output);
        let drops = fates.iter().filter(|fate| matches!(fate, RecordedFate::DroppedAt { .. })).count();
        let ect = arrivals.iter().filter(|arrival| arrival.meta.ecn.is_ect()).count();
        assert!(drops > 20 && ect > 100, "{aqm}: {drops} drops, {ect} ECN-capable");
        assert!(arrivals.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let wire = ReplayLink::simulator(rate(&scenario));
        let a = Replay::new(&arrivals, queue(&scenario), wire);
        let b = Reference::Recording(Recording::new(&arrivals, fates, DropNotification::ALL, false));
        let mut comparison = Comparison::new(&arrivals, a, b);
        while comparison.step() {}
        assert_eq!((comparison.first(), comparison.agreeing()), (None, arrivals.len()), "{aqm}");
    }
}

#[test]
fn what_waits_at_the_end_is_in_the_log() {
    let text = r#"
        duration = "1 s"
        probes.packets = true
        link = { rate = "7 Mbit/s", limit = "60 packets" }
        flows = [{ kind = "cbr", rate = "14 Mbit/s" }]
    "#;
    let scenario = scenario(text);
    let output = Simulation::new(&scenario, scenario.seed).finish();
    let (arrivals, fates) = log(&output);
    let waiting = fates.iter().filter(|fate| matches!(fate, RecordedFate::Waiting { .. })).count();
    assert!((59..=60).contains(&waiting), "{waiting}");
    let played = Replay::new(&arrivals, queue(&scenario), ReplayLink::simulator(rate(&scenario))).run();
    let later = |fate: &&replay::Fate| fate.at().is_some_and(|at| at > Instant::from_nanos(1_000_000_000));
    assert_eq!(played.iter().filter(later).count(), waiting);
}
