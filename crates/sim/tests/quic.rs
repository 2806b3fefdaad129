//! QUIC over whole runs: its keys in scenarios, and its share beside TCP.

use crate::common::{real, run, scenario, whole};
use sojourn_sim::Output;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

fn flow(keys: &str) -> String {
    format!(
        "duration = \"20 s\"\nwarmup = \"4 s\"\nseed = 7\n[link]\nrate = \"13 Mbit/s\"\naqm = \"codel\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"quic-rfc9002\"\nrtt = \"37 ms\"\n{keys}\n"
    )
}

fn goodput(output: &Output) -> Vec<f64> {
    output.summary.groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect()
}

#[test]
fn every_control_fills_a_link_behind_codel_and_leaves_a_short_queue() {
    // Headers take 4.2 % of 13 Mbit/s from the payload.
    for (cc, least) in
        [("newreno", 10.8), ("reno", 10.8), ("cubic", 11.3), ("bbr", 11.3), ("bbr3", 11.3), ("prague", 11.0)]
    {
        let output = run(&flow(&format!("cc = \"{cc}\"\ncount = 2\nspread = \"1 s\"")));
        let (goodput, link) = (goodput(&output), &output.summary.links.forward);
        assert!((least..12.46).contains(&goodput.iter().sum::<f64>()), "{cc}: {goodput:?}");
        let p50 = link.sojourn_ms.p50.expect("packets were sent");
        // BBR ignores CoDel's drops; its own bound of two bandwidth-delay products is about an RTT of queue.
        assert!(p50 < if cc.starts_with("bbr") { 45.0 } else { 9.0 }, "{cc}: {p50} ms");
        assert!(link.dropped > 0, "{cc}");
    }
}

#[test]
fn quic_and_tcp_of_the_same_control_share_a_link() {
    let both = flow("cc = \"cubic\"\nspread = \"1 s\"")
        + "[[flows]]\nkind = \"tcp\"\ncc = \"cubic\"\nrtt = \"37 ms\"\nspread = \"1 s\"\n";
    let goodput = goodput(&run(&both));
    assert!((0.5..2.0).contains(&(goodput[0] / goodput[1])), "{goodput:?}");
}

#[test]
fn transfers_end_when_their_last_byte_has_come() {
    let output = run(&flow("size = \"333 kB\"\npause = \"100 ms\""));
    let group = &output.summary.groups[0];
    assert!(group.transfers > 30, "{}", group.transfers);
    // The handshake, at least 223 full packets at 13 Mbit/s, and the delay of the last one.
    let least = 37.0 + 37.0 / 2.0 + 333e3 * 8.0 / 13e6 * 1e3;
    let fastest = group.completion_ms.p10.expect("some were completed");
    assert!((least..least + 300.0).contains(&fastest), "{fastest} ms, at least {least}");
}

#[test]
fn marks_take_the_place_of_drops_where_the_path_carries_them() {
    let ecn = |more: &str| run(&flow(&format!("cc = \"cubic\"\necn = true\n{more}")).replace("codel\"", "codel ecn\""));
    let (carried, bleached) = (ecn(""), ecn("middlebox = \"bleach\""));
    let counts = |output: &Output| (output.summary.links.forward.marked, output.summary.links.forward.dropped);
    assert!(counts(&carried).0 > 10 && counts(&carried).1 == 0, "{:?}", counts(&carried));
    // Marks are not reported: after ten packets, no packet is ECN-capable.
    assert!(counts(&bleached).0 < 10 && counts(&bleached).1 > 10, "{:?}", counts(&bleached));
}

#[test]
fn senders_are_recorded() {
    let output = run(&flow("cc = \"newreno\"\n[probes]\nsenders = true\nflows = \"100 ms\""));
    let (event, sent) = (whole(&output, "segments", "event"), output.summary.groups[0].sent);
    assert!(event.is_sorted());
    let retransmitted: u64 = whole(&output, "segments", "again").iter().sum();
    let lost = whole(&output, "losses", "seq").len() as u64;
    assert!(sent > 10_000 && lost > 10, "{sent}, {lost}");
    // Lost data goes into another packet, or into two if headers have grown; some may still be queued at the end.
    assert!((lost - 20..=lost + 3).contains(&retransmitted), "{retransmitted} of {lost}");
    let ranges: Vec<(u64, u64)> =
        whole(&output, "ack_ranges", "first").into_iter().zip(whole(&output, "ack_ranges", "last")).collect();
    assert!(ranges.iter().all(|(first, last)| first <= last && *last < event.len() as u64));
    assert!(real(&output, "senders", "pacing_bps").iter().filter(|bps| bps.is_finite()).count() > 1_000);
    let handshake = whole(&output, "segments", "ip_bytes")[0];
    assert_eq!(handshake, 1_228);
}

#[test]
fn what_quic_does_not_have_is_refused() {
    for (keys, error) in [
        ("sack = false", "flows[0].sack: QUIC acknowledgments always report all ranges; leave it out"),
        ("gso = true", "flows[0].gso: QUIC sends packets one by one, paced; leave it out"),
        ("gro = \"50 us\"", "flows[0].gro: packets of QUIC are not joined at the receiver; leave it out"),
        ("abc = 2", "flows[0].abc: QUIC counts bytes or packets, depending on its control; leave it out"),
        ("nagle = true", "flows[0].nagle: QUIC has no Nagle's algorithm; leave it out"),
        ("receive_window = \"1 MB\"", "flows[0].receive_window: flow control of QUIC is not modelled; leave it out"),
        ("mss = \"1199 B\"", "flows[0].mss: every QUIC path carries 1200 B of UDP payload; write at least that"),
        ("cc = \"ledbat\"", "flows[0].cc: ledbat needs TCP's timestamps; choose ledbat++"),
    ] {
        let refused = Scenario::parse(&flow(keys), &[], Path::new(".")).expect_err(keys);
        assert_eq!(refused.to_string(), error);
    }
    let web = flow("interval = \"1 s\"\nsize = \"20 kB\"").replace("kind = \"tcp\"", "kind = \"web\"");
    let refused = Scenario::parse(&web, &[], Path::new(".")).expect_err("pages are asked for");
    let text = "flows[0].stack: web flows need both directions of TCP; QUIC sends files: write kind = \"tcp\"";
    assert_eq!(refused.to_string(), text);
    scenario(&flow("mss = \"1200 B\"\nsack = true\ninitial_window = 32\ndelayed_ack = false"));
}
