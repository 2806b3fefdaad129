//! Wireless LANs in graphs: reading, canonical form, paths and errors.

use super::super::*;
use super::parse_with;

/// A server, a modem with a router behind it, and two wireless LANs with 3 and 2 stations. Queues of the hops: 0 and 1,
/// 2 to 5, 6 and 7, 8 to 10.
const HOUSE: &str = r#"
duration = "10 s"
[[nodes]]
name = "server"
kind = "host"
[[nodes]]
name = "up"
kind = "access-point"
[[nodes]]
name = "phones"
kind = "stations"
[[nodes]]
name = "down"
kind = "access-point"
[[nodes]]
name = "laptops"
kind = "stations"
[[links]]
name = "modem"
from = "server"
to = "up"
rate = "16.1 Mbit/s"
delay = "7 ms"
[[links]]
name = "air up"
from = "up"
to = "phones"
aqm = "fq_codel"
[links.wlan]
queues = "airtime"
[[links.wlan.stations]]
count = 2
rate = "54 Mbit/s"
[[links.wlan.stations]]
rate = "mcs7"
[[links]]
name = "wire"
from = "down"
to = "up"
rate = "100 Mbit/s"
delay = "0.3 ms"
[[links]]
name = "air down"
from = "down"
to = "laptops"
reverse = { limit = "77 packets" }
[links.wlan]
[[links.wlan.stations]]
count = 2
[[flows]]
kind = "tcp"
from = "server"
to = "laptops"
rtt = "31 ms"
[[flows]]
kind = "tcp"
from = "phones"
to = "server"
station = 2
[[flows]]
kind = "tcp"
from = "phones"
to = "laptops"
"#;

fn read(sets: &[(&str, &str)]) -> Result<Scenario, Error> {
    parse_with(HOUSE, sets)
}

#[test]
fn wireless_lans_are_links_of_a_graph() {
    let scenario = read(&[]).unwrap();
    let cells: Vec<_> = scenario.cells().map(|cell| (cell.hop, cell.queue, cell.stations_before)).collect();
    assert_eq!(cells, [(1, 2, 0), (3, 8, 4)]);
    assert_eq!(scenario.reverse_queues().collect::<Vec<_>>(), [1, 3, 1, 2]);
    let queues: Vec<_> = scenario.queues().map(|link| link.limits.packets).collect();
    assert_eq!(
        (queues.len(), &queues[8..]),
        (11, &[Some(1000), Some(77), Some(77)][..]),
        "the access point's, then the stations'"
    );
    let rings: Vec<_> = scenario.queues().map(|link| link.below.map(|ring| ring.stop)).collect();
    assert_eq!(
        rings[2..10],
        [Some(2), Some(50), Some(50), Some(50), None, None, Some(50), Some(50)],
        "turns need short rings"
    );
    let paths: Vec<_> =
        scenario.flows.iter().map(|flow| (flow.paths.data.to_vec(), flow.paths.acks.to_vec())).collect();
    let expected = [(vec![0, 5, 6], vec![7, 4, 1]), (vec![3, 1], vec![0, 2]), (vec![3, 5, 6], vec![7, 4, 2])];
    assert_eq!(paths, expected, "no wireless LAN lies between the ends");
    let is_wlan = |hop| hop % 2 == 1;
    let ends: Vec<_> = scenario.flows.iter().map(|flow| flow.paths.stations(is_wlan)).collect();
    assert_eq!(ends, [(None, Some(3)), (Some(1), None), (Some(1), Some(3))]);
    // (31 ms - 2 (7 ms + 0.3 ms)) / 2
    assert_eq!(scenario.flows[0].access_delay, Duration::from_nanos(8_200_000));
}

#[test]
fn the_canonical_form_is_read_back() {
    let first = r#"[{"name": "air", "from": "up", "to": "phones", "wlan": {"stations": [{"snr": "21.7 dB"}]}},
                    {"name": "wire", "from": "server", "to": "up", "rate": "9.1 Mbit/s"}]"#;
    let nodes =
        r#"[{"name": "server"}, {"name": "up", "kind": "access-point"}, {"name": "phones", "kind": "stations"}]"#;
    let cell_first =
        [("links", first), ("nodes", nodes), ("flows.0.to", "phones"), ("flows.1.station", "0"), ("flows.2.to", "up")];
    for sets in [&[][..], &cell_first] {
        let scenario = read(sets).unwrap();
        assert_eq!(scenario.wlan.is_some(), !sets.is_empty(), "of the first link");
        let canonical = scenario.canonical();
        let again = Scenario::parse(&canonical, &[], Path::new("/")).unwrap();
        assert_eq!((again.canonical(), again), (canonical.clone(), scenario));
        let tree: Value = serde_json::from_str(&canonical).unwrap();
        let at = usize::from(sets.is_empty());
        assert!(tree.get("wlan").is_none() && tree["links"][at]["wlan"]["stations"][0].is_object());
    }
}

#[test]
fn what_is_no_access_point_with_its_stations_is_refused_with_a_remedy() {
    for (sets, error) in [
        (&[("links.3.from", "downn")][..], r#"links[3].from: unknown node "downn"; did you mean "down"?"#),
        (
            &[("links.3.from", "server")],
            r#"links[3].from: the kind of "server" is host, but a wireless LAN leads from an access point to stations; write kind = "access-point" there"#,
        ),
        (
            &[("nodes.4.kind", "router")],
            r#"links[3].to: the kind of "laptops" is router, but a wireless LAN leads from an access point to stations; write kind = "stations" there"#,
        ),
        (
            &[("links.0.from", "phones")],
            r#"links[0].from: "phones" are stations, which only a link with [links.wlan] reaches; write that, or another node"#,
        ),
        (&[("links.3.to", "phones")], r#"links[3].to: "phones" belong to "air up" already; write a node of their own"#),
        (
            &[("nodes.0.kind", "access-point")],
            r#"nodes[0].kind: "server" has no wireless LAN; write [links.wlan] at a link from it, or kind = "router""#,
        ),
        (&[("links.3.name", "air up")], r#"links[3].name: "air up" is already taken; choose another name"#),
        (
            &[("links.3.name", "air up station 2")],
            r#"links[3].name: "air up station 2" is already taken; choose another name"#,
        ),
        (
            &[("links.0.name", "air down station 1")],
            r#"links[3].name: "air down station 1" is already taken; choose another name"#,
        ),
        (
            &[("nodes.0.queues", "airtime")],
            "nodes[0].queues: is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ),
        (
            &[("nodes.1.stations", "[{}]")],
            "nodes[1].stations: is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ),
        (
            &[("links.0.tsq", "9")],
            "links[0].tsq: is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ),
        (
            &[("links.0.rate", ""), ("links.0.wlan_rate", "9 Mbit/s")],
            "links[0]: its channel is missing; write [links.wlan] with [[links.wlan.stations]]",
        ),
        (
            &[("links.1.rate", "9 Mbit/s")],
            "links[1]: the channel of [wlan] serves it; leave out the keys of another service",
        ),
        (
            &[("links.1.delay", "9 ms")],
            "links[1].delay: a channel has no delay; write rtt or access_delay in the flows",
        ),
        (
            &[("links.1.reverse.loss", "0.1")],
            "links[1].reverse.loss: a channel loses packets by its stations' snr; write that instead",
        ),
        (&[("links.1.wlan.slots", "long")], r#"links[1].wlan.slots: unknown key; did you mean "slot"?"#),
        (
            &[("links.1.wlan.stations", "[]")],
            "links[1].wlan.stations: none given; write e.g. [[links.wlan.stations]] with count = 4",
        ),
        (
            &[("links.1.wlan.stations.1.cwmin", "6")],
            "links[1].wlan.stations[1].cwmin: 6 is not a power of two minus one; write e.g. 7",
        ),
        (
            &[("wlan.slot", "long")],
            "wlan: is not allowed beside [[nodes]]; write it as [links.wlan] at a link from an access point to \
             stations",
        ),
        (&[("flows.1.station", "3")], "flows[1].station: no station 3; write one from 0 to 2"),
        (
            &[("flows.0.to", "down"), ("flows.0.station", "0")],
            r#"flows[0].station: neither "server" nor "down" is a station; leave it out"#,
        ),
        (
            &[("flows.2.station", "0")],
            "flows[2].station: both ends are stations, which are assigned in turn; leave it out",
        ),
        (
            &[("flows.2.access_delay", "1 ms")],
            "flows[2]: both ends are stations, which have no access links; leave out access_rate, access_delay, rtt and rtt_stagger",
        ),
        (
            &[("flows.0.to", "down"), ("flows.0.route", r#"["modem", "air up", "wire"]"#)],
            r#"flows[0].route: "phones" are stations, which forward nothing; route around it"#,
        ),
        (&[("flows.1.from", "server")], r#"flows[1].to: "server" is also where the flows begin; write another node"#),
    ] {
        assert_eq!(read(sets).map(|_| ()).map_err(|error| error.to_string()), Err(error.to_string()), "{sets:?}");
    }
}

#[test]
fn a_row_has_no_wireless_lan() {
    let text = "duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n[[links]]\nname = \"air\"\n[links.wlan]\n\
                [[links.wlan.stations]]\n[[flows]]\nkind = \"tcp\"";
    let error = Scenario::parse(text, &[], Path::new("/")).unwrap_err().to_string();
    assert_eq!(error, "links[0].wlan: needs [[nodes]]; write them, or the wireless LAN as [wlan] without [[links]]");
}
