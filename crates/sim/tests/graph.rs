//! Graphs of links: each packet takes exactly the links of its path, and no node loses packets.

use crate::common::{run, scenario, whole};
use proptest::prelude::*;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{LinkSummary, Output, Simulation};
use std::collections::BTreeMap;
use std::path::Path;

/// Links `(name, from, to, keys)` between `nodes`, all of them routers.
fn graph(nodes: &str, links: &[(&str, &str, &str, &str)]) -> String {
    let nodes: String = nodes.chars().map(|node| format!("[[nodes]]\nname = \"{node}\"\n")).collect();
    let link = |(name, from, to, keys): &(&str, &str, &str, &str)| {
        format!("[[links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n")
    };
    nodes + &links.iter().map(link).collect::<String>()
}

/// Both directions of every link, by number.
fn links(output: &Output) -> Vec<&LinkSummary> {
    let others = output.summary.hops.iter().map(|hop| &hop.links);
    std::iter::once(&output.summary.links).chain(others).flat_map(|links| [&links.forward, &links.reverse]).collect()
}

#[test]
fn a_dumbbell_and_a_row_are_the_same_as_graphs() {
    let link = "rate = \"5 Mbit/s\"\ndelay = \"7 ms\"\naqm = \"codel\"";
    let second = "rate = \"4.1 Mbit/s\"\ndelay = \"3 ms\"\naqm = \"pie\"";
    let reverse = "rate = \"1 Mbit/s\"\nlimit = \"20 packets\"";
    let flow = |ends: &str| {
        format!(
            "[[flows]]\nkind = \"tcp\"\ncount = 3\nspread = \"0.3 s\"\nrtt = \"47 ms\"\naccess_rate = \"91 Mbit/s\"\n{ends}\n"
        )
    };
    let web = "[[flows]]\nkind = \"web\"\ninterval = \"90 ms\"\nsize = \"20 kB\"\nrtt = \"30 ms\"\n";
    let begin = "duration = \"8 s\"\n[probes]\npackets = true\n";
    let dumbbell =
        format!("{begin}[link]\n{link}\n[reverse]\n{reverse}\n{}{}{web}", flow(""), flow("direction = \"reverse\""));
    let keys = format!("{link}\nreverse = {{ {} }}", reverse.replace('\n', ", "));
    let ends = ["from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\""];
    let drawn = graph("ab", &[("bottleneck", "a", "b", &keys)]);
    let drawn = format!("{begin}{drawn}{}{}{web}{}", flow(ends[0]), flow(ends[1]), ends[0]);
    let row = format!(
        "{begin}[link]\n{link}\n[reverse]\n{reverse}\n[[links]]\nname = \"second\"\n{second}\n{}{}{web}",
        flow("route = [\"link\", \"second\"]"),
        flow("direction = \"reverse\"\nroute = [\"second\"]")
    );
    let longer = graph("abc", &[("bottleneck", "a", "b", &keys), ("second", "b", "c", second)]);
    let (out, back) = ("from = \"a\"\nto = \"c\"", "from = \"c\"\nto = \"b\"");
    let longer = format!("{begin}{longer}{}{}{web}{}", flow(out), flow(back), ends[0]);
    for (short, drawn) in [(dumbbell, drawn), (row, longer)] {
        let (short, drawn) = (run(&short), run(&drawn));
        assert_eq!(short.summary.fingerprint, drawn.summary.fingerprint);
        assert_eq!(format!("{:?}", links(&short)), format!("{:?}", links(&drawn)));
        assert_eq!(short.tables, drawn.tables);
        assert!(links(&short).iter().all(|link| link.packets > 100), "{:?}", links(&short));
    }
}

#[test]
fn two_bottlenecks_share_one_cross_flow() {
    // Sources a and d, sinks c and f; the cross flow enters at its own node and crosses both bottlenecks.
    let text = graph(
        "abcdefx",
        &[
            ("first", "a", "b", "rate = \"3 Mbit/s\"\ndelay = \"5 ms\""),
            ("out", "b", "c", "rate = \"50 Mbit/s\"\ndelay = \"1 ms\""),
            ("between", "b", "d", "rate = \"70 Mbit/s\"\ndelay = \"2 ms\""),
            ("second", "d", "e", "rate = \"2 Mbit/s\"\ndelay = \"5 ms\""),
            ("in", "x", "a", "rate = \"50 Mbit/s\"\ndelay = \"1 ms\""),
            ("end", "e", "f", "rate = \"50 Mbit/s\"\ndelay = \"1 ms\""),
        ],
    );
    let flow = |rate: &str, from: &str, to: &str| {
        format!("[[flows]]\nkind = \"cbr\"\nsize = \"1000 B\"\nrate = \"{rate}\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
    };
    let flows = [flow("0.7 Mbit/s", "x", "f"), flow("2 Mbit/s", "a", "c"), flow("1.2 Mbit/s", "d", "f")].concat();
    let output = run(&format!("duration = \"20 s\"\n{text}{flows}"));
    let used: Vec<f64> = links(&output).iter().map(|link| link.utilisation).collect();
    for (link, carried, rate) in
        [(0, 2.7, 3.0), (2, 2.0, 50.0), (4, 0.7, 70.0), (6, 1.9, 2.0), (8, 0.7, 50.0), (10, 1.9, 50.0)]
    {
        assert!((used[link] - carried / rate).abs() < 1e-3, "link {link}: {}", used[link]);
        assert_eq!(used[link + 1], 0.0);
    }
    // With TCP on all three, the cross flow has the longest path and two queues, so it gets the smallest share at both
    // bottlenecks.
    let tcp = |from: &str, to: &str| {
        format!("[[flows]]\nkind = \"tcp\"\nrtt = \"60 ms\"\nspread = \"1 s\"\nfrom = \"{from}\"\nto = \"{to}\"\n")
    };
    let flows = [tcp("x", "f"), tcp("a", "c"), tcp("d", "f")].concat();
    let output = run(&format!("duration = \"60 s\"\nwarmup = \"10 s\"\n{text}{flows}"));
    let rates: Vec<f64> = output.summary.flows.iter().map(|flow| flow.payload.goodput_bps / 1e6).collect();
    let [first, second] = [0, 6].map(|link| links(&output)[link].utilisation);
    assert!(first > 0.97 && second > 0.97 && rates[0] < rates[1] && rates[0] < rates[2], "{first} {second} {rates:?}");
    let payload = 1448.0 / 1500.0;
    assert!((rates[0] + rates[1] - 3.0 * payload).abs() < 0.1, "{rates:?}");
    assert!((rates[0] + rates[2] - 2.0 * payload).abs() < 0.1, "{rates:?}");
}

#[test]
fn acknowledgments_may_take_another_path() {
    // A satellite downlink (8 Mbit/s: 1 us per byte) with a return path over two terrestrial links (2 us per byte
    // each).
    let text = graph(
        "abc",
        &[
            ("satellite", "a", "b", "rate = \"8 Mbit/s\"\ndelay = \"250 ms\""),
            ("modem", "b", "c", "rate = \"4 Mbit/s\"\ndelay = \"10 ms\""),
            ("core", "a", "c", "rate = \"4 Mbit/s\"\ndelay = \"20 ms\""),
        ],
    );
    let output = run(&format!(
        "duration = \"5 s\"\n{text}[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nsize = \"1000 B\"\n\
         from = \"a\"\nto = \"b\"\nroute = [\"satellite\"]\naccess_delay = \"3 ms\"\n[probes]\ntransfers = true\npackets = true"
    ));
    // SYN, SYN-ACK back over both links, ACK and data; the data wait for the ACK ahead of them.
    let (out, back) = (|bytes: u64| bytes * 1_000 + 253_000_000, |bytes: u64| 2 * bytes * 2_000 + 33_000_000);
    let expected = out(60) + back(60) + 52 * 1_000 + out(1052);
    assert_eq!(whole(&output, "transfers", "duration_ns"), [expected]);
    let crossed: std::collections::BTreeSet<u64> = whole(&output, "packets", "link").into_iter().collect();
    assert_eq!(crossed.into_iter().collect::<Vec<_>>(), [0, 2, 5], "satellite, then modem and back along core");
}

/// Packets that arrived, were sent, and were dropped, by link and flow.
type Counts = BTreeMap<(u16, u64), [u64; 3]>;

fn counts(output: &Output) -> Counts {
    let mut counts = Counts::new();
    let rows = |table: &str| {
        let [links, flows] = ["link", "flow"].map(|column| whole(output, table, column));
        links.into_iter().map(|link| link as u16).zip(flows)
    };
    for ((link, flow), fate) in rows("packets").zip(whole(output, "packets", "fate")) {
        let count = counts.entry((link, flow)).or_default();
        count[0] += 1;
        count[if fate < 2 { 1 } else { 2 }] += 1;
    }
    for row in rows("waiting") {
        counts.entry(row).or_default()[0] += 1;
    }
    counts
}

/// Checks the balance of every node and flow, in a run that ends after the last packet has arrived: a node forwards
/// arrivals, sends its own packets and keeps those addressed to it. Flows are datagrams of 500 bytes of payload, by
/// their number.
fn check_nodes(scenario: &Scenario, output: &Output) {
    let counts = counts(output);
    let of = |link: u16, flow: u64| counts.get(&(link, flow)).copied().unwrap_or_default();
    let graph = scenario.graph.as_ref().expect("a graph");
    let groups = scenario.flows.iter().flat_map(|group| (0..group.count).map(move |_| group));
    let mut crossed = 0;
    for (flow, group) in (0..).zip(groups) {
        let path = &group.paths.data;
        for pair in path.windows(2) {
            assert_eq!(of(pair[0], flow)[1], of(pair[1], flow)[0], "flow {flow} from link {} to {}", pair[0], pair[1]);
        }
        let summary = &output.summary.flows[flow as usize];
        let (first, last) = (of(path[0], flow), of(path[path.len() - 1], flow));
        assert!(first[0] > 0, "flow {flow} sends");
        assert_eq!(last[1] * 500, summary.payload.bytes, "flow {flow} arrives");
        crossed += path.len();
    }
    assert_eq!(counts.len(), crossed, "no flow is where it should not be: {counts:?}");
    // The same by node: packets from links and sources equal packets to links and sinks.
    for node in 0..graph.nodes.len() {
        let (mut incoming, mut outgoing) = (0, 0);
        for (hop, &(from, to)) in (0u16..).zip(&graph.ends) {
            let [out, back] = [2 * hop, 2 * hop + 1].map(|link| links(output)[usize::from(link)]);
            for (end, leaving, arriving) in [(from, out, back), (to, back, out)] {
                if end == node {
                    (incoming, outgoing) = (incoming + arriving.packets - arriving.lost, outgoing + leaving.arrived);
                }
            }
        }
        for (flow, group) in (0..).zip(scenario.flows.iter().flat_map(|g| (0..g.count).map(move |_| g))) {
            let at = |name: &Option<String>| name.as_deref() == Some(&graph.nodes[node].name);
            let path = &group.paths.data;
            incoming += if at(&group.from) { of(path[0], flow)[0] } else { 0 };
            outgoing += if at(&group.to) { output.summary.flows[flow as usize].payload.bytes / 500 } else { 0 };
        }
        assert_eq!(incoming, outgoing, "node {}", graph.nodes[node].name);
    }
}

const DATAGRAMS: &str = "kind = \"poisson\"\nsize = \"528 B\"\nstop = \"3 s\"\n";

#[test]
fn a_mesh_of_six_nodes_conserves_packets() {
    let links: Vec<(String, String)> = ["ab", "bc", "cd", "de", "ef", "fa", "ad", "be", "cf"]
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let rate = 1.37 + 0.41 * i as f64;
            let aqm = ["codel", "pie", "droptail", "red", "fq_codel"][i % 5];
            (
                name.to_string(),
                format!("rate = \"{rate:.2} Mbit/s\"\ndelay = \"{} ms\"\naqm = \"{aqm}\"", 3 + 7 * i % 5),
            )
        })
        .collect();
    let links: Vec<_> =
        links.iter().map(|(name, keys)| (name.as_str(), &name[..1], &name[1..], keys.as_str())).collect();
    let mut text = format!("duration = \"12 s\"\n{}", graph("abcdef", &links));
    for (from, to) in "abcdef".chars().flat_map(|a| "abcdef".chars().map(move |b| (a, b))).filter(|(a, b)| a != b) {
        text += &format!("[[flows]]\n{DATAGRAMS}rate = \"571 kbit/s\"\ncount = 2\nfrom = \"{from}\"\nto = \"{to}\"\n");
    }
    let scenario = scenario(&(text + "[probes]\npackets = true"));
    let output = Simulation::new(&scenario, 77).finish();
    check_nodes(&scenario, &output);
    let longest = scenario.flows.iter().map(|flow| flow.paths.data.len()).max();
    let dropped: u64 = self::links(&output).iter().map(|link| link.dropped).sum();
    assert!(longest >= Some(2) && dropped > 100, "{longest:?}, {dropped}");
}

/// A tree of up to eight nodes with additional links, and flows between any two nodes.
fn meshes() -> impl Strategy<Value = String> {
    (2usize..8).prop_flat_map(|nodes| {
        let link = (0usize..100, 0usize..100, 300u32..9000, 0u32..9);
        let more = prop::collection::vec(link.clone(), 0..6);
        let flows = prop::collection::vec((0..nodes, 1..nodes, 50u32..2000, 1u32..4), 1..8);
        (prop::collection::vec(link, nodes - 1), more, flows).prop_map(move |(tree, more, flows)| {
            let tree = tree.into_iter().enumerate().map(|(i, (a, _, kbit, ms))| (a % (i + 1), i + 1, kbit, ms));
            let more = more.into_iter().filter(|&(a, b, ..)| a % nodes != b % nodes);
            let more = more.map(|(a, b, kbit, ms)| (a % nodes, b % nodes, kbit, ms));
            let mut text: String = (0..nodes).map(|node| format!("[[nodes]]\nname = \"n{node}\"\n")).collect();
            for (i, (from, to, kbit, ms)) in tree.chain(more).enumerate() {
                text += &format!(
                    "[[links]]\nname = \"l{i}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\nrate = \"{kbit} kbit/s\"\n\
                     delay = \"{ms} ms\"\nlimit = \"30 packets\"\nreverse = {{ limit = \"30 packets\" }}\n"
                );
            }
            for (from, step, kbit, count) in flows {
                let to = (from + step) % nodes;
                text += &format!(
                    "[[flows]]\n{DATAGRAMS}rate = \"{kbit} kbit/s\"\ncount = {count}\nfrom = \"n{from}\"\nto = \"n{to}\"\n"
                );
            }
            format!("duration = \"9 s\"\n{text}[probes]\npackets = true")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_conserves_packets(text in meshes(), seed in any::<u64>()) {
        let scenario = Scenario::parse(&text, &[], Path::new(".")).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        check_nodes(&scenario, &Simulation::new(&scenario, seed).finish());
    }
}
