//! The ACK filter of CAKE sees the headers of real packets.

use super::super::packets::{Packet, Packets};
use super::*;
use crate::log::Agreement;

const ACKS: u32 = 40;

/// Fates of pure acknowledgments of two alternating connections, one per millisecond, on a link of 100 kbit/s under
/// `aqm`: packet numbers of those that left, by connection, the agreement of a replay, and the number of headers in the
/// log.
fn run(aqm: &str, version: u8) -> ([Vec<u32>; 2], Agreement, usize) {
    let frame = |number: u32| {
        let (port, ack) = (1000 + (number % 2) as u16, 1448 * number);
        TcpFrame { version, port, ack, payload: vec![], ..TcpFrame::default() }.frame()
    };
    let arrivals: Vec<(u64, Vec<u8>)> =
        (0..ACKS).map(|number| (u64::from(number) * 1_000_000, frame(number))).collect();
    let (head, records) = logged(config(link(&format!("rate=100 kbit/s;aqm={aqm}")), 0), 1, &arrivals);
    let of_kind = |kind: Logged| records.iter().filter(move |record| record.kind == kind);
    let (even, odd) = of_kind(Logged::Sent).map(|record| record.number).partition(|number| number % 2 == 0);
    ([even, odd], replay(&head, &records).unwrap(), of_kind(Logged::Tcp).count())
}

#[test]
fn acknowledgments_are_thinned_and_a_replay_of_the_log_agrees() {
    for version in [4, 6] {
        let (all, plain, headers) = run("cake", version);
        // CAKE's CoDel drops some.
        assert!(all.iter().all(|left| left.len() >= 18), "{all:?}");
        assert_eq!((plain.agreeing, plain.timed, headers), (40, true, 0), "nobody asks for headers");
        for aqm in ["cake ack-filter", "htb default 1 { class 1 rate 1gbit { cake ack-filter } }"] {
            let (left, agreement, headers) = run(aqm, version);
            assert_eq!((agreement.packets, agreement.agreeing, agreement.first), (40, 40, None), "{aqm}");
            assert_eq!((agreement.timed, headers), (false, 40), "{aqm}");
            for (left, newest) in left.iter().zip([ACKS - 2, ACKS - 1]) {
                assert!(left.len() < 15, "{aqm}: {} of 20 left", left.len());
                assert_eq!(left.last(), Some(&newest), "{aqm}: it tells all that the others told");
                assert!(left.is_sorted(), "{aqm}");
            }
        }
    }
}

#[test]
fn a_segment_of_a_superframe_has_a_header_of_its_own() {
    let tcp = TcpFrame { seq: u32::MAX - 999, ack: 5, payload: vec![7; 3000], size: 1448, ..TcpFrame::default() };
    let mut packets = Packets::default();
    let page = packets.admit(buffer(&tcp.frame()), 0).unwrap();
    let packet = |offset: u32, len: u16| Packet {
        page,
        number: 0,
        arrived: at(0),
        offset,
        len,
        index: 0,
        segments: 1,
        last: false,
        ecn: Ecn::NotEct,
        flip: None,
    };
    for (offset, len, seq) in [(0, 1448, u32::MAX - 999), (1448, 1448, 448), (2896, 104, 1896)] {
        let handle = packets.insert(packet(offset, len));
        let view = packets.tcp(handle).unwrap();
        assert_eq!((view.seq, view.ack, view.payload), (seq, 5, u32::from(len)));
    }
}
