//! Browsers: page times to the nanosecond, and their use of connections.

use crate::common::{run, scenario, whole};
use sojourn_sim::{Output, Simulation};

/// 1 µs per byte and 50 ms in each direction.
const LINK: &str = "[link]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n";

/// IP bytes of a SYN, of a segment without payload, and of a request of 300 B.
const SYN: u64 = 60;
const ACK: u64 = 52;
const REQUEST: u64 = 352;

const MS: u64 = 1_000_000;

/// One-way delay of an idle link for a packet.
fn one_way_delay(bytes: u64) -> u64 {
    50 * MS + bytes * 1000
}

/// A browser with a stack that acknowledges the first packets at once.
fn browser(duration: &str, more: &str) -> Output {
    run(&format!(
        "duration = \"{duration}\"\n{LINK}[[flows]]\nkind = \"browser\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n{more}\n\
         [probes]\ntransfers = true\npackets = true"
    ))
}

/// Start and duration of each page in ns, and its bytes.
fn pages(output: &Output) -> Vec<(u64, u64, u64)> {
    let [start, duration, bytes] = ["start_ns", "duration_ns", "bytes"].map(|name| whole(output, "transfers", name));
    (0..start.len()).map(|i| (start[i], duration[i], bytes[i])).collect()
}

#[test]
fn a_page_of_one_object_takes_a_handshake_and_an_exchange() {
    let output =
        browser("2 s", "objects = 1\nsize = \"1000 B\"\nthink = \"7 ms\"\nstart = \"100 ms\"\npause = \"5 s\"");
    let expected =
        one_way_delay(SYN) + one_way_delay(SYN) + one_way_delay(ACK + REQUEST) + 7 * MS + one_way_delay(ACK + 1000);
    assert_eq!(pages(&output), [(100 * MS, expected, 1000)]);
    let group = &output.summary.groups[0];
    assert_eq!((group.kind, group.opened, group.closed, group.transfers), ("browser", 1, 0, 1));
    assert_eq!((group.payload.bytes, group.offered_bytes), (1000, 1000));
    assert_eq!(group.completion_ms.max, Some(expected as f64 / 1e6));
}

#[test]
fn objects_wait_for_the_document_and_for_whichever_connection_is_free_first() {
    let output = browser(
        "2 s",
        "document = \"500 B\"\nobjects = 3\nsize = \"1000 B\"\nconnections = 2\nthink = \"20 ms\"\npause = \"5 s\"",
    );
    // When the responses leave after 20 ms, all acknowledgments of requests have been sent.
    let document =
        one_way_delay(SYN) + one_way_delay(SYN) + one_way_delay(ACK + REQUEST) + 20 * MS + one_way_delay(ACK + 500);
    // The first connection acknowledges the document and requests an object; the SYN of the second one follows. Its
    // handshake completes before that object arrives, so it requests the second object, and the first connection the
    // third.
    let first = document + one_way_delay(ACK + REQUEST) + 20 * MS + one_way_delay(ACK + 1000);
    let connected = document + one_way_delay(ACK + REQUEST + SYN) + one_way_delay(SYN);
    let second = connected + one_way_delay(ACK + REQUEST) + 20 * MS + one_way_delay(ACK + 1000);
    let third = first + one_way_delay(ACK + REQUEST) + 20 * MS + one_way_delay(ACK + 1000);
    assert!(connected < first && second < third);
    assert_eq!(pages(&output), [(0, third, 3500)]);
    assert_eq!(output.summary.groups[0].opened, 2);
}

#[test]
fn an_object_goes_over_the_connection_that_is_free_while_another_one_is_opened() {
    let output =
        browser("2 s", "document = \"500 B\"\nobjects = 2\nsize = \"1000 B\"\nconnections = 2\npause = \"5 s\"");
    // The server acknowledges a request before its response.
    let document =
        one_way_delay(SYN) + one_way_delay(SYN) + one_way_delay(ACK + REQUEST) + one_way_delay(ACK + ACK + 500);
    // The response precedes the SYN-ACK, so the first connection is free before the second one is established.
    let first = document + one_way_delay(ACK + REQUEST) + one_way_delay(ACK + ACK + 1000);
    // This stack acknowledges two segments at once and delays the acknowledgment of the third.
    let second = first + one_way_delay(ACK + REQUEST) + one_way_delay(ACK + 1000);
    let connected = document + one_way_delay(ACK + REQUEST) + one_way_delay(ACK + ACK + 1000 + SYN);
    assert!(connected > first, "{connected} {first}");
    assert_eq!(pages(&output), [(0, second, 2500)]);
    let group = &output.summary.groups[0];
    assert_eq!((group.opened, group.payload.bytes), (2, 2500));
}

#[test]
fn connections_stay_open_for_the_next_page() {
    let output = browser("9 s", "objects = 1\nsize = \"1000 B\"\nthink = \"10 ms\"\npause = \"1 s\"\nstop = \"5 s\"");
    let exchange = one_way_delay(ACK + REQUEST) + 10 * MS + one_way_delay(ACK + 1000);
    let found = pages(&output);
    assert_eq!(found[0], (0, 2 * one_way_delay(SYN) + exchange, 1000));
    // The client acknowledged the last response long ago.
    let later = one_way_delay(REQUEST) + 10 * MS + one_way_delay(ACK + 1000);
    for pair in found.windows(2) {
        assert_eq!((pair[1].0, pair[1].1), (pair[0].0 + pair[0].1 + 1000 * MS, later));
    }
    assert_eq!(found.len(), 5, "none begins after the stop: {found:?}");
    let group = &output.summary.groups[0];
    assert_eq!((group.opened, group.closed, group.transfers), (1, 1, 5), "and then it is closed");
}

#[test]
fn a_page_is_over_with_its_last_object_and_has_all_its_bytes() {
    let output =
        browser("20 s", "objects = 40\nsize = { log_uniform = [\"1 kB\", \"60 kB\"] }\ncount = 2\npause = \"100 ms\"");
    let found = pages(&output);
    let group = &output.summary.groups[0];
    assert!(found.len() > 10 && group.opened == 12, "{} pages over {} connections", found.len(), group.opened);
    let bytes: std::collections::BTreeSet<u64> = found.iter().map(|page| page.2).collect();
    assert_eq!(bytes.len(), found.len(), "each is another one");
    let whole: u64 = bytes.iter().sum();
    assert!(whole <= group.payload.delivered_bytes && group.payload.delivered_bytes <= group.offered_bytes);
    assert_eq!(group.completion_ms.max, found.iter().map(|page| page.1 as f64 / 1e6).reduce(f64::max));
}

#[test]
fn pages_are_the_same_under_every_queue_manager_and_with_receive_offload() {
    let under = |aqm: &str, more: &str| -> Vec<u64> {
        let text = format!(
            "duration = \"20 s\"\n[link]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\naqm = \"{aqm}\"\n[[flows]]\nkind = \"tcp\"\n\
             [[flows]]\nkind = \"browser\"\nobjects = 20\nsize = {{ uniform = [\"1 kB\", \"30 kB\"] }}\npause = \"1 s\"\n{more}\n\
             [probes]\ntransfers = true"
        );
        let scenario = scenario(&text);
        let output = Simulation::new(&scenario, 3).finish();
        let repeated = Simulation::new(&scenario, 3).finish();
        assert_eq!(output.summary.fingerprint, repeated.summary.fingerprint);
        whole(&output, "transfers", "bytes").into_iter().take(5).collect()
    };
    let pages = under("codel", "");
    assert_eq!(pages.len(), 5);
    assert_eq!(under("pie", ""), pages);
    assert_eq!(under("codel", "gro = \"50 us\""), pages);
}
