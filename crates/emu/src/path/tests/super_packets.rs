//! Super-packets that the queue holds whole.

use super::*;
use crate::path::{Gso, PortRules};

/// `segments` full segments from byte `seq` on.
fn burst(seq: u32, segments: usize) -> TcpFrame {
    TcpFrame { seq, payload: vec![1; segments * 1448], ..TcpFrame::default() }
}

fn keeping(kind: PathKind, window_us: i64) -> DirectionConfig {
    DirectionConfig { gso: Gso::Keep, ..config(kind, window_us) }
}

fn of_kind(records: &[Record], kind: Logged) -> Vec<(u64, u32, u32)> {
    let summary = |r: &Record| (r.at.as_nanos() / 1_000_000, r.number, r.bytes);
    records.iter().filter(|r| r.kind == kind).map(summary).collect()
}

#[test]
fn the_queue_counts_and_drops_them_whole_and_the_link_sends_segments() {
    // 1500 B take 1 ms. One is sent, two wait, and the fourth finds two packets waiting.
    let kind = link("rate = 12 Mbit/s; limit = 2 packets");
    let arrivals: Vec<_> = (0..4).map(|i| (0, burst(3 * 1448 * i, 3).frame())).collect();
    let (head, records) = logged(keeping(kind.clone(), 0), 1, &arrivals);
    assert_eq!(of_kind(&records, Logged::Arrival), [(0, 0, 4500), (0, 1, 4500), (0, 2, 4500), (0, 3, 4500)]);
    assert!(records.iter().filter(|r| r.kind == Logged::Arrival).all(|r| r.segments == 3));
    assert_eq!(of_kind(&records, Logged::Sent), [(0, 0, 4500), (3, 1, 4500), (6, 2, 4500)]);
    assert_eq!(of_kind(&records, Logged::Limit), [(0, 3, 4500)]);
    let payload: Vec<_> = records.iter().filter(|r| r.kind == Logged::Payload).map(|r| (r.number, r.value)).collect();
    assert_eq!(payload, (0..9).map(|i| (i / 3, 1448)).collect::<Vec<_>>());
    assert_eq!(replay(&head, &records).unwrap().agreeing, 4);

    let mut direction = Direction::new(keeping(kind, 0), 1).unwrap();
    arrivals.iter().for_each(|(_, frame)| direction.arrive(at(0), buffer(frame)));
    let mut kernel = RecordingSink::default();
    let times = drain(&mut direction, &mut kernel);
    assert_eq!(times, (1..=9).map(|ms| (at(ms * 1_000_000), VNET + 1500)).collect::<Vec<_>>());
    let sequence: Vec<u32> = kernel.frames.iter().map(|frame| checked(frame).2).collect();
    assert_eq!(sequence, (0..9).map(|i| i * 1448).collect::<Vec<u32>>());
    let counters = direction.finish().counters;
    assert_eq!((counters.offered, counters.arrived), (4, (12, 18_000)));
    assert_eq!((counters.departed, counters.dropped), ((9, 13_500), 3));
}

#[test]
fn every_segment_has_its_own_framing() {
    // 200 + 10 bytes need 5 cells of 48 bytes, 52 + 10 bytes need 2.
    let kind = link("rate = 8 Mbit/s; overhead = 10 B; framing = atm");
    let small = TcpFrame { payload: vec![1; 2 * 148 + 1], size: 148, ..TcpFrame::default() };
    let (_, records) = logged(keeping(kind, 0), 1, &[(0, small.frame())]);
    let arrival = records.iter().find(|r| r.kind == Logged::Arrival).unwrap();
    assert_eq!((arrival.segments, arrival.bytes), (3, 5 * 53 + 5 * 53 + 2 * 53));
    let end = records.iter().find(|r| r.kind == Logged::End).unwrap();
    assert_eq!(end.at.as_nanos(), u64::from(arrival.bytes) * 1000, "the link takes as long");
}

#[test]
fn an_opportunity_carries_segments() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    std::fs::write(&trace, "3\n").unwrap();
    let kind = link(&format!("trace = {}", trace.display()));
    let mut direction = Direction::new(keeping(kind, 0), 1).unwrap();
    direction.arrive(at(1_000_000), buffer(&burst(0, 3).frame()));
    let times = drain(&mut direction, &mut RecordingSink::default());
    assert_eq!(times, [3, 6, 9].map(|ms| (at(ms * 1_000_000), VNET + 1500)));
}

#[test]
fn a_mark_is_on_all_segments_and_a_loss_is_of_one() {
    let frame = |seq| TcpFrame { ecn: Ecn::Ect0, ..burst(seq, 5) }.frame();
    let kind = link("rate = 10 Mbit/s; aqm = codel target 1us interval 2us ecn");
    let mut direction = Direction::new(keeping(kind, 50), 1).unwrap();
    (0..4).for_each(|i| direction.arrive(at(0), buffer(&frame(5 * 1448 * i))));
    let mut kernel = RecordingSink::default();
    drain(&mut direction, &mut kernel);
    let marked = kernel.frames.iter().filter(|frame| checked(frame).1.ecn == Ecn::Ce).count() as u64;
    assert_eq!(marked % 5, 0, "all segments of one have the same field");
    assert_eq!(direction.finish().counters.marked, marked);
    assert!(marked > 0);

    let kind = link("rate = 10 Mbit/s; loss = 50%");
    let mut direction = Direction::new(keeping(kind, 50), 1).unwrap();
    direction.arrive(at(0), buffer(&burst(0, 40).frame()));
    drain(&mut direction, &mut RecordingSink::default());
    let counters = direction.finish().counters;
    assert_eq!(counters.departed.0 + counters.dropped, 40);
    assert!((10..30).contains(&counters.dropped), "{counters:?}");
}

#[test]
fn a_delay_hands_them_on_as_they_came() {
    let sizes = |gso| {
        let config = DirectionConfig { gso, ..config(PathKind::Delay(Steps::constant(Duration::from_millis(1))), 50) };
        let mut direction = Direction::new(config, 1).unwrap();
        for (i, segments) in [(0, 3), (3, 2), (5, 1), (6, 4)] {
            direction.arrive(at(0), buffer(&burst(1448 * i, segments).frame()));
        }
        let mut kernel = RecordingSink::default();
        direction.run(at(1_000_000), &mut kernel);
        assert_eq!(direction.datapath.packets.frames(), 0, "all buffers are given back");
        let counters = direction.finish().counters;
        assert_eq!((counters.arrived, counters.departed.0), (counters.departed, 10));
        kernel.frames.iter().map(|frame| checked(frame).4.len() / 1448).collect::<Vec<_>>()
    };
    assert_eq!((sizes(Gso::Keep), sizes(Gso::Cut)), (vec![3, 2, 1, 4], vec![10]));
}

#[test]
fn captures_have_them_whole_on_the_way_in_and_cut_on_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = Some(folder.path().join("c"));
    let config = DirectionConfig { pcap, ..keeping(link("rate = 12 Mbit/s"), 0) };
    let mut direction = Direction::new(config, 1).unwrap();
    direction.arrive(at(0), buffer(&burst(0, 3).frame()));
    drain(&mut direction, &mut RecordingSink::default());
    direction.finish();
    // Enhanced packet blocks: the timestamp and the length on the wire.
    let packets = |suffix: &str| {
        let bytes = std::fs::read(folder.path().join(format!("c.down.{suffix}.pcapng"))).unwrap();
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() {
            if word(at) == 6 {
                found.push((word(at + 16), word(at + 24)));
            }
            at += word(at + 4) as usize;
        }
        found
    };
    assert_eq!(packets("in"), [(0, 52 + 3 * 1448)]);
    assert_eq!(packets("out"), [(0, 1500), (1_000_000, 1500), (2_000_000, 1500)]);
}

#[test]
fn cake_takes_segments_unless_it_is_told_not_to() {
    let offered = |aqm: &str| {
        let kind = link(&format!("rate = 1 Gbit/s; aqm = {aqm}"));
        let mut direction = Direction::new(keeping(kind, 0), 1).unwrap();
        direction.arrive(at(0), buffer(&burst(0, 3).frame()));
        drain(&mut direction, &mut RecordingSink::default());
        direction.finish().counters.offered
    };
    assert_eq!((offered("cake bandwidth 10mbit"), offered("cake bandwidth 10mbit no-split-gso")), (3, 1));
}

#[test]
fn a_port_names_a_class() {
    // Two bands: the second sends only if the first is empty.
    let kind = link("rate = 12 Mbit/s; aqm = prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
    let classes = vec![(7, sojourn_aqm::class::ClassId::new(1, 1))];
    let arrivals: Vec<_> = [5, 5, 5, 7].map(|port| (0, TcpFrame { port, ..TcpFrame::default() }.frame())).into();
    let order = |classes| {
        let ports = PortRules { classes, ..PortRules::default() };
        let (head, records) = logged(DirectionConfig { ports, ..config(kind.clone(), 0) }, 1, &arrivals);
        assert_eq!(replay(&head, &records).unwrap().agreeing, 4, "the log has the classes");
        of_kind(&records, Logged::Sent).into_iter().map(|(_, number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!((order(classes), order(vec![])), (vec![0, 3, 1, 2], vec![0, 1, 2, 3]));
}

#[test]
fn a_port_names_the_hosts_of_its_packets() {
    // Nine packets from each of three ports: two with one client and one with another, whom CAKE serves in turn.
    let kind = link("rate = 12 Mbit/s; aqm = cake dual-dsthost");
    let frame = |port| (0, TcpFrame { port, ..TcpFrame::default() }.frame());
    let arrivals: Vec<_> = [5, 7, 9].into_iter().flat_map(|port| [port; 9]).map(frame).collect();
    let of_the_last = |clients: [u32; 3]| {
        let hosts = [5, 7, 9].into_iter().zip(clients.map(|client| (client, 100))).collect();
        let ports = PortRules { hosts, ..PortRules::default() };
        let (head, records) = logged(DirectionConfig { ports, ..config(kind.clone(), 0) }, 1, &arrivals);
        assert_eq!(replay(&head, &records).unwrap().agreeing, 27, "the log has the hosts");
        let first = of_kind(&records, Logged::Sent).into_iter().take(18);
        first.filter(|&(_, number, _)| number >= 18).count()
    };
    let (three, two) = (of_the_last([1, 2, 3]), of_the_last([1, 1, 3]));
    assert!((5..=7).contains(&three) && (8..=9).contains(&two), "{three} and {two} of 18");
}
