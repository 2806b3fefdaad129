//! The probe of transport headers.

use crate::common::{run, whole};
use sojourn_sim::Output;
use std::collections::BTreeMap;

const ACK: u64 = 4;

/// A run with losses, SACK blocks and datagrams at a small buffer.
fn output() -> Output {
    run(r#"
        duration = "4 s"
        [link]
        rate = "5 Mbit/s"
        limit = "12 packets"
        aqm = "droptail"
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 2
        rtt = "40 ms"
        [[flows]]
        kind = "cbr"
        rate = "300 kbit/s"
        size = "400 B"
        [probes]
        packets = true
        headers = true
        "#)
}

#[test]
fn every_arrival_has_its_header_and_every_byte_its_place() {
    let output = output();
    let rows = |table: &str, names: &[&str]| -> Vec<Vec<u64>> {
        let columns: Vec<_> = names.iter().map(|name| whole(&output, table, name)).collect();
        (0..columns[0].len()).map(|i| columns.iter().map(|c| c[i]).collect()).collect()
    };
    let mut known: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for table in ["packets", "waiting"] {
        for row in rows(table, &["link", "arrival", "flow", "bytes"]) {
            assert!(known.insert((row[0], row[1]), (row[2], row[3])).is_none(), "{row:?} twice");
        }
    }
    let headers = rows("headers", &["link", "arrival", "ip_bytes", "payload", "flags", "sack1_from", "sack1_to"]);
    assert_eq!(headers.len(), known.len());
    let mut sacks = 0;
    for row in headers {
        let [link, arrival, ip_bytes, payload, flags, from, to] = row[..] else { unreachable!("seven columns") };
        let (flow, bytes) = known[&(link, arrival)];
        assert_eq!(ip_bytes, bytes, "without framing, the queue accounts what IP has");
        assert_eq!(flags == 0, flow == 2, "only datagrams have no flag");
        assert!(payload == 0 || link == 0, "both connections send forward");
        assert!(from <= to);
        sacks += (to > 0) as u32;
    }
    assert!(sacks > 10, "{sacks} acknowledgments with SACK blocks");
}

#[test]
fn what_was_sent_and_not_dropped_is_what_is_acknowledged() {
    let output = output();
    let columns = ["link", "arrival", "seq", "ack", "payload", "flags"].map(|name| whole(&output, "headers", name));
    let flows: BTreeMap<(u64, u64), u64> = ["packets", "waiting"]
        .into_iter()
        .flat_map(|table| {
            let [link, arrival, flow] = ["link", "arrival", "flow"].map(|name| whole(&output, table, name));
            (0..link.len()).map(move |i| ((link[i], arrival[i]), flow[i])).collect::<Vec<_>>()
        })
        .collect();
    let ([link, arrival, seq, ack, payload, flags], flows) = (&columns, &flows);
    for connection in 0..2 {
        let own = |l: u64| (0..link.len()).filter(move |&i| link[i] == l && flows[&(l, arrival[i])] == connection);
        let sent = own(0).map(|i| seq[i] + payload[i]).max().expect("it sends");
        let acked = own(1).filter(|&i| flags[i] & ACK != 0).map(|i| ack[i]).max().expect("it is answered");
        let delivered = output.summary.flows[connection as usize].payload.bytes;
        assert!(acked <= sent, "acknowledged {acked} of {sent}");
        // Acknowledgment numbers count from the SYN at 0; the last ACK may still be delayed.
        assert!((acked - 1..=acked + 2 * 1448).contains(&(delivered)), "acknowledged {acked}, delivered {delivered}");
        assert!(delivered > 500_000);
    }
}
