//! Counters of the queues within a discipline: they add up to the link's, and each packet counts in the queue that it
//! joined.

use crate::common::run;
use sojourn_sim::{LinkSummary, Output, QueueSummary};

/// Voice, bulk with and without ECN, scalable bulk, and background at an odd rate.
fn mixed(aqm: &str, more: &str) -> Output {
    let flows: String = [
        "kind = \"cbr\"\nrate = \"311 kbit/s\"\nsize = \"217 B\"\ndscp = \"EF\"",
        "kind = \"tcp\"\ncc = \"cubic\"\necn = true\nrtt = \"31 ms\"",
        "kind = \"tcp\"\ncc = \"prague\"\necn = true\nrtt = \"13 ms\"",
        "kind = \"tcp\"\ncc = \"reno\"\ndscp = \"CS1\"\nrtt = \"27 ms\"",
    ]
    .map(|flow| format!("[[flows]]\n{flow}\n"))
    .concat();
    run(&format!(
        "duration = \"11 s\"\nwarmup = \"1.7 s\"\nseed = 41\n[link]\nrate = \"9.3 Mbit/s\"\ndelay = \"3 ms\"\n\
         limit = \"170 packets\"\naqm = \"{aqm}\"\n{more}\n{flows}"
    ))
}

fn link(output: &Output) -> &LinkSummary {
    &output.summary.links.forward
}

fn queue<'a>(link: &'a LinkSummary, name: &str) -> &'a QueueSummary {
    link.queues.iter().find(|queue| queue.name == name).unwrap_or_else(|| panic!("{name}: {:?}", names(link)))
}

fn names(link: &LinkSummary) -> Vec<&str> {
    link.queues.iter().map(|queue| queue.name.as_str()).collect()
}

#[test]
fn queues_add_up_to_their_link() {
    for (aqm, expected) in [
        ("dualpi2", &["L4S", "Classic"][..]),
        ("cake bandwidth 8.1mbit diffserv4", &["Best Effort", "Bulk", "Video", "Voice"]),
        ("cake besteffort bandwidth 8.1mbit", &[]),
        ("cake_mq queues 3 bandwidth 8.1mbit diffserv3", &["Best Effort", "Bulk", "Voice"]),
        ("prio { band 2 { codel }; band 3 { fq_codel } }", &["band 1", "band 2", "band 3"]),
        ("pfifo_fast", &["band 1", "band 2", "band 3"]),
        ("tbf rate 7mbit burst 5kb limit 90kb { dualpi2 }", &["L4S", "Classic"]),
        ("police rate 7mbit burst 90kb { dualpi2 }", &["L4S", "Classic"]),
        ("netem delay 2ms duplicate 3% { prio }", &["band 1", "band 2", "band 3"]),
        (
            "htb default 20 { class 1 rate 8mbit; class 10 parent 1 rate 1mbit ceil 8mbit match dscp EF; \
             class 20 parent 1 rate 7mbit ceil 8mbit { codel } }",
            &["class 1:10", "class 1:20", "direct"],
        ),
        ("fq_codel", &[]),
        ("codel", &[]),
    ] {
        let output = if aqm.contains("duplicate") { tcp(aqm) } else { mixed(aqm, "") };
        let link = link(&output);
        assert_eq!(names(link), expected, "{aqm}");
        if expected.is_empty() {
            continue;
        }
        let sum = |count: fn(&QueueSummary) -> u64| link.queues.iter().map(count).sum::<u64>();
        assert_eq!(sum(|queue| queue.arrived), link.arrived, "{aqm}");
        assert_eq!(sum(|queue| queue.packets), link.packets, "{aqm}");
        assert_eq!(sum(|queue| queue.bytes), link.bytes, "{aqm}");
        assert_eq!(sum(|queue| queue.dropped), link.dropped, "{aqm}");
        assert_eq!(sum(|queue| queue.marked), link.marked, "{aqm}");
        let backlog: f64 = link.queues.iter().map(|queue| queue.mean_backlog_packets).sum();
        assert!((backlog / link.mean_backlog_packets - 1.0).abs() < 1e-9, "{aqm}");
    }
}

/// Traffic for disciplines that may duplicate packets.
fn tcp(aqm: &str) -> Output {
    run(&format!(
        "duration = \"7 s\"\nseed = 5\n[link]\nrate = \"3.1 Mbit/s\"\nlimit = \"170 packets\"\naqm = \"{aqm}\"\n\
         [[flows]]\nkind = \"tcp\"\nrtt = \"19 ms\"\n\
         [[flows]]\nkind = \"tcp\"\nrtt = \"43 ms\"\ndscp = \"CS6\"\n"
    ))
}

#[test]
fn a_marked_packet_stays_in_the_queue_that_it_joined() {
    let output = mixed("dualpi2", "");
    let (l4s, classic) = (queue(link(&output), "L4S"), queue(link(&output), "Classic"));
    // Only Prague is in L4S; CUBIC packets that DualPI2 marks look as if they were, too.
    let of_prague = output.summary.flows[2].payload.bytes as f64 / 1448.0;
    assert!((l4s.packets as f64 / of_prague - 1.0).abs() < 0.02, "{} {of_prague}", l4s.packets);
    assert!(classic.marked > 3 && l4s.marked > 20, "{} {}", classic.marked, l4s.marked);
    let mean = |queue: &QueueSummary| queue.sojourn_ms.mean.expect("packets were sent");
    assert!(mean(l4s) < 2.0 && mean(classic) > 8.0, "{} {}", mean(l4s), mean(classic));
}

#[test]
fn voice_counts_in_its_tin_and_its_class() {
    for (aqm, name) in [
        ("cake bandwidth 8.1mbit diffserv4", "Voice"),
        ("prio { band 1 match dscp EF { codel } }", "band 1"),
        ("htb default 20 { class 10 rate 1mbit match dscp EF; class 20 rate 7mbit }", "class 1:10"),
    ] {
        let output = mixed(aqm, "");
        let voice = queue(link(&output), name);
        let sent = 311e3 * (11.0 - 1.7) / (8.0 * voice.bytes as f64 / voice.packets as f64);
        assert!((voice.packets as f64 / sent - 1.0).abs() < 0.15, "{aqm}: {} {sent}", voice.packets);
        assert_eq!(voice.marked, 0, "{aqm}");
    }
}

#[test]
fn a_queue_that_changes_brings_its_own_queues() {
    let change = "[[changes]]\nat = \"5 s\"\nlink.aqm = \"prio\"\n";
    let output = mixed("codel", change);
    let link = link(&output);
    assert_eq!(names(link), ["band 1", "band 2", "band 3"]);
    let arrived: u64 = link.queues.iter().map(|queue| queue.arrived).sum();
    assert!(arrived > 0 && arrived < link.arrived);
}

/// A discipline without queues does not report enqueued packets to these counters, and their handles may have belonged
/// to others.
#[test]
fn a_discipline_without_queues_counts_in_none() {
    for before in ["cake", "prio", "dualpi2", "tbf rate 700kbit burst 3kB { dualpi2 }"] {
        for after in ["codel", "droptail", "fq_codel"] {
            let text = |replaced: &str| {
                format!(
                    "duration = \"2900 ms\"\nseed = 17\n[link]\nrate = \"530 kbit/s\"\naqm = \"{before}\"\nlimit = \"57 packets\"\n\
                     delay = \"13 ms\"\n[[flows]]\nkind = \"tcp\"\ncount = 3\n[[flows]]\nkind = \"packmime\"\n\
                     connections_per_second = 37\n{replaced}"
                )
            };
            let change = format!("[[changes]]\nat = \"1103 ms\"\nlink.aqm = \"{after}\"\n");
            let output = run(&text(&change));
            let link = link(&output);
            let whole = run(&text("").replace("2900 ms", "1103 ms"));
            assert_eq!(names(link), names(self::link(&whole)));
            let arrived = |link: &LinkSummary| link.queues.iter().map(|queue| queue.arrived).sum::<u64>();
            assert_eq!(arrived(link), arrived(self::link(&whole)), "{before}, then {after}");
            let backlog: f64 = link.queues.iter().map(|queue| queue.mean_backlog_packets * 2900.0).sum();
            let until: f64 = self::link(&whole).queues.iter().map(|queue| queue.mean_backlog_packets * 1103.0).sum();
            assert!((backlog / until - 1.0).abs() < 1e-6, "{before}, then {after}: {backlog}, {until} packet-ms");
        }
    }
}
