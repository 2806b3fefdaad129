//! Names of hosts: reading, canonical form, numbers and errors.

use super::super::*;
use super::{SMALL, parse, parse_with};

#[test]
fn groups_without_names_have_hosts_of_their_own() {
    let scenario = parse(&format!(
        "{SMALL}count = 3\n[[flows]]\nkind = \"web\"\ncount = 2\nsize = \"9 kB\"\ninterval = \"1 s\"\n"
    ))
    .unwrap();
    let table = HostTable::of(&scenario);
    assert_eq!(
        [(0, 0), (0, 2), (1, 0), (1, 1)].map(|(group, member)| table.pair(group, member)),
        [(0, 1), (0, 1), (2, 3), (2, 3)]
    );
    assert!(!scenario.canonical().contains("host"), "names that nobody gave change no hash");
}

#[test]
fn names_are_in_the_canonical_form() {
    let sets = [("flows.0.host", "pc"), ("flows.0.peer_host", "10.9.8.7"), ("flows.0.hosts", "3")];
    let scenario = parse_with(SMALL, &sets).unwrap();
    assert_eq!(parse(&scenario.canonical()), Ok(scenario.clone()));
    let address = "10.9.8.7".parse().unwrap();
    assert_eq!(HostTable::of(&scenario).addresses().iter().collect::<Vec<_>>(), [(&0, &address)]);
}

#[test]
fn one_host_of_a_group_has_the_address_that_names_them() {
    let table = HostTable::of(
        &parse_with(SMALL, &[("flows.0.count", "3"), ("flows.0.hosts", "3"), ("flows.0.host", "10.9.8.7")]).unwrap(),
    );
    assert_eq!([0, 1, 2].map(|member| table.pair(0, member).1), [1, 2, 3]);
    assert_eq!(table.addresses().keys().collect::<Vec<_>>(), [&1]);
}

#[test]
fn an_endpoint_is_at_the_host_of_its_address() {
    let text = "duration = \"1 s\"\n[link]\nrate = \"10 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\nhost = \"10.0.3.1\"\n\
                [[flows]]\nkind = \"endpoint\"\nname = \"call\"\naddress = [\"10.0.3.2\", \"10.0.3.1\"]\n\
                [[flows]]\nkind = \"endpoint\"\nname = \"chat\"\nhost = \"pc\"\n\
                [[flows]]\nkind = \"endpoint\"\nname = \"mail\"\nhost = \"pc\"\npeer_host = \"10.0.3.2\"\n";
    let table = HostTable::of(&parse(text).unwrap());
    assert_eq!([0, 1, 2, 3].map(|group| table.pair(group, 0)), [(0, 1), (2, 1), (4, 5), (2, 5)]);
}

#[test]
fn names_where_something_else_decides_are_refused() {
    let graph = "duration = \"1 s\"\n[[nodes]]\nname = \"a\"\nkind = \"host\"\n[[nodes]]\nname = \"b\"\n[[nodes]]\nname = \"c\"\n\
                 [[links]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n\
                 [[links]]\nname = \"bc\"\nfrom = \"b\"\nto = \"c\"\nrate = \"1 Mbit/s\"\n\
                 [[flows]]\nkind = \"tcp\"\nfrom = \"a\"\nto = \"c\"\n[[flows]]\nkind = \"tcp\"\nfrom = \"c\"\nto = \"b\"\n";
    let endpoint = "duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n[[flows]]\nkind = \"endpoint\"\nname = \"call\"\n\
                    address = [\"10.0.3.2\", \"10.0.3.1\"]\n";
    let wlan = "duration = \"1 s\"\n[wlan]\n[[wlan.stations]]\nrate = \"54 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\n";
    for (text, sets, error) in [
        (SMALL, &[("flows.0.host", " ")][..], "flows[0].host: is empty; write a name, or leave it out"),
        (SMALL, &[("flows.0.hosts", "0")], "flows[0].hosts: 0 is out of range; from 1 to 1000000"),
        (
            SMALL,
            &[("flows.0.hosts", "2"), ("flows.0.middlebox", "tunnel")],
            "flows[0].hosts: a tunnel ends at one host; leave it out, or write a group for each tunnel",
        ),
        (endpoint, &[("flows.0.peer_host", "x")], "flows[0].peer_host: address names both hosts; keep one"),
        (
            wlan,
            &[("flows.0.hosts", "2")],
            "flows[0].hosts: this end is at a station, which is a host; write its number as station",
        ),
        (
            wlan,
            &[("flows.0.host", "x")],
            "flows[0].host: this end is at a station, which is a host; write its number as station",
        ),
        (
            graph,
            &[("flows.0.peer_host", "x")],
            "flows[0].peer_host: \"a\" is a host by itself; leave it out, or make the node a router",
        ),
        (
            graph,
            &[("flows.0.host", "a")],
            "flows[0].host: \"a\" is at \"a\" and cannot be at \"c\" too; write another name",
        ),
        (
            graph,
            &[("flows.0.host", "x"), ("flows.1.host", "x")],
            "flows[1].host: \"x\" is at \"c\" and cannot be at \"b\" too; write another name",
        ),
    ] {
        assert_eq!(parse_with(text, sets).unwrap_err().to_string(), error);
    }
    for sets in [&[("flows.0.peer_host", "a")][..], &[("flows.0.host", "x"), ("flows.1.peer_host", "x")]] {
        assert!(parse_with(graph, sets).is_ok(), "{sets:?}");
    }
}
