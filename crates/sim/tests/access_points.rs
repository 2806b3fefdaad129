//! Access points as nodes of a graph: packets cross wires and channels in both directions, no node loses packets, and
//! queues build up at the bottleneck, on the wire or in the air.

use crate::common::{run, scenario, whole};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{HopSummary, LinkSummary, Links, Output, Simulation, WlanSummary};
use std::collections::BTreeMap;

/// A wireless LAN in its short form, and as a graph with one link.
fn both_forms(channel: &str, stations: &[&str], down: &str, up: &str, flows: &[(&str, bool)]) -> [Output; 2] {
    let begin = "duration = \"7 s\"\nwarmup = \"1 s\"\nseed = 4711\n";
    let probes = "[probes]\npackets = true\nheaders = true\naccesses = true\nqueue = \"13 ms\"\nstate = \"170 ms\"\n\
                  utilisation = \"710 ms\"\ntransfers = true\n";
    let groups = |header: &str| -> String {
        stations.iter().map(|station| format!("[[{header}wlan.stations]]\n{station}\n")).collect()
    };
    let flows_of = |ends: [&str; 2]| -> String {
        let flow = |&(keys, is_up): &(&str, bool)| format!("[[flows]]\n{keys}\n{}\n", ends[usize::from(is_up)]);
        flows.iter().map(flow).collect()
    };
    let short = format!(
        "{begin}[wlan]\n{channel}\n{}[link]\n{down}\n[reverse]\n{up}\n{}{probes}",
        groups(""),
        flows_of(["", "direction = \"reverse\""])
    );
    let graph = format!(
        "{begin}[[nodes]]\nname = \"ap\"\nkind = \"access-point\"\n[[nodes]]\nname = \"all\"\nkind = \"stations\"\n\
         [[links]]\nname = \"air\"\nfrom = \"ap\"\nto = \"all\"\n{down}\nreverse = {{ {} }}\n[links.wlan]\n{channel}\n{}{}{probes}",
        up.replace('\n', ", "),
        groups("links."),
        flows_of(["from = \"ap\"\nto = \"all\"", "from = \"all\"\nto = \"ap\""])
    );
    [run(&short), run(&graph)]
}

#[test]
fn a_wireless_lan_is_the_same_as_a_graph() {
    let tcp = "kind = \"tcp\"\ncount = 3\nspread = \"0.3 s\"\nrtt = \"47 ms\"";
    let web = "kind = \"web\"\ninterval = \"90 ms\"\nsize = \"20 kB\"\nrtt = \"30 ms\"\nstation = 1";
    let limited = "kind = \"tcp\"\nrtt = \"21 ms\"\naccess_rate = \"3.3 Mbit/s\"".replace("rtt = \"21 ms\"\n", "");
    let mixed = ["rate = \"54 Mbit/s\"\nsnr = \"19.3 dB\"\nfading = \"3 dB\"", "count = 2"];
    let fast = ["rate = \"mcs15\"\ncount = 2", "rate = \"mcs0\"", "rate = \"24 Mbit/s\""];
    let flows = [(tcp, false), (tcp, true), (web, false), (web, true), (&limited, false)];
    for (channel, stations, down, up) in [
        ("tsq = 9", &mixed[..], "aqm = \"codel\"", "limit = \"33 packets\""),
        ("queues = \"airtime\"\nap_cwmin = 7", &fast, "aqm = \"pie\"", "aqm = \"codel\"\nbelow = \"5 packets\""),
        (
            "beacon = \"0 B\"\nhtb_rate = \"9.7 Mbit/s\"",
            &["snr = \"21 dB\""][..],
            "aqm = \"fq_codel\"",
            "limit = \"40 kB\"",
        ),
    ] {
        let flows = if stations.len() == 1 { &flows[..2] } else { &flows[..] };
        let [short, graph] = both_forms(channel, stations, down, up, flows);
        assert_eq!(short.summary.fingerprint, graph.summary.fingerprint, "{channel}");
        assert_eq!(format!("{:?}", short.summary.links), format!("{:?}", graph.summary.links));
        assert_eq!(format!("{:?}", short.summary.wlan), format!("{:?}", graph.summary.wlan));
        assert_eq!(short.tables.len(), graph.tables.len());
        for (short, graph) in short.tables.iter().zip(&graph.tables) {
            // Compared as text, because NaN does not equal NaN.
            assert!(format!("{short:?}") == format!("{graph:?}"), "{channel}: table {}", short.name);
        }
        assert!(short.summary.links.forward.packets > 300 && short.summary.links.reverse.packets > 300);
    }
}

/// A server, a modem, and behind it an access point with stations at 54 Mbit/s.
fn home(modem: &str, aqms: [&str; 2], flows: &str) -> Output {
    let [modem_aqm, air_aqm] = aqms;
    run(&format!(
        "duration = \"25 s\"\nwarmup = \"5 s\"\n\
         nodes = [{{ name = \"server\", kind = \"host\" }}, {{ name = \"ap\", kind = \"access-point\" }}, \
         {{ name = \"laptops\", kind = \"stations\" }}]\n\
         [[links]]\nname = \"modem\"\nfrom = \"server\"\nto = \"ap\"\ndelay = \"6 ms\"\n{modem}\naqm = \"{modem_aqm}\"\n\
         reverse = {{ aqm = \"{modem_aqm}\" }}\n\
         [[links]]\nname = \"air\"\nfrom = \"ap\"\nto = \"laptops\"\naqm = \"{air_aqm}\"\n[links.wlan]\n\
         [[links.wlan.stations]]\ncount = 2\nrate = \"54 Mbit/s\"\n{flows}"
    ))
}

const DOWN: &str =
    "[[flows]]\nkind = \"tcp\"\ncount = 2\nrtt = \"33 ms\"\nspread = \"0.7 s\"\nfrom = \"server\"\nto = \"laptops\"\n";
const UP: &str =
    "[[flows]]\nkind = \"tcp\"\ncount = 2\nrtt = \"33 ms\"\nspread = \"0.7 s\"\nfrom = \"laptops\"\nto = \"server\"\n";

/// Links of a home's summary: modem and air.
fn home_links(output: &Output) -> [&Links; 2] {
    let [HopSummary { links: air, .. }] = &output.summary.hops[..] else { panic!("modem and air") };
    [&output.summary.links, air]
}

fn median_ms(link: &LinkSummary) -> f64 {
    link.sojourn_ms.p50.expect("packets have passed")
}

#[test]
fn the_queue_is_where_the_bottleneck_is() {
    // The air carries at most 24.6 Mbit/s of payload in one direction with acknowledgments.
    for (rate, flows, is_down) in [("4.7 Mbit/s", DOWN, true), ("93 Mbit/s", DOWN, true), ("4.7 Mbit/s", UP, false)] {
        let is_modem = rate.starts_with('4');
        let droptail = home(&format!("rate = \"{rate}\""), ["droptail", "droptail"], flows);
        let [modem, air] = home_links(&droptail).map(|links| if is_down { &links.forward } else { &links.reverse });
        let (slow, fast) = if is_modem { (modem, air) } else { (air, modem) };
        assert!(median_ms(slow) > 100.0 && median_ms(fast) < 1.0, "{rate}: {} {}", median_ms(slow), median_ms(fast));
        assert!(slow.dropped > 0 && fast.dropped == 0, "{rate}: {} {}", slow.dropped, fast.dropped);
        let goodput = droptail.summary.goodput_bps / 1e6;
        let expected = if is_modem { 4.7 * 1448.0 / 1500.0 } else { 23.8 };
        assert!((goodput / expected - 1.0).abs() < 0.05, "{rate}: {goodput} Mbit/s, expected {expected}");
        // A queue manager helps at the bottleneck only.
        let [at_bottleneck, elsewhere] = [is_modem, !is_modem].map(|at_modem| {
            let aqms = if at_modem { ["codel", "droptail"] } else { ["droptail", "codel"] };
            let output = home(&format!("rate = \"{rate}\""), aqms, flows);
            let [modem, air] = home_links(&output).map(|links| if is_down { &links.forward } else { &links.reverse });
            median_ms(if is_modem { modem } else { air })
        });
        assert!(at_bottleneck < 20.0 && elsewhere > 100.0, "{rate}: {at_bottleneck} ms, {elsewhere} ms");
    }
}

#[test]
fn uploads_wait_in_their_stations_where_the_air_is_slow() {
    let output = home("rate = \"93 Mbit/s\"", ["droptail", "droptail"], UP);
    let [modem, air] = home_links(&output);
    assert!(median_ms(&modem.reverse) < 1.0 && median_ms(&air.reverse) > 5.0, "{modem:?} {air:?}");
    // TCP small queues: each connection has at most 57 packets in its station, so nothing is dropped.
    assert_eq!((air.reverse.dropped, air.forward.dropped), (0, 0));
    let rtts = &output.summary.hops[0].wlan.as_ref().expect("a channel").rtts[0];
    assert!(rtts.sent_ms.p50 > Some(33.0) && rtts.tapped_ms.p50 > Some(33.0), "{rtts:?}");
    assert!(rtts.sent_ms.p50 > rtts.tapped_ms.p50, "the queue is above the tap");
}

/// A server and a modem, and behind a switch two access points with these stations.
fn campus(modem: &str, stations: [&str; 2], flows: &str, probes: &str) -> String {
    let cell = |name: &str, stations: &str| {
        format!(
            "[[nodes]]\nname = \"ap {name}\"\nkind = \"access-point\"\n[[nodes]]\nname = \"{name}\"\nkind = \"stations\"\n\
             [[links]]\nname = \"wire {name}\"\nfrom = \"switch\"\nto = \"ap {name}\"\nrate = \"97 Mbit/s\"\n\
             delay = \"0.2 ms\"\n[[links]]\nname = \"air {name}\"\nfrom = \"ap {name}\"\nto = \"{name}\"\n\
             limit = \"70 packets\"\nreverse = {{ limit = \"50 packets\" }}\n[links.wlan]\n[[links.wlan.stations]]\n{stations}\n"
        )
    };
    let [near, far] = stations;
    format!(
        "duration = \"15 s\"\nwarmup = \"3 s\"\n[[nodes]]\nname = \"server\"\nkind = \"host\"\n[[nodes]]\nname = \"switch\"\n\
         [[links]]\nname = \"modem\"\nfrom = \"server\"\nto = \"switch\"\ndelay = \"4.1 ms\"\n{modem}\n{}{}{flows}{probes}",
        cell("near", near),
        cell("far", far)
    )
}

/// Summaries of the wireless LANs by the names of their links.
fn wlans(output: &Output) -> BTreeMap<&str, &WlanSummary> {
    output.summary.hops.iter().filter_map(|hop| Some((hop.name.as_str(), hop.wlan.as_ref()?))).collect()
}

#[test]
fn two_access_points_share_a_wired_bottleneck_and_no_channel() {
    let stations = ["count = 2\nrate = \"54 Mbit/s\""; 2];
    let flow = |to: &str| {
        format!(
            "[[flows]]\nkind = \"tcp\"\ncount = 2\nspread = \"0.9 s\"\nrtt = \"37 ms\"\nfrom = \"server\"\nto = \"{to}\"\n"
        )
    };
    let flows = flow("near") + &flow("far");
    let [shared, free] = ["rate = \"16.3 Mbit/s\"\naqm = \"codel\"", "rate = \"970 Mbit/s\""].map(|modem| {
        let output = run(&campus(modem, stations, &flows, ""));
        assert!(output.summary.wlan.is_none(), "the first link is the modem");
        output
    });
    let rates = |output: &Output| -> Vec<f64> {
        output.summary.groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect()
    };
    let (together, alone) = (rates(&shared), rates(&free));
    let expected = 16.3 * 1448.0 / 1500.0;
    assert!(((together[0] + together[1]) / expected - 1.0).abs() < 0.03, "{together:?}");
    assert!((0.6..1.6).contains(&(together[0] / together[1])), "four flows share the modem: {together:?}");
    assert!(shared.summary.links.forward.dropped > 10, "it drops");
    // Each channel carries as much as it does alone.
    assert!(alone.iter().all(|rate| (23.0..25.5).contains(rate)), "{alone:?}");
    for (name, wlan) in wlans(&free) {
        assert!(wlan.busy > 0.7 && wlan.collisions > 100, "{name}: {} {}", wlan.busy, wlan.collisions);
    }
    let [near, far] = ["air near", "air far"].map(|name| wlans(&free)[name].accesses);
    assert!(near != far, "the channels draw from random streams of their own");
}

/// Packets that arrived and packets that were sent, by queue and flow.
fn counts(output: &Output) -> BTreeMap<(u64, u64), [u64; 2]> {
    let mut counts = BTreeMap::<_, [u64; 2]>::new();
    for table in ["packets", "waiting"] {
        let [links, flows] = ["link", "flow"].map(|column| whole(output, table, column));
        let fates = if table == "packets" { whole(output, table, "fate") } else { vec![9; links.len()] };
        for ((link, flow), fate) in links.into_iter().zip(flows).zip(fates) {
            let count = counts.entry((link, flow)).or_default();
            count[0] += 1;
            count[1] += u64::from(fate < 2);
        }
    }
    counts
}

/// Queues into and out of each node: the ends of the links of [`campus`].
fn queues_of(scenario: &Scenario, node: usize) -> (Vec<usize>, Vec<usize>) {
    let graph = scenario.graph.as_ref().expect("a graph");
    let wlans = scenario.links.iter().map(|hop| hop.wlan.as_ref().map(|wlan| wlan.station_count() as usize));
    let (mut queue, mut into, mut out) = (0, Vec::new(), Vec::new());
    for (wlan, &(from, to)) in std::iter::once(None).chain(wlans).zip(&graph.ends) {
        let (forward, reverse) = (queue, queue + 1..queue + 1 + wlan.unwrap_or(1));
        queue = reverse.end;
        if from == node {
            out.push(forward);
            into.extend(reverse);
        } else if to == node {
            into.push(forward);
            out.extend(reverse);
        }
    }
    (into, out)
}

#[test]
fn every_node_passes_on_what_comes_to_it() {
    let names = ["server", "switch", "ap near", "near", "ap far", "far"];
    let mut flows = String::new();
    // Flows between all pairs of nodes, except between stations of one wireless LAN.
    for (i, (from, to)) in names.iter().flat_map(|a| names.map(|b| (a, b))).filter(|(a, b)| *a != b).enumerate() {
        flows += &format!(
            "[[flows]]\nkind = \"poisson\"\nsize = \"{} B\"\nrate = \"{} kbit/s\"\ncount = 3\nstop = \"9 s\"\n\
             from = \"{from}\"\nto = \"{to}\"\n",
            301 + 41 * i,
            190 + 37 * i
        );
    }
    let stations =
        ["count = 2\nsnr = \"16.1 dB\"\nrate = \"54 Mbit/s\"", "rate = \"mcs3\"\nsnr = \"14.9 dB\"\ncount = 3"];
    let modem = "rate = \"8.1 Mbit/s\"\nloss = \"1%\"\naqm = \"codel\"";
    let text = campus(modem, stations, &flows, "[probes]\npackets = true").replace("warmup = \"3 s\"\n", "");
    for seed in [3, 1009] {
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, seed);
        while !simulation.advance(u64::MAX) {}
        let queues = simulation.links();
        let output = simulation.finish();
        let counts = counts(&output);
        let (mut begun, mut ended) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
        for (flow, summary) in (0..).zip(&output.summary.flows) {
            let group = &scenario.flows[flow as usize / 3];
            let [from, to] = [&group.from, &group.to].map(|name| name.as_deref().expect("a node"));
            let node = |name| names.iter().position(|n| *n == name).expect("a node");
            // The first queue of the flow is one out of its node; its very first packet is there.
            let (_, out) = queues_of(&scenario, node(from));
            let first = out.iter().filter_map(|&queue| counts.get(&(queue as u64, flow))).map(|count| count[0]);
            let sent: u64 = first.sum();
            assert_eq!(sent, summary.sent, "flow {flow}: nothing is lost on its access link");
            *begun.entry(from).or_default() += sent;
            let received = summary.payload.bytes / (301 + 41 * (flow / 3) - 28);
            assert!(received > 0, "flow {flow} from {from} to {to} arrives");
            *ended.entry(to).or_default() += received;
        }
        let waiting: u64 = queues.iter().map(|queue| u64::from(queue.backlog.packets)).sum();
        assert_eq!(waiting, 0, "all have arrived or are lost");
        for (node, name) in names.iter().enumerate() {
            let (into, out) = queues_of(&scenario, node);
            let arriving: u64 = into.iter().map(|&queue| queues[queue].sent - queues[queue].lost).sum();
            let leaving: u64 = out.iter().map(|&queue| queues[queue].arrived).sum();
            assert_eq!(arriving + begun[name], leaving + ended[name], "{name}, seed {seed}");
        }
        let lost: Vec<u64> = queues.iter().map(|queue| queue.lost).collect();
        let dropped: u64 = queues.iter().map(|queue| queue.dropped()).sum();
        assert!(lost[0] > 50 && lost[4..].iter().sum::<u64>() > 5 && dropped > 100, "{lost:?}, {dropped} dropped");
        // A node that does not forward sees only its own packets.
        let crossed: BTreeMap<u64, usize> = counts.keys().fold(BTreeMap::new(), |mut crossed, &(queue, _)| {
            *crossed.entry(queue).or_default() += 1;
            crossed
        });
        assert_eq!(crossed.len(), queues.len(), "every queue is used: {crossed:?}");
    }
}

#[test]
fn attempts_on_all_channels_are_in_the_order_of_time() {
    let stations = ["count = 2\nrate = \"54 Mbit/s\"", "rate = \"mcs3\"\ncount = 3"];
    let flows: String = ["near", "far"]
        .iter()
        .map(|to| {
            format!("[[flows]]\nkind = \"cbr\"\ncount = 2\nrate = \"1.7 Mbit/s\"\nfrom = \"server\"\nto = \"{to}\"\n")
        })
        .collect();
    let output = run(&campus("rate = \"50 Mbit/s\"", stations, &flows, "[probes]\naccesses = true"));
    let [times, nodes] = ["time_ns", "node"].map(|column| whole(&output, "accesses", column));
    assert!(times.is_sorted());
    let attempts =
        |nodes_of: std::ops::RangeInclusive<u64>| nodes.iter().filter(|n| nodes_of.contains(n)).count() as u64;
    // Queues: modem 0 and 1, wire near 2 and 3, air near 4 to 6, wire far 7 and 8, air far 9 to 12.
    for (name, access_point, last) in [("air near", 4, 6), ("air far", 9, 12)] {
        let wlan = wlans(&output)[name];
        assert!(wlan.access_point.attempts > 1000);
        let all = wlan.access_point.attempts + wlan.stations.iter().map(|station| station.node.attempts).sum::<u64>();
        // The summary excludes the warm-up, a fifth of the run.
        let (of_ap, of_all) = (attempts(access_point..=access_point), attempts(access_point..=last));
        assert!(of_ap > wlan.access_point.attempts && of_all > all && of_all < all * 3 / 2, "{name}: {of_all} {all}");
    }
}
