//! The world of smoltcp's own test `netsim`: 10 MiB over a round trip of 100 ms without a bottleneck, each packet lost at
//! random. Cells of its table, which version 0.14.0 has in `tests/snapshots/netsim__netsim.snap`, in B/s.

use sojourn_net::Net;
use sojourn_net_smoltcp::{CongestionControl, Host, Transfer};

const BYTES: usize = 10 << 20;

/// Buffer, loss, and the throughput of the table.
const CELLS: [(usize, f64, f64); 9] = [
    (1_024, 0.0, 10_238.50),
    (2_048, 0.0, 17_535.11),
    (4_096, 0.0, 35_062.41),
    (8_192, 0.0, 77_374.28),
    (16_384, 0.0, 161_842.28),
    (32_768, 0.0, 322_944.88),
    (4_096, 0.01, 26_937.41),
    (16_384, 0.01, 127_090.53),
    (32_768, 0.001, 314_779.73),
];

fn throughput(buffer: usize, loss: f64) -> f64 {
    // The highest rate: packets that are sent together arrive within one microsecond, as over their link without a rate.
    let link = format!("rate = \"10000 Gbit/s\"\ndelay = \"50 ms\"\nloss = {loss}\n");
    let world = format!(
        "duration = \"2000 s\"\n[link]\n{link}[reverse]\n{link}[[flows]]\nkind = \"endpoint\"\nname = \"host\"\nlayer = \"ip\"\n"
    );
    let mut net = Net::parse(&world, 1).unwrap_or_else(|error| panic!("{error}"));
    let [source, sink] = Host::pair(Transfer { bytes: BYTES, buffer, control: CongestionControl::None, seed: 1 });
    net.attach("host", source, sink).expect("the group is there");
    let report = net.run().expect("no fault");
    let completion = report.summary().groups[0].completion_ms.p50.expect("it completes");
    BYTES as f64 * 1e3 / completion
}

#[test]
fn its_own_table_is_met() {
    let mut wrong = Vec::new();
    for (buffer, loss, theirs) in CELLS {
        let ours = throughput(buffer, loss);
        println!("{buffer:6} {loss:5} {ours:12.2} {theirs:12.2} {:+.1} %", (ours / theirs - 1.0) * 100.0);
        // Without loss nothing is drawn; with loss their draws are others.
        let allowed = if loss == 0.0 { 0.005 } else { 0.10 };
        if (ours / theirs - 1.0).abs() > allowed {
            wrong.push((buffer, loss, ours, theirs));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
