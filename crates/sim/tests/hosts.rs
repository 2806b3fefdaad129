//! Hosts with several flows: TCP small queues bound each flow's packets in the host's own device, and `fq` there paces
//! them.

use crate::common::{run, scenario};
use sojourn_sim::{LinkSummary, Simulation};

/// Summary of the queue `device` of a device of 50 Mbit/s with a round trip of 20 ms, after 3 s of flows with `keys`;
/// the device belongs to their host or to a router.
fn device(kind: &str, device: &str, keys: &str) -> LinkSummary {
    run(&text(kind, device, keys)).summary.links.forward
}

/// The scenario text of [`device`].
fn text(kind: &str, device: &str, keys: &str) -> String {
    format!(
        "duration = \"3 s\"\n[[nodes]]\nname = \"host\"\nkind = \"{kind}\"\n[[nodes]]\nname = \"far\"\n[[links]]\nname = \"device\"\n\
         from = \"host\"\nto = \"far\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n{device}\nreverse = {{ rate = \"1 Gbit/s\", delay = \"10 ms\" }}\n\
         [[flows]]\nkind = \"tcp\"\nfrom = \"host\"\nto = \"far\"\ngso = true\nspread = \"100 ms\"\n{keys}\n"
    )
}

#[test]
fn the_network_with_code_for_wireless_lans_counts_as_the_one_without() {
    // The gated run stops at each arriving packet and admits it.
    for (kind, queue) in
        [("host", "aqm = \"codel\""), ("host", "aqm = \"sch_fq@linux-6.1\""), ("router", "limit = \"9 packets\"")]
    {
        let scenario = scenario(&text(kind, queue, "count = 2"));
        let mut gated = Simulation::with_gate(&scenario, scenario.seed);
        while gated.next_arrival().is_some() {}
        let [whole, gated] = [Simulation::new(&scenario, scenario.seed), gated].map(|run| run.finish().summary);
        assert!(whole.links.forward.packets > 2000, "{queue}: {:?}", whole.links.forward);
        assert_eq!(whole.fingerprint, gated.fingerprint, "{kind}, {queue}");
        assert_eq!(format!("{:?}", whole.flows), format!("{:?}", gated.flows), "{kind}, {queue}");
    }
}

#[test]
fn a_few_bursts_of_each_flow_wait_in_its_hosts_device() {
    // Linux 6.1.192 (`--engine kernel`), the same scenario: 3102 super-packets, none dropped, a median of 3.60 ms and a
    // utilisation of 97.994 %.
    let at_host = device("host", "aqm = \"codel\"", "count = 2");
    assert_eq!(at_host.dropped, 0);
    assert!(at_host.packets.abs_diff(3102) <= 31, "{at_host:?}");
    let median = at_host.sojourn_ms.p50.expect("packets");
    assert!((median - 3.60).abs() < 0.05 && (at_host.utilisation - 0.97994).abs() < 1e-4, "{at_host:?}");
    // At a router only the windows bound the queue, and CoDel drops.
    let at_router = device("router", "aqm = \"codel\"", "count = 2");
    assert!(at_router.dropped > 0 && at_router.sojourn_ms.max > Some(20.0), "{at_router:?}");
}

#[test]
fn papers_stacks_and_flows_with_access_links_are_not_bounded() {
    for keys in ["stack = \"linux-3.13\"", "access_rate = \"1 Gbit/s\"", "rtt = \"25 ms\"", "rtt_stagger = \"1 ms\""] {
        let [host, router] =
            ["host", "router"].map(|kind| device(kind, "aqm = \"codel\"", &format!("count = 2\n{keys}")));
        assert_eq!(format!("{host:?}"), format!("{router:?}"), "{keys}");
    }
}

#[test]
fn a_card_in_front_of_the_queue_is_no_hosts_device() {
    let keys = "gro = \"50 us\"";
    let [host, router] = ["host", "router"].map(|kind| device(kind, keys, "count = 2"));
    assert_eq!(format!("{host:?}"), format!("{router:?}"));
}

#[test]
fn memory_is_free_again_whoever_drops_or_doubles_a_packet() {
    // Losses on the medium, a queue of four packets, duplicates, single segments: all memory is released, so all flows
    // deliver.
    let queues = [
        "loss = \"1 %\"",
        "limit = \"4 packets\"",
        "aqm = \"netem duplicate 5%\"",
        "aqm = \"cake\"",
        "aqm = \"fq_codel\"\nlimit = \"20 packets\"",
        "aqm = \"sch_fq@linux-6.1\"",
        "below = \"3000 B\"",
    ];
    for queue in queues {
        let link = device("host", queue, "count = 6");
        let least = if queue.contains("loss") { 0.4 } else { 0.9 };
        assert!(link.utilisation > least, "{queue}: {link:?}");
    }
}

#[test]
fn fq_of_the_host_holds_what_is_paced() {
    // A pacing rate of at most 8 Mbit/s of payload, so a little more on the link.
    let paced = device("host", "aqm = \"sch_fq@linux-6.1\"", "max_pacing_rate = \"8 Mbit/s\"");
    let used = paced.utilisation * 50.0 * 3.0 / 2.98;
    assert!((8.2..8.5).contains(&used), "{used} Mbit/s");
    // The sender passes bursts down before their departure time and the queue holds them: it is not empty although the
    // link is idle.
    assert!(paced.mean_backlog_packets > 0.5, "{paced:?}");
    let by_itself = device("host", "aqm = \"droptail\"", "max_pacing_rate = \"8 Mbit/s\"");
    assert!(by_itself.mean_backlog_packets < 0.1, "{by_itself:?}");
}
