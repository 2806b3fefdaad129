//! For any scenario: no panic, packets are conserved, and all numbers are possible.

use crate::common::{TraceFile, scenario, whole};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use sojourn_aqm::registry;
use sojourn_sim::scenario::{Scenario, Service};
use sojourn_sim::{LinkSummary, Output, Quantiles, Simulation};

/// A random scenario as text.
#[derive(Clone, Debug)]
struct Case {
    link: String,
    reverse: String,
    flows: Vec<String>,
    seed: u64,
}

impl Case {
    /// The scenario, with a run of two seconds and a sample of each queue at its end.
    fn scenario(&self, trace: &TraceFile) -> Scenario {
        let [link, reverse] = [&self.link, &self.reverse].map(|link| link.replace("TRACE", &trace.path()));
        let flows: String = self.flows.iter().map(|flow| format!("[[flows]]\n{flow}\n")).collect();
        scenario(&format!(
            "duration = \"2 s\"\n[link]\n{link}\n[reverse]\n{reverse}\n{flows}[probes]\nqueue = \"2 s\"\npackets = true"
        ))
    }
}

fn cases() -> impl Strategy<Value = Case> {
    (links(), links(), prop::collection::vec(flows(), 1..5), any::<u64>())
        .prop_map(|(link, reverse, flows, seed)| Case { link, reverse, flows, seed })
}

fn links() -> impl Strategy<Value = String> {
    let service = prop_oneof![
        (100_000u64..20_000_000).prop_map(|bps| format!("rate = \"{bps} bit/s\"")),
        any::<bool>().prop_map(|once| format!("trace = \"TRACE\"\nonce = {once}")),
        (prop::collection::vec(0u64..20_000_000, 1..5), prop::sample::select(vec!["fluid", "latch", "opportunity"]))
            .prop_map(|(rates, change)| {
                let steps: Vec<_> = rates
                    .iter()
                    .enumerate()
                    .map(|(i, bps)| format!("{} bit/s@{} ms", bps + 100_000, 300 * i))
                    .collect();
                let last = if change == "latch" { "1 Mbit/s" } else { "0 bit/s" };
                format!("rate = \"{},{last}@1700 ms\"\nchange = \"{change}\"", steps.join(","))
            }),
        (100_000u64..9_000_000, 3_000u64..1_000_000, any::<bool>()).prop_map(|(bps, burst, overdraft)| {
            let peak = 2 * bps;
            format!("bucket = \"{bps} bit/s\"\nburst = \"{burst} B\"\npeak = \"{peak} bit/s\"\noverdraft = {overdraft}")
        }),
        (100_000u64..20_000_000).prop_map(|bps| format!("poisson = \"{bps} bit/s\"")),
        (100_000u64..20_000_000).prop_map(|bps| format!("cox = \"{bps} bit/s\"")),
    ];
    let around = prop_oneof![
        3 => Just(""),
        1 => Just("below = \"1514 B\""),
        1 => Just("below = \"8 packets wake 3 packets\""),
        1 => Just("below = \"6 packets bql\"\ntick = \"700 us\""),
        1 => Just("gro = \"300 us\""),
        1 => Just("gro = \"5 ms\"\nbelow = \"6 packets bql\""),
        1 => Just("loss = 0.02"),
        1 => Just("loss = { p = 0.01, r = 0.2, step = \"1 ms\" }\nbelow = \"20 kB\"\nframing = \"atm\""),
        1 => Just("framing = \"ptm\"\naccount = \"ip\"\nmpu = \"84 B\""),
    ];
    let delay = prop_oneof![
        (0u32..40).prop_map(|ms| format!("\"{ms} ms\"")),
        any::<bool>().prop_map(|reorder| format!("\"30 ms@0s,3 ms@500ms,20 ms@1s,1 ms@1500ms\"\nreorder = {reorder}")),
    ];
    let limit = prop_oneof![
        (1u32..200).prop_map(|n| format!("[\"{n} packets\"]")),
        (2_000u32..100_000).prop_map(|n| format!("[\"{n} B\"]")),
        (5u32..200, 1u32..100).prop_map(|(ms, n)| format!("[\"{ms} ms\", \"{n} packets\"]")),
    ];
    let aqms: Vec<String> = registry::ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()).collect();
    let overhead = prop::sample::select(vec![0, 7, 38]);
    (service, limit, prop::sample::select(aqms), delay, overhead, any::<bool>(), around)
        .prop_map(|(service, limit, aqm, delay, overhead, ecn, around)| {
            let ecn = if ecn && registry::parse(&format!("{aqm} ecn")).is_ok() { " ecn" } else { "" };
            format!(
                "{service}\nlimit = {limit}\naqm = \"{aqm}{ecn}\"\ndelay = {delay}\noverhead = \"{overhead} B\"\n{around}"
            )
        })
}

fn flows() -> impl Strategy<Value = String> {
    let common = (
        prop::sample::select(vec!["forward", "reverse"]),
        1u32..4,
        prop::sample::select(vec!["", "stop = \"1.5 s\""]),
        prop::sample::select(vec!["", "access_rate = \"30 Mbit/s\""]),
        0u32..30_000,
    );
    let tcp = (
        prop::sample::select(vec!["reno", "newreno"]),
        any::<[bool; 4]>(),
        prop::sample::select(vec![100, 536, 1448]),
        prop::sample::select(vec!["", "receive_window = \"20 kB\"", "initial_window = 10"]),
    )
        .prop_map(|(cc, [sack, delayed_ack, ecn, gso], mss, more)| {
            format!(
                "kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"{cc}\"\nsack = {sack}\ndelayed_ack = {delayed_ack}\n\
                 ecn = {ecn}\ngso = {gso}\n\
                 mss = \"{mss} B\"\n{more}"
            )
        });
    let udp = (prop::sample::select(vec!["cbr", "poisson"]), 10_000u32..3_000_000, 28u32..1500, any::<bool>())
        .prop_map(|(kind, bps, size, ect)| {
            // At most 2000 packets per second.
            let bps = bps.min(size * 8 * 2000);
            let ecn = if ect { "ect0" } else { "not-ect" };
            format!("kind = \"{kind}\"\nrate = \"{bps} bit/s\"\nsize = \"{size} B\"\necn = \"{ecn}\"")
        });
    let connections = prop::sample::select(vec![
        "kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"30 kB\"",
        "kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"5 kB\"\npause = \"20 ms\"",
        "kind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"30 ms\"\nsize = \"12 kB\"",
        "kind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"10 ms\"\nrandom = true\n\
         size = \"2 kB\"\nat_once = 3\nthink = \"2 ms\"",
        "kind = \"packmime\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nconnections_per_second = 30",
        "kind = \"request\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"3 kB\"\necn = true",
        "kind = \"voice\"",
        "kind = \"streaming\"\nrate = \"640 kbit/s\"\nsize = \"840 B\"",
    ])
    .prop_map(str::to_string);
    (common, prop_oneof![tcp, udp, connections]).prop_map(
        |((direction, count, stop, access_rate, access_us), traffic)| {
            format!(
                "direction = \"{direction}\"\ncount = {count}\nspread = \"0.4 s\"\naccess_delay = \"{access_us} us\"\n\
             {stop}\n{access_rate}\n{traffic}"
            )
        },
    )
}

/// Bursts and silences: 0 to 4 opportunities per millisecond, 1200 of them in 800 ms.
fn trace() -> TraceFile {
    TraceFile::new((0..800u64).flat_map(|ms| vec![ms + 1; if ms % 97 < 40 { 0 } else { (ms * ms % 7 % 5) as usize }]))
}

fn check(output: &Output, scenario: &Scenario) -> Result<(), TestCaseError> {
    let summary = &output.summary;
    let waiting = whole(output, "queue", "packets");
    for (l, link) in [&summary.links.forward, &summary.links.reverse].into_iter().enumerate() {
        prop_assert_eq!(link.arrived, link.packets + link.dropped + waiting[l], "link {}", l);
        prop_assert_eq!(link.dropped, link.dropped_by.values().sum::<u64>());
        // Losses count segments; the queue may send super-packets of several segments.
        prop_assert!(
            link.lost <= link.packets || scenario.has_super_packets(),
            "{} lost of {}",
            link.lost,
            link.packets
        );
        check_link(link)?;
    }
    check_packets(output, [&summary.links.forward, &summary.links.reverse])?;
    check_last_sojourn(output)?;
    for jain in summary.groups.iter().map(|group| group.jain).chain([summary.jain]).flatten() {
        prop_assert!(jain > 0.0 && jain <= 1.0 + 1e-12, "Jain {jain}");
    }
    if let Service::Rate(rate) = scenario.link.service {
        prop_assert!(summary.goodput_bps <= rate.as_bps() as f64, "{} bit/s above {rate}", summary.goodput_bps);
    }
    let payload: u64 = summary.groups.iter().filter(|g| g.direction == "forward").map(|g| g.payload.bytes).sum();
    prop_assert!(payload <= summary.links.forward.bytes, "{payload} > {} bytes", summary.links.forward.bytes);
    for flow in &summary.flows {
        prop_assert!(flow.retransmissions <= flow.sent);
    }
    for group in &summary.groups {
        prop_assert!(group.retransmissions <= group.sent && group.closed <= group.opened);
        let (loss, mos) = (group.datagrams.loss_rate.unwrap_or(0.0), group.datagrams.mos.unwrap_or(1.0));
        prop_assert!((0.0..=1.0).contains(&loss) && (0.9..=4.5).contains(&mos), "{group:?}");
    }
    Ok(())
}

/// A queue's sample has the sojourn time of the last packet sent before it.
fn check_last_sojourn(output: &Output) -> Result<(), TestCaseError> {
    let [sampled, links, last] = ["time_ns", "link", "last_sojourn_ns"].map(|name| whole(output, "queue", name));
    let [sent, from, fates, sojourns] =
        ["time_ns", "link", "fate", "sojourn_ns"].map(|name| whole(output, "packets", name));
    for i in 0..sampled.len() {
        let before = (0..sent.len()).rfind(|&k| from[k] == links[i] && fates[k] < 2 && sent[k] <= sampled[i]);
        prop_assert_eq!(last[i], before.map_or(0, |k| sojourns[k]), "link {} at {} ns", links[i], sampled[i]);
    }
    Ok(())
}

fn check_link(link: &LinkSummary) -> Result<(), TestCaseError> {
    prop_assert!((0.0..=1.0 + 1e-9).contains(&link.utilisation), "utilisation {}", link.utilisation);
    prop_assert!((0.0..=1.0).contains(&link.drop_rate) && (0.0..=1.0).contains(&link.mark_rate));
    prop_assert!(link.mean_backlog_packets >= 0.0);
    let Quantiles { mean, p10, p25, p50, p75, p90, p95, p99, max } = link.sojourn_ms;
    let quantiles = [p10, p25, p50, p75, p90, p95, p99, max];
    prop_assert!(quantiles.iter().all(|q| q.is_some() == (link.packets > 0)));
    // Quantiles are accurate to 0.1 %, the maximum is exact.
    let close = |low: Option<f64>, high: Option<f64>| low.unwrap_or(0.0) <= high.unwrap_or(0.0) * 1.001 + 1e-6;
    prop_assert!(quantiles.windows(2).all(|pair| close(pair[0], pair[1])), "{quantiles:?}");
    prop_assert!(mean.is_none_or(|mean| mean >= 0.0 && close(Some(mean), max)));
    Ok(())
}

/// The probe of every packet agrees with the counters.
fn check_packets(output: &Output, links: [&LinkSummary; 2]) -> Result<(), TestCaseError> {
    let [link, fate, bytes, time] = ["link", "fate", "bytes", "time_ns"].map(|name| whole(output, "packets", name));
    for (l, summary) in links.into_iter().enumerate() {
        let count = |fates: std::ops::Range<u64>| {
            (0..link.len()).filter(|&i| link[i] == l as u64 && fates.contains(&fate[i])).count() as u64
        };
        prop_assert_eq!((count(0..2), count(1..2)), (summary.packets, summary.marked));
        prop_assert_eq!(count(2..6), summary.dropped);
        let sent: u64 = (0..link.len()).filter(|&i| link[i] == l as u64 && fate[i] < 2).map(|i| bytes[i]).sum();
        prop_assert_eq!(sent, summary.bytes);
    }
    prop_assert!(time.is_sorted(), "time runs backwards");
    Ok(())
}

/// A NIC is polled at the instant at which its queue is sampled, because a delayed acknowledgment arrived 5 ms before,
/// at a tick of its host.
#[test]
fn what_a_card_brings_is_there_when_its_queue_is_sampled() {
    let case = Case {
        link: "poisson = \"3492612 bit/s\"\nlimit = \"36653 B\"\naqm = \"blue\"\ndelay = \"11 ms\"".into(),
        reverse: "poisson = \"12439222 bit/s\"\nlimit = \"3 packets\"\naqm = \"droptail\"\ndelay = \"0 ms\"\ngro = \"5 ms\"\n\
                  below = \"6 packets bql\""
            .into(),
        flows: vec![
            "count = 2\nspread = \"0.4 s\"\naccess_delay = \"21866 us\"\nkind = \"web\"\nstack = \"linux-2.6.29\"\n\
             cc = \"reno\"\ninterval = \"30 ms\"\nsize = \"12 kB\""
                .into(),
            "count = 3\nspread = \"0.4 s\"\naccess_delay = \"5342 us\"\nstop = \"1.5 s\"\naccess_rate = \"30 Mbit/s\"\n\
             kind = \"poisson\"\nrate = \"1617632 bit/s\"\nsize = \"1065 B\"\necn = \"not-ect\""
                .into(),
        ],
        seed: 8698313096815855033,
    };
    let scenario = case.scenario(&trace());
    let output = Simulation::new(&scenario, case.seed).finish();
    let [times, links] = ["time_ns", "link"].map(|name| whole(&output, "packets", name));
    let at_the_end = (0..times.len()).filter(|&i| links[i] == 1 && times[i] == 2_000_000_000).count();
    assert!(at_the_end > 0, "the card is polled at the end");
    check(&output, &scenario).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_numbers_possible(case in cases()) {
        let trace = trace();
        let scenario = case.scenario(&trace);
        let output = Simulation::new(&scenario, case.seed).finish();
        check(&output, &scenario)?;
        let repeated = Simulation::new(&scenario, case.seed).finish();
        prop_assert_eq!(output.summary.fingerprint, repeated.summary.fingerprint);
    }

    #[test]
    fn what_a_stopped_connection_sent_is_delivered(
        sack in any::<bool>(),
        delayed_ack in any::<bool>(),
        ecn in any::<bool>(),
        gso in any::<bool>(),
        stack in prop::sample::select(vec!["linux-2.6.29", "linux-3.8", "linux-3.13", "linux-6.1"]),
        cc in prop::sample::select(vec!["reno", "newreno"]),
        aqm in prop::sample::select(vec!["droptail", "codel ecn", "codel@act", "pie"]),
        limit in 3u32..60,
        kbps in 500u32..20_000,
        rtt_ms in 1u32..200,
        stop_ms in 1u32..4_000,
        seed in any::<u64>(),
    ) {
        let text = format!(
            r#"
            duration = "400 s"
            [link]
            rate = "{kbps} kbit/s"
            aqm = "{aqm}"
            limit = "{limit} packets"
            [[flows]]
            kind = "tcp"
            stack = "{stack}"
            gso = {gso}
            count = 2
            cc = "{cc}"
            sack = {sack}
            delayed_ack = {delayed_ack}
            ecn = {ecn}
            rtt = "{rtt_ms} ms"
            stop = "{stop_ms} ms"
            "#
        );
        let output = Simulation::new(&scenario(&text), seed).finish();
        for flow in &output.summary.flows {
            // Full segments and one FIN, which carries no data: each was new once. A burst of Linux 6.1 may end with a
            // segment that fills the receive window, and the remainder of its piece is another such segment.
            let full = (flow.sent - flow.retransmissions - 1) * 1448;
            let may_be_short = stack == "linux-6.1" && flow.payload.bytes < full && 2 * flow.payload.bytes > full;
            prop_assert!(flow.payload.bytes == full || may_be_short, "{:?}", flow);
        }
    }
}
