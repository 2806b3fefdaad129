//! Captures: every packet at the queues, with the bytes of programs.

use crate::common::{Paced, Silent};
use sojourn_net::{Datagram, Duration, Ecn, Error, Event, Instant, Net, Report};
use sojourn_sim::capture;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// A packet of a file.
struct Captured {
    interface: u32,
    time_ns: u64,
    size: u32,
    data: Vec<u8>,
    comment: String,
    /// 1 enters the queue, 2 leaves it, 0 neither.
    direction: u32,
}

fn word(data: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

fn half(data: &[u8], at: usize) -> usize {
    usize::from(u16::from_ne_bytes([data[at], data[at + 1]]))
}

fn options(data: &[u8]) -> BTreeMap<usize, Vec<u8>> {
    let (mut found, mut at) = (BTreeMap::new(), 0);
    while at + 4 <= data.len() && half(data, at) != 0 {
        let size = half(data, at + 2);
        found.insert(half(data, at), data[at + 4..at + 4 + size].to_vec());
        at += 4 + size.next_multiple_of(4);
    }
    found
}

/// Names of the interfaces, and the packets.
fn blocks(path: &Path) -> (Vec<String>, Vec<Captured>) {
    let file = std::fs::read(path).expect("a file");
    let (mut names, mut packets, mut at) = (Vec::new(), Vec::new(), 0);
    while at < file.len() {
        let length = word(&file, at + 4) as usize;
        assert_eq!(word(&file, at + length - 4) as usize, length);
        let body = &file[at + 8..at + length - 4];
        match word(&file, at) {
            1 => names.push(String::from_utf8(options(&body[8..])[&2].clone()).expect("a name")),
            6 => {
                let captured = word(body, 12) as usize;
                let options = options(&body[20 + captured.next_multiple_of(4)..]);
                packets.push(Captured {
                    interface: word(body, 0),
                    time_ns: (u64::from(word(body, 4)) << 32) | u64::from(word(body, 8)),
                    size: word(body, 16),
                    data: body[20..20 + captured].to_vec(),
                    comment: options.get(&1).map_or(String::new(), |text| String::from_utf8_lossy(text).into()),
                    direction: options.get(&2).map_or(0, |flags| word(flags, 0)),
                });
            }
            kind => assert_eq!(kind, 0x0a0d_0d0a),
        }
        at += length;
    }
    (names, packets)
}

/// One's complement sum of 16-bit words; 0xffff if a checksum within is right.
fn sum(data: &[u8]) -> u32 {
    let words = data.chunks(2).map(|pair| u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0)));
    words.fold(0, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    })
}

/// Addresses, ECN field and payload of a datagram whose checksums are right.
fn datagram(data: &[u8]) -> (SocketAddr, SocketAddr, u8, &[u8]) {
    let (from, to, class, at): (IpAddr, IpAddr, u8, usize) = if data[0] >> 4 == 4 {
        assert_eq!(sum(&data[..20]), 0xffff);
        assert_eq!(usize::from(u16::from_be_bytes([data[2], data[3]])), data.len());
        let octets = |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&data[at..at + 4]).expect("four bytes")).into();
        (octets(12), octets(16), data[1], 20)
    } else {
        assert_eq!(usize::from(u16::from_be_bytes([data[4], data[5]])), data.len() - 40);
        let octets = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&data[at..at + 16]).expect("16 bytes")).into();
        (octets(8), octets(24), data[0] << 4 | data[1] >> 4, 40)
    };
    let udp = &data[at..];
    let addresses = if at == 20 { &data[12..20] } else { &data[8..40] };
    let pseudo = [addresses, &[0, 17], &(udp.len() as u16).to_be_bytes(), udp].concat();
    assert_eq!(sum(&pseudo), 0xffff);
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    (SocketAddr::new(from, port(0)), SocketAddr::new(to, port(2)), class & 3, &udp[8..])
}

/// Compares the packets of each queue with the counts of the summary.
fn compare_counts(report: &Report, packets: &[Captured]) {
    for (interface, link) in (0..).zip([&report.summary().links.forward, &report.summary().links.reverse]) {
        let of = |direction| packets.iter().filter(move |one| one.interface == interface && one.direction == direction);
        assert_eq!(of(1).count() as u64, link.arrived);
        assert_eq!(of(2).count() as u64, link.packets);
        assert_eq!(of(2).filter(|one| one.comment.ends_with(", marked")).count() as u64, link.marked);
        let mut dropped = BTreeMap::new();
        for one in of(0) {
            let (_, reason) = one.comment.split_once(", dropped: ").expect("only drops have no direction");
            *dropped.entry(reason.replace(' ', "-")).or_insert(0) += 1;
        }
        let expected: BTreeMap<String, u64> =
            link.dropped_by.iter().filter(|one| *one.1 > 0).map(|(name, &count)| (name.to_string(), count)).collect();
        assert_eq!(dropped, expected);
    }
}

fn world(aqm: &str, keys: &str) -> String {
    format!(
        "duration = \"4 s\"\nwarmup = \"0 s\"\n[link]\nrate = \"4.1 Mbit/s\"\ndelay = \"9 ms\"\nlimit = \"60 packets\"\naqm = \"{aqm}\"\n\
         [[flows]]\nkind = \"endpoint\"\nname = \"call\"\n{keys}\n[[flows]]\nkind = \"tcp\"\nrtt = \"30 ms\"\n\
         ecn = true\n"
    )
}

/// Bytes of datagram `number`.
fn bytes_of(number: u32) -> Vec<u8> {
    let size = 4 + (number as usize * 37) % 1_200;
    (0..size).map(|at| if at < 4 { number.to_be_bytes()[at] } else { (at as u32 * 7 + number) as u8 }).collect()
}

#[test]
fn a_capture_has_every_packet_with_its_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let addresses = ["", "address = [\"2001:db8::1\", \"2001:db8::2\"]"];
    for (number, (aqm, keys)) in
        [("codel ecn on", addresses[0]), ("pie", addresses[1]), ("droptail", "")].into_iter().enumerate()
    {
        let path = folder.path().join(format!("{number}/run.pcapng"));
        let run = |mut net: Net| {
            let (source, sink) = net.pair("call").expect("it is there");
            let (from, to) = (net.address(source), net.address(sink));
            net.wake(source, Some(Instant::ZERO));
            let mut count = 0;
            loop {
                match net.next().expect("no fault") {
                    Event::Wake(_) => {
                        let bytes = bytes_of(count);
                        let datagram = Datagram { ecn: Ecn::Ect0, ..Datagram::to(to, &bytes) };
                        net.send(source, &datagram).expect("it can be sent");
                        count += 1;
                        let next = net.now() + Duration::from_micros(1_100);
                        net.wake(source, Some(next));
                    }
                    Event::End => return (net.finish().expect("a report"), from, to),
                    _ => {}
                }
            }
        };
        let (plain, ..) = run(Net::parse(&world(aqm, keys), 5).expect("a world"));
        let net = Net::parse(&world(aqm, keys), 5).expect("a world").with_capture(&path).expect("a file");
        let (report, from, to) = run(net);
        assert_eq!((report.fingerprint(), report.decisions()), (plain.fingerprint(), plain.decisions()));
        assert_eq!(report.log().len(), plain.log().len());

        let (names, packets) = blocks(&path);
        assert_eq!(names, ["link forward", "link reverse"]);
        compare_counts(&report, &packets);
        assert!(packets.iter().any(|one| one.direction == 0) || aqm.starts_with("codel"), "{aqm}");
        assert!(packets.iter().is_sorted_by_key(|one| one.time_ns));

        let (mut sent, mut marked) = (0, 0);
        for packet in packets.iter().filter(|one| one.size as usize == one.data.len()) {
            let (found_from, found_to, ecn, payload) = datagram(&packet.data);
            assert_eq!((found_from, found_to, packet.interface), (from, to, 0));
            let number = u32::from_be_bytes(payload[..4].try_into().expect("four bytes"));
            assert!(payload == bytes_of(number), "datagram {number}");
            sent += u64::from(packet.direction == 1);
            marked += u64::from(ecn == 3);
            let expects_mark = packet.comment.ends_with(", marked");
            assert_eq!(ecn == 3, expects_mark, "{}", packet.comment);
        }
        assert_eq!(sent, report.datagrams());
        assert!(marked > 0 || !aqm.starts_with("codel"), "{aqm}");

        // Our own reader finds the same, and counts the truncated segments.
        let read = capture::read(&std::fs::read(&path).expect("a file")).expect("a capture");
        let whole = packets.iter().filter(|one| one.size as usize == one.data.len()).count();
        assert_eq!((read.packets.len(), read.left_out() as usize), (whole, packets.len() - whole));
        assert!(
            read.packets
                .iter()
                .all(|one| (one.source, one.destination) == ((from.ip(), from.port()), (to.ip(), to.port())))
        );
    }
}

#[test]
fn each_datagram_of_a_super_packet_is_captured() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pcapng");
    let mut net =
        Net::parse(&world("droptail", "gso = true"), 1).expect("a world").with_capture(&path).expect("a file");
    let (source, sink) = net.pair("call").expect("it is there");
    let bytes: Vec<u8> = (0..2_500_u32).map(|at| (at * 11 / 3) as u8).collect();
    let many = Datagram { segment_size: Some(1_000), ..Datagram::to(net.address(sink), &bytes) };
    net.send(source, &many).expect("it can be sent");
    net.run().expect("a report");
    let (_, packets) = blocks(&path);
    let whole = |direction| -> Vec<u8> {
        let of = packets.iter().filter(|one| one.direction == direction && one.size as usize == one.data.len());
        let payloads: Vec<&[u8]> = of.map(|one| datagram(&one.data).3).collect();
        assert_eq!(payloads.iter().map(|one| one.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        payloads.concat()
    };
    assert_eq!(whole(1), bytes);
    assert_eq!(whole(2), bytes);
}

#[test]
fn a_capture_is_complete_or_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pcapng");
    let captured = || Net::parse(&world("codel", ""), 1).expect("a world").with_capture(&path);
    drop(captured().expect("a file"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let mut net = captured().expect("a file").without_log();
    net.attach("call", Paced::new(500, Duration::from_millis(3)), Silent).expect("it is there");
    let report = net.run().expect("a report");
    assert!(report.log().is_empty() && report.datagrams() > 1_000);
    compare_counts(&report, &blocks(&path).1);
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let refused = Net::parse(&world("codel", ""), 1).expect("a world").with_capture(folder.path().join("file/run"));
    assert!(matches!(refused.err(), Some(Error::File { .. })));
}
