//! A warm-up found in the run itself: the results equal those of the same run with that warm-up given.

use crate::common::{real, scenario, whole};
use serde_json::Value;
use sojourn_aqm::Duration;
use sojourn_sim::scenario::{Scenario, Warmup};
use sojourn_sim::{Column, Output, Simulation, mser};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A dumbbell, a row, two cells; TCP, pages, requests, transfers, datagrams, calls; every way to serve a link.
const KINDS: &[(&str, &str)] = &[
    (
        "a dumbbell",
        "[link]\nrate = \"10 Mbit/s\"\naqm = \"codel ecn\"\n[[flows]]\nkind = \"tcp\"\ncount = 3\nrtt = \"37 ms\"\necn = true\n",
    ),
    (
        "both ways, with losses, framing and a driver",
        "[link]\nrate = \"7 Mbit/s\"\naqm = \"fq_codel\"\nframing = \"atm\"\nloss = 0.001\nbelow = \"1514 B\"\n[[flows]]\nkind = \"tcp\"\n\
         count = 2\nrtt = \"30 ms\"\n[[flows]]\nkind = \"tcp\"\ndirection = \"reverse\"\nrtt = \"50 ms\"\n[[flows]]\nkind = \"voice\"\n\
         [[flows]]\nkind = \"cbr\"\nrate = \"130 kbit/s\"\nsize = \"333 B\"\n",
    ),
    (
        "a row",
        "[link]\nrate = \"10 Mbit/s\"\naqm = \"pie\"\n[[links]]\nname = \"second\"\nrate = \"7 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\n\
         route = [\"link\", \"second\"]\nrtt = \"40 ms\"\n[[flows]]\nkind = \"tcp\"\nroute = [\"second\"]\nrtt = \"20 ms\"\n",
    ),
    (
        "connections that come and go",
        "[link]\nrate = \"9 Mbit/s\"\nlimit = \"60 packets\"\n[[flows]]\nkind = \"packmime\"\nconnections_per_second = 20\nrtt = \"20 ms\"\n\
         [[flows]]\nkind = \"web\"\ninterval = \"97 ms\"\nsize = \"31 kB\"\n[[flows]]\nkind = \"request\"\nsize = \"9 kB\"\nrtt = \"11 ms\"\n\
         [[flows]]\nkind = \"tcp\"\nsize = \"70 kB\"\npause = \"30 ms\"\nrtt = \"25 ms\"\n[probes]\ntransfers = true\n",
    ),
    (
        "a cell",
        "[wlan]\n[[wlan.stations]]\ncount = 2\nsnr = \"22 dB\"\nfading = \"3 dB\"\n[[wlan.stations]]\nrate = \"mcs7\"\n[link]\naqm = \"codel\"\n\
         [[flows]]\nkind = \"tcp\"\ncount = 3\nrtt = \"20 ms\"\n[[flows]]\nkind = \"tcp\"\ndirection = \"reverse\"\nrtt = \"20 ms\"\n\
         [probes]\naccesses = true\n",
    ),
    (
        "opportunities",
        "[link]\npoisson = \"8 Mbit/s\"\naqm = \"codel\"\n[[flows]]\nkind = \"tcp\"\ncount = 2\nrtt = \"40 ms\"\n",
    ),
    (
        "a bucket",
        "[link]\nbucket = \"6 Mbit/s\"\nburst = \"300 kB\"\npeak = \"20 Mbit/s\"\naqm = \"codel\"\n[[flows]]\nkind = \"tcp\"\nrtt = \"40 ms\"\n",
    ),
    ("a rate in steps", "[link]\nrate = \"9 Mbit/s@0s,3 Mbit/s@1s\"\n[[flows]]\nkind = \"tcp\"\nrtt = \"40 ms\"\n"),
    (
        "a rate in steps, latched",
        "[link]\nrate = \"9 Mbit/s@0s,3 Mbit/s@1s\"\nchange = \"latch\"\n[[flows]]\nkind = \"tcp\"\nrtt = \"40 ms\"\n",
    ),
    (
        "quanta of a rate",
        "[link]\nrate = \"9 Mbit/s@0s,8 Mbit/s@99s\"\nchange = \"opportunity\"\naqm = \"pie\"\n[[flows]]\nkind = \"tcp\"\ncount = 2\nrtt = \"40 ms\"\n",
    ),
];

/// Scenario texts of `seconds` length without a warm-up.
fn scenarios(seconds: &str) -> Vec<(String, String)> {
    let head = format!("duration = \"{seconds} s\"\n");
    KINDS.iter().map(|(name, text)| (name.to_string(), format!("{head}{text}"))).collect()
}

fn run(scenario: &Scenario) -> Output {
    Simulation::new(scenario, 1).finish()
}

fn with(scenario: &Scenario, warmup: Warmup) -> Scenario {
    Scenario { warmup, ..scenario.clone() }
}

/// The summary without the search, and the tables without the later windows.
fn results(mut output: Output) -> (Value, Vec<sojourn_sim::Table>) {
    let mut summary = serde_json::to_value(&output.summary).expect("a summary is JSON");
    let object = summary.as_object_mut().expect("an object");
    object.remove("settled");
    object.remove("not_settled");
    output.tables.retain(|table| !table.name.ends_with("windows"));
    (summary, output.tables)
}

fn begin(output: &Output) -> Warmup {
    Warmup::Fixed(Duration::from_nanos((output.summary.warmup_s * 1e9).round() as i64))
}

#[test]
fn the_numbers_are_those_of_the_warm_up_that_was_found() {
    let mut settled = 0;
    // A length that no batch size divides.
    for (name, text) in scenarios("31.000000777") {
        let plain = scenario(&text);
        let found = run(&with(&plain, Warmup::Auto));
        settled += u32::from(found.summary.settled == Some(true));
        let given = run(&with(&plain, begin(&found)));
        assert_eq!(given.summary.settled, None, "{name}");
        assert_eq!(results(found), results(given), "{name}");
    }
    assert!(settled >= 5, "only {settled} have settled");
}

/// Scenarios that cover everything else in the simulator.
#[test]
fn the_same_of_the_scenarios_with_recorded_fingerprints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    for entry in fs::read_dir(&folder).expect("there are scenarios") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|suffix| suffix != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it is read");
        let plain = Scenario::parse(&text, &[], &folder).expect("it is right");
        let found = run(&with(&plain, Warmup::Auto));
        let given = run(&with(&plain, begin(&found)));
        assert_eq!(results(found), results(given), "{}", path.display());
    }
}

#[test]
fn each_later_window_has_the_numbers_of_a_run_with_that_warm_up() {
    for (name, text) in scenarios("7.3") {
        let plain = scenario(&text);
        let found = run(&with(&plain, Warmup::Auto));
        let windows = found.tables.iter().find(|table| table.name == "windows").expect("the warm-up was to be found");
        let rows = rows_by_start(&found);
        let starts: Vec<u64> = rows.keys().copied().collect();
        assert_eq!(starts[0], (found.summary.warmup_s * 1e9).round() as u64, "{name}");
        assert_eq!(*starts.last().unwrap(), 3_650_000_000, "{name}: half of the run is the last one");
        for start in starts.iter().step_by(17).chain(starts.last()) {
            let given = run(&with(&plain, Warmup::Fixed(Duration::from_nanos(*start as i64))));
            same_histogram_and_flows(&found, &given, *start, &name);
            let summary = serde_json::to_value(&given.summary).unwrap();
            let row_of_first = rows[start][0];
            for (column, values) in &windows.columns[2..] {
                let row = row_of_first;
                let value = match values {
                    Column::F64(values) => values[row],
                    Column::U64(values) => values[row] as f64,
                    _ => unreachable!("{column}"),
                };
                let given = &summary;
                let span = Duration::from_nanos(*start as i64);
                let link = &given["links"]["forward"];
                let expected = match column.as_str() {
                    "goodput_bps" | "delivered_bps" | "jain" => &given[column],
                    "dropped_hard_limit" => &link["dropped_by"]["hard-limit"],
                    _ if column.starts_with("dropped_") => &link["dropped_by"][&column[8..]],
                    _ if column.starts_with("sojourn_") => &link["sojourn_ms"][&column[8..column.len() - 3]],
                    _ => &link[column],
                };
                let value = (!value.is_nan()).then_some(value);
                assert_eq!(value, expected.as_f64(), "{name}: {column} from {span}");
            }
        }
    }
}

/// Rows of the table `windows` by their start, those of the first link first.
fn rows_by_start(output: &Output) -> BTreeMap<u64, Vec<usize>> {
    let mut rows: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (row, start) in whole(output, "windows", "start_ns").into_iter().enumerate() {
        rows.entry(start).or_default().push(row);
    }
    rows
}

/// Checks that from `start` on `found` has the histogram, the flows' payload and the airtimes of the run with that
/// warm-up.
fn same_histogram_and_flows(found: &Output, given: &Output, start: u64, name: &str) {
    let of = |output: &Output, table: &str, column: &str| whole(output, table, column);
    let mut counts: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let columns =
        ["start_ns", "link", "lower_ns", "upper_ns", "count"].map(|column| of(found, "sojourn_windows", column));
    for row in (0..columns[0].len()).filter(|&row| columns[0][row] >= start) {
        *counts.entry((columns[1][row], columns[2][row], columns[3][row])).or_default() += columns[4][row];
    }
    let bins = ["link", "lower_ns", "upper_ns", "count"].map(|column| of(given, "sojourn_histogram", column));
    let expected = (0..bins[0].len()).map(|row| ((bins[0][row], bins[1][row], bins[2][row]), bins[3][row])).collect();
    assert_eq!(counts, expected, "{name}: histograms from {start}");
    let flows = ["start_ns", "flow", "bytes", "delivered_bytes"].map(|column| of(found, "flow_windows", column));
    let rows: Vec<usize> = (0..flows[0].len()).filter(|&row| flows[0][row] == start).collect();
    assert_eq!(rows.len(), given.summary.flows.len(), "{name}");
    for (row, flow) in rows.into_iter().zip(&given.summary.flows) {
        let expected = (flow.id.into(), flow.payload.bytes, flow.payload.delivered_bytes);
        assert_eq!((flows[1][row], flows[2][row], flows[3][row]), expected, "{name}: flows from {start}");
    }
    let starts = of(found, "group_windows", "start_ns");
    let rows: Vec<usize> = (0..starts.len()).filter(|&row| starts[row] == start).collect();
    assert_eq!(rows.len(), given.summary.groups.len(), "{name}");
    for (row, group) in rows.into_iter().zip(&given.summary.groups) {
        let counted = ["bytes", "delivered_bytes", "offered_bytes", "opened", "closed", "transfers"]
            .map(|column| of(found, "group_windows", column)[row]);
        let &sojourn_sim::GroupSummary { payload, offered_bytes, opened, closed, transfers, .. } = group;
        let expected = [payload.bytes, payload.delivered_bytes, offered_bytes, opened, closed, transfers];
        assert_eq!(counted, expected, "{name}: groups from {start}");
        let read = |column: &str| Some(real(found, "group_windows", column)[row]).filter(|number| !number.is_nan());
        assert_eq!(read("jain"), group.jain, "{name}: Jain's index from {start}");
        assert_eq!(read("completion_p95_ms"), group.completion_ms.p95, "{name}: transfers from {start}");
        assert_eq!(read("mos"), group.datagrams.mos, "{name}: calls from {start}");
    }
    if let Some(wlan) = &given.summary.wlan {
        let starts = of(found, "airtime_windows", "start_ns");
        let rows: Vec<usize> = (0..starts.len()).filter(|&row| starts[row] == start).collect();
        let (airtime, down) =
            (real(found, "airtime_windows", "airtime"), real(found, "airtime_windows", "airtime_down"));
        assert_eq!(airtime[rows[0]], wlan.access_point.airtime, "{name}");
        for (row, station) in rows[1..].iter().zip(&wlan.stations) {
            assert_eq!((airtime[*row], down[*row]), (station.node.airtime, station.airtime_down), "{name}");
        }
    }
}

#[test]
fn every_link_has_its_windows() {
    let row = scenario(&format!("duration = \"6.1 s\"\n{}", KINDS.iter().find(|kind| kind.0 == "a row").unwrap().1));
    let found = run(&with(&row, Warmup::Auto));
    let (starts, links) = (whole(&found, "windows", "start_ns"), whole(&found, "windows", "link"));
    let packets = whole(&found, "windows", "packets");
    let last = *starts.last().unwrap();
    let given = run(&with(&row, Warmup::Fixed(Duration::from_nanos(last as i64)))).summary;
    let hop = &given.hops[0].links;
    let expected = [&given.links.forward, &given.links.reverse, &hop.forward, &hop.reverse];
    let at_last: Vec<(u64, u64)> =
        (0..starts.len()).filter(|&row| starts[row] == last).map(|row| (links[row], packets[row])).collect();
    assert_eq!(at_last, (0..).zip(expected.map(|link| link.packets)).collect::<Vec<_>>());
    assert!(expected.iter().all(|link| link.packets > 100));
}

/// MSER-5 evaluates what the probe `queue` samples at a thousand equal steps, all queues together.
#[test]
fn the_warm_up_is_what_the_probe_of_the_queues_tells() {
    for (name, text) in scenarios("20") {
        let scenario = Scenario::parse(&text, &[("probes.queue".into(), "20 ms".into())], Path::new("/")).unwrap();
        let output = run(&with(&scenario, Warmup::Auto));
        if output.summary.settled != Some(true) {
            continue;
        }
        let (time, packets) = (whole(&output, "queue", "time_ns"), whole(&output, "queue", "packets"));
        let mut series: Vec<f64> = vec![0.0; 1000];
        for (time, packets) in time.iter().zip(packets) {
            series[(time / 20_000_000) as usize - 1] += packets as f64;
        }
        let head = mser(&series, 5).unwrap_or_else(|| panic!("{name}: has settled"));
        assert_eq!(whole(&output, "windows", "start_ns")[0], head as u64 * 20_000_000, "{name}");
        assert_eq!(
            real(&output, "windows", "sojourn_mean_ms")[0],
            output.summary.links.forward.sojourn_ms.mean.unwrap()
        );
    }
}

#[test]
fn where_link_or_load_change_no_more_than_a_tenth_is_left_out() {
    let base = "duration = \"40 s\"\nwarmup = \"auto\"\n[link]\nrate = \"2 Mbit/s\"\naqm = \"codel\"\n[[flows]]\nkind = \"tcp\"\nrtt = \"40 ms\"\n";
    let settled = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let summary = run(&Scenario::parse(base, &sets, Path::new("/")).unwrap()).summary;
        assert_eq!(summary.settled, Some(summary.not_settled.is_none()));
        (summary.warmup_s, summary.not_settled)
    };
    let changes = [
        ("link.rate", "2 Mbit/s@0s,1 Mbit/s@30s", "link.rate changes with time"),
        ("reverse.rate", "2 Mbit/s@0s,1 Mbit/s@30s", "reverse.rate changes with time"),
        ("link.delay", "2 ms@0s,4 ms@30s", "link.delay changes with time"),
        ("changes", "[{\"at\":\"30 s\",\"link\":{\"aqm\":\"pie\"}}]", "link.aqm changes with time"),
        ("changes", "[{\"at\":\"31 s\",\"reverse\":{\"limit\":\"7 packets\"}}]", "reverse.limit changes with time"),
        ("changes", "[{\"at\":\"4.1 s\",\"link\":{\"loss\":\"1 %\"}}]", "link.loss changes with time"),
        ("flows.0.stop", "30 s", "flows[0].stop ends flows during the run"),
        ("flows.0.start", "5 s", "flows[0].start begins flows during the run"),
        ("flows.0.spread", "21 s", "flows[0].spread begins flows during the second half of the run"),
        ("flows.0.size", "2 MB", "flows[0].size ends flows once they are done"),
        ("flows.0.kind", "rpm", "flows[0].kind adds load at intervals, and ends it"),
        (
            "links",
            "[{\"name\":\"b\",\"rate\":\"2 Mbit/s\",\"reverse\":{\"rate\":\"1 Mbit/s@0s,2 Mbit/s@9s\"}}]",
            "links[0].reverse.rate changes with time",
        ),
    ];
    for (key, value, why) in changes {
        assert_eq!(settled(&[(key, value)]), (4.0, Some(why.to_string())));
    }
    let staggered = [("flows.0.count", "3"), ("flows.0.stagger", "3 s")];
    assert_eq!(settled(&staggered), (4.0, Some("flows[0].stagger begins flows during the run".into())));
    // A run that does not settle excludes at most ten seconds.
    let long = [("duration", "120 s"), ("link.rate", "2 Mbit/s@0s,1 Mbit/s@30s")];
    assert_eq!(settled(&long).0, 10.0);
    // Events after the end, or in the first tenth, are not changes.
    for (key, value) in [
        ("link.rate", "2 Mbit/s@0s,1 Mbit/s@4s"),
        ("link.delay", "2 ms@0s,1 ms@3s"),
        ("link.rate", "2 Mbit/s@0s,1 Mbit/s@40s"),
        ("flows.0.stop", "40 s"),
        ("flows.0.start", "40 s"),
        ("flows.0.start", "4 s"),
        ("flows.0.spread", "3 s"),
    ] {
        let (_, why) = settled(&[(key, value)]);
        assert_eq!(why, None, "{key} = {value}");
    }
    // There is no steady state before the last flow has started.
    assert!(settled(&[("flows.0.spread", "7 s"), ("flows.0.count", "9")]).0 >= 7.0);
}

#[test]
fn a_queue_that_does_not_settle_leaves_out_half_and_says_so() {
    let text = "duration = \"30 s\"\nwarmup = \"auto\"\n[link]\nrate = \"10 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\ncount = 4\n\
                stack = \"linux-6.1\"\ncc = \"cubic\"\nrtt = \"40 ms\"\nspread = \"1 s\"\n";
    let summary = run(&scenario(text)).summary;
    let not_settled = Some("the backlog has no steady state".to_string());
    assert_eq!((summary.warmup_s, summary.settled, summary.not_settled), (15.0, Some(false), not_settled));
    // No batch size divides the run; half of it is excluded all the same.
    let odd = run(&scenario(&text.replace("30 s", "31.000000777 s"))).summary;
    assert_eq!((odd.warmup_s, odd.settled), (15.500000388, Some(false)));
}

#[test]
fn many_flows_do_not_take_much_memory() {
    // With many flows, statistics can begin at fewer instants, but no earlier than found.
    let text = "duration = \"5 s\"\nwarmup = \"auto\"\n[link]\nrate = \"400 Mbit/s\"\n[[flows]]\nkind = \"cbr\"\n\
                count = 5000\nrate = \"40 kbit/s\"\nspread = \"1.3 s\"\n";
    let output = run(&scenario(text));
    assert_eq!(output.summary.settled, Some(true));
    let starts = whole(&output, "windows", "start_ns");
    assert!(output.summary.warmup_s >= 1.3 && starts.len() < 35, "{} {}", output.summary.warmup_s, starts.len());
}
