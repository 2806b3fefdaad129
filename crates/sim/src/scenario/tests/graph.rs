//! Graphs: reading, canonical form, paths and errors.

use super::super::*;
use super::{parse, parse_with};

/// Nodes A to D; links AB, BC, CD and AD. AD has the fewest hops and the longest delay.
const SQUARE: &str = r#"
duration = "10 s"
nodes = [{ name = "A" }, { name = "B" }, { name = "C" }, { name = "D", kind = "host" }]
[[links]]
name = "AB"
from = "A"
to = "B"
rate = "10 Mbit/s"
delay = "1 ms"
[[links]]
name = "BC"
from = "B"
to = "C"
rate = "10 Mbit/s"
delay = "1 ms"
reverse = { delay = "30 ms", rate = "1 Mbit/s" }
[[links]]
name = "DC"
from = "D"
to = "C"
rate = "10 Mbit/s"
delay = "1 ms"
[[links]]
name = "AD"
from = "A"
to = "D"
rate = "10 Mbit/s"
delay = "20 ms"
[[flows]]
kind = "tcp"
from = "A"
to = "D"
rtt = "43 ms"
"#;

fn read(sets: &[(&str, &str)]) -> Result<Scenario, Error> {
    parse_with(SQUARE, sets)
}

/// Links that data and acknowledgments cross.
fn paths(sets: &[(&str, &str)]) -> (Vec<u16>, Vec<u16>) {
    let paths = &read(sets).unwrap_or_else(|error| panic!("{sets:?}: {error}")).flows[0].paths;
    (paths.data.to_vec(), paths.acks.to_vec())
}

#[test]
fn both_paths_are_those_of_the_shortest_delay() {
    let scenario = read(&[]).unwrap();
    let names: Vec<&str> = scenario.hops().map(|(name, ..)| name).collect();
    assert_eq!(names, ["AB", "BC", "DC", "AD"]);
    // 3 ms over B and C; the way back over them takes 32 ms, so 20 ms over AD is the shortest.
    assert_eq!(paths(&[]), (vec![0, 2, 5], vec![7]));
    // (43 ms - 3 ms - 20 ms) / 2
    assert_eq!(scenario.flows[0].access_delay, Duration::from_millis(10));
    assert_eq!(paths(&[("flows.0.from", "C"), ("flows.0.to", "A")]), (vec![3, 1], vec![0, 2]), "no host forwards");
    let over_d = [("nodes.3.kind", "router"), ("flows.0.from", "C"), ("flows.0.to", "A")];
    assert_eq!(paths(&over_d), (vec![5, 7], vec![0, 2]), "a router does: 21 ms against 31 ms");
}

#[test]
fn of_equally_long_paths_the_one_with_fewest_hops_is_taken_then_the_first_in_the_file() {
    let equal = [("links.3.delay", "3 ms")];
    assert_eq!(paths(&equal).0, [6], "one hop before three");
    let none: Vec<(String, &str)> = (0..4).map(|link| (format!("links.{link}.delay"), "0 s")).collect();
    let mut none: Vec<(&str, &str)> = none.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    none.extend([("links.1.reverse.delay", "0 s"), ("flows.0.to", "C"), ("nodes.3.kind", "router")]);
    assert_eq!(paths(&none), (vec![0, 2], vec![3, 1]), "AB comes before AD, and back BC before DC");
    none.extend([("links.0.name", "first"), ("links.0.to", "D"), ("links.3.to", "B")]);
    assert_eq!(paths(&none), (vec![0, 4], vec![3, 7]), "the same with the ends of AB and AD exchanged");
}

#[test]
fn named_routes_are_taken_as_they_are() {
    assert_eq!(paths(&[("flows.0.route", r#"["AD"]"#)]), (vec![6], vec![7]));
    let back = [("flows.0.return_route", r#"["DC", "BC", "AB"]"#), ("flows.0.rtt", "100 ms")];
    assert_eq!(paths(&back), (vec![0, 2, 5], vec![4, 3, 1]));
}

#[test]
fn the_canonical_form_is_read_back() {
    let named = [("flows.0.route", r#"["AD"]"#), ("flows.0.return_route", r#"["AD"]"#)];
    for sets in [&[][..], &named] {
        let scenario = read(sets).unwrap();
        let canonical = scenario.canonical();
        assert_eq!(parse(&canonical), Ok(scenario));
        assert_eq!(parse(&canonical).unwrap().canonical(), canonical);
        let tree: Value = serde_json::from_str(&canonical).unwrap();
        let first = ["name", "from", "to", "rate"].map(|key| tree["links"][0][key].as_str());
        assert_eq!(first, [Some("AB"), Some("A"), Some("B"), Some("10 Mbit/s")]);
        assert_eq!(tree["nodes"][3], serde_json::json!({ "name": "D", "kind": "host" }));
        assert_eq!((tree.get("link"), tree.get("reverse")), (None, None));
    }
}

#[test]
fn bad_graphs_are_refused_with_a_remedy() {
    for (sets, error) in [
        (&[("links.0.from", "E")][..], r#"links[0].from: unknown node "E"; did you mean "A"?"#),
        (&[("links.0.to", "A")], r#"links[0].to: "A" is also where the link begins; write another node"#),
        (&[("links.0.to", "")], r#"links[0].to: missing; write the name of a node, e.g. to = "A""#),
        (&[("links.1.name", "AB")], r#"links[1].name: "AB" is already taken; choose another name"#),
        (&[("nodes.1.name", "A")], r#"nodes[1].name: "A" is already the name of a node; choose another one"#),
        (&[("nodes.1.name", "")], "nodes[1].name: missing; write e.g. name = \"A\""),
        (
            &[("nodes.1.kind", "switch")],
            r#"nodes[1].kind: unknown kind of node "switch"; expected one of router, host, access-point, stations"#,
        ),
        (
            &[("links.0.to", "C"), ("links.1.from", "A")],
            r#"nodes[1]: "B" has no link; write one in [[links]], or leave the node out"#,
        ),
        (&[("links", "")], "links: none given; write [[links]] with a name, from and to"),
        (
            &[("link.rate", "1 Mbit/s")],
            "link: is not allowed beside [[nodes]]; write it as [[links]] with a name, from and to",
        ),
        (
            &[("reverse.rate", "1 Mbit/s")],
            "reverse: needs [link]; beside [[nodes]] write reverse = { ... } in [[links]]",
        ),
        (
            &[("nodes", "")],
            "links[0].from: needs [[nodes]]; write them, and the first link in [[links]] too, or leave it out",
        ),
        (&[("flows.0.to", "A")], r#"flows[0].to: "A" is also where the flows begin; write another node"#),
        (&[("flows.0.to", "")], r#"flows[0].to: missing; write the name of a node, e.g. to = "A""#),
        (&[("flows.0.from", "a")], r#"flows[0].from: unknown node "a"; did you mean "A"?"#),
        (&[("flows.0.station", "0")], r#"flows[0].station: neither "A" nor "D" is a station; leave it out"#),
        (
            &[("flows.0.direction", "reverse")],
            "flows[0].direction: is not allowed beside [[nodes]]; leave it out, and exchange from and to",
        ),
        (
            &[
                ("links.2.to", "A"),
                ("links.1.to", "A"),
                ("links.3.to", "C"),
                ("links.3.from", "D"),
                ("links.2.to", "C"),
            ],
            r#"flows[0].to: no links lead from "A" to "D"; connect them in [[links]]"#,
        ),
        (&[("flows.0.route", "[]")], r#"flows[0].route: ends at "A"; add the links from there to "D""#),
        (&[("flows.0.route", r#"["AB"]"#)], r#"flows[0].route: ends at "B"; add the links from there to "D""#),
        (&[("flows.0.route", r#"["AB", "CD"]"#)], r#"flows[0].route: unknown link "CD"; did you mean "AD"?"#),
        (
            &[("flows.0.route", r#"["AB", "DC"]"#)],
            r#"flows[0].route: "DC" connects "D" and "C", but the route is at "B"; links from there: AB, BC"#,
        ),
        (
            &[("flows.0.route", r#"["AB", "AB", "AD"]"#)],
            r#"flows[0].route: "AB" leads back to "A"; leave out the loop"#,
        ),
        (
            &[("flows.0.return_route", r#"["AB"]"#)],
            r#"flows[0].return_route: "AB" connects "A" and "B", but the route is at "D"; links from there: DC, AD"#,
        ),
        (
            &[("flows.0.to", "C"), ("flows.0.route", r#"["AD", "DC"]"#)],
            r#"flows[0].route: "D" is a host, which forwards nothing; route around it"#,
        ),
        (
            &[("flows.0.rtt", "22 ms")],
            r#"flows[0].rtt: 22 ms is below the delays of the links on the route, both ways; write at least "23 ms""#,
        ),
    ] {
        assert_eq!(read(sets).map_err(|error| error.to_string()).unwrap_err(), error, "{sets:?}");
    }
}

#[test]
fn a_row_knows_no_ends_of_flows() {
    for key in ["from", "to", "return_route"] {
        let value = if key == "return_route" { r#"["link"]"# } else { "A" };
        let sets = [(format!("flows.0.{key}"), value.to_string())];
        let error = Scenario::parse(super::SMALL, &sets, Path::new("/")).unwrap_err();
        assert_eq!(error.to_string(), format!("flows[0].{key}: needs [[nodes]]; leave it out"));
    }
}

/// A ring of `count` links, with a flow from node `from` to node `to`.
fn ring(count: usize, (from, to): (usize, usize)) -> String {
    let mut text = String::from("duration = \"1 s\"\n");
    for i in 0..count {
        text += &format!("[[nodes]]\nname = \"n{i}\"\n");
    }
    for i in 0..count {
        let next = (i + 1) % count;
        text += &format!(
            "[[links]]\nname = \"l{i}\"\nfrom = \"n{i}\"\nto = \"n{next}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 us\"\n"
        );
    }
    text + &format!("[[flows]]\nkind = \"tcp\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n")
}

#[test]
fn a_thousand_links_have_numbers_of_their_own() {
    let scenario = parse(&ring(1_000, (900, 250))).unwrap();
    let expected: Vec<u16> = (900..1_000).chain(0..250).map(|hop| 2 * hop).collect();
    assert_eq!(scenario.flows[0].paths.data.to_vec(), expected);
    let names = scenario.queue_names();
    assert_eq!((names.len(), names[1_999].as_str()), (2_000, "l999 reverse"));
    let output = crate::Simulation::new(&scenario, 1).finish();
    let table = output.tables.iter().find(|table| table.name == "sojourn_histogram").unwrap();
    let Some((_, crate::table::Column::U16(links))) = table.columns.iter().find(|(name, _)| name == "link") else {
        panic!("the number of a queue takes two bytes")
    };
    // The acknowledgments cross the reverse direction of the last link of the ring.
    assert_eq!(links.last(), Some(&1_999));
}

#[test]
fn a_graph_of_too_many_links_is_refused_before_it_is_read() {
    let links = vec![Value::Null; 32_768];
    let document = serde_json::json!({ "duration": "1 s", "nodes": [], "links": links });
    let error = parse(&document.to_string()).unwrap_err().to_string();
    assert_eq!(error, "links: 32768 links; at most 32767, write fewer");
}

#[test]
fn long_lists_of_names_are_cut() {
    let error = parse(
        &ring(150, (0, 1))
            .replace("to = \"n1\"\n[[f", "[[f")
            .replace("from = \"n0\"\nto = \"n1\"\n", "from = \"elsewhere\"\nto = \"n1\"\n"),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("n98, n99, … (150 in all)"), "{error}");
}
