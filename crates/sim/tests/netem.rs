//! netem at links: duplicates and corrupted packets are packets like others, and nothing else changes.

use crate::common::{run, whole};
use sojourn_sim::Output;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

fn tcp(aqm: &str, seed: u64) -> Output {
    run(&format!(
        "duration = \"23 s\"\nseed = {seed}\n[link]\nrate = \"17.3 Mbit/s\"\naqm = \"{aqm}\"\n[[flows]]\nkind = \"tcp\"\n\
         cc = \"cubic\"\nrtt = \"13 ms\"\ncount = 2\n[probes]\npackets = true"
    ))
}

fn cbr(link: &str, rtt_ms: u32) -> Output {
    run(&format!(
        "duration = \"40 s\"\nseed = 77\n[link]\nrate = \"1 Gbit/s\"\n{link}\n[[flows]]\nkind = \"cbr\"\nrate = \"12 Mbit/s\"\n\
         rtt = \"{rtt_ms} ms\"\n[probes]\nflows = \"1 ms\""
    ))
}

/// Whether `count` of `n` independent events is within five standard deviations of probability `p`.
fn near(count: u64, n: u64, p: f64) -> bool {
    (count as f64 - n as f64 * p).abs() < 5.0 * (n as f64 * p * (1.0 - p)).sqrt()
}

#[test]
fn duplicates_are_packets_of_their_own() {
    let output = tcp("netem delay 7ms duplicate 3%", 3);
    let forward = &output.summary.links.forward;
    let waiting = whole(&output, "waiting", "link").iter().filter(|&&link| link == 0).count() as u64;
    assert_eq!(forward.arrived, forward.packets + forward.dropped + waiting);
    let sent: u64 = output.summary.flows.iter().map(|flow| flow.sent).sum();
    let copies = forward.arrived - sent.min(forward.arrived);
    assert!(near(copies, sent, 0.03), "{copies} copies of {sent}");
    // TCP delivers each byte once.
    let payload: u64 = output.summary.flows.iter().map(|flow| flow.payload.bytes).sum();
    assert!(payload <= sent * 1448 && payload > 0, "{payload} B of {sent} segments");
}

#[test]
fn what_is_damaged_crosses_the_link_and_is_not_received() {
    let (clean, damaged) = (cbr("aqm = \"netem delay 3ms\"", 2), cbr("aqm = \"netem delay 3ms corrupt 4%\"", 2));
    let (before, after) = (&clean.summary.links.forward, &damaged.summary.links.forward);
    assert_eq!((after.packets, after.dropped, after.lost), (before.packets, 0, 0));
    let received = |output: &Output| output.summary.flows[0].payload.bytes / 1472;
    let lost = received(&clean) - received(&damaged);
    assert!(near(lost, received(&clean), 0.04), "{lost} of {}", received(&clean));
    let repaired = tcp("netem corrupt 1%", 5).summary;
    assert!(repaired.flows.iter().all(|flow| flow.retransmissions > 20), "{:?}", repaired.flows);
    assert_eq!(repaired.links.forward.lost, 0);
}

#[test]
fn a_delay_of_netem_is_one_of_the_link() {
    let netem = cbr("aqm = \"netem delay 20ms\"", 2).summary;
    let link = cbr("delay = \"20 ms\"", 42).summary;
    assert_eq!(netem.flows[0].payload.bytes, link.flows[0].payload.bytes);
    let (with, without) = (&netem.flows[0].datagrams, &link.flows[0].datagrams);
    assert_eq!(with.delay_ms, without.delay_ms);
    assert_eq!(netem.links.forward.sojourn_ms.max, Some(20.0));
}

#[test]
fn what_the_rest_of_a_scenario_cannot_carry_is_refused() {
    let refusal = |text: &str| Scenario::parse(text, &[], Path::new(".")).expect_err(text).to_string();
    let text = "duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\naqm = \"netem duplicate 1%\"\n[[flows]]\nkind = \"cbr\"\n\
                rate = \"1 Mbit/s\"";
    let why = "link.aqm: cbr flows would count duplicates as datagrams; leave duplicate of netem out";
    assert_eq!(refusal(text), why);
    let text = "duration = \"1 s\"\n[wlan]\n[[wlan.stations]]\nrate = \"54 Mbit/s\"\n[link]\naqm = \"netem corrupt 1%\"\n\
                [[flows]]\nkind = \"tcp\"";
    let text = refusal(text);
    assert!(text.contains("a wireless LAN cannot corrupt packets; leave corrupt of netem out"), "{text}");
}
