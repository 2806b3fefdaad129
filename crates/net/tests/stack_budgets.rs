//! Budgets of a stack, quinn; `tests/net_faults.py` plants faults in it that break them. Only with the feature `quinn`.
#![cfg(feature = "quinn")]

#[path = "common/quinn.rs"]
mod quinn;

use quinn::{Messages, run};
use sojourn_net::{Duration, Instant, Report, Side, expect, seeds};
use sojourn_sim::quinn_proto::TransportConfig;
use sojourn_sim::quinn_proto::congestion::CubicConfig;
use std::sync::Arc;

/// quinn's defaults, one datagram per call.
fn defaults() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false).max_concurrent_uni_streams(10_000_u32.into());
    transport
}

/// One message of so many bytes.
fn bulk(bytes: usize) -> Messages {
    Messages { are_from_server: false, count: 1, bytes, gap: Duration::ZERO }
}

/// Messages of `bytes`, one each `gap_ms`, from the client.
fn messages(count: u32, bytes: usize, gap_ms: i64) -> Messages {
    Messages { are_from_server: false, count, bytes, gap: Duration::from_millis(gap_ms) }
}

/// A world with one pair of ends and a link of 10 Mbit/s, and more keys of the file, of the link, and of the group.
fn world(times: &str, link: &str, group: &str) -> String {
    format!(
        "{times}\n[link]\nrate = \"10 Mbit/s\"\n{link}\n\
         [[flows]]\nkind = \"endpoint\"\nname = \"call\"\n{group}\n"
    )
}

#[test]
fn marks_lower_the_rate() {
    // Without the overshoot of slow start, which takes CoDel a second to bring down.
    let world =
        world("duration = \"10 s\"\nwarmup = \"3 s\"", "aqm = \"codel ecn\"", "rtt = \"40 ms\"\nspread = \"0.5 s\"");
    seeds(1..=3, |seed| {
        let report = run(&world, seed, defaults(), bulk(1 << 30));
        expect!(report, "marks(call) > 0 % and p99(delay, call) <= 50 ms and goodput(call) >= 8 Mbit/s");
    });
}

#[test]
fn bursts_fit_a_short_queue() {
    let mut cubic = CubicConfig::default();
    cubic.initial_window(64 * 1_200);
    let cubic = Arc::new(cubic);
    let world = world("duration = \"10 s\"", "limit = \"25 packets\"", "rtt = \"100 ms\"");
    seeds(1..=3, |seed| {
        let mut transport = defaults();
        transport.congestion_controller_factory(cubic.clone()).mtu_discovery_config(None);
        let report = run(&world, seed, transport, messages(20, 40_000, 500));
        expect!(report, "loss(call) <= 0 % and p99(completion, call) <= 250 ms");
    });
}

#[test]
fn losses_lower_the_window() {
    let world = world("duration = \"8 s\"", "limit = \"40 packets\"", "rtt = \"40 ms\"\nspread = \"0.5 s\"");
    seeds(1..=3, |seed| {
        let report = run(&world, seed, defaults(), bulk(1 << 30));
        expect!(report, "loss(call) <= 3 % and goodput(call) >= 8 Mbit/s");
    });
}

#[test]
fn a_lost_message_arrives_after_a_probe() {
    let world = world("duration = \"120 s\"", "loss = \"5 %\"", "rtt = \"40 ms\"");
    seeds(1..=3, |seed| {
        let report = run(&world, seed, defaults(), messages(110, 1_000, 1_000));
        expect!(report, "p99(completion, call) <= 300 ms");
    });
}

#[test]
fn the_search_for_the_mtu_rejects_a_black_hole() {
    let world = world("duration = \"8 s\"", "", "rtt = \"40 ms\"\nmtu = \"1300 B\"\noversize = \"drop\"");
    seeds(1..=3, |seed| {
        let report = run(&world, seed, defaults(), bulk(5_000_000));
        expect!(report, "loss(call) <= 0.5 % and p99(completion, call) <= 5 s");
    });
}

#[test]
fn a_black_hole_is_found() {
    let world = world("duration = \"12 s\"", "", "rtt = \"40 ms\"\nmtu = \"1300 B\"\noversize = \"drop\"");
    seeds(1..=3, |seed| {
        let mut transport = defaults();
        transport.initial_mtu(1_400);
        let report = run(&world, seed, transport, bulk(5_000_000));
        expect!(report, "p99(completion, call) <= 8 s");
    });
}

#[test]
fn another_address_has_a_window_of_its_own() {
    let group = "rtt = \"40 ms\"\ndirection = \"reverse\"\nevents = [{ at = \"3 s\", rebind = \"address\" }]";
    let world = world("duration = \"4 s\"", "limit = \"60 packets\"", group).replace("10 Mbit/s", "30 Mbit/s");
    seeds(1..=3, |seed| {
        let mut transport = defaults();
        transport.keep_alive_interval(Some(std::time::Duration::from_millis(200)));
        let report = run(&world, seed, transport, Messages { are_from_server: true, ..bulk(1 << 30) });
        let (before, after) = windows_of_addresses(&report);
        assert!(after > 0 && after <= 4 * INITIAL_WINDOW, "{before} B and {after} B");
        assert!(before > 10 * INITIAL_WINDOW, "{before} B and {after} B");
    });
}

/// Bytes that the server sent in the last two round trips to the client's first address, and in the first two to its
/// second one. Until the path is validated, which takes one, it may send three times what it received.
fn windows_of_addresses(report: &Report) -> (u64, u64) {
    let sent: Vec<_> = report.log().iter().filter(|one| one.end.side == Side::Sink).collect();
    let first = sent[0].to;
    let moved = sent.iter().find(|one| one.to != first && one.bytes > 1_000).expect("the server follows the client").at;
    let rebound = Instant::ZERO + Duration::from_secs(3);
    let span = Duration::from_millis(80);
    let bytes = |from: Instant| {
        sent.iter().filter(|one| one.at >= from && one.at < from + span).map(|one| u64::from(one.bytes)).sum()
    };
    (bytes(rebound - span), bytes(moved))
}

/// quinn's initial window in bytes.
const INITIAL_WINDOW: u64 = 12_000;

#[test]
fn a_message_is_acknowledged_in_time() {
    let world = world("duration = \"30 s\"", "", "rtt = \"40 ms\"");
    seeds(1..=3, |seed| {
        let report = run(&world, seed, defaults(), messages(25, 700, 1_000));
        // A round trip, and at most 25 ms until the acknowledgment; so no probe is sent.
        expect!(report, "max(note, call.source.acknowledged_ms) <= 80");
    });
}

#[test]
fn two_runs_make_equal_decisions() {
    let world = world("duration = \"4 s\"", "limit = \"40 packets\"\nloss = \"0.5 %\"", "rtt = \"40 ms\"");
    seeds(1..=3, |seed| {
        let [first, second] = [(); 2].map(|()| run(&world, seed, defaults(), bulk(1 << 30)));
        assert_eq!(first.decisions(), second.decisions());
    });
}
