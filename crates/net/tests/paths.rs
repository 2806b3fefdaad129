//! Endpoints whose packets change to another path: `paths` and events `path`.

use crate::common::{Echo, Paced, Programs};
use sojourn_net::{Datagram, Duration, Endpoint, Event, Instant, Net, Report};

/// A fast, short link and a slow, long one between a phone and a server, and more keys of the group.
fn world(keys: &str) -> String {
    format!(
        "duration = \"4 s\"\n[[nodes]]\nname = \"phone\"\n[[nodes]]\nname = \"server\"\n\
         [[links]]\nname = \"wifi\"\nfrom = \"phone\"\nto = \"server\"\nrate = \"31 Mbit/s\"\ndelay = \"3 ms\"\n\
         [[links]]\nname = \"lte\"\nfrom = \"phone\"\nto = \"server\"\nrate = \"7 Mbit/s\"\ndelay = \"29 ms\"\naqm = \"fq_codel\"\n\
         [[flows]]\nkind = \"endpoint\"\nname = \"call\"\nfrom = \"phone\"\nto = \"server\"\nroute = [\"wifi\"]\n\
         return_route = [\"wifi\"]\npaths = {{ wifi = [\"wifi\"], lte = [\"lte\"] }}\n{keys}\n"
    )
}

fn net(text: &str) -> Net {
    Net::parse(text, 11).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn paced() -> Paced {
    Paced::new(1_111, Duration::from_millis(7))
}

fn run(keys: &str) -> Report {
    let mut net = net(&world(keys));
    net.attach("call", paced(), Echo::default()).expect("it is there");
    net.run().expect("no fault")
}

/// Times between the departure and the arrival of the sink's datagrams, by the time of departure, in ms.
fn delays(keys: &str) -> Vec<(u64, f64)> {
    let mut seen = Vec::new();
    let mut net = net(&world(keys));
    let (source, sink) = net.pair("call").expect("it is there");
    let to = net.address(sink);
    for number in 0..380_u64 {
        let datagram = number.to_be_bytes();
        let at = Some(Instant::from_nanos(number * 10_000_000));
        net.send(source, &Datagram { at, ..Datagram::to(to, &datagram) }).expect("it is sent");
    }
    loop {
        match net.next().expect("no fault") {
            Event::Datagram { at, bytes, .. } => {
                let number = u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
                seen.push((number * 10, (at.as_nanos() - number * 10_000_000) as f64 / 1e6));
            }
            Event::End => return seen,
            _ => {}
        }
    }
}

#[test]
fn later_packets_take_the_other_link_both_ways() {
    let seen = delays("events = [{ at = \"1.005 s\", path = \"lte\" }, { at = \"2.5 s\", path = \"wifi\" }]");
    assert_eq!(seen.len(), 380);
    for (at, delay) in seen {
        let on_lte = (1_010..2_500).contains(&at);
        let propagation = if on_lte { 29.0 } else { 3.0 };
        assert!((delay - propagation).abs() < 0.1, "{delay} ms of a datagram sent at {at} ms");
    }
    let report = run("events = [{ at = \"1 s\", path = \"lte\" }, { at = \"2.5 s\", path = \"wifi\" }]");
    let [wifi, lte] = [0, 1].map(|hop| match hop {
        0 => &report.summary().links,
        _ => &report.summary().hops[0].links,
    });
    // A datagram each 7 ms for 1.5 s of 4 s.
    let packets = [wifi, lte].map(|links| [links.forward.packets, links.reverse.packets]);
    for (counted, expected) in packets.into_iter().flatten().zip([358, 358, 214, 214]) {
        assert!(u64::abs_diff(counted, expected) <= 10, "{packets:?}");
    }
    assert_eq!(packets[0][0] + packets[1][0], report.datagrams() / 2 + 1);
    let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    assert_eq!((endpoint.source.lost, endpoint.source.no_endpoint, endpoint.sink.lost), (0, 0, 0));
}

#[test]
fn packets_in_flight_stay_on_their_path() {
    // A change to the shorter path overtakes those on the longer one, which arrive all the same.
    let seen = delays("events = [{ at = \"1.005 s\", path = \"lte\" }, { at = \"2.005 s\", path = \"wifi\" }]");
    assert_eq!(seen.len(), 380);
    let order: Vec<u64> = seen.iter().map(|&(at, _)| at).collect();
    let overtaken: Vec<u64> = order.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[1]).collect();
    assert_eq!(overtaken, [1_990, 2_000]);
}

#[test]
fn a_path_without_an_event_changes_nothing() {
    let without = world("").replace("paths = { wifi = [\"wifi\"], lte = [\"lte\"] }\n", "");
    let mut plain = net(&without);
    plain.attach("call", paced(), Echo::default()).expect("it is there");
    let plain = plain.run().expect("no fault");
    assert_eq!(run("").fingerprint(), plain.fingerprint());
    assert_eq!(run("events = [{ at = \"1 s\", path = \"wifi\" }]").fingerprint(), plain.fingerprint());
}

/// A station whose access point has two links to the server, and more keys of the group.
fn wireless(keys: &str) -> String {
    let node = |name: &str, kind: &str| format!("[[nodes]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    let link = |name: &str, ms: u32| {
        format!(
            "[[links]]\nname = \"{name}\"\nfrom = \"ap\"\nto = \"server\"\nrate = \"20 Mbit/s\"\ndelay = \"{ms} ms\"\n"
        )
    };
    let nodes = node("phones", "stations") + &node("ap", "access-point") + &node("server", "host");
    let wlan = "[[links]]\nname = \"wlan\"\nfrom = \"ap\"\nto = \"phones\"\n[links.wlan]\n[[links.wlan.stations]]\ncount = 3\nrate = \"54 Mbit/s\"\n";
    let group = "[[flows]]\nkind = \"endpoint\"\nname = \"call\"\nfrom = \"phones\"\nto = \"server\"\n\
                 paths = { far = [\"wlan\", \"b\"] }\nevents = [{ at = \"1 s\", path = \"far\" }]\n";
    format!("duration = \"4 s\"\n{nodes}{}{}{wlan}{group}{keys}\n", link("a", 2), link("b", 30))
}

#[test]
fn a_station_stays_the_same_on_every_path() {
    let mut net = net(&wireless("station = 1"));
    net.attach("call", paced(), Echo::default()).expect("it is there");
    let report = net.run().expect("no fault");
    let endpoint = report.summary().groups[0].endpoint.as_ref().expect("an endpoint");
    assert!(endpoint.source.received > 560 && endpoint.sink.received > 550, "{endpoint:?}");
    let far = report.summary().hops.iter().find(|hop| hop.name == "b").expect("the link").links.forward.packets;
    assert!(u64::abs_diff(far, 428) <= 5, "{far}");
    let error = Net::parse(&wireless(""), 1).err().expect("no station").to_string();
    assert!(error.starts_with("flows[0].station: paths begin or end at one station"), "{error}");
}

#[test]
fn every_drive_meets_the_same_paths() {
    let keys = "count = 3\nrtt = \"80 ms\"\nevents = [{ at = \"1.1 s\", path = \"lte\" }, { at = \"1.7 s\", path = \"wifi\" }]";
    let web =
        "\n[[flows]]\nkind = \"web\"\nfrom = \"server\"\nto = \"phone\"\ninterval = \"30 ms\"\nsize = \"20 kB\"\n";
    let text = world(keys) + web;
    let programs = |net: &Net| -> Programs {
        let mut programs = Programs::new();
        for end in net.ends() {
            let program: Box<dyn Endpoint> = match end.side() {
                sojourn_net::Side::Source => Box::new(paced()),
                sojourn_net::Side::Sink => Box::new(Echo::default()),
            };
            programs.insert(end, program);
        }
        programs
    };
    let mut called = net(&text);
    called.attach_each("call", |_| [Box::new(paced()), Box::new(Echo::default())]).expect("it is there");
    let called = called.run().expect("no fault");
    let pulled = net(&text);
    let of_pull = programs(&pulled);
    let pulled = crate::common::pulled(pulled, of_pull).expect("no fault");
    assert_eq!((pulled.fingerprint(), pulled.decisions()), (called.fingerprint(), called.decisions()));
    assert!(called.datagrams() > 3_000);
}

#[test]
fn paths_that_are_not_there_are_refused() {
    for (from, to, text) in [
        ("lte = [\"lte\"]", "lte = [\"umts\"]", "flows[0].paths: unknown link \"umts\""),
        ("lte = [\"lte\"]", "lte = []", "flows[0].paths"),
        ("lte = [\"lte\"]", "lte = \"lte\"", "flows[0].paths"),
        (
            "events = [{ at = \"1 s\", path = \"lte\" }]",
            "events = [{ at = \"1 s\", path = \"umts\" }]",
            "no path \"umts\"",
        ),
        ("path = \"lte\" }]", "path = 3 }]", "path is 3, not a name"),
        ("path = \"lte\" }]", "path = \"lte\", down = \"1 s\" }]", "has both"),
    ] {
        let good = world("events = [{ at = \"1 s\", path = \"lte\" }]");
        assert!(good.contains(from), "{from}");
        let error = Net::parse(&good.replace(from, to), 1).err().expect(text).to_string();
        assert!(error.contains(text), "{error}");
    }
}
