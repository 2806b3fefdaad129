//! Datagrams of programs in a world: sizes, flows, addresses, losses, duplicates, offload, MTU, NATs, damage.

use crate::common::{Echo, Owned, Paced, Silent};
use sojourn_net::{Datagram, Duration, Ecn, End, Error, Event, Instant, Net, Report, SendError, expect};
use std::collections::BTreeMap;

fn net(text: &str, seed: u64) -> Net {
    Net::parse(text, seed).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A world with one pair of ends, `call`, and more keys of it, of its link, and of the file.
fn call(keys: &str, link: &str, more: &str) -> String {
    format!(
        "duration = \"3 s\"\n[link]\nrate = \"7.3 Mbit/s\"\ndelay = \"11 ms\"\n{link}\n\
         [[flows]]\nkind = \"endpoint\"\nname = \"call\"\n{keys}\n{more}"
    )
}

/// Sends what `script` says at its times, and returns all that arrives, with the time in ns.
fn exchange(net: &mut Net, mut script: Vec<(u64, End, Vec<u8>)>) -> Vec<(u64, End, Vec<u8>)> {
    script.sort_by_key(|&(at, ..)| at);
    let mut arrived = Vec::new();
    let mut script = script.into_iter().peekable();
    loop {
        let until = script.peek().map_or(Instant::NEVER, |&(at, ..)| Instant::from_nanos(at));
        match Owned::of(net.advance(until).expect("no fault")) {
            Owned::End => {
                let Some((_, end, bytes)) = script.next() else { return arrived };
                let peer = net.ends().find(|other| *other != end).expect("a pair");
                let remote = net.address(peer);
                net.send(end, &Datagram::to(remote, &bytes)).expect("it can be sent");
            }
            Owned::Datagram(end, _, _, _, _, bytes) => arrived.push((net.now().as_nanos(), end, bytes)),
            _ => {}
        }
    }
}

#[test]
fn a_datagram_has_its_headers_and_its_bytes() {
    for (address, headers) in [("", 28), ("address = [\"2001:db8::1\", \"2001:db8::2\"]", 48)] {
        let mut net = net(&call(address, "", ""), 1);
        let (source, sink) = net.pair("call").expect("it is there");
        let bytes: Vec<u8> = (0..=250).collect();
        let arrived = exchange(&mut net, vec![(1_000, source, bytes.clone()), (700_000_123, sink, vec![7; 13])]);
        let time = |bytes: u64| (bytes + headers) * 8 * 1_000_000_000 / 7_300_000 + 11_000_000;
        assert_eq!(arrived[0].1, sink);
        assert_eq!(arrived[0].2, bytes);
        assert!(arrived[0].0.abs_diff(1_000 + time(251)) <= 1, "{arrived:?}");
        assert_eq!((arrived[1].1, arrived[1].2.len()), (source, 13));
    }
}

#[test]
fn a_constant_rate_from_outside_has_the_fingerprint_of_cbr() {
    // 1,228 B of IP at 1,228 B * 8 / 2.2 ms.
    for (aqm, beside) in [("codel", "[[flows]]\nkind = \"tcp\"\nrtt = \"33 ms\"\n"), ("fq_codel", ""), ("pie", "")] {
        let world = |group: &str| {
            format!(
                "duration = \"5 s\"\n[link]\nrate = \"4.1 Mbit/s\"\naqm = \"{aqm}\"\n[[flows]]\n{group}rtt = \"20 ms\"\n{beside}"
            )
        };
        let inside = Net::parse(&world("kind = \"cbr\"\nrate = \"4.4 Mbit/s\"\nsize = \"1210 B\"\n"), 3);
        let expected = inside.expect("valid").run().expect("no fault");
        let mut outside = net(&world("kind = \"endpoint\"\nname = \"cbr\"\n"), 3);
        let gap = Duration::from_micros(2_200);
        outside.attach("cbr", Paced::new(1_210 - 28, gap), Silent).expect("it is there");
        let outside = outside.run().expect("no fault");
        assert_eq!(outside.fingerprint(), expected.fingerprint(), "{aqm}");
        assert!(outside.datagrams() > 2_000);
    }
}

#[test]
fn names_and_order_of_groups_change_nothing() {
    let group = |name: &str, rtt: &str| format!("[[flows]]\nkind = \"endpoint\"\nname = \"{name}\"\nrtt = \"{rtt}\"\n");
    let run = |first: (&str, &str), second: (&str, &str)| {
        let world = "duration = \"4 s\"\n[link]\nrate = \"3.7 Mbit/s\"\naqm = \"fq_codel\"\n";
        let mut net = net(&format!("{world}{}{}", group(first.0, first.1), group(second.0, second.1)), 9);
        for (name, rtt) in [first, second] {
            let size = if rtt == "31 ms" { 977 } else { 411 };
            let gap = Duration::from_nanos(if rtt == "31 ms" { 2_345_677 } else { 3_000_017 });
            net.attach(name, Paced::new(size, gap), Echo::default()).expect("it is there");
        }
        let report = net.run().expect("no fault");
        let groups = report.summary().groups.iter().map(|group| {
            let endpoint = group.endpoint.as_ref().expect("an endpoint");
            (endpoint.source.received, endpoint.sink.received, endpoint.source.delay_ms.p99)
        });
        groups.collect::<Vec<_>>()
    };
    let plain = run(("a", "31 ms"), ("b", "47 ms"));
    assert_eq!(plain, run(("zz", "31 ms"), ("aa", "47 ms")));
    let turned = run(("b", "47 ms"), ("a", "31 ms"));
    assert_eq!((plain[0], plain[1]), (turned[1], turned[0]));
}

#[test]
fn payloads_are_those_of_the_packets_in_flight() {
    let netem = "aqm = { name = \"netem\", duplicate = 9.0, corrupt = 4.0, loss = 7.0, delay = \"3 ms\", limit = 30 }";
    let mut net = net(&call("rtt = \"40 ms\"", netem, ""), 17);
    let (source, sink) = net.pair("call").expect("it is there");
    let to = net.address(sink);
    let (mut sent, mut received, mut most) = (0_u32, BTreeMap::new(), 0);
    loop {
        match net.next().expect("no fault") {
            Event::Begin(end) if end == source => net.wake(source, Some(Instant::ZERO)),
            Event::Wake(end) if end == source => {
                let bytes = sent.to_be_bytes().repeat(1 + sent as usize % 37);
                net.send(source, &Datagram::to(to, &bytes)).expect("it can be sent");
                sent += 1;
                let next = net.now() + Duration::from_micros(113);
                net.wake(source, (sent < 20_000).then_some(next));
            }
            Event::Datagram { bytes, .. } => {
                let number = u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
                assert_eq!(bytes, number.to_be_bytes().repeat(1 + number as usize % 37), "the bytes of another");
                *received.entry(number).or_insert(0) += 1;
            }
            Event::End => break,
            _ => {}
        }
        most = most.max(net.payloads_in_flight());
    }
    let report = net.finish().expect("no file is wanted");
    let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    let of_source = &endpoint.source;
    let twice = received.values().filter(|&&count| count > 1).count() as u64;
    assert_eq!(of_source.sent, u64::from(sent));
    assert_eq!(of_source.received, received.len() as u64);
    assert_eq!(of_source.duplicates, twice, "a copy of each at most");
    assert_eq!(of_source.sent, of_source.received + of_source.lost, "nothing is in flight at the end");
    assert!(of_source.lost > 500 && twice > 200 && most < 500, "{of_source:?}, {most} payloads");
}

#[test]
fn a_five_tuple_is_a_flow_of_the_queue() {
    // Two sockets of one pair of hosts behind fq_codel: the greedy one does not delay the other.
    let delays = |ports: [u16; 2]| {
        let mut net = net(&call("tags = [\"greedy\", \"sparse\"]", "aqm = \"fq_codel\"", ""), 4);
        let (source, sink) = net.pair("call").expect("it is there");
        let (remote, own) = (net.address(sink), net.address(source));
        net.wake(source, Some(Instant::ZERO));
        let mut number = 0;
        loop {
            match net.next().expect("no fault") {
                Event::Wake(end) => {
                    for (tag, count, port) in [(1, 3, ports[0]), (2, u64::from(number % 5 == 0), ports[1])] {
                        let local = Some(std::net::SocketAddr::new(own.ip(), port));
                        for _ in 0..count {
                            let datagram = Datagram { local, tag, ..Datagram::to(remote, &[0; 900]) };
                            net.send(end, &datagram).expect("it can be sent");
                        }
                    }
                    number += 1;
                    let next = net.now() + Duration::from_millis(2);
                    net.wake(end, Some(next));
                }
                Event::End => break,
                _ => {}
            }
        }
        let report = net.finish().expect("no file is wanted");
        let tags = &report.summary().groups[0].endpoint.as_ref().expect("an endpoint").source.tags;
        ["greedy", "sparse"].map(|tag| tags[tag].delay_ms.p95.expect("it arrived"))
    };
    let (apart, together) = (delays([5_000, 5_001]), delays([5_000, 5_000]));
    assert!(apart[1] < 11.0 + 3.5, "{apart:?}");
    assert!(together[1] > 20.0, "{together:?}");
}

#[test]
fn marks_reach_the_other_end() {
    // An L4S sender beside a downloading one; its queue marks.
    for (aqm, ecn) in [("dualpi2", Ecn::Ect1), ("{ name = \"codel\", ecn = true }", Ecn::Ect0)] {
        let aqm = if aqm.starts_with('{') { aqm.to_string() } else { format!("\"{aqm}\"") };
        let mut net = net(&call("rtt = \"30 ms\"", &format!("aqm = {aqm}"), ""), 5);
        let (source, sink) = net.pair("call").expect("it is there");
        let remote = net.address(sink);
        net.wake(source, Some(Instant::ZERO));
        let mut seen = BTreeMap::new();
        loop {
            match net.next().expect("no fault") {
                Event::Wake(end) => {
                    net.send(end, &Datagram { ecn, ..Datagram::to(remote, &[0; 1_111]) }).expect("it can be sent");
                    let next = net.now() + Duration::from_micros(1_170);
                    net.wake(end, Some(next));
                }
                Event::Datagram { ecn, .. } => *seen.entry(ecn as u8).or_insert(0_u64) += 1,
                Event::End => break,
                _ => {}
            }
        }
        let report = net.finish().expect("no file is wanted");
        let marked = report.summary().groups[0].endpoint.as_ref().expect("an endpoint").source.marked;
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [ecn as u8, Ecn::Ce as u8], "{aqm}");
        assert_eq!(seen[&(Ecn::Ce as u8)], marked, "{aqm}");
        assert!(marked > 20, "{aqm}: {marked}");
        expect!(report, "marks(call) > 1 % and loss(call) < 30 %");
    }
}

#[test]
fn one_address_is_one_host() {
    // Two groups of one host share CAKE's turn of that host against a third group.
    let shares = |second: &str| {
        let group = |name: &str, address: &str| {
            format!("[[flows]]\nkind = \"endpoint\"\nname = \"{name}\"\naddress = {address}\nrtt = \"20 ms\"\n")
        };
        let world = format!(
            "duration = \"6 s\"\n[link]\nrate = \"6 Mbit/s\"\naqm = {{ name = \"cake\", isolation = \"dual-srchost\" }}\n{}{}{}",
            group("a", "[\"10.9.0.1\", \"10.9.1.1\"]"),
            group("b", second),
            group("c", "[\"10.9.0.3\", \"10.9.1.3\"]")
        );
        let mut net = net(&world, 2);
        for name in ["a", "b", "c"] {
            net.attach(name, Paced::new(1_172, Duration::from_micros(1_600)), Silent).expect("it is there");
        }
        let report = net.run().expect("no fault");
        report.summary().groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect::<Vec<_>>()
    };
    let apart = shares("[\"10.9.0.2\", \"10.9.1.2\"]");
    let together = shares("[\"10.9.0.1\", \"10.9.1.2\"]");
    assert!((apart[0] - apart[2]).abs() < 0.1 && apart[2] < 2.1, "{apart:?}");
    assert!((together[2] - 2.0 * together[0]).abs() < 0.2 && together[2] > 2.7, "{together:?}");
}

#[test]
fn offload_sends_one_packet_or_several() {
    let run = |gso: bool, link: &str| {
        let mut net = net(&call(&format!("gso = {gso}"), link, ""), 6);
        let (source, sink) = net.pair("call").expect("it is there");
        let remote = net.address(sink);
        let bytes: Vec<u8> = (0..5_333_u32).map(|i| (i % 251) as u8).collect();
        let datagram = Datagram { segment_size: Some(1_200), ..Datagram::to(remote, &bytes) };
        net.send(source, &datagram).expect("it can be sent");
        let mut arrived = Vec::new();
        loop {
            match net.next().expect("no fault") {
                Event::Datagram { bytes, .. } => arrived.push(bytes.to_vec()),
                Event::End => break,
                _ => {}
            }
        }
        assert_eq!(arrived.concat(), bytes);
        assert_eq!(arrived.iter().map(Vec::len).collect::<Vec<_>>(), [1_200, 1_200, 1_200, 1_200, 533]);
        let report = net.finish().expect("no file is wanted");
        let (link, endpoint) = (&report.summary().links.forward, report.summary().groups[0].endpoint.as_ref());
        assert_eq!(endpoint.map(|endpoint| (endpoint.source.sent, endpoint.source.received)), Some((5, 5)));
        (link.arrived, link.bytes)
    };
    assert_eq!(run(false, ""), (5, 5_333 + 5 * 28));
    assert_eq!(run(true, "").1, 5_333 + 5 * 28);
    assert_eq!(run(true, "").0, 1);
    // CAKE splits super-packets.
    assert_eq!(run(true, "aqm = \"cake\"").1, 5_333 + 5 * 28);
}

#[test]
fn packets_above_the_mtu_vanish_or_are_reported() {
    for (oversize, reports) in [("drop", 0), ("report", 1)] {
        let mut net = net(&call(&format!("mtu = \"1280 B\"\noversize = \"{oversize}\"\nrtt = \"60 ms\""), "", ""), 1);
        let (source, sink) = net.pair("call").expect("it is there");
        let remote = net.address(sink);
        for size in [1_252, 1_253] {
            net.send(source, &Datagram::to(remote, &vec![1; size])).expect("it can be sent");
        }
        let (mut sizes, mut messages) = (Vec::new(), Vec::new());
        loop {
            match net.next().expect("no fault") {
                Event::Datagram { bytes, .. } => sizes.push(bytes.len()),
                Event::TooBig { to, mtu, .. } => {
                    assert_eq!((to, mtu), (source, 1_280));
                    messages.push(net.now().as_nanos());
                }
                Event::End => break,
                _ => {}
            }
        }
        assert_eq!((sizes, messages.len()), (vec![1_252], reports));
        assert!(messages.iter().all(|&at| at == 60_000_000), "{messages:?}");
        let report = net.finish().expect("no file is wanted");
        let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
        assert_eq!((endpoint.source.sent, endpoint.source.too_big, endpoint.source.lost), (2, 1, 1));
    }
}

/// Datagrams that arrive up to a time: end, source and destination address, bytes.
fn arrivals(net: &mut Net, until: u64) -> Vec<(End, std::net::SocketAddr, std::net::SocketAddr, Vec<u8>)> {
    let mut seen = Vec::new();
    loop {
        match net.advance(Instant::from_nanos(until)).expect("no fault") {
            Event::Datagram { to, from, local, bytes, .. } => seen.push((to, from, local, bytes.to_vec())),
            Event::Wake(end) => panic!("{end:?} has no deadline: no end notices a rebinding"),
            Event::End => return seen,
            _ => {}
        }
    }
}

#[test]
fn a_rebound_source_is_another_flow_and_the_old_address_is_dead() {
    for what in ["port", "address"] {
        let events = format!("events = [{{ at = \"1 s\", rebind = \"{what}\" }}]");
        let mut net = net(&call(&events, "aqm = \"fq_codel\"", "[probes]\npackets = true\n"), 1);
        let (source, sink) = net.pair("call").expect("it is there");
        let (own, peer) = (net.address(source), net.address(sink));
        net.send(source, &Datagram::to(peer, b"before")).expect("it can be sent");
        let mut seen = Vec::new();
        seen.extend(arrivals(&mut net, 1_000_000_000));
        net.send(source, &Datagram::to(peer, b"after")).expect("it can be sent");
        net.send(sink, &Datagram::to(own, b"old")).expect("it can be sent");
        seen.extend(arrivals(&mut net, 1_500_000_000));
        let moved = seen[1].1;
        net.send(sink, &Datagram::to(moved, b"new")).expect("it can be sent");
        seen.extend(arrivals(&mut net, 2_500_000_000));
        assert_eq!(seen[0], (sink, own, peer, b"before".to_vec()));
        assert_eq!((seen[1].0, seen[1].3.as_slice()), (sink, &b"after"[..]));
        assert!(moved != own && (moved.ip() != own.ip()) == (what == "address"), "{moved}");
        assert_eq!(seen[2], (source, peer, own, b"new".to_vec()));
        assert_eq!(seen.len(), 3, "{seen:?}");
        let report = net.finish().expect("no file is wanted");
        let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
        assert_eq!((endpoint.sink.no_endpoint, endpoint.sink.lost), (1, 1));
        let table = report.output().tables.iter().find(|table| table.name == "packets").expect("it is recorded");
        let flows = table.columns.iter().find(|(name, _)| *name == "flow").expect("a column");
        let sojourn_sim::Column::U32(flows) = &flows.1 else { panic!("flows are whole numbers") };
        let mut flows = flows.clone();
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows, [0, 1]);
    }
}

#[test]
fn a_path_is_down_for_a_time() {
    let mut net = net(&call("events = [{ at = \"1 s\", down = \"0.5 s\" }]", "", ""), 1);
    net.attach("call", Paced::new(500, Duration::from_millis(10)), Silent).expect("it is there");
    let report = net.run().expect("no fault");
    let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    assert_eq!((endpoint.source.sent, endpoint.source.lost), (301, 50));
}

#[test]
fn damage_is_dropped_or_delivered() {
    for damage in ["drop", "deliver"] {
        let netem = "aqm = { name = \"netem\", corrupt = 20.0 }";
        let mut net = net(&call(&format!("damage = \"{damage}\""), netem, ""), 8);
        let (source, sink) = net.pair("call").expect("it is there");
        let script = (0..200).map(|i| (1_000_000 * (i + 1), source, vec![0; 77])).collect();
        let arrived = exchange(&mut net, script);
        let bits = arrived.iter().map(|(_, _, bytes)| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>());
        let flipped = bits.clone().filter(|&bits| bits > 0).count();
        assert!(arrived.iter().all(|(_, end, bytes)| *end == sink && bytes.len() == 77));
        assert!(bits.clone().all(|bits| bits <= 1));
        match damage {
            "drop" => assert!(arrived.len() < 180 && flipped == 0, "{}", arrived.len()),
            _ => assert!(arrived.len() == 200 && (20..60).contains(&flipped), "{flipped}"),
        }
    }
}

#[test]
fn departures_wait_for_their_time_in_order() {
    let mut net = net(&call("", "", ""), 1);
    let (source, sink) = net.pair("call").expect("it is there");
    let remote = net.address(sink);
    let at = |ms: i64| Some(Instant::ZERO + Duration::from_millis(ms));
    for (byte, when) in [(1, at(50)), (2, None), (3, at(20)), (4, at(60))] {
        net.send(source, &Datagram { at: when, ..Datagram::to(remote, &[byte]) }).expect("it can be sent");
    }
    let mut seen = Vec::new();
    loop {
        match net.next().expect("no fault") {
            Event::Datagram { bytes, .. } => {
                let byte = bytes[0];
                seen.push((byte, net.now().as_nanos() / 1_000_000));
            }
            Event::End => break,
            _ => {}
        }
    }
    assert_eq!(seen, [(1, 61), (2, 61), (3, 61), (4, 71)]);
    let left: Vec<u64> =
        net.finish().expect("no file").log().iter().map(|sent| sent.at.as_nanos() / 1_000_000).collect();
    assert_eq!(left, [50, 50, 50, 60]);
}

#[test]
fn what_no_host_can_send_is_refused() {
    let mut net = net(&call("tags = [\"rtp\"]", "", ""), 1);
    let (source, sink) = net.pair("call").expect("it is there");
    let (own, remote) = (net.address(source), net.address(sink));
    let six: std::net::SocketAddr = "[2001:db8::2]:443".parse().expect("an address");
    let other: std::net::SocketAddr = "10.99.0.1:5000".parse().expect("an address");
    let long = vec![0; 65_508];
    let (segment, local) = (|size| Some(size), |address| Some(address));
    for (datagram, expected) in [
        (Datagram::to(remote, &long), "call.source: a datagram of 65508 B; at most 65507 B"),
        (
            Datagram { segment_size: segment(0), ..Datagram::to(remote, b"abc") },
            "call.source: 3 B in segments of 0 B; at least 1 B each, and at most 64 datagrams",
        ),
        (
            Datagram { segment_size: segment(1), ..Datagram::to(remote, &[0; 65]) },
            "call.source: 65 B in segments of 1 B; at least 1 B each, and at most 64 datagrams",
        ),
        (Datagram { tag: 2, ..Datagram::to(remote, b"") }, "call.source: tag 2; the group has 1 in its key tags"),
        (
            Datagram::to(six, b""),
            "call.source: from 10.0.0.1:49152 to [2001:db8::2]:443; write both as IPv4 or both as IPv6",
        ),
        (
            Datagram { local: local(other), ..Datagram::to(remote, b"") },
            "call.source: from 10.99.0.1:5000, but the host has the address 10.0.0.1; send from that one",
        ),
    ] {
        assert_eq!(net.send(source, &datagram).expect_err(expected).to_string(), expected);
    }
    assert_eq!(own.to_string(), "10.0.0.1:49152");
    assert_eq!(net.finish().expect("no file").datagrams(), 0);
}

#[test]
fn an_end_that_never_lets_time_pass_is_named() {
    let mut net = net(&call("", "", ""), 1);
    let (source, _) = net.pair("call").expect("it is there");
    net.wake(source, Some(Instant::from_nanos(5)));
    let error = loop {
        match net.next() {
            Ok(Event::Wake(end)) => net.wake(end, Some(Instant::from_nanos(5))),
            Ok(Event::End) => panic!("the run ended"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Fault(_)));
    assert_eq!(
        error.to_string(),
        "call.source: woken 1000000 times at 5 ns; let the deadline pass, or send what is due, when it is woken"
    );
}

#[test]
fn names_that_are_not_there_are_named() {
    let net = net(&call("count = 3\ntags = [\"rtp\"]", "", ""), 1);
    for (error, expected) in [
        (net.pair("cal").map(|_| ()), "\"cal\": the world has no such endpoint; choose from call"),
        (net.pair_at("call", 3).map(|_| ()), "\"call\" has 3 pairs of ends, numbered from 0; there is no number 3"),
        (net.tag("call", "rtcp").map(|_| ()), "\"call\" has no tag \"rtcp\"; add it to the key tags of the group"),
    ] {
        assert_eq!(error.expect_err(expected).to_string(), expected);
    }
    let (third, _) = net.pair_at("call", 2).expect("it is there");
    assert_eq!((net.name_of(third), net.address(third).port()), ("call.2.source".into(), 49_154));
}

fn report(seed: u64) -> Report {
    let mut net =
        net(&call("tags = [\"rtp\"]\nrtt = \"30 ms\"", "aqm = \"codel\"", "[[flows]]\nkind = \"tcp\"\n"), seed);
    net.attach("call", Paced::new(333, Duration::from_millis(7)), Echo::default()).expect("it is there");
    net.run().expect("no fault")
}

#[test]
fn sentences_hold_or_say_why_not() {
    let report = report(5);
    expect!(report, "p99(delay, call) < 200 ms and loss(call) <= 50 %");
    expect!(report, "p50(sojourn) > 0.1 ms and share(call) < 50 %");
    let message = sojourn_net::expectation(&report, "p99(delay, call) < 1 ms").expect_err("it does not hold");
    for part in ["p99(delay, call) < 1 ms: ", " ms against 1", "seed 5", report.fingerprint(), "repeat: cargo "] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let wrong = sojourn_net::expectation(&report, "p99(delay, cal) < 1 ms").expect_err("it cannot be read");
    assert!(wrong.starts_with("expect!: ") && wrong.contains("call"), "{wrong}");
}

#[test]
fn a_full_host_blocks_and_has_room_later() {
    let keys = "access_rate = \"4.3 Mbit/s\"\nsocket_buffer = \"9 kB\"\nrtt = \"30 ms\"";
    let mut net = net(&call(keys, "", ""), 1);
    let (source, sink) = net.pair("call").expect("it is there");
    let remote = net.address(sink);
    let fill = |net: &mut Net| {
        let mut sent = 0;
        loop {
            match net.send(source, &Datagram { ecn: Ecn::Ect1, ..Datagram::to(remote, &[0; 972]) }) {
                Ok(()) => sent += 1,
                Err(blocked) => {
                    assert!(blocked.would_block() && !net.has_room(source), "{blocked}");
                    assert!(matches!(blocked, Error::Send { source: SendError::WouldBlock, .. }));
                    return sent;
                }
            }
        }
    };
    // The last one may exceed the buffer.
    assert_eq!(fill(&mut net), 10);
    let mut rooms = 0;
    loop {
        match net.next().expect("no fault") {
            Event::Room(end) if end == source => {
                assert!(fill(&mut net) >= 1);
                rooms += 1;
            }
            Event::End => break,
            _ => {}
        }
    }
    let report = net.finish().expect("no file is wanted");
    let goodput = report.summary().groups[0].payload.goodput_bps / 1e6;
    assert!(rooms > 1_000 && (4.1..4.2).contains(&goodput), "{rooms}, {goodput} Mbit/s");
}

#[test]
fn damage_of_a_datagram_without_a_host_stays_with_it() {
    // The reverse link flips a bit of every packet; the forward one of none.
    let keys = "damage = \"deliver\"\nevents = [{ at = \"0.5 s\", rebind = \"address\" }]";
    let world = call(keys, "", "[reverse]\nrate = \"7.3 Mbit/s\"\naqm = { name = \"netem\", corrupt = 100.0 }\n");
    let mut net = net(&world, 3);
    let (source, sink) = net.pair("call").expect("it is there");
    let (own, peer) = (net.address(source), net.address(sink));
    assert!(arrivals(&mut net, 600_000_000).is_empty());
    net.send(sink, &Datagram::to(own, &[0; 55])).expect("it can be sent");
    assert!(arrivals(&mut net, 1_000_000_000).is_empty(), "the address is dead");
    net.send(source, &Datagram::to(peer, &[0; 66])).expect("it can be sent");
    let seen = arrivals(&mut net, 2_000_000_000);
    assert_eq!((seen.len(), &seen[0].3), (1, &vec![0; 66]));
}

/// A program that sends with an ECN field, and one that counts the fields that arrive.
struct Marked {
    paced: Paced,
    ecn: Ecn,
    seen: std::sync::Arc<std::sync::Mutex<BTreeMap<u8, u64>>>,
}

impl sojourn_net::Endpoint for Marked {
    fn begin(&mut self, cx: &mut sojourn_net::Cx<'_>) {
        self.paced.begin(cx);
    }

    fn on_datagram(&mut self, _: &mut sojourn_net::Cx<'_>, datagram: sojourn_net::Received<'_>) {
        *self.seen.lock().expect("one thread").entry(datagram.ecn as u8).or_insert(0) += 1;
    }

    fn on_wake(&mut self, cx: &mut sojourn_net::Cx<'_>) {
        self.paced.on_wake(cx);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<sojourn_net::Transmit> {
        Some(sojourn_net::Transmit { ecn: self.ecn, ..self.paced.poll_transmit(now, into)? })
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.paced.wake_at()
    }
}

#[test]
fn marks_reach_a_program_that_is_called() {
    let mut net = net(&call("rtt = \"30 ms\"", "aqm = \"dualpi2\"", ""), 5);
    let seen = std::sync::Arc::default();
    let program =
        |gap: Duration| Marked { paced: Paced::new(1_111, gap), ecn: Ecn::Ect1, seen: std::sync::Arc::clone(&seen) };
    net.attach("call", program(Duration::from_micros(1_170)), program(Duration::from_millis(90))).expect("it is there");
    let report = net.run().expect("no fault");
    let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    let (source, sink) = (&endpoint.source, &endpoint.sink);
    let seen = seen.lock().expect("one thread");
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [Ecn::Ect1 as u8, Ecn::Ce as u8]);
    assert_eq!(seen[&(Ecn::Ce as u8)], source.marked + sink.marked);
    assert_eq!(seen.values().sum::<u64>(), source.received + sink.received);
    assert!(source.marked > 20);
}

#[test]
fn losses_of_the_warmup_stay_there_if_an_end_acts_at_its_end() {
    for last in [999_999_999, 1_000_000_000, 1_000_000_001] {
        let world =
            call("", "aqm = \"droptail\"\nlimit = \"5 packets\"", "").replace("\"3 s\"", "\"3 s\"\nwarmup = \"1 s\"");
        let mut net = net(&world, 1);
        let (source, sink) = net.pair("call").expect("it is there");
        let to = net.address(sink);
        for (at, count) in [(500_000_000, 100), (last, 1)] {
            while !matches!(net.advance(Instant::from_nanos(at)).expect("no fault"), Event::End) {}
            for _ in 0..count {
                net.send(source, &Datagram::to(to, &[0; 1_000])).expect("it can be sent");
            }
        }
        while !matches!(net.next().expect("no fault"), Event::End) {}
        let report = net.finish().expect("no file");
        let source = &report.summary().groups[0].endpoint.as_ref().expect("an endpoint").source;
        assert_eq!((source.sent, source.lost), (u64::from(last >= 1_000_000_000), 0), "{last}");
    }
}
