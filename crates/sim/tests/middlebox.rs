//! Middleboxes: a tunnel hides flows, ECN fields are cleared or falsified.

use crate::common::{run, whole};
use sojourn_sim::Output;
use std::collections::BTreeSet;

/// Four flows of one group and one of another, for 20 s.
fn five(aqm: &str, tcp: &str, group: &str) -> Output {
    run(&format!(
        "duration = \"20 s\"\nwarmup = \"5 s\"\n[link]\nrate = \"10 Mbit/s\"\naqm = \"{aqm}\"\nlimit = \"100 packets\"\n\
         [[flows]]\nkind = \"tcp\"\ncount = 4\nrtt = \"40 ms\"\n{tcp}\n{group}\n\
         [[flows]]\nkind = \"tcp\"\nrtt = \"40 ms\"\n{tcp}\n[probes]\npackets = true"
    ))
}

/// Share of the last flow in the goodput.
fn share_of_the_last(output: &Output) -> f64 {
    let rates: Vec<f64> = output.summary.groups.iter().map(|group| group.payload.goodput_bps).collect();
    rates[1] / (rates[0] + rates[1])
}

/// Flow numbers and ECN fields in the packet table of the forward link.
fn seen(output: &Output) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let [link, flow, ecn] = ["link", "flow", "ecn"].map(|name| whole(output, "packets", name));
    let forward = |column: &[u64]| (0..link.len()).filter(|&i| link[i] == 0).map(|i| column[i]).collect();
    (forward(&flow), forward(&ecn))
}

#[test]
fn queues_take_a_tunnel_for_one_flow() {
    let plain = five("fq_codel", "", "");
    let tunnel = five("fq_codel", "", "middlebox = \"tunnel\"");
    assert!((0.15..0.25).contains(&share_of_the_last(&plain)), "{}", share_of_the_last(&plain));
    assert!((0.42..0.58).contains(&share_of_the_last(&tunnel)), "{}", share_of_the_last(&tunnel));
    assert_eq!((seen(&plain).0.len(), seen(&tunnel).0.len()), (5, 2));
    assert_eq!(tunnel.summary.flows.len(), 5, "each has its own goodput all the same");
}

#[test]
fn nobody_hears_of_bleached_marks() {
    let sent = five("codel ecn", "ecn = true", "");
    let bleached = five("codel ecn", "ecn = true", "middlebox = \"bleach\"");
    let [of_heard, of_bleached] = [&sent, &bleached].map(|output| &output.summary.links.forward);
    assert_eq!(of_heard.dropped, 0, "marks are enough");
    assert!(of_bleached.marked > 3 * of_heard.marked, "{} against {}", of_bleached.marked, of_heard.marked);
    assert!(of_bleached.dropped > 0, "only the full buffer holds them");
    assert!(share_of_the_last(&bleached) < share_of_the_last(&sent) / 2.0, "who hears gives way");
}

#[test]
fn a_classic_sender_can_pass_for_a_scalable_one() {
    let output = five("dualpi2", "ecn = true", "middlebox = \"ect1\"");
    assert!(seen(&output).1.is_superset(&BTreeSet::from([1, 2])), "ECT(1) of the first group, ECT(0) of the other");
    assert!(seen(&five("dualpi2", "ecn = true", "")).1.is_disjoint(&BTreeSet::from([1])));
}
