//! Flow queueing on a simulated link: the benefit for a call beside downloads, and the share of a host.

use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Column, Output, Simulation};
use std::path::Path;

/// A call of 200 kbit/s beside four downloads at 10 Mbit/s, three of them of one host.
const SCENARIO: &str = r#"
duration = "20 s"
warmup = "5 s"
[link]
rate = "10 Mbit/s"
limit = "1000 packets"
[[flows]]
kind = "cbr"
rate = "200 kbit/s"
size = "250 B"
[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
rtt = "40 ms"
[[flows]]
kind = "tcp"
stack = "linux-2.6.29"
cc = "reno"
count = 3
rtt = "40 ms"
[probes]
packets = true
"#;

#[test]
fn a_call_does_not_wait_behind_downloads_that_are_queued_apart() {
    // One packet of each of the four downloads and the one in transmission: 6 ms, if a call has to wait for its turn.
    let flow_queueing = [
        "fq_codel",
        "fq_codel@linux",
        "fq(codel@act)",
        "fq_pie",
        "fq_pie@rfc8033",
        "fq(pie@draft00)",
        "fq(droptail)",
        "drr",
        "sfq",
        "sfqcodel",
    ];
    for aqm in flow_queueing {
        let call = worst_percent_ms(&run(aqm), 0);
        assert!(call < 6.1, "{aqm}: {call} ms");
    }
    for aqm in ["codel", "codel@act", "pie"] {
        let call = worst_percent_ms(&run(aqm), 0);
        assert!(call > 12.0, "{aqm}: {call} ms");
    }
}

#[test]
fn downloads_share_by_flow_or_by_host() {
    let alone_over_three = |aqm: &str| {
        let flows = run(aqm).summary.flows;
        let goodput = |i: usize| flows[i].payload.goodput_bps;
        goodput(1) / ((goodput(2) + goodput(3) + goodput(4)) / 3.0)
    };
    let by_flow = alone_over_three("fq(codel@act)");
    assert!((0.95..1.05).contains(&by_flow), "{by_flow}");
    let by_host = alone_over_three("fq_codel isolation src-host");
    assert!((2.3..3.3).contains(&by_host), "a host with one flow gets what one with three gets: {by_host}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for aqm in ["fq_codel", "sfq", "fq(pie)"] {
        let [first, second] = [(), ()].map(|()| run(aqm).summary.fingerprint);
        assert_eq!(first, second, "{aqm}");
    }
}

fn run(aqm: &str) -> Output {
    let sets = [("link.aqm".to_string(), aqm.to_string())];
    let scenario = Scenario::parse(SCENARIO, &sets, Path::new("/")).expect("a scenario");
    Simulation::new(&scenario, 1).finish()
}

/// 99 % quantile of the sojourn time of a flow on the link.
fn worst_percent_ms(output: &Output, flow: u32) -> f64 {
    let packets = output.tables.iter().find(|table| table.name == "packets").expect("every packet is recorded");
    let column = |name: &str| &packets.columns.iter().find(|(n, _)| n == name).expect("a column").1;
    let (Column::U16(links), Column::U32(flows), Column::U64(sojourns)) =
        (column("link"), column("flow"), column("sojourn_ns"))
    else {
        panic!("columns of other types")
    };
    let rows = links.iter().zip(flows).zip(sojourns);
    let mut sojourns: Vec<u64> =
        rows.filter(|&((&link, &f), _)| link == 0 && f == flow).map(|(_, &sojourn)| sojourn).collect();
    sojourns.sort_unstable();
    assert!(sojourns.len() > 1000, "the call was recorded");
    sojourns[sojourns.len() * 99 / 100] as f64 / 1e6
}
