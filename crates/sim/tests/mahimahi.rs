//! Delivery opportunities with Mahimahi's semantics: departure of the last byte of each packet.
//!
//! Each packet is a datagram flow of its own that sends once; no link has a delay, so a packet is delivered when it
//! departs, and the flows' probe shows the millisecond. Traces count in milliseconds: nothing departs in between.

use crate::common::{TraceFile, real, run, whole};

/// A packet: arrival in microseconds, and IP bytes.
type Arrival = (u64, u32);

/// Departure of each packet and first service of its first byte, in milliseconds; `None`: not within 60 ms.
fn departures(trace: &[u64], once: bool, packets: &[Arrival]) -> Vec<(Option<u64>, Option<u64>)> {
    let file = TraceFile::new(trace.iter().copied());
    let flow = |&(at_us, size): &Arrival| {
        format!(
            r#"
            [[flows]]
            kind = "cbr"
            rate = "1 Mbit/s"
            size = "{size} B"
            start = "{at_us} us"
            stop = "{} us"
            "#,
            at_us + 1
        )
    };
    let flows: String = packets.iter().map(flow).collect();
    let output = run(&format!(
        r#"
        duration = "60 ms"
        [link]
        trace = "{}"
        once = {once}
        {flows}
        [probes]
        packets = true
        flows = "1 ms"
        "#,
        file.path()
    ));
    let (time, flow) = (whole(&output, "flows", "time_ns"), whole(&output, "flows", "flow"));
    let goodput = real(&output, "flows", "goodput_bps");
    let (begun, begun_flow) = (whole(&output, "packets", "time_ns"), whole(&output, "packets", "flow"));
    let find = |n: u64| {
        let delivered = (0..time.len()).find(|&i| flow[i] == n && goodput[i] > 0.0).map(|i| time[i] / NANOS_PER_MS);
        let first_byte = begun_flow.iter().position(|&f| f == n).map(|i| begun[i]);
        assert!(first_byte.is_none_or(|at| at % NANOS_PER_MS == 0), "{first_byte:?} is between two opportunities");
        (delivered, first_byte.map(|at| at / NANOS_PER_MS))
    };
    (0..packets.len() as u64).map(find).collect()
}

/// Departures only; every packet must have departed.
fn departed(trace: &[u64], packets: &[Arrival]) -> Vec<u64> {
    departures(trace, false, packets).iter().map(|(delivered, _)| delivered.expect("the packet departs")).collect()
}

#[test]
fn the_six_vectors() {
    let at_0 = |size| (0, size);
    for (trace, packets, expected) in [
        (&[1][..], vec![at_0(1500); 3], &[1, 2, 3][..]),
        (&[5, 5, 10], vec![at_0(1500); 3], &[5, 5, 10]),
        (&[5, 10], vec![at_0(750); 4], &[5, 5, 10, 10]),
        (&[5, 10, 15], vec![at_0(1000); 3], &[5, 10, 10]),
        (&[5, 10], vec![(6_000, 1500)], &[10]),
        (&[0, 5], vec![(1_000, 1500); 4], &[5, 5, 10, 10]),
    ] {
        assert_eq!(departed(trace, &packets), expected, "{trace:?} with {packets:?}");
    }
}

#[test]
fn a_packet_leaves_its_queue_with_its_first_byte_and_departs_with_its_last() {
    let expected = [(5, 5), (10, 5), (10, 10), (15, 10)].map(|(last, first)| (Some(last), Some(first)));
    assert_eq!(departures(&[5, 10, 15], false, &[(0, 1000), (0, 1000), (0, 500), (0, 1000)]), expected);
    // Three opportunities for one packet of two and a half.
    assert_eq!(departures(&[5, 10, 15], false, &[(0, 3750)]), [(Some(15), Some(5))]);
}

#[test]
fn the_rest_of_an_opportunity_is_lost_when_the_queue_runs_empty() {
    // 750 B leave at 5; the unused part of that opportunity does not help the packet of 2000 B that arrives at 6.
    assert_eq!(departed(&[5, 10, 15], &[(0, 750), (6_000, 2000)]), [5, 15]);
}

#[test]
fn an_opportunity_comes_before_an_arrival_at_the_same_instant() {
    for (arrival_us, departure) in [(4_999, 5), (5_000, 10), (5_001, 10), (10_000, 15), (0, 5)] {
        assert_eq!(departed(&[5, 10], &[(arrival_us, 1500)]), [departure], "arrival at {arrival_us} us");
    }
    // A trace that starts with 0: its first opportunity precedes everything.
    assert_eq!(departed(&[0, 7], &[(0, 1500)]), [7]);
}

#[test]
fn the_schedule_repeats_after_its_last_timestamp() {
    // The period is the last timestamp, so a lap that starts with 0 starts in the millisecond in which the last one
    // ends.
    for (trace, expected) in [
        (&[5, 10][..], [5, 10, 15, 20, 25, 30, 35]),
        (&[3, 7], [3, 7, 10, 14, 17, 21, 24]),
        (&[0, 5], [5, 5, 10, 10, 15, 15, 20]),
        (&[0, 0, 4, 9], [4, 9, 9, 9, 13, 18, 18]),
        (&[1], [1, 2, 3, 4, 5, 6, 7]),
        (&[2, 2, 2], [2, 2, 2, 4, 4, 4, 6]),
    ] {
        assert_eq!(departed(trace, &[(0, 1500); 7]), expected, "{trace:?}");
    }
}

#[test]
fn opportunities_are_lost_over_whole_laps_of_an_idle_link() {
    for (arrival_us, departure) in [(41_500, 42), (42_000, 45), (44_999, 45), (45_000, 49), (48_000, 49)] {
        assert_eq!(departed(&[3, 7], &[(0, 1500), (arrival_us, 1500)]), [3, departure], "arrival at {arrival_us} us");
    }
}

#[test]
fn once_stops_for_ever_after_the_last_line() {
    let packets = [(0, 1500), (0, 1500), (0, 1500), (20_000, 1500)];
    let sent_until_10 = [(Some(5), Some(5)), (Some(10), Some(10)), (None, None), (None, None)];
    assert_eq!(departures(&[5, 10], true, &packets), sent_until_10);
    // A partly sent packet stays partly sent.
    assert_eq!(departures(&[5, 10], true, &[(0, 1000), (0, 2500)]), [(Some(5), Some(5)), (None, Some(5))]);
}

const NANOS_PER_MS: u64 = 1_000_000;
