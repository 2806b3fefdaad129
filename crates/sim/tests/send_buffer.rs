//! The sender's socket buffer: utilisation of a long path, and the stacks that have a buffer.

use crate::common::run;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

fn flow(keys: &str) -> String {
    format!(
        "duration = \"20 s\"\nwarmup = \"10 s\"\n[link]\nrate = \"100 Mbit/s\"\ndelay = \"100 ms\"\nlimit = \"5000 packets\"\n\
         [[flows]]\nkind = \"tcp\"\naccess_rate = \"1 Gbit/s\"\n{keys}\n"
    )
}

fn goodput_mbps(keys: &str) -> f64 {
    run(&flow(keys)).summary.groups[0].payload.goodput_bps / 1e6
}

#[test]
fn a_flow_has_no_more_out_than_its_buffer_holds() {
    // Throughput of Linux 6.1.192 with this maximum of `tcp_wmem`; a segment takes 4 to 8 % less memory there.
    for (bytes, kernel) in [("64 KiB", 3.008), ("512 KiB", 16.66)] {
        let simulated = goodput_mbps(&format!("send_buffer = \"{bytes}\""));
        assert!((0.9..1.02).contains(&(simulated / kernel)), "{bytes}: {simulated} Mbit/s here, {kernel} there");
    }
    let free = goodput_mbps("");
    assert!(free > 80.0, "{free} without a limit");
}

#[test]
fn stacks_without_one_refuse_the_key() {
    for (keys, error) in [
        (
            "stack = \"linux-3.13\"\nsend_buffer = \"4 MiB\"",
            "flows[0].send_buffer: linux-3.13 has no send buffer; choose linux-6.1, or leave it out",
        ),
        (
            "stack = \"quic-rfc9002\"\nsend_buffer = \"4 MiB\"",
            "flows[0].send_buffer: the application of QUIC writes when it can send; leave it out",
        ),
    ] {
        let refused = Scenario::parse(&flow(keys), &[], Path::new(".")).expect_err(keys);
        assert_eq!(refused.to_string(), error);
    }
}
