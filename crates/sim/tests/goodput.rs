//! Goodput is the payload that arrives for the first time in the window: at most the capacity of the link, and byte for
//! byte the payload in the packets' headers.

use crate::common::{scenario, whole};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use sojourn_aqm::{Rate, registry};
use sojourn_sim::{Output, Simulation};
use std::collections::BTreeMap;

/// A random scenario over a link of constant rate, as text.
#[derive(Clone, Debug)]
struct Case {
    bps: u64,
    link: String,
    /// One-way delay of the link, shared by all flows.
    delay_ms: u32,
    flows: Vec<String>,
    warmup_ms: u32,
    duration_ms: u32,
    overhead: u32,
    seed: u64,
}

impl Case {
    fn run(&self) -> Output {
        let Self { bps, link, delay_ms, warmup_ms, duration_ms, overhead, .. } = self;
        let flows: String = self.flows.iter().map(|flow| format!("[[flows]]\n{flow}\n")).collect();
        let text = format!(
            "duration = \"{duration_ms} ms\"\nwarmup = \"{warmup_ms} ms\"\n[link]\nrate = \"{bps} bit/s\"\n\
             delay = \"{delay_ms} ms\"\noverhead = \"{overhead} B\"\n{link}\n[reverse]\nrate = \"{bps} bit/s\"\n\
             delay = \"23 ms\"\nlimit = \"1000 packets\"\n{flows}[probes]\npackets = true\nheaders = true"
        );
        Simulation::new(&scenario(&text), self.seed).finish()
    }
}

fn cases(delays: std::ops::Range<u32>) -> impl Strategy<Value = Case> {
    let aqms: Vec<String> = registry::ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()).collect();
    let link = (prop::sample::select(aqms), 1u32..60)
        .prop_map(|(aqm, limit)| format!("aqm = \"{aqm}\"\nlimit = \"{limit} packets\""));
    let window = (1u32..1500, 700u32..2600).prop_map(|(a, b)| (a.min(b - 300), b));
    let flows = prop::collection::vec(flow(), 1..4);
    (100_003u64..19_999_999, link, delays, flows, window, 0u32..60, any::<u64>()).prop_map(
        |(bps, link, delay_ms, flows, (warmup_ms, duration_ms), overhead, seed)| Case {
            bps,
            link,
            delay_ms,
            flows,
            warmup_ms,
            duration_ms,
            overhead,
            seed,
        },
    )
}

/// A group of flows with equal delays besides the link's.
fn flow() -> impl Strategy<Value = String> {
    let tcp = (
        prop::sample::select(vec!["reno", "newreno", "cubic"]),
        prop::sample::select(vec!["linux-2.6.29", "linux-3.13", "linux-6.1", "ns2"]),
        any::<[bool; 2]>(),
        prop::sample::select(vec![97, 536, MSS]),
        1u32..5,
    )
        .prop_map(|(cc, stack, [sack, delayed_ack], mss, count)| {
            let cc = if stack == "ns2" && cc == "cubic" { "newreno" } else { cc };
            format!(
                "kind = \"tcp\"\ncc = \"{cc}\"\nstack = \"{stack}\"\nsack = {sack}\ndelayed_ack = {delayed_ack}\n\
                 mss = \"{mss} B\"\ncount = {count}\nspread = \"90 ms\"\n"
            )
        });
    let others = prop::sample::select(vec![
        "kind = \"web\"\ninterval = \"41 ms\"\nsize = \"31 kB\"",
        "kind = \"web\"\ninterval = \"13 ms\"\nrandom = true\nsize = \"9001 B\"\nthink = \"2 ms\"",
        "kind = \"tcp\"\nsize = \"77 kB\"\npause = \"20 ms\"",
        "kind = \"request\"\nsize = \"30 kB\"",
        "kind = \"cbr\"\nrate = \"3 Mbit/s\"\nsize = \"731 B\"",
        "kind = \"poisson\"\nrate = \"900 kbit/s\"\nsize = \"211 B\"",
    ])
    .prop_map(str::to_string);
    prop_oneof![3 => tcp, 2 => others]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(1000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn goodput_with_its_headers_fits_the_link(case in cases(0..70)) {
        let summary = case.run().summary;
        let window_s = summary.duration_s - summary.warmup_s;
        let room = case.bps as f64 * window_s / 8.0 + (MSS + TCP_HEADERS) as f64 + case.overhead as f64;
        // No TCP segment has more payload, and no datagram has smaller headers.
        let least = |bytes: u64| (bytes + bytes / MSS * UDP_HEADERS) as f64;
        let all: f64 = summary.groups.iter().map(|group| least(group.payload.bytes)).sum();
        prop_assert!(all <= room, "{all} bytes in the room of {room}");
        for flow in &summary.flows {
            prop_assert!(least(flow.payload.bytes) <= room, "{flow:?}");
            prop_assert!((flow.payload.goodput_bps * window_s / 8.0 - flow.payload.bytes as f64).abs() < 1e-3);
        }
    }

    /// Without a delay after the link a packet arrives when its transmission ends, so the probes show the arrived data:
    /// the union of the sequence ranges in the headers, and its contiguous prefix.
    #[test]
    fn every_byte_counts_once_when_it_arrives(case in cases(0..1)) {
        let output = case.run();
        let summary = &output.summary;
        let edges = [summary.warmup_s, summary.duration_s].map(|s| (s * 1e9).round() as u64);
        let [before, after] = edges.map(|edge| arrived_by(&output, Rate::from_bps(case.bps), edge));
        let counted = |of: fn(&sojourn_sim::PayloadSummary) -> u64| -> u64 {
            summary.groups.iter().map(|group| of(&group.payload)).sum()
        };
        check("arrived", counted(|payload| payload.bytes), before, after, |seen| seen.arrived)?;
        check("delivered", counted(|payload| payload.delivered_bytes), before, after, |seen| seen.delivered)?;
        if case.warmup_ms == 0 {
            prop_assert_eq!(counted(|payload| payload.bytes - payload.delivered_bytes), after.arrived - after.delivered);
        }
    }
}

/// Payload of the packets whose transmission has ended.
#[derive(Clone, Copy, Debug, Default)]
struct CarriedPayload {
    arrived: u64,
    delivered: u64,
    /// Whether a transmission ends within a nanosecond's rounding of the edge.
    unsure: bool,
}

fn check(
    name: &str,
    counted: u64,
    before: CarriedPayload,
    after: CarriedPayload,
    of: fn(&CarriedPayload) -> u64,
) -> Result<(), TestCaseError> {
    if !before.unsure && !after.unsure {
        prop_assert_eq!(counted, of(&after) - of(&before), "{}", name);
    }
    Ok(())
}

/// Payload of the forward link's packets that had arrived at `edge`; for TCP by sequence ranges.
fn arrived_by(output: &Output, rate: Rate, edge: u64) -> CarriedPayload {
    let [link, arrival, seq, payload, to_sink] =
        ["link", "arrival", "seq", "payload", "to_sink"].map(|name| whole(output, "headers", name));
    let [ip_bytes, flags] = ["ip_bytes", "flags"].map(|name| whole(output, "headers", name));
    let headers: BTreeMap<u64, usize> = (0..link.len()).filter(|&i| link[i] == 0).map(|i| (arrival[i], i)).collect();
    let [link, arrival, time, bytes, fate, flow] =
        ["link", "arrival", "time_ns", "bytes", "fate", "flow"].map(|name| whole(output, "packets", name));
    let mut ranges: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut seen = CarriedPayload::default();
    for row in (0..link.len()).filter(|&row| link[row] == 0 && fate[row] < 2) {
        let end = time[row] + rate.time_for(bytes[row]).as_nanos() as u64;
        seen.unsure |= end.abs_diff(edge) <= 1;
        if end > edge {
            continue;
        }
        let i = headers[&arrival[row]];
        if flags[i] == 0 {
            let datagram = ip_bytes[i] - UDP_HEADERS;
            (seen.arrived, seen.delivered) = (seen.arrived + datagram, seen.delivered + datagram);
        } else if payload[i] > 0 && to_sink[i] == 1 {
            ranges.entry(flow[row]).or_default().push((seq[i], seq[i] + payload[i]));
        }
    }
    for ranges in ranges.values_mut() {
        ranges.sort();
        let mut covered = FIRST_BYTE;
        for &(from, to) in ranges.iter() {
            seen.arrived += to.saturating_sub(covered.max(from));
            covered = covered.max(to);
        }
        seen.delivered += prefix(ranges);
    }
    seen
}

/// Contiguous bytes from the first on.
fn prefix(ranges: &[(u64, u64)]) -> u64 {
    let mut end = FIRST_BYTE;
    for &(from, to) in ranges {
        if from > end {
            break;
        }
        end = end.max(to);
    }
    end - FIRST_BYTE
}

const MSS: u64 = 1448;
const TCP_HEADERS: u64 = 52;
const UDP_HEADERS: u64 = 28;
const FIRST_BYTE: u64 = 1;
