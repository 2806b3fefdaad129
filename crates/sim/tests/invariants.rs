//! Invariants of every run: shares and rates between 0 and 1, non-negative waits, and conservation of packets.
//!
//! Runs 300 random scenarios, or `SOJOURN_SCENARIOS` of them; `SOJOURN_SERIES` selects another series. A violation is
//! printed with the number and text of its scenario.

mod draw;

use crate::common::{TraceFile, real, whole};
use draw::ScenarioGenerator;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{DatagramSummary, LinkSummary, Output, Simulation, Summary, WlanSummary};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A share may exceed 1 by the rounding of a sum of floats.
const ROUNDING: f64 = 1e-9;

#[test]
fn numbers_are_possible_and_packets_conserved() {
    let of = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().expect("a whole number"));
    let (wanted, series) = (of("SOJOURN_SCENARIOS", 300), of("SOJOURN_SERIES", 1));
    let trace = TraceFile::new((0..97u64).flat_map(|ms| vec![ms + 1; (ms * ms % 7 % 4) as usize]));
    let (mut ran, mut number, mut faults) = (0, 0, Vec::new());
    while ran < wanted {
        assert!(number < 4 * wanted + 40, "{ran} of {number} scenarios were accepted");
        let text = ScenarioGenerator::new(series, number).scenario().replace("TRACE", &trace.path());
        if let Ok(scenario) = Scenario::parse(&text, &[], Path::new("/")) {
            let found = catch_unwind(AssertUnwindSafe(|| faults_of(&scenario)));
            let found = found.unwrap_or_else(|_| vec!["it panics".to_string()]);
            if !found.is_empty() {
                println!("series {series}, number {number}: {}\n{text}", found.join("; "));
                faults.push(number);
            }
            ran += 1;
        }
        number += 1;
    }
    println!("{ran} scenarios ran, {} were refused, {} have faults", number - ran, faults.len());
    assert!(faults.is_empty(), "scenarios {faults:?} of series {series}");
}

/// Violations in the run of a scenario.
fn faults_of(scenario: &Scenario) -> Vec<String> {
    let mut faults = Violations::default();
    let mut run = Simulation::new(scenario, scenario.seed);
    while !run.advance(1 << 14) {}
    let counters = run.links();
    let output = run.finish();
    for (number, link) in counters.iter().enumerate() {
        let ended = link.sent + link.dropped() + u64::from(link.backlog.packets);
        faults.check(link.arrived == ended, || {
            format!("queue {number}: {} arrived, {ended} ended or wait", link.arrived)
        });
    }
    faults.summary(&output.summary);
    faults.packets(&output, &counters.iter().map(|link| link.arrived).collect::<Vec<_>>());
    faults.tables(&output);
    faults.0
}

#[derive(Default)]
struct Violations(Vec<String>);

impl Violations {
    fn check(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.0.push(message());
        }
    }

    fn share(&mut self, name: &str, share: f64) {
        self.check((0.0..=1.0 + ROUNDING).contains(&share), || format!("{name} {share}"));
    }

    fn summary(&mut self, summary: &Summary) {
        summary.jain.into_iter().for_each(|jain| self.share("Jain", jain));
        let first = [("forward", &summary.links.forward), ("reverse", &summary.links.reverse)];
        let others =
            summary.hops.iter().flat_map(|hop| [(&*hop.name, &hop.links.forward), (&*hop.name, &hop.links.reverse)]);
        first.into_iter().chain(others).for_each(|(name, link)| self.link(name, link));
        let cells = std::iter::once(&summary.wlan).chain(summary.hops.iter().map(|hop| &hop.wlan));
        cells.flatten().for_each(|cell| self.cell(cell));
        for flow in &summary.flows {
            self.datagrams(&format!("flow {}", flow.id), &flow.datagrams);
            self.check(flow.retransmissions <= flow.sent, || format!("flow {}: sent again more than sent", flow.id));
        }
        for (number, group) in summary.groups.iter().enumerate() {
            self.datagrams(&format!("group {number}"), &group.datagrams);
        }
    }

    fn link(&mut self, name: &str, link: &LinkSummary) {
        self.share(&format!("{name}: utilisation"), link.utilisation);
        self.share(&format!("{name}: drop rate"), link.drop_rate);
        self.share(&format!("{name}: mark rate"), link.mark_rate);
        self.check(link.dropped == link.dropped_by.values().sum::<u64>(), || format!("{name}: drops by reason"));
        self.check(link.mean_backlog_packets >= 0.0, || format!("{name}: backlog {}", link.mean_backlog_packets));
        for queue in &link.queues {
            let most = link.mean_backlog_packets * (1.0 + ROUNDING) + ROUNDING;
            let backlog = queue.mean_backlog_packets;
            self.check((0.0..=most).contains(&backlog), || format!("{name}: {}: backlog {backlog}", queue.name));
        }
        for (kind, count) in [("arrived", link.arrived), ("dropped", link.dropped), ("marked", link.marked)] {
            let within = link.queues.iter().map(|queue| match kind {
                "arrived" => queue.arrived,
                "dropped" => queue.dropped,
                _ => queue.marked,
            });
            let sum = within.sum::<u64>();
            self.check(sum <= count, || format!("{name}: {sum} {kind} in its queues, {count} in all"));
        }
        let times = [link.sojourn_ms.mean, link.sojourn_ms.p10, link.sojourn_ms.max];
        let possible = |time: f64| (0.0..=1e7).contains(&time);
        self.check(times.into_iter().flatten().all(possible), || format!("{name}: sojourn {times:?} ms"));
    }

    fn cell(&mut self, cell: &WlanSummary) {
        self.share("busy", cell.busy);
        self.share("airtime of the access point", cell.access_point.airtime);
        for station in &cell.stations {
            self.share("airtime of a station", station.node.airtime);
            self.share("airtime to a station", station.airtime_down);
        }
    }

    fn datagrams(&mut self, name: &str, seen: &DatagramSummary) {
        self.share(&format!("{name}: loss rate"), seen.loss_rate.unwrap_or(0.0));
        let mos = seen.mos.unwrap_or(1.0);
        // The minimum of the E-model's polynomial is 0.99 (ITU-T G.107, appendix B).
        self.check((0.98..=4.5).contains(&mos), || format!("{name}: MOS {mos}"));
        let delay = seen.delay_ms.unwrap_or(0.0);
        self.check((0.0..=1e7).contains(&delay), || format!("{name}: delay {delay} ms"));
    }

    /// Checks that each packet that arrived at a queue was sent, was dropped, or is queued, once, and belongs to one
    /// flow.
    fn packets(&mut self, output: &Output, arrived: &[u64]) {
        let mut ends: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let mut of_flow: BTreeMap<(u64, u64), [u64; 2]> = BTreeMap::new();
        for table in ["packets", "waiting"] {
            let [links, numbers, flows] = ["link", "arrival", "flow"].map(|name| whole(output, table, name));
            for ((link, number), flow) in links.iter().zip(&numbers).zip(&flows) {
                *ends.entry((*link, *number)).or_default() += 1;
                of_flow.entry((*link, *flow)).or_default()[usize::from(table == "waiting")] += 1;
            }
        }
        let arrivals: BTreeSet<(u64, u64)> =
            (0..).zip(arrived).flat_map(|(link, &count)| (0..count).map(move |number| (link, number))).collect();
        self.check(ends.keys().eq(arrivals.iter()), || {
            format!("{} packets ended or wait, {} came", ends.len(), arrivals.len())
        });
        self.check(ends.values().all(|&count| count == 1), || "a packet ended twice".into());
        let total: u64 = of_flow.values().flatten().sum();
        self.check(total == arrived.iter().sum::<u64>(), || format!("{total} packets of flows, {arrived:?} came"));
        let [times, sojourns] = ["time_ns", "sojourn_ns"].map(|name| whole(output, "packets", name));
        let waited = times.iter().zip(&sojourns).all(|(time, sojourn)| sojourn <= time);
        self.check(waited, || "a packet waited since before the run".into());
        self.check(times.is_sorted(), || "time runs backwards".into());
    }

    fn tables(&mut self, output: &Output) {
        let has = |name: &str| output.tables.iter().any(|table| table.name == name);
        for (table, columns) in
            [("utilisation", &["utilisation"][..]), ("windows", &["utilisation", "drop_rate", "mark_rate", "jain"])]
        {
            for column in columns.iter().filter(|_| has(table)) {
                // Jain's index is absent if the flows are not comparable.
                for share in real(output, table, column).into_iter().filter(|v| *column != "jain" || !v.is_nan()) {
                    self.share(&format!("{table}.{column}"), share);
                }
            }
        }
        if has("drops") {
            let [times, sojourns] = ["time_ns", "sojourn_ns"].map(|name| whole(output, "drops", name));
            let waited = times.iter().zip(&sojourns).all(|(time, sojourn)| sojourn <= time);
            self.check(waited, || "a dropped packet waited since before the run".into());
        }
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, &[], Path::new("/")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Regression cases with impossible numbers; random scenarios reach most of them, but not in each series.
#[test]
fn what_was_impossible_is_possible() {
    let streaming = "[[flows]]\nkind = \"streaming\"\nrate = \"20 Mbit/s\"\n";
    let reordered = "duration = \"300 ms\"\nwarmup = \"50 ms\"\n[link]\n";
    let stations = |duration: &str, rate: &str| {
        format!(
            "duration = \"{duration}\"\n[wlan]\nstations = [{{ count = 3, rate = \"6 Mbit/s\" }}]\n[[flows]]\nkind = \"cbr\"\n\
             count = 3\nrate = \"{rate}\"\ndirection = \"reverse\"\n"
        )
    };
    let probes = "[probes]\npackets = true\nutilisation = \"700 us\"\n";
    for text in [
        format!("{reordered}rate = \"1 Mbit/s@0s,1 Gbit/s@53ms\"\naqm = \"netem delay 2ms 1ms\"\n{streaming}"),
        format!(
            "{reordered}rate = \"1 Mbit/s\"\naqm = \"netem delay 2ms reorder 25% 50% {{ pie }}\"\n{streaming}[[changes]]\n\
             at = \"53 ms\"\nlink = {{ rate = \"1 Gbit/s\" }}\n"
        ),
        "duration = \"500 ms\"\n[link]\nrate = \"3 Mbit/s\"\naqm = \"netem delay 2ms reorder 25% 50% { pie }\"\n[[flows]]\n\
         kind = \"tcp\"\ncount = 3\n[[changes]]\nat = \"108 ms\"\nlink.aqm = \"fq_codel\"\n"
            .into(),
        stations("3 s", "20 Mbit/s"),
        stations("1 us", "90 Mbit/s"),
        stations("3 ms", "9 Mbit/s"),
    ] {
        assert_eq!(faults_of(&scenario(&(text.clone() + probes))), Vec::<String>::new(), "{text}");
    }
}

/// Stations that transmit at once keep the channel busy as long as the longest transmission.
#[test]
fn stations_that_collide_are_busy_once() {
    let text = "duration = \"2 s\"\n[wlan]\nbeacon = \"0 B\"\nstations = [{ count = 7, rate = \"6 Mbit/s\" }, { rate = \"54 Mbit/s\" }]\n\
                [[flows]]\nkind = \"cbr\"\ncount = 8\nrate = \"7.7 Mbit/s\"\ndirection = \"reverse\"\n";
    let summary = Simulation::new(&scenario(text), 3).finish().summary;
    let cell = summary.wlan.expect("it is a wireless LAN");
    assert!(cell.collisions > 100, "{} collisions", cell.collisions);
    let airtimes: f64 = cell.stations.iter().map(|station| station.node.airtime).sum();
    assert!(airtimes > cell.busy + 0.05, "{airtimes} of all, the channel is busy for {}", cell.busy);
    // There is no other sender.
    assert!(
        (summary.links.reverse.utilisation - cell.busy).abs() < 1e-9,
        "{} {}",
        summary.links.reverse.utilisation,
        cell.busy
    );
}

/// Packets that waited at the start of the window and were dropped in it must not count against the few that arrived in
/// it.
#[test]
fn a_drop_rate_leaves_out_what_came_before_the_window() {
    let text = "duration = \"900 ms\"\nwarmup = \"400 ms\"\n[link]\nrate = \"90 kbit/s\"\nlimit = \"300 packets\"\n[[flows]]\n\
                kind = \"cbr\"\nrate = \"7 Mbit/s\"\nstop = \"350 ms\"\n[[flows]]\nkind = \"cbr\"\nrate = \"97 kbit/s\"\n\
                [[changes]]\nat = \"610 ms\"\nlink.aqm = \"codel\"\n";
    let link = Simulation::new(&scenario(text), 1).finish().summary.links.forward;
    // 202 packets of the first flow and three of the second are queued; one or two of those arrived in the window.
    assert!(link.dropped > 190 && link.arrived < 9, "{} of {}", link.dropped, link.arrived);
    let own = (link.drop_rate * link.arrived as f64).round();
    assert!((1.0..=3.0).contains(&own), "{own} of {}", link.arrived);
}

#[test]
fn changes_bring_no_queue_that_the_flows_cannot_bear() {
    let text = |direction: &str, kind: &str| {
        format!(
            "duration = \"2 s\"\n[link]\nrate = \"10 Mbit/s\"\n[[links]]\nname = \"second\"\nrate = \"9 Mbit/s\"\n[[flows]]\nkind = \"{kind}\"\n\
             [[changes]]\nat = \"71 ms\"\nlink.limit = \"20 packets\"\n[[changes]]\nat = \"100 ms\"\n{direction}.aqm = \"prio {{ band 2 {{ netem duplicate 50% }} }}\"\n"
        )
    };
    for direction in ["link", "reverse", "links.second", "links.second.reverse"] {
        let datagrams = text(direction, "voice");
        let error = Scenario::parse(&datagrams, &[], Path::new("/")).unwrap_err().to_string();
        let expected = format!(
            "changes[1].{direction}.aqm: voice flows would count duplicates as datagrams; leave duplicate of netem out"
        );
        assert_eq!(error, expected);
        scenario(&text(direction, "tcp"));
    }
    // Packets that a queue corrupts after a change fail their checksum, as from the start.
    let damaged = "duration = \"3 s\"\n[link]\nrate = \"2 Mbit/s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"700 kbit/s\"\n[[changes]]\nat = \"1 s\"\n\
                   link.aqm = \"netem corrupt 100%\"\n";
    let loss = Simulation::new(&scenario(damaged), 1).finish().summary.flows[0].payload.bytes;
    assert!((80_000..100_000).contains(&loss), "{loss} bytes of the first second arrive");
}
