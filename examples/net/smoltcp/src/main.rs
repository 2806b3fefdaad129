//! smoltcp 0.14.0 behind real queues: a table of goodput, delay and ACKs for Reno and CUBIC, with and without an ACK
//! filter upstream. `sojourn-net-smoltcp 7` runs it with the seed 7.

use sojourn_net::{Net, Report, expect};
use sojourn_net_smoltcp::{CongestionControl, Host, Transfer};

const WORLD: &str = include_str!("../world.toml");

/// A download of 20 s behind `queue`, with `filter` upstream.
fn download(transfer: Transfer, queue: &str, filter: &str) -> Report {
    let text = WORLD.replace("aqm = \"fq_codel\"", &format!("aqm = \"{queue}\""));
    let text = text.replace("aqm = \"cake\"", &format!("aqm = \"{filter}\""));
    let mut net = Net::parse(&text, transfer.seed).expect("the world is valid");
    let [source, sink] = Host::pair(transfer);
    net.attach("host", source, sink).expect("the group is there");
    net.run().expect("no fault")
}

/// Prints a row of the table; returns the goodput in Mbit/s.
fn row(name: &str, queues: (&str, &str), report: &Report) -> f64 {
    let ends = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    let rate = ends.source.bytes as f64 * 8.0 / 20e6;
    println!(
        "{name:5} {:8} {:15} {rate:5.2} Mbit/s {:6.1} ms {:6} ACKs {:4.1} % lost  {}",
        queues.0,
        queues.1,
        ends.source.delay_ms.p99.expect("packets have arrived"),
        ends.sink.sent,
        100.0 * ends.sink.loss_rate.expect("ACKs were sent"),
        report.decisions()
    );
    rate
}

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the seed is a number"));
    println!("seed {seed}: control, queue down, queue up; goodput, p99 of the one-way delay, ACKs, decisions");
    for (name, control) in [("reno", CongestionControl::Reno), ("cubic", CongestionControl::Cubic)] {
        for queue in ["droptail", "fq_codel"] {
            let transfer = Transfer { bytes: 1 << 30, buffer: 1 << 19, control, seed };
            let rates = ["cake", "cake ack-filter"].map(|filter| {
                let report = download(transfer, queue, filter);
                if queue == "fq_codel" {
                    expect!(report, "p95(delay, host.source) <= 45 ms and p99(delay, host.source) <= 80 ms");
                }
                row(name, (queue, filter), &report)
            });
            println!("      the filter changes the goodput by {:+.1} %", 100.0 * (rates[1] / rates[0] - 1.0));
        }
    }
}
