//! Aggregates of 802.11n against calculation: airtimes, the performance anomaly and its end, losses, order,
//! conservation.
//!
//! Expected values: exact times of HT20 (A-MPDU, SIFS, Block Ack, AIFS of best effort, and a mean back-off of 7.5
//! slots). The simulator uses none of these formulas.

use crate::common::{run, whole};
use proptest::prelude::*;
use sojourn_sim::{AggregateSummary, Output, Summary, jain};

/// Data bits per symbol by scheme; eight with one stream, eight with two.
const SYMBOL_BITS: [f64; 8] = [26.0, 52.0, 78.0, 104.0, 156.0, 208.0, 234.0, 260.0];

const AIFS: f64 = 37.0;
const SIFS: f64 = 10.0;
const MEAN_BACKOFF: f64 = 7.5 * 9.0;

/// Duration in microseconds of an aggregate of `n` packets of `ip_bytes`, with its Block Ack.
fn exchange(mcs: usize, n: f64, ip_bytes: f64) -> f64 {
    let streams = if mcs < 8 { 1.0 } else { 2.0 };
    let subframe = ((ip_bytes + 8.0 + 26.0 + 4.0 + 4.0) / 4.0).ceil() * 4.0;
    let symbols = ((22.0 + 8.0 * n * subframe) / (SYMBOL_BITS[mcs % 8] * streams)).ceil();
    // 32 bytes at the highest basic rate not above the 802.11g rate of the same modulation and coding.
    let basic = [24.0, 48.0, 48.0, 96.0, 96.0, 96.0, 96.0, 96.0][mcs % 8];
    let block_ack = 20.0 + 4.0 * ((22.0 + 8.0 * 32.0_f64) / basic).ceil() + 6.0;
    36.0 + 4.0 * (streams - 1.0) + 4.0 * symbols + 6.0 + SIFS + block_ack
}

/// Throughput of a sender that always has packets of 1500 bytes, in Mbit/s of IP.
fn ceiling(mcs: usize, n: f64) -> f64 {
    n * 12_000.0 / (AIFS + MEAN_BACKOFF + exchange(mcs, n, 1500.0))
}

/// Datagrams of 1500 bytes have 1472 bytes of payload.
const PAYLOAD_SHARE: f64 = 1472.0 / 1500.0;

/// An otherwise idle cell with these stations and a flow each; `rest` begins with keys of the channel.
fn cell(stations: &[&str], duration: &str, channel: &str, flow: &str, rest: &str) -> Output {
    let groups: String = stations.iter().map(|keys| format!("[[wlan.stations]]\n{keys}\n")).collect();
    run(&format!(
        "duration = \"{duration}\"\nwarmup = \"1 s\"\n[wlan]\nbeacon = \"0 B\"\n{channel}\n{groups}\
         [[flows]]\ncount = {}\n{flow}\n{rest}",
        stations.len()
    ))
}

/// Goodput of each flow in Mbit/s of IP.
fn rates(summary: &Summary) -> Vec<f64> {
    summary.flows.iter().map(|flow| flow.payload.goodput_bps / 1e6 / PAYLOAD_SHARE).collect()
}

fn aggregation(summary: &Summary) -> &AggregateSummary {
    summary.wlan.as_ref().expect("a channel").access_point.aggregation.as_ref().expect("aggregates")
}

#[test]
fn one_sender_reaches_what_its_aggregates_allow() {
    // Values of the specification except for MCS 0: with a Block Ack at 24 Mbit/s, as there, it would be 6.00.
    for (mcs, n, rounded) in [(15, 1.0, 40.7), (15, 20.0, 114.1), (0, 2.0, 5.94)] {
        assert!((ceiling(mcs, n) - rounded).abs() < 0.06, "MCS {mcs}: {}", ceiling(mcs, n));
    }
    let cases = [(15, 1), (15, 2), (15, 8), (15, 20), (15, 32), (0, 1), (0, 2), (7, 20), (8, 4), (3, 6)];
    for ((mcs, n), direction) in cases.into_iter().zip(["forward", "reverse"].into_iter().cycle()) {
        let station = format!("rate = \"mcs{mcs}\"\naggregate = {n}");
        let flow = format!("kind = \"cbr\"\nrate = \"150 Mbit/s\"\ndirection = \"{direction}\"");
        let (summary, expected) = (cell(&[&station], "21 s", "", &flow, "").summary, ceiling(mcs, f64::from(n)));
        let found = rates(&summary)[0];
        assert!((found / expected - 1.0).abs() < 0.002, "MCS {mcs}, {n}, {direction}: {found}, expected {expected}");
    }
}

#[test]
fn an_aggregate_takes_4_ms_at_most_and_two_are_in_the_ring_and_in_the_window() {
    // 4 ms would allow 41 frames at MCS 15, but two such aggregates would exceed the window of 64.
    for (mcs, allowed, seen) in [(15, 41, 33), (0, 2, 2), (7, 20, 20)] {
        let station = format!("rate = \"mcs{mcs}\"");
        let flow = "kind = \"cbr\"\nrate = \"150 Mbit/s\"";
        let output = cell(&[&station], "3 s", "", flow, "[probes]\naccesses = true");
        let frames = whole(&output, "accesses", "frames");
        assert_eq!(frames.iter().max(), Some(&seen), "MCS {mcs}");
        let pairs = frames.windows(2).map(|pair| pair[0] + pair[1]);
        assert_eq!(pairs.max(), Some((2 * allowed).min(64)), "MCS {mcs}");
        let longest = (AIFS + 15.0 * 9.0 + exchange(mcs, seen as f64, 1500.0)) / 1e3;
        let ring = &output.summary.wlan.as_ref().expect("a channel").access_point.ring_ms;
        // Packets entering the ring wait for the aggregate on the air. A packet that did not fit into the last
        // aggregate waits for another one.
        assert!(ring.p50.is_some_and(|median| median <= 1.01 * longest), "MCS {mcs}: {ring:?}");
        assert!(ring.max.is_some_and(|max| max <= 2.01 * longest), "MCS {mcs}: {ring:?}");
    }
}

/// Downloads to two fast stations and a slow one: rates and shares of the access point's airtime.
fn anomaly(queues: &str) -> (Vec<f64>, Vec<f64>, Summary) {
    let fast = "rate = \"mcs15\"\naggregate = 20";
    let flow = "kind = \"cbr\"\nrate = \"60 Mbit/s\"";
    let channel = format!("queues = \"{queues}\"");
    let summary = cell(&[fast, fast, "rate = \"mcs0\""], "21 s", &channel, flow, "").summary;
    let airtimes: Vec<f64> =
        summary.wlan.as_ref().expect("a channel").stations.iter().map(|s| s.airtime_down).collect();
    let total: f64 = airtimes.iter().sum();
    (rates(&summary), airtimes.iter().map(|airtime| airtime / total).collect(), summary)
}

#[test]
fn queues_by_airtime_end_the_anomaly() {
    let (found, airtimes, _) = anomaly("airtime");
    let expected = [ceiling(15, 20.0) / 3.0, ceiling(15, 20.0) / 3.0, ceiling(0, 2.0) / 3.0];
    for i in 0..3 {
        assert!((airtimes[i] - 1.0 / 3.0).abs() < 0.005, "{airtimes:?}");
        // Airtime excludes interframe spaces and back-offs, which are a larger part of a fast station's turns.
        assert!((found[i] / expected[i] - 1.0).abs() < 0.03, "station {i}: {found:?}, expected {expected:?}");
    }
}

#[test]
fn one_queue_for_all_gives_all_the_rate_that_the_slow_one_leaves() {
    let (found, airtimes, summary) = anomaly("shared");
    // The driver dequeues until one station has a complete aggregate, which is the slow one with two packets.
    let aggregates = aggregation(&summary);
    let n = aggregates.frames as f64 / aggregates.aggregates as f64;
    assert!((n - 2.0).abs() < 0.1, "{aggregates:?}");
    let expected = 1.0 / (2.0 / ceiling(15, 2.0) + 1.0 / ceiling(0, 2.0));
    assert!(found.iter().all(|rate| (rate / expected - 1.0).abs() < 0.02), "{found:?}, expected {expected}");
    assert!(airtimes[2] > 0.85, "{airtimes:?}");
}

#[test]
fn turns_by_accesses_give_a_fast_station_its_aggregate_for_each_of_a_slow_one() {
    let (found, _, _) = anomaly("round-robin");
    let round =
        2.0 * (AIFS + MEAN_BACKOFF + exchange(15, 20.0, 1500.0)) + AIFS + MEAN_BACKOFF + exchange(0, 2.0, 1500.0);
    for (rate, n) in found.iter().zip([20.0, 20.0, 2.0]) {
        let expected = n * 12_000.0 / round;
        assert!((rate / expected - 1.0).abs() < 0.02, "{found:?}, expected {expected}");
    }
}

#[test]
fn a_lossy_station_pays_for_its_retries() {
    // MCS 7 loses a tenth of full frames at 19.39 dB. Aggregates are short, so that the window rarely stalls on a frame
    // that fails repeatedly: during a stall the other station has the channel to itself.
    let stations = ["", "snr = \"19.39 dB\""].map(|signal| format!("rate = \"mcs7\"\naggregate = 10\n{signal}"));
    let stations = [&*stations[0], &*stations[1]];
    let flow = "kind = \"cbr\"\nrate = \"60 Mbit/s\"";
    let summary = cell(&stations, "21 s", "queues = \"airtime\"", flow, "").summary;
    let wlan = summary.wlan.as_ref().expect("a channel");
    let [clean, lossy] = [0, 1].map(|i| wlan.stations[i].airtime_down);
    assert!((lossy / clean - 1.0).abs() < 0.02, "{lossy} and {clean}");
    let found = rates(&summary);
    assert!((found[1] / found[0] - 0.9).abs() < 0.02, "{found:?}");
}

#[test]
fn lost_frames_are_sent_again_and_handed_up_in_their_order() {
    let station = ["rate = \"mcs7\"\nsnr = \"19.39 dB\""];
    for queues in ["shared", "round-robin"] {
        let channel = format!("queues = \"{queues}\"\ntsq = 0");
        let flow = "kind = \"tcp\"\nstack = \"linux-3.8\"\ncc = \"reno\"\nrtt = \"10 ms\"\nreceive_window = \"400 kB\"";
        let output = cell(&station, "21 s", &channel, flow, "[probes]\naccesses = true");
        let [node, outcome, frames, acknowledged] =
            ["node", "outcome", "frames", "acknowledged"].map(|name| whole(&output, "accesses", name));
        let decoded = (0..node.len()).filter(|&i| (node[i], outcome[i]) == (0, 0));
        let (all, well) = decoded.fold((0, 0), |(all, well), i| (all + frames[i], well + acknowledged[i]));
        let share = 1.0 - well as f64 / all as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        let summary = &output.summary;
        let aggregates = aggregation(summary);
        // A segment out of order would cause a TCP retransmission; one in 10^7 fails seven times.
        assert_eq!((summary.flows[0].retransmissions, summary.flows[0].timeouts), (0, 0));
        assert_eq!(summary.links.forward.lost, 0);
        // Most of them wait for a missing frame, and then for at least a whole access.
        let wait = &aggregates.reorder_ms;
        assert!(wait.p50.is_some_and(|ms| ms > 1.0) && wait.max.is_some_and(|ms| ms < 60.0), "{wait:?}");
    }
}

#[test]
fn frames_that_fail_seven_times_are_given_up_and_hold_nobody_back() {
    // Half of all frames are lost: one in 128 seven times.
    let station = ["rate = \"mcs6\"\nsnr = \"17.55 dB\""];
    let flow = "kind = \"cbr\"\nrate = \"80 Mbit/s\"";
    let summary = cell(&station, "21 s", "", flow, "").summary;
    let node = &summary.wlan.as_ref().expect("a channel").access_point;
    let share = node.given_up as f64 / (node.frames + node.given_up) as f64;
    assert!((share * 128.0 - 1.0).abs() < 0.1, "{share}");
    assert_eq!(summary.links.forward.lost, node.given_up);
    // The window stalls on the frame that fails most often, but nothing stops.
    assert!(rates(&summary)[0] > 15.0, "{:?}", rates(&summary));
}

#[test]
fn a_collision_destroys_the_whole_aggregate() {
    let flow = "kind = \"cbr\"\nrate = \"60 Mbit/s\"\ndirection = \"reverse\"";
    let station = "rate = \"mcs15\"\naggregate = 16";
    let output = cell(&[station; 4], "11 s", "", flow, "[probes]\naccesses = true");
    let [outcome, frames, acknowledged] =
        ["outcome", "frames", "acknowledged"].map(|name| whole(&output, "accesses", name));
    let of = |ending| {
        let chosen = (0..outcome.len()).filter(|&i| outcome[i] == ending).collect::<Vec<_>>();
        let sum = |counts: &[u64]| chosen.iter().map(|&i| counts[i]).sum::<u64>();
        (sum(&frames), sum(&acknowledged))
    };
    let ((delivered, all), (destroyed, none)) = (of(0), of(1));
    assert!(delivered == all && none == 0 && destroyed * 10 > delivered, "{delivered} and {destroyed} frames");
    assert_eq!(
        output.summary.links.reverse.lost,
        output.summary.wlan.as_ref().expect("a channel").stations.iter().map(|s| s.node.given_up).sum::<u64>()
    );
    let shared = jain(&rates(&output.summary));
    assert!(shared > 0.99, "{shared}");
}

#[test]
fn old_and_new_stations_share_a_cell() {
    let stations = ["rate = \"mcs15\"", "rate = \"54 Mbit/s\"", ""];
    let flow = "kind = \"cbr\"\nrate = \"50 Mbit/s\"";
    for queues in ["shared", "round-robin", "airtime"] {
        let summary = cell(&stations, "11 s", &format!("queues = \"{queues}\""), flow, "").summary;
        let wlan = summary.wlan.as_ref().expect("a channel");
        let used: Vec<f64> = wlan.access_point.rates.iter().map(|rate| rate.mbit_per_s).collect();
        assert!(used.contains(&54.0) && used.ends_with(&[130.0]), "{used:?}");
        let airtimes: Vec<f64> = wlan.stations.iter().map(|station| station.airtime_down).collect();
        let total: f64 = airtimes.iter().sum();
        if queues == "airtime" {
            assert!(airtimes.iter().all(|airtime| (airtime / total - 1.0 / 3.0).abs() < 0.01), "{airtimes:?}");
        }
        assert!(rates(&summary).iter().all(|&rate| rate > 5.0), "{queues}: {:?}", rates(&summary));
    }
}

fn stations() -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        4 => (0u8..=15, 1u32..=64).prop_map(|(mcs, n)| format!("rate = \"mcs{mcs}\"\naggregate = {n}")),
        1 => Just("rate = \"54 Mbit/s\"".to_string()),
        1 => Just(String::new()),
    ];
    let signal = prop_oneof![Just(String::new()), (0u32..24).prop_map(|snr| format!("snr = \"{snr} dB\""))];
    let fading = prop_oneof![2 => Just(""), 1 => Just("fading = \"3 dB\"")];
    (rate, signal, fading).prop_map(|(rate, snr, fading)| {
        let fading = if snr.is_empty() { "" } else { fading };
        format!("[[wlan.stations]]\n{rate}\n{snr}\n{fading}\n")
    })
}

fn flows() -> impl Strategy<Value = String> {
    let direction = prop::sample::select(vec!["forward", "reverse"]);
    (1u32..5, 1u32..60_000, direction).prop_map(|(count, kbps, direction)| {
        format!(
            "[[flows]]\nkind = \"cbr\"\ncount = {count}\nrate = \"{kbps} kbit/s\"\nsize = \"SIZE B\"\nstop = \"300 ms\"\n\
             direction = \"{direction}\"\n"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_datagram_arrives_once_or_is_lost_once(
        cells in prop::collection::vec(stations(), 1..5),
        flows in prop::collection::vec(flows(), 1..4),
        queues in prop::sample::select(vec!["shared", "round-robin", "airtime"]),
        size in 64u64..1500,
        seed in any::<u32>(),
    ) {
        // Long enough to drain the queues after the sources stop.
        let output = run(&format!(
            "duration = \"20 s\"\nseed = {seed}\n[wlan]\nqueues = \"{queues}\"\n{}[link]\nlimit = \"100 packets\"\n\
             [reverse]\nlimit = \"100 packets\"\n{}",
            cells.concat(),
            flows.concat().replace("SIZE", &size.to_string())
        ));
        let summary = &output.summary;
        let links = [&summary.links.forward, &summary.links.reverse];
        let lost: u64 = links.iter().map(|link| link.dropped + link.lost).sum();
        let sent: u64 = summary.flows.iter().map(|flow| flow.sent).sum();
        let received: u64 = summary.flows.iter().map(|flow| flow.payload.bytes / (size - 28)).sum();
        prop_assert_eq!(sent, received + lost);
    }
}
