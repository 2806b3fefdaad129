//! quinn-proto 0.11.19 with rustls, called by `sojourn-net`: 12 MB beside TCP CUBIC behind FQ-CoDel with ECN.
//! `sojourn-net-quinn-proto 7` runs it with the seed 7.

mod config;
mod stack;
mod transfer;

use sojourn_net::{Instant, Net, Side, expect};
use stack::Stack;
use transfer::{Receiver, Sender};

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the seed is a number"));
    let mut net = Net::load(concat!(env!("CARGO_MANIFEST_DIR"), "/world.toml"), seed).expect("the world is valid");
    // Times of quinn-proto are those of the standard library.
    let zero = net.std(Instant::ZERO);
    let client = Stack::new(config::endpoint(seed, Side::Source), zero, Sender::new(config::client(seed)));
    let server = Stack::new(config::endpoint(seed, Side::Sink), zero, Receiver::default());
    net.attach("bulk", client, server).expect("the group is there");
    let report = net.run().expect("no program fails");
    println!(
        "seed {seed}: {} datagrams, decisions {}, run {}",
        report.datagrams(),
        report.decisions(),
        report.fingerprint()
    );
    // Half of the rate while CUBIC sends: 10 s for the packets. CUBIC starts within the first second.
    expect!(report, "9 s <= mean(completion, bulk) <= 10.6 s and share(flows.1) >= 70 %");
    // Propagation takes 15 ms. The first slow start overshoots, and marks drop nothing.
    expect!(report, "p75(delay, bulk) <= 25 ms and p95(delay, bulk) <= 130 ms");
    // Marks alone answer congestion: the queue drops none of the packets, and quinn retransmits none.
    expect!(report, "marks(bulk) >= 0.2 % and loss(bulk) <= 0 % and note(bulk.source.lost) <= 0");
    // quinn reduces its window for marks, two to four times a second.
    expect!(report, "15 <= note(bulk.source.reductions) <= 45");
}
