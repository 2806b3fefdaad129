//! The stack `ns2` against ns-2.35 itself: bytes sent and packets dropped at a bottleneck with tail drop, in 54 cells.
//!
//! `ns2/cells.csv` is from Debian's ns-2.35: a dumbbell whose FTPs start at 0, with `TCP/Newreno` or `TCP/Reno` and
//! `TCPSink`, packets of 1500 bytes, `windowInit_` 4, 60 s. Access links at both ends have ten times the rate and a
//! delay of 3 ms; the queue holds 50 ms of the link's rate. The time of a packet and its acknowledgment on the
//! receivers' link, which our dumbbell lacks, is included in the round-trip time.

use crate::common::{folder, run};
use std::fs;

/// A cell and the results of ns-2.
struct Cell {
    name: String,
    scenario: String,
    bytes: u64,
    drops: u64,
}

/// In slow start every packet of an ACK-clocked flow arrives as another departs. ns-2 breaks such ties by the time at
/// which the event was scheduled, which decides the dropped packet. The larger difference of these two cells is
/// unexplained.
const OUTSIDE: &[&str] = &["1.3 Mbit/s, 410 ms, 1 newreno", "1.3 Mbit/s, 410 ms, 1 reno"];

#[test]
fn tail_drop_cells_send_and_drop_as_in_ns_2() {
    let (mut outside, mut equal_drops) = (Vec::new(), 0);
    let cells = cells();
    for cell in &cells {
        let link = run(&cell.scenario).summary.links.forward;
        if link.bytes.abs_diff(cell.bytes) * 50 > cell.bytes {
            outside.push(cell.name.as_str());
        }
        equal_drops += usize::from(link.dropped == cell.drops);
    }
    assert_eq!(outside, OUTSIDE, "more than 2 % from the bytes of ns-2");
    assert!(equal_drops >= 41, "equal drops in {equal_drops} of {}", cells.len());
}

fn cells() -> Vec<Cell> {
    let text = fs::read_to_string(folder().join("ns2/cells.csv")).expect("the cells are there");
    let cells: Vec<Cell> = text.lines().skip(1).map(cell).collect();
    assert_eq!(cells.len(), 54);
    cells
}

fn cell(line: &str) -> Cell {
    let [rate, rtt, flows, tcp, limit, window, bytes, drops] =
        line.split(',').collect::<Vec<_>>().try_into().expect("eight columns");
    let (mbps, rtt_ms): (f64, f64) = (rate.parse().unwrap(), rtt.parse().unwrap());
    let on_receivers_link_ns = (1500.0 + 40.0) * 8.0 / (10.0 * mbps) * 1e3;
    let link = format!(
        "rate = \"{rate} Mbit/s\"\ndelay = \"{} ms\"\naqm = \"droptail\"\nlimit = \"{limit} packets\"",
        rtt_ms / 2.0 - 6.0
    );
    let scenario = format!(
        r#"
        duration = "60 s"
        warmup = "0 s"
        [link]
        {link}
        [reverse]
        {link}
        [[flows]]
        kind = "tcp"
        stack = "ns2"
        cc = "{tcp}"
        sack = false
        mss = "1460 B"
        initial_window = 4
        receive_window = "{} B"
        count = {flows}
        rtt = "{} ns"
        spread = "0 s"
        access_rate = "{} Mbit/s"
        "#,
        window.parse::<u64>().unwrap() * 1460,
        (rtt_ms * 1e6 + on_receivers_link_ns).round(),
        10.0 * mbps,
    );
    let name = format!("{rate} Mbit/s, {rtt} ms, {flows} {tcp}");
    Cell { name, scenario, bytes: bytes.parse().unwrap(), drops: drops.parse().unwrap() }
}
