use super::header::{self, CWR, FIN, Headers, NEEDS_CSUM, PSH, TCP, VNET, Vnet};
use super::*;
use crate::log::{Record, RecordKind as Logged, replay};
use proptest::prelude::*;
use serde_json::json;
use sojourn_aqm::{Ecn, Rng};
use sojourn_sim::scenario::LinkSpec;
use std::io::{self, IoSlice};
use std::path::Path;

mod ack_filter;
mod changes;
mod interface;
mod netem;
mod super_packets;

/// A TCP superframe, or a single packet if `size` is at least the payload.
struct TcpFrame {
    version: u8,
    port: u16,
    seq: u32,
    ack: u32,
    flags: u8,
    ecn: Ecn,
    payload: Vec<u8>,
    size: usize,
}

impl Default for TcpFrame {
    fn default() -> Self {
        Self { version: 4, port: 1000, seq: 0, ack: 0, flags: 16, ecn: Ecn::NotEct, payload: vec![7; 1448], size: 1448 }
    }
}

impl TcpFrame {
    fn frame(&self) -> Vec<u8> {
        let mut tcp = vec![0; 32];
        tcp[..2].copy_from_slice(&self.port.to_be_bytes());
        tcp[2..4].copy_from_slice(&80u16.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.ack.to_be_bytes());
        (tcp[12], tcp[13]) = (8 << 4, self.flags);
        tcp[20..24].copy_from_slice(&[1, 1, 8, 10]);
        let length = 32 + self.payload.len();
        let mut ip = if self.version == 4 {
            let mut ip = vec![0x45, self.ecn as u8, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            ip[2..4].copy_from_slice(&((20 + length) as u16).to_be_bytes());
            let sum = !header::fold(header::sum(&ip));
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip
        } else {
            let mut ip = vec![0x60, (self.ecn as u8) << 4, 0, 0, 0, 0, 6, 64];
            ip[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            ip.extend([[0xfd; 16], [0xfe; 16]].concat());
            ip
        };
        let pseudo = header::fold(pseudo(&ip, length));
        tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
        let at = ip.len();
        ip.extend(tcp);
        ip.extend(&self.payload);
        let superframe = self.payload.len() > self.size;
        let vnet = Vnet {
            flags: NEEDS_CSUM,
            gso: if !superframe {
                0
            } else if self.version == 4 {
                1
            } else {
                4
            },
            cwr: superframe && self.flags & CWR != 0,
            hdr_len: at as u16 + 32,
            gso_size: if superframe { self.size as u16 } else { 0 },
            csum_start: at as u16,
            csum_offset: 16,
        };
        let mut frame = vec![0; VNET];
        vnet.write((&mut frame[..]).try_into().unwrap());
        frame.extend(ip);
        frame
    }
}

/// Checksum of the TCP pseudo-header, not yet folded.
fn pseudo(ip: &[u8], length: usize) -> u64 {
    let addresses = if ip[0] >> 4 == 4 { &ip[12..20] } else { &ip[8..40] };
    header::sum(addresses) + 6 + length as u64
}

/// Stores the frames written.
#[derive(Default)]
struct RecordingSink {
    frames: Vec<Vec<u8>>,
    refuses: bool,
}

impl Sink for RecordingSink {
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.frames.push(parts.iter().flat_map(|part| part.to_vec()).collect());
        if self.refuses { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
    }
}

/// Checks a frame as the kernel would. Returns its headers, the TCP sequence number and flags, and the payload.
fn checked(frame: &[u8]) -> (Vnet, Headers, u32, u8, Vec<u8>) {
    let (vnet, ip) = (Vnet::parse(frame).unwrap(), &frame[VNET..]);
    let headers = Headers::parse(ip).unwrap();
    if headers.version == 4 {
        assert_eq!(header::fold(header::sum(&ip[..20])), 0xffff, "sum of the IP header");
        assert_eq!(u16::from_be_bytes([ip[2], ip[3]]) as usize, ip.len());
    } else {
        assert_eq!(u16::from_be_bytes([ip[4], ip[5]]) as usize + 40, ip.len());
    }
    assert_eq!((vnet.flags, vnet.csum_start as usize, vnet.csum_offset), (NEEDS_CSUM, headers.at, 16));
    let sum = u16::from_be_bytes([ip[headers.at + 16], ip[headers.at + 17]]);
    assert_eq!(sum, header::fold(pseudo(ip, ip.len() - headers.at)), "sum of the pseudo-header");
    let payload = ip[headers.end..].to_vec();
    assert_eq!(vnet.gso_size > 0, vnet.gso > 0);
    assert!(vnet.gso_size == 0 || payload.len() > vnet.gso_size as usize);
    (vnet, headers, headers.seq(ip), headers.tcp_flags(ip), payload)
}

fn link(keys: &str) -> PathKind {
    let table = keys.split(';').filter_map(|pair| pair.split_once('='));
    let table = table.map(|(key, value)| (key.trim().to_string(), value.trim().trim_matches('"').into())).collect();
    PathKind::Link(Box::new(LinkSpec::parse("link", &serde_json::Value::Object(table), Path::new("/")).unwrap()))
}

fn config(kind: PathKind, window_us: i64) -> DirectionConfig {
    let window = Duration::from_micros(window_us);
    DirectionConfig { window, ..DirectionConfig::new(Side::Down, kind) }
}

fn buffer(frame: &[u8]) -> Buffer {
    let mut buffer = Pool::new().take();
    buffer.room()[..frame.len()].copy_from_slice(frame);
    buffer.set_len(frame.len());
    buffer
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// Runs the direction until nothing is due. Returns the time and the length of each write.
fn drain(direction: &mut Direction, kernel: &mut RecordingSink) -> Vec<(Instant, usize)> {
    let mut times = Vec::new();
    while let Some(due) = direction.due() {
        direction.run(due, kernel);
        times.resize(kernel.frames.len(), (due, 0));
    }
    times.iter().zip(&kernel.frames).map(|(&(at, _), frame)| (at, frame.len())).collect()
}

/// Head and records of the log of these arrivals.
fn logged(mut config: DirectionConfig, seed: u64, arrivals: &[(u64, Vec<u8>)]) -> (serde_json::Value, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    config.logs = vec![LogConfig { path: path.clone(), format: LogFormat::Records, command: "test".into() }];
    let mut direction = Direction::new(config, seed).unwrap();
    let mut kernel = RecordingSink::default();
    for (ns, frame) in arrivals {
        while let Some(due) = direction.due().filter(|&due| due < at(*ns)) {
            direction.run(due, &mut kernel);
        }
        direction.arrive(at(*ns), buffer(frame));
    }
    drain(&mut direction, &mut kernel);
    assert_eq!(direction.finish().log_error, None);
    crate::log::read(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn departures_are_exactly_a_transmission_time_apart() {
    // Superframes of 43 packets, of several flows, in bursts: packets leave 12 us apart at 1 Gbit/s.
    let big = |port, seq| TcpFrame { port, seq, payload: vec![1; 43 * 1448], ..TcpFrame::default() }.frame();
    let arrivals: Vec<(u64, Vec<u8>)> =
        (0..20).map(|i| (1000 + i * 3500, big(1000 + (i % 3) as u16, (i * 43 * 1448) as u32))).collect();
    let (_, records) = logged(config(link("rate = 1 Gbit/s"), 50), 1, &arrivals);
    let sent: Vec<u64> = records.iter().filter(|r| r.kind == Logged::Sent).map(|r| r.at.as_nanos()).collect();
    assert_eq!(sent.len(), 20 * 43);
    assert_eq!(sent, (0..20 * 43).map(|i| 1000 + 12_000 * i).collect::<Vec<u64>>());
    let arrived: Vec<u64> = records.iter().filter(|r| r.kind == Logged::Arrival).map(|r| r.at.as_nanos()).collect();
    assert_eq!(arrived.len(), 20 * 43, "every packet has an arrival of its own");
    assert_eq!(records.last().unwrap().kind, Logged::End);
}

#[test]
fn one_by_one_every_packet_leaves_when_its_last_bit_does() {
    let frame = TcpFrame { payload: vec![1; 3 * 1448], flags: 16 | PSH | FIN | CWR, ..TcpFrame::default() }.frame();
    let mut direction = Direction::new(config(link("rate = 12 Mbit/s"), 0), 1).unwrap();
    direction.arrive(at(5_000_000), buffer(&frame));
    let mut kernel = RecordingSink::default();
    let times = drain(&mut direction, &mut kernel);
    let expected = [6, 7, 8].map(|ms| (at(ms * 1_000_000), VNET + 1500));
    assert_eq!(times, expected);
    let flags: Vec<u8> = kernel.frames.iter().map(|frame| checked(frame).3).collect();
    assert_eq!(flags, [16 | CWR, 16, 16 | PSH | FIN]);
    let ids: Vec<u8> = kernel.frames.iter().map(|frame| frame[VNET + 5]).collect();
    assert_eq!(ids, [0x34, 0x35, 0x36]);
    let report = direction.finish();
    assert_eq!(report.counters.departed, (3, 4500));
    assert!((report.utilisation.unwrap() - 3.0 / 8.0).abs() < 1e-9, "{:?}", report.utilisation);
}

#[test]
fn neighbours_that_leave_at_one_turn_are_one_write() {
    // 8 packets at 1 Gbit/s, 12 us apart.
    let frame = TcpFrame { payload: vec![1; 8 * 1448], ..TcpFrame::default() }.frame();
    let sizes = |window, turns: &[u64]| {
        let mut direction = Direction::new(config(link("rate = 1 Gbit/s"), window), 1).unwrap();
        direction.arrive(at(0), buffer(&frame));
        let mut kernel = RecordingSink::default();
        turns.iter().for_each(|&us| direction.run(at(us * 1000), &mut kernel));
        kernel.frames.iter().map(|frame| checked(frame).4.len() / 1448).collect::<Vec<usize>>()
    };
    assert_eq!(sizes(50, &[62, 110]), [5, 3]);
    assert_eq!(sizes(50, &[200]), [8]);
    assert_eq!(sizes(0, &[62, 110]), [1; 8]);
}

#[test]
fn what_arrives_waits_only_for_a_group_that_leaves_soon() {
    let frame = TcpFrame { payload: vec![1; 8 * 1448], ..TcpFrame::default() }.frame();
    for (window, dense) in [(50, true), (12, true), (11, false), (0, false)] {
        let mut direction = Direction::new(config(link("rate = 1 Gbit/s"), window), 1).unwrap();
        direction.arrive(at(0), buffer(&frame));
        assert!(!direction.can_defer(0), "nothing has left so far");
        direction.run(at(62_000), &mut RecordingSink::default());
        let end = 2 * window as u64 * 1000;
        assert_eq!((direction.can_defer(end), direction.can_defer(end + 1)), (dense, false), "{window}");
        // The next packet is due at 72 us; if packets are dense, those of its window leave with it.
        assert_eq!(direction.due(), Some(at(72_000 + if dense { window as u64 * 1000 } else { 0 })));
    }
}

#[test]
fn flows_are_joined_apart_and_frames_across_reads() {
    // Two flows alternate, and each read is a packet of its own, as after fair queueing.
    let mut direction =
        Direction::new(config(PathKind::Delay(Steps::constant(Duration::from_millis(20))), 50), 1).unwrap();
    for i in 0..10u32 {
        let (port, seq) = (1000 + (i % 2) as u16, i / 2 * 1448);
        let payload = vec![i as u8; 1448];
        direction
            .arrive(at(u64::from(i) * 1000), buffer(&TcpFrame { port, seq, payload, ..TcpFrame::default() }.frame()));
    }
    let mut kernel = RecordingSink::default();
    direction.run(at(20_100_000), &mut kernel);
    let found: Vec<_> = kernel.frames.iter().map(|frame| checked(frame)).collect();
    assert_eq!(found.iter().map(|found| (found.2, found.4.len())).collect::<Vec<_>>(), [(0, 5 * 1448); 2]);
    for (flow, found) in found.iter().enumerate() {
        let expected: Vec<u8> = (0..5).flat_map(|i| vec![2 * i + flow as u8; 1448]).collect();
        assert_eq!(found.4, expected);
    }
}

#[test]
fn what_differs_is_not_joined() {
    let next = |change: fn(&mut TcpFrame)| {
        let mut second = TcpFrame { seq: 1448, ..TcpFrame::default() };
        change(&mut second);
        let mut direction = Direction::new(config(PathKind::Loss(None), 50), 1).unwrap();
        direction.arrive(at(0), buffer(&TcpFrame::default().frame()));
        direction.arrive(at(1000), buffer(&second.frame()));
        let mut kernel = RecordingSink::default();
        direction.run(at(2000), &mut kernel);
        kernel.frames.len()
    };
    assert_eq!(next(|_| {}), 1);
    assert_eq!(next(|tcp| tcp.flags |= PSH), 1, "the last one may push");
    assert_eq!(next(|tcp| tcp.payload.truncate(100)), 1, "the last one may be shorter");
    assert_eq!(next(|tcp| tcp.seq = 1449), 2);
    assert_eq!(next(|tcp| tcp.port = 7), 2);
    assert_eq!(next(|tcp| tcp.ecn = Ecn::Ect0), 2);
    assert_eq!(next(|tcp| tcp.flags |= CWR), 2);
    assert_eq!(next(|tcp| tcp.flags |= 32), 2);
    assert_eq!(next(|tcp| tcp.payload.clear()), 2);
    assert_eq!(next(|tcp| (tcp.size, tcp.payload) = (1449, vec![0; 1449])), 2);
}

#[test]
fn marks_are_written_into_the_packets() {
    for (version, ecn) in [(4, Ecn::Ect0), (6, Ecn::Ect1)] {
        // A step threshold of one packet: every packet that waits is marked.
        let kind = link("rate = 10 Mbit/s; aqm = codel target 1us interval 2us ecn");
        let frame = TcpFrame { version, ecn, payload: vec![1; 5 * 1428], size: 1428, ..TcpFrame::default() }.frame();
        let mut direction = Direction::new(config(kind, 50), 1).unwrap();
        direction.arrive(at(0), buffer(&frame));
        let mut kernel = RecordingSink::default();
        drain(&mut direction, &mut kernel);
        let ecn_of = |frame: &Vec<u8>| checked(frame).1.ecn;
        let marked = kernel.frames.iter().filter(|frame| ecn_of(frame) == Ecn::Ce).count() as u64;
        assert!(marked > 0 && ecn_of(&kernel.frames[0]) == ecn);
        let report = direction.finish();
        assert_eq!((report.counters.marked, report.counters.dropped), (marked, 0));
    }
}

#[test]
fn garbage_is_counted_and_thrown_away() {
    let mut direction = Direction::new(config(PathKind::Loss(None), 50), 1).unwrap();
    let mut bad = TcpFrame { payload: vec![1; 3000], ..TcpFrame::default() }.frame();
    bad[VNET + 9] = 1; // a superframe of ICMP
    let (short, no_ip) = (vec![0; 5], vec![0; 40]);
    for frame in [bad, short, no_ip, vec![]] {
        direction.arrive(at(0), buffer(&frame));
    }
    assert_eq!((direction.counters().malformed, direction.counters().arrived.0, direction.due()), (4, 0, None));
}

#[test]
fn what_the_kernel_refuses_is_counted() {
    let mut direction = Direction::new(config(PathKind::Loss(None), 50), 1).unwrap();
    direction.arrive(at(0), buffer(&TcpFrame { payload: vec![1; 2 * 1448], ..TcpFrame::default() }.frame()));
    direction.run(at(0), &mut RecordingSink { refuses: true, ..RecordingSink::default() });
    assert_eq!(direction.counters().refused, 2);
}

#[test]
fn lateness_does_not_add_up() {
    let frame = TcpFrame { payload: vec![1; 40 * 1448], ..TcpFrame::default() }.frame();
    let mut direction = Direction::new(config(link("rate = 12 Mbit/s"), 0), 1).unwrap();
    direction.arrive(at(0), buffer(&frame));
    let mut kernel = RecordingSink::default();
    // Every call is up to 3.5 ms late; packets are decided as of their own times.
    for ms in (3..).step_by(4).take(10) {
        direction.run(at(ms * 1_000_000 + 500_000), &mut kernel);
    }
    assert_eq!(kernel.frames.len(), 39);
    direction.run(at(40_000_000), &mut kernel);
    let report = direction.finish();
    assert_eq!(report.counters.departed.0, 40);
    assert_eq!((report.lateness.total(), report.lateness.max()), (40, Some(3_500_000)));
}

/// Random arrivals of three flows for a link of 10 Mbit/s: bursts and pauses.
fn made_up(seed: u64, reads: u64, ecn: Ecn) -> Vec<(u64, Vec<u8>)> {
    let mut rng = Rng::from_state(seed);
    let (mut now, mut out) = (0, Vec::new());
    for _ in 0..reads {
        now += if rng.below(20) == 0 { rng.below(60_000_000) } else { rng.below(5_000_000) };
        let payload = vec![1; 1 + rng.below(6 * 1448) as usize];
        let (port, seq) = (rng.below(3) as u16, rng.next_u64() as u32);
        out.push((now, TcpFrame { port, seq, payload, ecn, ..TcpFrame::default() }.frame()));
    }
    out
}

#[test]
fn a_replayed_log_agrees_with_the_simulators_queue() {
    for aqm in ["droptail", "codel ecn", "codel@linux", "pie", "red", "ared", "fq_codel ecn", "dualpi2", "choke", "sfq"]
    {
        for (rate, timed) in [("10 Mbit/s", true), ("4 Mbit/s@0s,30 Mbit/s@500ms", false)] {
            for (gso, limit, least) in [(Gso::Cut, 60, 2500), (Gso::Keep, 20, 990)] {
                let kind = link(&format!("rate = {rate}; aqm = {aqm}; limit = {limit} packets"));
                let ecn = if aqm.contains("ecn") { Ecn::Ect0 } else { Ecn::NotEct };
                let (head, records) = logged(DirectionConfig { gso, ..config(kind, 50) }, 7, &made_up(3, 1000, ecn));
                let found = replay(&head, &records).unwrap();
                assert!(found.packets > least, "{aqm}: {found:?}");
                let expected = (found.packets, None, timed);
                assert_eq!((found.agreeing, found.first, found.timed), expected, "{aqm} at {rate}, {gso:?}");
                let drops = records.iter().filter(|r| r.kind.reason().is_some()).count();
                let marks = records.iter().filter(|r| r.kind == Logged::Marked).count();
                assert!(drops + marks > 10, "{aqm} at {rate}, {gso:?}: {drops} drops, {marks} marks decide nothing");
            }
        }
    }
}

#[test]
fn a_log_that_was_changed_does_not_agree() {
    let kind = link("rate = 10 Mbit/s; aqm = codel; limit = 60 packets");
    let (mut head, mut records) = logged(config(kind, 50), 7, &made_up(3, 1000, Ecn::NotEct));
    head["link"]["aqm"] = json!("codel target 6ms");
    let other = replay(&head, &records).unwrap();
    assert!(other.agreeing < other.packets, "{other:?}");
    head["link"]["aqm"] = json!("codel");
    let position = records.windows(2).position(|r| r[0].kind == Logged::Sent && r[0].at < r[1].at).unwrap();
    records[position].at += Duration::from_nanos(1);
    let other = replay(&head, &records).unwrap();
    assert_eq!((other.packets - other.agreeing, other.first), (1, Some(records[position].number)));
}

#[test]
fn opportunities_carry_parts_of_packets() {
    // The simulator's semantics: an opportunity every 3 ms carries 1500 bytes, of a part or of several packets.
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    std::fs::write(&trace, "3\n").unwrap();
    let mut direction = Direction::new(config(link(&format!("trace = {}", trace.display())), 0), 1).unwrap();
    let sizes: [usize; 4] = [500, 1500, 300, 1500];
    for (i, size) in sizes.iter().enumerate() {
        let tcp = TcpFrame { port: i as u16, payload: vec![1; size - 52], ..TcpFrame::default() };
        direction.arrive(at(1_000_000), buffer(&tcp.frame()));
    }
    let times = drain(&mut direction, &mut RecordingSink::default());
    let ms: Vec<u64> = times.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(ms, [3, 6, 6, 9]);
}

proptest! {
    /// Splitting and joining keep the byte stream, and a kernel accepts every write.
    #[test]
    fn cutting_and_joining_keep_the_bytes(
        version in prop::sample::select(vec![4u8, 6]),
        size in 1usize..3000,
        sizes in prop::collection::vec(1usize..60_000, 1..6),
        window in prop::sample::select(vec![0i64, 20, 1000]),
        flags in prop::sample::select(vec![16u8, 16 | PSH, 16 | CWR, 16 | FIN]),
        wraps in any::<bool>(),
    ) {
        let size = size.max(sizes.iter().max().unwrap() / 400);
        let start = if wraps { u32::MAX - 1000 } else { 5 };
        let (mut seq, mut sent) = (start, Vec::<u8>::new());
        let mut direction = Direction::new(config(link("rate = 1 Gbit/s; limit = 100000 packets"), window), 1).unwrap();
        for (i, bytes) in sizes.iter().enumerate() {
            let payload: Vec<u8> = (0..*bytes).map(|k| (k / 3 + i) as u8).collect();
            sent.extend(&payload);
            let tcp = TcpFrame { version, seq, flags, payload, size, ..TcpFrame::default() };
            direction.arrive(at(i as u64 * 1000), buffer(&tcp.frame()));
            seq = seq.wrapping_add(*bytes as u32);
        }
        let mut kernel = RecordingSink::default();
        drain(&mut direction, &mut kernel);
        let (mut next, mut got, mut ends) = (start, Vec::<u8>::new(), 0);
        for frame in &kernel.frames {
            let (vnet, headers, seq, flags, payload) = checked(frame);
            prop_assert_eq!((seq, headers.transport), (next, TCP));
            prop_assert!(vnet.gso_size as usize <= size);
            prop_assert!(window > 0 || payload.len() <= size);
            next = next.wrapping_add(payload.len() as u32);
            got.extend(payload);
            ends += u32::from(flags & (PSH | FIN) != 0);
        }
        prop_assert_eq!(&got, &sent);
        if flags & (PSH | FIN) != 0 {
            prop_assert_eq!(ends as usize, sizes.len(), "the end of each frame is told");
        }
        prop_assert_eq!(direction.datapath.packets.frames(), 0, "all buffers are given back");
        let report = direction.finish();
        prop_assert_eq!(report.counters.arrived, report.counters.departed);
    }
}
