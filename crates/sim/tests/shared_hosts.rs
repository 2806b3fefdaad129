//! Flows that share hosts, as CAKE and the table of packets see them.

use crate::common::{run, whole};
use sojourn_sim::Output;
use std::collections::BTreeMap;

/// Hosts of the data by flow, in the packet table of the queue `link`.
fn hosts_of_data(output: &Output, link: u64) -> BTreeMap<u64, (u64, u64)> {
    let columns = ["link", "flow", "from_host", "to_host"].map(|name| whole(output, "packets", name));
    let [links, flows, from, to] = &columns;
    (0..links.len()).filter(|&i| links[i] == link).map(|i| (flows[i], (from[i], to[i]))).collect()
}

/// 12 s of groups with the given keys at a link of 23.7 Mbit/s.
fn at_home(aqm: &str, groups: &[&str]) -> Output {
    let groups = groups.iter().map(|keys| format!("[[flows]]\nkind = \"tcp\"\nrtt = \"23 ms\"\n{keys}\n"));
    run(&format!(
        "duration = \"12 s\"\nwarmup = \"4 s\"\n[link]\nrate = \"23.7 Mbit/s\"\naqm = \"{aqm}\"\nlimit = \"10000 packets\"\n\
         [reverse]\nrate = \"23.7 Mbit/s\"\naqm = \"{aqm}\"\nlimit = \"10000 packets\"\n[probes]\npackets = true\n{}",
        groups.collect::<String>()
    ))
}

/// Shares of the groups in the goodput.
fn shares(output: &Output) -> Vec<f64> {
    let rates: Vec<f64> = output.summary.groups.iter().map(|group| group.payload.goodput_bps).collect();
    let sum: f64 = rates.iter().sum();
    rates.iter().map(|rate| rate / sum).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let near = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.03);
    assert!(near, "{found:?}, not {expected:?}");
}

#[test]
fn groups_of_one_pc_have_the_share_of_one_host() {
    let pc = "host = \"pc\"\npeer_host = \"server\"";
    let one = at_home("cake triple-isolate", &[&format!("count = 4\n{pc}"), pc]);
    assert_near(&shares(&one), &[0.8, 0.2]);
    let apart = at_home("cake triple-isolate", &["count = 4", ""]);
    assert_near(&shares(&apart), &[0.5, 0.5]);
    // Three hosts at home, of one, two and five flows.
    let home = at_home("cake dual-dsthost", &["host = \"a\"", "host = \"b\"\ncount = 2", "host = \"c\"\ncount = 5"]);
    assert_near(&shares(&home), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    // The same hosts as sources of uploads; a queue that isolates their destinations sees one server.
    let up = |key: &str| format!("direction = \"reverse\"\npeer_host = \"server\"\n{key}");
    let groups = [up("host = \"a\""), up("host = \"b\"\ncount = 3")];
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    assert_near(&shares(&at_home("cake dual-srchost", &groups)), &[0.5, 0.5]);
    assert_near(&shares(&at_home("cake dual-dsthost", &groups)), &[0.25, 0.75]);
}

#[test]
fn a_name_is_one_host_at_either_end_and_in_either_direction() {
    let output = at_home(
        "fq_codel",
        &[
            "host = \"pc\"\npeer_host = \"server\"",
            "direction = \"reverse\"\nhost = \"pc\"\npeer_host = \"other\"",
            "peer_host = \"pc\"",
        ],
    );
    let [down, up] = [0, 1].map(|link| hosts_of_data(&output, link));
    assert_eq!((down[&0], up[&1], down[&2]), ((0, 1), (1, 3), (1, 5)));
}

#[test]
fn flows_of_a_group_take_its_hosts_in_turn() {
    let output = at_home(
        "cake dual-dsthost",
        &["count = 7\nhosts = 3\nhost = \"pc\"", "host = \"pc\"", "count = 2\nhosts = 2\nhost = \"pc\"", "hosts = 2"],
    );
    let hosts: Vec<u64> = hosts_of_data(&output, 0).values().map(|&(_, to)| to).collect();
    // Hosts beyond the first of a group have numbers behind the two of each group.
    assert_eq!(hosts, [1, 8, 9, 1, 8, 9, 1, 1, 1, 8, 7]);
}

#[test]
fn connections_begin_at_the_host_of_their_source() {
    let output = run("duration = \"6 s\"\n[link]\nrate = \"9.7 Mbit/s\"\naqm = \"cake\"\n[probes]\npackets = true\n\
         [[flows]]\nkind = \"web\"\nrtt = \"20 ms\"\ncount = 4\nhosts = 4\nsize = \"31 kB\"\ninterval = \"0.2 s\"\n");
    let columns = ["link", "to_host"].map(|name| whole(&output, "packets", name));
    let mut packets = BTreeMap::new();
    for (link, host) in columns[0].iter().zip(&columns[1]) {
        *packets.entry((*link, *host)).or_insert(0) += 1;
    }
    let down: Vec<_> = packets.iter().filter(|((link, _), _)| *link == 0).map(|((_, host), n)| (*host, *n)).collect();
    assert_eq!(down.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(down.iter().all(|&(_, packets)| packets > 100), "{down:?}");
}

#[test]
fn nodes_of_kind_host_are_hosts() {
    let nodes = |kind: &str| {
        format!(
            "duration = \"9 s\"\nwarmup = \"3 s\"\n[[nodes]]\nname = \"server\"\nkind = \"{kind}\"\n[[nodes]]\nname = \"home\"\n\
             [[nodes]]\nname = \"pc\"\nkind = \"{kind}\"\n[[links]]\nname = \"wan\"\nfrom = \"server\"\nto = \"home\"\nrate = \"31 Mbit/s\"\n\
             delay = \"9 ms\"\naqm = \"cake\"\nlimit = \"10000 packets\"\n[[links]]\nname = \"lan\"\nfrom = \"home\"\nto = \"pc\"\nrate = \"1 Gbit/s\"\n\
             [probes]\npackets = true\n[[flows]]\nkind = \"tcp\"\nfrom = \"server\"\nto = \"pc\"\ncount = 4\n\
             [[flows]]\nkind = \"tcp\"\nfrom = \"server\"\nto = \"pc\"\n\
             [[flows]]\nkind = \"cbr\"\nfrom = \"pc\"\nto = \"server\"\nrate = \"1 Mbit/s\""
        )
    };
    let (hosts, routers) = (run(&nodes("host")), run(&nodes("router")));
    let of_tcp = |output: &Output| {
        let rates = shares(output);
        rates[1] / (rates[0] + rates[1])
    };
    assert!((of_tcp(&hosts) - 0.2).abs() < 0.02, "{:?}", shares(&hosts));
    assert!((of_tcp(&routers) - 0.5).abs() < 0.02, "{:?}", shares(&routers));
    assert_eq!(hosts_of_data(&hosts, 0)[&4], (0, 1));
    assert_eq!(hosts_of_data(&hosts, 1)[&5], (1, 0), "the source of an upload is the sink of downloads");
}

#[test]
fn stations_are_hosts_and_their_servers_may_share_one() {
    let output = run(
        "duration = \"3 s\"\n[wlan]\n[[wlan.stations]]\ncount = 2\nrate = \"54 Mbit/s\"\n[link]\naqm = \"fq_codel\"\n\
         [probes]\npackets = true\n[[flows]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\ncount = 2\npeer_host = \"server\"\n\
         [[flows]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\ncount = 2\npeer_host = \"server\"\n\
         [[flows]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"",
    );
    let hosts: Vec<(u64, u64)> = hosts_of_data(&output, 0).into_values().collect();
    assert_eq!(hosts, [(0, 6), (0, 7), (0, 6), (0, 7), (4, 6)]);
}

#[test]
fn a_tunnel_of_a_named_host_is_one_flow() {
    let keys = "host = \"pc\"\npeer_host = \"server\"\nmiddlebox = \"tunnel\"";
    let output = at_home("fq_codel", &[&format!("count = 3\n{keys}"), keys, ""]);
    assert_eq!(hosts_of_data(&output, 0).len(), 3, "two tunnels and a flow");
    assert_near(&shares(&output), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
}
