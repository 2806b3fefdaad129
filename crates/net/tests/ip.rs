//! Endpoints that send and receive whole IP packets: `layer = "ip"`.

use crate::common::{Owned, Paced, Silent};
use sojourn_aqm::TcpView;
use sojourn_aqm::headers::{IpFields, IpHeader, TCP, fold, sum, write_udp};
use sojourn_net::{Cx, Datagram, DecisionLog, Duration, Ecn, Endpoint, Event, Instant, Net, Received, Transmit};
use std::net::SocketAddr;

/// A world whose pair of ends, `host`, speaks IP, with more keys of it and of its link.
fn world(keys: &str, link: &str) -> String {
    format!(
        "duration = \"3 s\"\n[link]\nrate = \"7.3 Mbit/s\"\ndelay = \"11 ms\"\n{link}\n\
         [[flows]]\nkind = \"endpoint\"\nname = \"host\"\nrtt = \"40 ms\"\n{keys}\n"
    )
}

fn net(text: &str) -> Net {
    Net::parse(text, 7).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Fields of a packet between two addresses.
fn fields(from: SocketAddr, to: SocketAddr, class: u8) -> IpFields {
    IpFields { source: from.ip(), destination: to.ip(), protocol: TCP, class, identification: 9, length: 0 }
}

fn udp((from, to): (SocketAddr, SocketAddr), class: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    write_udp(&mut packet, fields(from, to, class), (from.port(), to.port()), payload);
    packet
}

/// A TCP segment without options that acknowledges up to `ack`.
fn pure_ack((from, to): (SocketAddr, SocketAddr), ack: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    IpFields { length: 20, ..fields(from, to, 0) }.write(&mut packet);
    packet.extend([from.port(), to.port()].map(u16::to_be_bytes).concat());
    packet.extend([1, ack].map(u32::to_be_bytes).concat());
    packet.extend([0x50, TcpView::ACK as u8, 0xff, 0xff, 0, 0, 0, 0]);
    packet
}

/// Sends the datagrams of another program as IP packets.
struct OverIp {
    program: Paced,
    addresses: Option<(SocketAddr, SocketAddr)>,
    class: u8,
}

impl Endpoint for OverIp {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.addresses = Some((cx.address(), cx.peer()));
        self.program.begin(cx);
    }

    fn on_datagram(&mut self, _: &mut Cx<'_>, _: Received<'_>) {}

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.program.on_wake(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        self.program.poll_transmit(now, into)?;
        *into = udp(self.addresses.expect("it has begun"), self.class, into);
        Some(Transmit::packet())
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.program.wake_at()
    }
}

fn paced() -> Paced {
    Paced::new(1_003, Duration::from_micros(1_090))
}

#[test]
fn packets_meet_the_queues_as_datagrams_do() {
    for (aqm, address) in [("codel", ""), ("fq_codel", ""), ("pie", "address = [\"fd00::1\", \"fd00::2\"]")] {
        let run = |layer: &str| {
            let mut net = net(&world(&format!("layer = \"{layer}\"\n{address}"), &format!("aqm = \"{aqm}\"")));
            match layer {
                "udp" => net.attach("host", paced(), Silent),
                _ => net.attach("host", OverIp { program: paced(), addresses: None, class: 0 }, Silent),
            }
            .expect("it is there");
            net.run().expect("no fault")
        };
        let (of_udp, of_ip) = (run("udp"), run("ip"));
        assert_eq!(of_ip.fingerprint(), of_udp.fingerprint(), "{aqm}");
        assert!(of_ip.datagrams() > 2_000);
    }
}

#[test]
fn a_mark_is_in_the_header_that_arrives() {
    for (address, at) in [("", 20), ("address = [\"fd00::1\", \"fd00::2\"]", 40)] {
        let mut net = net(&world(&format!("layer = \"ip\"\n{address}"), "aqm = \"dualpi2\""));
        let (source, sink) = net.pair("host").expect("it is there");
        let addresses = (net.address(source), net.address(sink));
        // DSCP 10, ECT(1).
        let program = OverIp { program: paced(), addresses: None, class: 0x29 };
        let mut programs = crate::common::Programs::from([
            (source, Box::new(program) as Box<dyn Endpoint>),
            (sink, Box::new(Silent) as Box<dyn Endpoint>),
        ]);
        let peers = crate::common::peers(&net);
        let mut seen = [0_u64; 4];
        loop {
            let event = Owned::of(net.next().expect("no fault"));
            match &event {
                Owned::End => break,
                Owned::Datagram(to, from, local, ecn, _, bytes) => {
                    assert_eq!((*to, *from, *local), (sink, addresses.0, addresses.1));
                    let sent = udp(addresses, 0x28 | *ecn as u8, &bytes[at + 8..]);
                    assert_eq!(*bytes, sent, "the same but for the ECN field, with its checksum");
                    seen[*ecn as usize] += 1;
                }
                _ => {}
            }
            crate::common::answer(&mut net, &mut programs, &peers, event);
        }
        let report = net.finish().expect("no fault");
        let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint").source.clone();
        assert_eq!((seen[Ecn::Ce as usize], seen.iter().sum::<u64>()), (endpoint.marked, endpoint.received));
        assert!(endpoint.marked > 20 && seen[Ecn::Ect1 as usize] > 5, "{seen:?}");
    }
}

#[test]
fn a_queue_sees_headers_of_tcp() {
    let acks = |aqm: &str, as_tcp: bool| {
        let mut net = net(&world("layer = \"ip\"", &format!("aqm = \"{aqm}\"")));
        let (source, sink) = net.pair("host").expect("it is there");
        let addresses = (net.address(source), net.address(sink));
        for number in 0..50_u32 {
            let packet = match as_tcp {
                true => pure_ack(addresses, 1_000 + 1_448 * number),
                false => udp(addresses, 0, &[0; 12]),
            };
            net.send(source, &Datagram::packet(&packet)).expect("it can be sent");
        }
        let (mut arrived, mut last) = (0, 0);
        loop {
            match net.next().expect("no fault") {
                Event::Datagram { bytes, .. } => {
                    arrived += 1;
                    last = TcpView::of_ip(bytes).map_or(0, |view| view.ack);
                }
                Event::End => return (arrived, last),
                _ => {}
            }
        }
    };
    let last = 1_000 + 1_448 * 49;
    assert_eq!(acks("cake", true), (50, last));
    let (filtered, newest) = acks("cake ack-filter", true);
    assert!(filtered < 20 && newest == last, "{filtered} ACKs, the last up to {newest}");
    assert_eq!(acks("cake ack-filter", false).0, 50, "datagrams are no ACKs");
}

#[test]
fn a_replay_sends_packets_of_the_same_size() {
    let mut net = net(&world("layer = \"ip\"", "aqm = \"fq_codel ecn\""));
    net.attach("host", OverIp { program: paced(), addresses: None, class: 2 }, Silent).expect("it is there");
    let report = net.run().expect("no fault");
    let folder = tempfile::tempdir().expect("a folder");
    let log = DecisionLog::load(report.write(&folder).expect("it is written")).expect("a log");
    let replay = log.replay().expect("no fault");
    assert_eq!((replay.fingerprint(), replay.decisions()), (report.fingerprint(), report.decisions()));
}

#[test]
fn damage_is_behind_the_header() {
    let link = "aqm = { name = \"netem\", corrupt = 30.0, limit = 100 }";
    let mut net = net(&world("layer = \"ip\"\ndamage = \"deliver\"", link));
    let (source, sink) = net.pair("host").expect("it is there");
    let packet = udp((net.address(source), net.address(sink)), 0, &[0x5a; 300]);
    for _ in 0..90 {
        net.send(source, &Datagram::packet(&packet)).expect("it can be sent");
    }
    let mut damaged = 0;
    while let event @ (Event::Datagram { .. } | Event::Begin(_)) = net.next().expect("no fault") {
        let Event::Datagram { bytes, .. } = event else { continue };
        assert_eq!(bytes[..20], packet[..20]);
        damaged += u32::from(bytes != packet);
    }
    assert!((10..50).contains(&damaged), "{damaged} of 90");
}

#[test]
fn bytes_that_are_no_packet_of_the_host_are_refused() {
    let mut net = net(&world("layer = \"ip\"", "aqm = \"codel\""));
    let (source, sink) = net.pair("host").expect("it is there");
    let addresses = (net.address(source), net.address(sink));
    let packet = udp(addresses, 0, &[1; 40]);
    let stranger = udp(("192.0.2.1:7".parse().expect("an address"), addresses.1), 0, &[1; 40]);
    let truncated = &packet[..50];
    for (bytes, segment_size, text) in [
        (&[][..], None, "its header is truncated"),
        (&packet[..19], None, "its header is truncated"),
        (truncated, None, "the length in its header"),
        (&packet[..], Some(30), "segment size"),
        (&stranger[..], None, "from 192.0.2.1:7, but the host has the address 10.0.0.1"),
    ] {
        let error = net.send(source, &Datagram { segment_size, ..Datagram::packet(bytes) }).expect_err(text);
        assert!(error.to_string().contains(text), "{error}");
    }
    net.send(source, &Datagram::packet(&packet)).expect("it can be sent");
    for (keys, text) in [
        ("gso = true", "super-packets are UDP"),
        ("events = [{ at = \"1 s\", rebind = \"port\" }]", "a NAT rewrites UDP only"),
        ("layer = \"tcp\"", "layer"),
    ] {
        let layer = if keys.contains("layer") { "" } else { "layer = \"ip\"\n" };
        let error = Net::parse(&world(&format!("{layer}{keys}"), ""), 1).err().expect(text).to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_packet_without_ports_has_its_way_too() {
    let mut net = net(&world("layer = \"ip\"", "aqm = \"fq_codel\""));
    let (source, sink) = net.pair("host").expect("it is there");
    let (from, to) = (net.address(source), net.address(sink));
    let mut packet = Vec::new();
    // An echo request; its first bytes are no ports.
    IpFields { protocol: 1, length: 12, ..fields(from, to, 0) }.write(&mut packet);
    packet.extend([8, 0, 0, 0, 0, 1, 0, 1, 9, 9, 9, 9]);
    assert_eq!(fold(sum(&packet[..20])), 0xffff);
    assert_eq!(IpHeader::parse(&packet).and_then(|header| header.length), Some(packet.len()));
    net.send(source, &Datagram::packet(&packet)).expect("it can be sent");
    loop {
        match net.next().expect("no fault") {
            Event::Datagram { to, from, local, bytes, .. } => {
                assert_eq!((to, from.port(), local.port(), bytes), (sink, 0, 0, &packet[..]));
                break;
            }
            Event::End => panic!("it arrives"),
            _ => {}
        }
    }
}
