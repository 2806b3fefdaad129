//! Transfers and the connections that carry them: times to the nanosecond, numbers, and completeness.

use crate::common::{run, scenario, whole};
use proptest::prelude::*;
use sojourn_sim::{GroupSummary, Output, Simulation};

/// 1 µs per byte and 50 ms in each direction.
const LINK: &str = "[link]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n";

/// IP bytes of a SYN, of a segment without payload, of a full segment, and its payload.
const SYN: u64 = 60;
const ACK: u64 = 52;
const FULL: u64 = 1500;
const MSS: u64 = 1448;

/// One-way delay of an idle link for a packet.
fn one_way_delay(bytes: u64) -> u64 {
    50_000_000 + bytes * 1000
}

/// Start and duration of each transfer in ns.
fn transfers(output: &Output) -> Vec<(u64, u64)> {
    whole(output, "transfers", "start_ns").into_iter().zip(whole(output, "transfers", "duration_ns")).collect()
}

fn only_group(output: &Output) -> &GroupSummary {
    let [group] = &output.summary.groups[..] else { panic!("one group") };
    group
}

#[test]
fn a_short_transfer_takes_a_handshake_and_its_packets() {
    // Up to the initial window of three segments, no data waits for an acknowledgment.
    for (segments, more) in [(0, 1), (1, 0), (1, 500), (3, 0)] {
        let size = segments * MSS + more;
        let output = run(&format!(
            "duration = \"5 s\"\n{LINK}[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             size = \"{size} B\"\nstart = \"1 s\"\n[probes]\ntransfers = true"
        ));
        let data = segments * FULL + if more > 0 { more + ACK } else { 0 };
        let expected = one_way_delay(SYN) + one_way_delay(SYN) + one_way_delay(ACK + data);
        assert_eq!(transfers(&output), [(1_000_000_000, expected)], "{size} bytes");
        let group = only_group(&output);
        assert_eq!((group.opened, group.closed, group.transfers), (1, 1, 1));
        assert_eq!((group.payload.bytes, group.offered_bytes, group.retransmissions), (size, size, 0));
        assert_eq!(group.completion_ms.max, Some(expected as f64 / 1e6));
    }
}

#[test]
fn a_page_takes_a_handshake_a_request_the_server_and_its_packets() {
    for think_ms in [0, 30] {
        let output = run(&format!(
            "duration = \"5 s\"\n{LINK}[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             interval = \"1 s\"\nsize = \"{}\"\nrequest = \"500 B\"\n\
             think = \"{think_ms} ms\"\nstart = \"100 ms\"\n[probes]\ntransfers = true",
            "2896 B"
        ));
        // The server acknowledges the request at once; only a response at the same instant waits for that.
        let ack = if think_ms == 0 { ACK } else { 0 };
        let expected = one_way_delay(SYN)
            + one_way_delay(SYN)
            + one_way_delay(ACK + 500 + ACK)
            + think_ms * 1_000_000
            + one_way_delay(ack + 2 * FULL);
        let all: Vec<(u64, u64)> = (0..5).map(|i| (100_000_000 + i * 1_000_000_000, expected)).collect();
        assert_eq!(transfers(&output), all);
        // Each transfer has its own flow number.
        assert_eq!(whole(&output, "transfers", "flow"), [0, 1, 2, 3, 4]);
        let group = only_group(&output);
        assert_eq!((group.opened, group.closed, group.payload.bytes), (5, 5, 5 * 2896));
    }
}

#[test]
fn requests_follow_each_other_over_one_connection() {
    let output = run(&format!(
        "duration = \"10 s\"\n{LINK}[[flows]]\nkind = \"request\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
         size = \"100 B\"\nrequest = \"200 B\"\nthink = \"20 ms\"\n\
         gap = \"300 ms\"\nstop = \"9 s\"\n[probes]\ntransfers = true"
    ));
    let exchange = one_way_delay(200 + ACK) + 20_000_000 + one_way_delay(100 + ACK);
    let first = one_way_delay(SYN)
        + one_way_delay(SYN)
        + one_way_delay(ACK + 200 + ACK)
        + 20_000_000
        + one_way_delay(100 + ACK);
    let found = transfers(&output);
    assert_eq!(found[0], (0, first));
    for (k, &(start, duration)) in (0..).zip(&found[1..]) {
        assert_eq!(start, first + 300_000_000 + k * (exchange + 300_000_000), "exchange {k}");
        assert_eq!(duration, exchange, "exchange {k}");
    }
    let flow = &output.summary.flows[0];
    assert_eq!((flow.kind, flow.payload.bytes), ("request", 100 * found.len() as u64));
    let group = only_group(&output);
    assert_eq!((group.opened, group.closed, group.transfers), (1, 1, found.len() as u64));
    let period = exchange + 300_000_000;
    assert_eq!(found.len() as u64, 1 + (9_000_000_000 - first - 300_000_000).div_ceil(period), "none begins after 9 s");
}

#[test]
fn a_pause_lies_between_the_end_of_a_connection_and_the_next() {
    let output = run(&format!(
        "duration = \"20 s\"\n{LINK}[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
         size = \"100 kB\"\npause = \"250 ms\"\n[probes]\ntransfers = true"
    ));
    let found = transfers(&output);
    assert!(found.len() > 10, "{found:?}");
    // The acknowledgment of the FIN closes the connection.
    let closing = one_way_delay(ACK);
    for pair in found.windows(2) {
        assert_eq!(pair[1].0, pair[0].0 + pair[0].1 + closing + 250_000_000);
        assert_eq!(pair[1].1, pair[0].1, "nothing is left of the connection before");
    }
}

#[test]
fn a_bounded_client_waits_for_its_turn() {
    // Pages of 100 kB on a link of 1000 kB/s: sixteen pages per second pile up, except for a client with a limit.
    let client = |more: &str| {
        run(&format!(
            "duration = \"10 s\"\n{LINK}[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             interval = \"62.5 ms\"\nsize = \"100 kB\"\n{more}\n\
             [probes]\ntransfers = true\npackets = true"
        ))
    };
    let (free, bounded) = (client(""), client("at_once = 2"));
    assert_eq!(only_group(&free).opened, 160 + 1);
    assert!(most_at_once(&free) > 20);
    assert_eq!(most_at_once(&bounded), 2);
    // Its pages start in the order in which they were due, and their durations include the waiting time.
    let found = transfers(&bounded);
    assert!(found.len() > 20, "{}", found.len());
    let starts: std::collections::BTreeSet<u64> = found.iter().map(|&(start, _)| start).collect();
    assert_eq!(starts.len(), found.len());
    assert!(starts.iter().zip(0..).all(|(&start, k)| start.abs_diff(k * 62_500_000) <= 62_500_000));
    assert!(found.last().unwrap().1 > 5_000_000_000, "{:?}", found.last());
}

/// Maximum number of concurrent flows on the forward link, each from its first packet to its last.
fn most_at_once(output: &Output) -> usize {
    let [time, flow] = ["time_ns", "flow"].map(|name| whole(output, "packets", name));
    let mut spans = std::collections::BTreeMap::new();
    for (&at, &flow) in time.iter().zip(&flow) {
        spans.entry(flow).or_insert((at, at)).1 = at;
    }
    let at_once = |t: u64| spans.values().filter(|&&(first, last)| first <= t && t <= last).count();
    spans.values().map(|&(first, _)| at_once(first)).max().unwrap_or(0)
}

#[test]
fn the_queue_manager_does_not_move_the_connections() {
    let under = |aqm: &str| {
        let output = run(&format!(
            r#"
            duration = "20 s"
            [link]
            rate = "5 Mbit/s"
            aqm = "{aqm}"
            [[flows]]
            kind = "packmime"
            stack = "linux-2.6.29"
            cc = "reno"
            connections_per_second = 40
            rtt = "40 ms"
            protocol = "HTTP/1.0"
            [[flows]]
            kind = "tcp"
            stack = "linux-2.6.29"
            cc = "reno"
            count = 4
            rtt = "40 ms"
            [probes]
            transfers = true
            "#
        ));
        let [flow, start, bytes] = ["flow", "start_ns", "bytes"].map(|name| whole(&output, "transfers", name));
        let of_flow: std::collections::BTreeMap<u64, (u64, u64)> =
            flow.into_iter().zip(start.into_iter().zip(bytes)).collect();
        (of_flow, output.summary)
    };
    let (plain, summary) = under("droptail");
    for aqm in ["codel", "pie", "fq_codel"] {
        let (other, other_summary) = under(aqm);
        assert_ne!(other_summary.fingerprint, summary.fingerprint, "{aqm} did nothing");
        assert_eq!(other_summary.groups[0].opened, summary.groups[0].opened);
        let both = plain.iter().filter_map(|(flow, transfer)| Some((transfer, other.get(flow)?)));
        let (same, all) = both.fold((0, 0), |(same, all), (a, b)| (same + (a == b) as u32, all + 1));
        assert!(all > 500, "{aqm}: only {all} transfers were completed under both");
        assert_eq!(same, all, "{aqm}");
    }
}

#[test]
fn data_both_ways_shares_the_links_with_the_acknowledgments() {
    // A page in one direction, and in the other a full queue that delays its requests and acknowledgments.
    let page = "[[flows]]\nkind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"2 s\"\n\
                size = \"50 kB\"\nrtt = \"20 ms\"\n";
    let upload = "[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ndirection = \"reverse\"\n\
                  rtt = \"20 ms\"\nreceive_window = \"200 kB\"\n";
    let time = |flows: String| {
        let output = run(&format!("duration = \"60 s\"\nwarmup = \"20 s\"\n[link]\nrate = \"8 Mbit/s\"\n{flows}"));
        output.summary.groups[0].completion_ms.mean.unwrap()
    };
    let (alone, beside) = (time(page.into()), time(format!("{page}{upload}")));
    // The queue of 200 kB takes 180 ms, three to five times for a page of 35 segments.
    assert!(beside - alone > 3.0 * 180.0, "{beside} ms, alone {alone} ms");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    /// With enough time, everything requested is delivered and every connection is closed, despite losses of SYNs,
    /// requests, responses, FINs and acknowledgments.
    #[test]
    fn everything_that_was_asked_for_comes(
        kind in prop::sample::select(vec![
            "kind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"150 ms\"\nsize = \"30 kB\"\n\
             think = \"5 ms\"",
            "kind = \"web\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ninterval = \"60 ms\"\nrandom = true\n\
             size = \"5 kB\"\nat_once = 3",
            "kind = \"packmime\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nconnections_per_second = 10\n\
             protocol = \"HTTP/1.0\"",
            "kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"40 kB\"\npause = \"100 ms\"",
            "kind = \"request\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"20 kB\"\ngap = \"50 ms\"",
        ]),
        direction in prop::sample::select(vec!["forward", "reverse"]),
        aqm in prop::sample::select(vec!["droptail", "codel ecn", "pie", "fq_codel"]),
        limit in 2u32..40,
        kbps in 1_000u32..20_000,
        rtt_ms in 1u32..200,
        sack in any::<bool>(),
        ecn in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let text = format!(
            r#"
            duration = "2000 s"
            [link]
            rate = "{kbps} kbit/s"
            aqm = "{aqm}"
            limit = "{limit} packets"
            [reverse]
            limit = "{limit} packets"
            [[flows]]
            direction = "{direction}"
            {kind}
            count = 3
            rtt = "{rtt_ms} ms"
            sack = {sack}
            ecn = {ecn}
            stop = "4 s"
            "#
        );
        let output = Simulation::new(&scenario(&text), seed).finish();
        let group = only_group(&output);
        prop_assert!(group.opened > 0);
        prop_assert_eq!(group.opened, group.closed, "{:?}", group);
        prop_assert_eq!(group.payload.bytes, group.offered_bytes, "{:?}", group);
        prop_assert!(group.transfers >= group.closed);
    }
}

#[test]
fn each_flow_of_a_group_can_have_a_longer_round_trip_than_the_one_before() {
    let output = run(&format!(
        "duration = \"5 s\"\n{LINK}[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ncount = 3\n\
         size = \"1448 B\"\nstart = \"1 s\"\nstagger = \"1 s\"\n\
         rtt = \"120 ms\"\nrtt_stagger = \"7 ms\"\n[probes]\ntransfers = true"
    ));
    // The handshake takes one round trip, the data half of one; the links account for 100 ms of it.
    let expected: Vec<_> = (0..3)
        .map(|i| {
            let access = (20_000_000 + i * 7_000_000) * 3 / 2;
            ((1 + i) * 1_000_000_000, one_way_delay(SYN) + one_way_delay(SYN) + one_way_delay(ACK + FULL) + access)
        })
        .collect();
    assert_eq!(transfers(&output), expected);
}
