//! Pacing by the sender's host: departure times of segments, and the effect on a queue.

use crate::common::{run, whole};
use sojourn_sim::Output;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

fn flow(keys: &str) -> String {
    format!(
        "duration = \"12 s\"\nwarmup = \"4 s\"\nseed = 5\n[link]\nrate = \"31 Mbit/s\"\nlimit = \"200 packets\"\n\
         [[flows]]\nkind = \"tcp\"\nrtt = \"43 ms\"\n{keys}\n[probes]\nsenders = true\nqueue = \"1 ms\"\n"
    )
}

/// Maximum number of segments sent within a millisecond, after the first `from_ms`.
fn most_at_once(output: &Output, from_ms: u64) -> usize {
    let times: Vec<u64> =
        whole(output, "segments", "time_ns").into_iter().filter(|ns| *ns > from_ms * 1_000_000).collect();
    (0..times.len()).map(|i| times[i..].iter().take_while(|&&at| at < times[i] + 1_000_000).count()).max().unwrap_or(0)
}

#[test]
fn a_host_that_paces_spreads_bursts() {
    // The receiver's NIC joins up to 10 ms of segments and sends one acknowledgment for them.
    let bursts =
        |pacing| most_at_once(&run(&flow(&format!("cc = \"cubic\"\npacing = {pacing}\ngro = \"10 ms\""))), 4_000);
    let (free, paced) = (bursts(false), bursts(true));
    // 120 % of 31 Mbit/s is 3.2 packets per millisecond.
    assert!(free > 20 && paced <= 8, "{free} without pacing, {paced} with it");
}

#[test]
fn the_largest_rate_bounds_what_is_sent() {
    let output = run(&flow("cc = \"cubic\"\nmax_pacing_rate = \"7 Mbit/s\""));
    let goodput = output.summary.groups[0].payload.goodput_bps;
    // The measured eight seconds may contain one additional segment of 1448 bytes.
    assert!((6.8e6..=7.0e6 + 1448.0).contains(&goodput), "{goodput}");
    assert_eq!(output.summary.links.forward.dropped, 0);
    let bbr = run(&flow("cc = \"bbr\"\nmax_pacing_rate = \"7 Mbit/s\""));
    assert!((6.6e6..=7.0e6).contains(&bbr.summary.groups[0].payload.goodput_bps));
}

#[test]
fn a_control_that_is_paced_anyway_does_not_change() {
    let fingerprint = |keys: &str| run(&flow(keys)).summary.fingerprint;
    assert_eq!(fingerprint("cc = \"bbr\""), fingerprint("cc = \"bbr\"\npacing = true"));
    assert_eq!(fingerprint("cc = \"cubic\""), fingerprint("cc = \"cubic\"\npacing = false"));
    assert_ne!(fingerprint("cc = \"cubic\""), fingerprint("cc = \"cubic\"\npacing = true"));
}

#[test]
fn stacks_without_it_refuse_it() {
    for (keys, error) in [
        (
            "stack = \"linux-3.8\"\npacing = true",
            "flows[0].pacing: linux-3.8 has no pacing; choose linux-3.13 or linux-6.1",
        ),
        (
            "stack = \"ns2\"\nmax_pacing_rate = \"1 Mbit/s\"",
            "flows[0].max_pacing_rate: ns2 has no pacing; choose linux-3.13 or linux-6.1",
        ),
        (
            "pacing = false\nmax_pacing_rate = \"1 Mbit/s\"",
            "flows[0].pacing: conflicts with max_pacing_rate, which paces; leave one of the two out",
        ),
        ("stack = \"quic-rfc9002\"\npacing = true", "flows[0].pacing: QUIC is always paced; leave it out"),
    ] {
        let refused = Scenario::parse(&flow(keys), &[], Path::new(".")).expect_err(keys);
        assert_eq!(refused.to_string(), error);
    }
}
