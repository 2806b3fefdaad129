//! Arbitrary paths over the links of a scenario: no losses between links, and each link adds its delay.

use crate::common::{scenario, whole};
use proptest::prelude::*;
use sojourn_sim::scenario::{Paths, Scenario};
use sojourn_sim::{Output, Simulation};

/// Four hops, that is eight links, of odd rates and delays; link 2i is the forward direction of hop i.
fn four_hops(duration: &str, flows: &str) -> Scenario {
    let hop = |name: &str, rate: &str, back: &str, delay: &str, aqm: &str| {
        format!(
            "[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\naqm = \"{aqm}\"\nlimit = \"40 packets\"\n\
             reverse = {{ rate = \"{back}\", delay = \"1.7 ms\" }}\n"
        )
    };
    scenario(&format!(
        "duration = \"{duration}\"\nwarmup = \"0 s\"\n\
         [link]\nrate = \"2.3 Mbit/s\"\ndelay = \"3.1 ms\"\naqm = \"codel\"\n[reverse]\nrate = \"0.9 Mbit/s\"\n{}{}{}{flows}\n\
         [probes]\npackets = true",
        hop("second", "1.9 Mbit/s", "1.3 Mbit/s", "0.7 ms", "fq_codel"),
        hop("third", "3.7 Mbit/s", "2.9 Mbit/s", "5.3 ms", "pie"),
        hop("fourth", "1.1 Mbit/s", "4.1 Mbit/s", "2.2 ms", "droptail"),
    ))
}

const LINKS: usize = 8;

/// Disjoint paths for data and acknowledgments.
fn paths() -> impl Strategy<Value = Paths> {
    let links = Just((0..LINKS as u16).collect::<Vec<u16>>()).prop_shuffle();
    (links, 1usize..=4, 1usize..=4)
        .prop_map(|(links, data, acks)| Paths { data: links[..data].into(), acks: links[data..data + acks].into() })
}

/// Packets of `flow` that arrived at each link, and that it sent.
fn crossings(output: &Output, flow: u64) -> [(u64, u64); LINKS] {
    let mut counts = [(0, 0); LINKS];
    let [link, of, fate] = ["link", "flow", "fate"].map(|name| whole(output, "packets", name));
    for i in (0..link.len()).filter(|&i| of[i] == flow) {
        let (arrived, sent) = &mut counts[link[i] as usize];
        *arrived += 1;
        *sent += u64::from(fate[i] <= 1);
    }
    for (link, of) in whole(output, "waiting", "link").into_iter().zip(whole(output, "waiting", "flow")) {
        counts[link as usize].0 += u64::from(of == flow);
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_a_link_sends_arrives_at_the_next_one(
        given in prop::collection::vec(paths(), 3),
        seed in any::<u64>(),
        reverse in any::<bool>(),
    ) {
        // The flows stop long before the end, so that nothing is in flight then.
        let direction = if reverse { "reverse" } else { "forward" };
        let mut scenario = four_hops("90 s", &format!(
            "[[flows]]\nkind = \"tcp\"\nstop = \"2.3 s\"\nrtt = \"61 ms\"\ndirection = \"{direction}\"\n\
             [[flows]]\nkind = \"tcp\"\nsize = \"100 kB\"\nrtt = \"47 ms\"\nstart = \"0.3 s\"\naccess_rate = \"7 Mbit/s\"\n\
             [[flows]]\nkind = \"poisson\"\nrate = \"1.2 Mbit/s\"\nstop = \"2.9 s\""));
        for (flow, paths) in scenario.flows.iter_mut().zip(&given) {
            flow.paths = paths.clone();
        }
        let output = Simulation::new(&scenario, seed).finish();
        for (flow, paths) in (0..).zip(&given) {
            let found = crossings(&output, flow);
            for path in [&paths.data, &paths.acks] {
                for pair in path.windows(2) {
                    let (from, to) = (usize::from(pair[0]), usize::from(pair[1]));
                    prop_assert_eq!(found[from].1, found[to].0, "flow {} from link {} to {}: {:?}", flow, from, to, found);
                }
            }
            let crossed = |l: usize| paths.data.contains(&(l as u16)) || (flow < 2 && paths.acks.contains(&(l as u16)));
            for l in 0..LINKS {
                prop_assert_eq!(found[l].0 > 0, crossed(l), "flow {} at link {}: {:?}", flow, l, found);
            }
            let last = usize::from(*paths.data.last().unwrap());
            if flow == 2 {
                // Every datagram that left the last link was received.
                let group = &output.summary.groups[2];
                prop_assert_eq!(group.payload.bytes % found[last].1.max(1), 0);
                prop_assert!(group.payload.bytes > 0 && found[last].1 > 100);
            }
        }
        prop_assert_eq!(output.summary.groups[1].transfers, 1, "the file arrives over any path");
    }
}

#[test]
fn a_datagram_takes_the_time_of_each_link_on_its_path() {
    // 1500 B over link 4 (3.7 Mbit/s, 5.3 ms), 1 (0.9 Mbit/s, 3.1 ms as link 0), 2 (1.9 Mbit/s, 0.7 ms) and 4 again;
    // one at a time.
    let flows = "[[flows]]\nkind = \"cbr\"\nrate = \"120 kbit/s\"\nsize = \"1500 B\"\nrtt = \"40 ms\"";
    let mut scenario = four_hops("5 s", flows);
    scenario.flows[0].paths = Paths { data: [4, 1, 2, 4].into(), acks: [0].into() };
    let output = Simulation::new(&scenario, 5).finish();
    let ms = |mbit: f64| 1500.0 * 8.0 / mbit / 1e3;
    let links = 2.0 * (ms(3.7) + 5.3) + (ms(0.9) + 3.1) + (ms(1.9) + 0.7);
    let access = scenario.flows[0].access_delay.as_secs_f64() * 1e3;
    let found = output.summary.groups[0].datagrams.delay_ms.unwrap();
    assert!((found - links - access).abs() < 1e-3, "{found} ms, expected {links} + {access} ms");
}
