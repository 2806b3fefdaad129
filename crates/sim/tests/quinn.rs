//! quinn at both ends of flows: reproducible runs, and rejected keys. Only with the feature `quinn`.
#![cfg(feature = "quinn")]

use crate::common::{run, scenario};
use sojourn_sim::Output;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

fn flow(keys: &str) -> String {
    format!(
        "duration = \"20 s\"\nwarmup = \"4 s\"\nseed = 7\n[link]\nrate = \"13 Mbit/s\"\naqm = \"codel\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"quinn\"\nrtt = \"37 ms\"\n{keys}\n"
    )
}

fn goodput(output: &Output) -> Vec<f64> {
    output.summary.groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect()
}

#[test]
fn every_run_is_the_same() {
    for cc in ["newreno", "cubic", "bbr"] {
        let text = flow(&format!("cc = \"{cc}\"\ncount = 3\nspread = \"1 s\"\necn = true"));
        let fingerprints: Vec<String> = (0..3).map(|_| run(&text).summary.fingerprint).collect();
        assert!(fingerprints.iter().all(|fingerprint| *fingerprint == fingerprints[0]), "{cc}: {fingerprints:?}");
        let other = run(&text.replace("seed = 7", "seed = 8")).summary.fingerprint;
        assert_ne!(other, fingerprints[0]);
    }
}

#[test]
fn it_fills_a_link_behind_codel() {
    for cc in ["newreno", "cubic"] {
        let output = run(&flow(&format!("cc = \"{cc}\"\ncount = 2\nspread = \"1 s\"")));
        let link = &output.summary.links.forward;
        assert!(goodput(&output)[0] > 9.5 && link.dropped > 0, "{cc}: {:?}", goodput(&output));
    }
}

#[test]
fn a_transfer_ends() {
    let output = run(&flow("cc = \"cubic\"\nsize = \"333 kB\"\nstart = \"5 s\""));
    let group = &output.summary.groups[0];
    assert_eq!((group.transfers, group.closed), (1, 1));
    let least = 37.0 + 37.0 / 2.0 + 333e3 * 8.0 / 13e6 * 1e3;
    let took = group.completion_ms.max.expect("it was completed");
    assert!((least..least + 400.0).contains(&took), "{took} ms, at least {least}");
}

#[test]
fn what_it_does_not_have_is_refused() {
    for (keys, error) in [
        (
            "cc = \"vegas\"",
            "flows[0].cc: quinn has newreno, cubic and bbr, not vegas; choose one, or stack = \"quic-rfc9002\"",
        ),
        ("delayed_ack = false", "flows[0].delayed_ack: quinn decides itself when to acknowledge; leave it out"),
        ("size = \"1 MB\"\npause = \"1 s\"", "flows[0].pause: a quinn flow is one connection; leave it out"),
        ("sack = false", "flows[0].sack: QUIC acknowledgments always report all ranges; leave it out"),
    ] {
        let refused = Scenario::parse(&flow(keys), &[], Path::new(".")).expect_err(keys);
        assert_eq!(refused.to_string(), error);
    }
    scenario(&flow("mss = \"1200 B\"\ninitial_window = 32"));
}
