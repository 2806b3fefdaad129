//! Shapers and priorities on a simulated link: rates of classes, delays, and the effect on later queues.

use crate::common::{run, whole};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Output, Simulation};
use std::path::Path;

/// Goodput of each group of flows in Mbit/s.
fn goodputs(output: &Output) -> Vec<f64> {
    output.summary.groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect()
}

#[test]
fn classes_that_flow_groups_name_share_a_link_as_they_are_promised() {
    // 8 Mbit/s below a link of 20: two classes are guaranteed 6 and 2 Mbit/s; the third has a ceiling of its own.
    let output = run(r#"
duration = "30 s"
warmup = "10 s"
[link]
rate = "20 Mbit/s"
limit = "1000 packets"
aqm = """htb {
  class 1 rate 8mbit burst 15kB cburst 15kB
  class 10 parent 1 rate 6mbit ceil 8mbit cburst 15kB { fq_codel }
  class 20 parent 1 rate 2mbit ceil 8mbit cburst 15kB { fq_codel }
  class 30 rate 1mbit cburst 15kB match dscp CS1 { fq_codel }
}"""
[[flows]]
kind = "tcp"
class = "1:10"
rtt = "20 ms"
[[flows]]
kind = "tcp"
class = "1:20"
rtt = "20 ms"
count = 3
[[flows]]
kind = "tcp"
dscp = "CS1"
rtt = "20 ms"
"#);
    // 1448 of the 1500 bytes of a packet are payload.
    for (goodput, rate) in goodputs(&output).into_iter().zip([6.0, 2.0, 1.0]) {
        let expected = rate * 1448.0 / 1500.0;
        assert!((goodput / expected - 1.0).abs() < 0.03, "{goodput} Mbit/s where {expected} are promised");
    }
}

/// Three datagram flows of 14 Mbit/s each, of 700, 1500 and 300 B, in classes of 1, 2 and 4 Mbit/s that may borrow up
/// to 21.
fn three_that_do_not_listen(inside: &str, limit: &str) -> Output {
    run(&format!(
        r#"
duration = "20 s"
warmup = "4 s"
[link]
rate = "100 Mbit/s"
limit = "{limit}"
aqm = """htb {{
  class 1 rate 21mbit
  class 11 parent 1 rate 1mbit ceil 21mbit{inside}
  class 12 parent 1 rate 2mbit ceil 21mbit{inside}
  class 13 parent 1 rate 4mbit ceil 21mbit{inside}
}}"""
[[flows]]
kind = "cbr"
rate = "14 Mbit/s"
size = "700 B"
class = "1:11"
[[flows]]
kind = "cbr"
rate = "14 Mbit/s"
size = "1500 B"
class = "1:12"
[[flows]]
kind = "cbr"
rate = "14 Mbit/s"
size = "300 B"
class = "1:13"
[probes]
packets = true
"#
    ))
}

/// The excess of 21 Mbit/s is shared by quanta, which are proportional to the rates: 3, 6 and 12 Mbit/s of IP packets,
/// as in the kernel. With one limit for all classes, a class with many packets would displace those of the others:
/// 8.16, 6.48 and 5.34.
#[test]
fn a_class_pushes_out_nobody_elses_packets() {
    for (inside, limit) in
        [("", "1000 packets"), (" { codel }", "700 packets"), (" { fq_codel }", "1000 packets"), ("", "61 packets")]
    {
        let output = three_that_do_not_listen(inside, limit);
        for (goodput, (rate, size)) in goodputs(&output).into_iter().zip([(3.0, 700.0), (6.0, 1500.0), (12.0, 300.0)]) {
            let expected = rate * (size - 28.0) / size;
            assert!(
                (goodput / expected - 1.0).abs() < 0.01,
                "{inside} {limit}: {goodput} Mbit/s where {expected} are due"
            );
        }
    }
}

/// Each class has a queue of 1000 packets, which unresponsive flows fill: 300 B at 12 Mbit/s take 197 ms, and four in
/// five packets are of that class. The kernel engine agrees to the microsecond: 197.001 ms, and under FQ-CoDel 157.417
/// with a mean of 196.95. With one limit for all classes it would be 3 ms.
#[test]
fn a_class_has_room_for_as_many_packets_as_the_device_has() {
    for (inside, expected) in [("", 197.0), (" { fq_codel@linux }", 157.4)] {
        let output = three_that_do_not_listen(inside, "1000 packets");
        let median = output.summary.links.forward.sojourn_ms.p50.expect("packets were sent");
        assert!((median / expected - 1.0).abs() < 0.005, "{inside}: {median} ms");
    }
}

#[test]
fn sqm_keeps_calls_short_and_the_modem_empty() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/sqm.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    let mut scenario = Scenario::parse(&text, &[], Path::new("/")).expect("a scenario");
    scenario.duration = sojourn_aqm::Duration::from_secs(20);
    scenario.probes.packets = true;
    let output = Simulation::new(&scenario, 1).finish();
    let (links, flows, sojourns) =
        (whole(&output, "packets", "link"), whole(&output, "packets", "flow"), whole(&output, "packets", "sojourn_ns"));
    let of = |calls: bool| {
        let rows = links.iter().zip(&flows).zip(&sojourns);
        let mut waited: Vec<_> = rows.filter(|&((&l, &f), _)| l == 0 && (f < 2) == calls).map(|(_, &ns)| ns).collect();
        waited.sort_unstable();
        assert!(waited.len() > 500, "{} packets", waited.len());
        waited[waited.len() * 99 / 100] as f64 / 1e6
    };
    // A call waits for one packet of its own class and one in transmission, 1500 B at 50 Mbit/s: far less than a
    // millisecond.
    let (calls, others) = (of(true), of(false));
    assert!(calls < 1.0 && others > 5.0, "calls wait {calls} ms, others {others} ms");
    // 45 Mbit/s of packets of 1500 B, less the rate of the calls.
    let down: f64 = goodputs(&output)[1];
    assert!((0.95..1.0).contains(&(down / (45.0 * 1448.0 / 1500.0))), "{down} Mbit/s");
}

#[test]
fn a_code_point_that_a_queue_clears_is_not_seen_behind_it() {
    for (wash, rate) in [("", 1.0), (" wash", 5.0)] {
        let output = run(&format!(
            r#"
duration = "20 s"
warmup = "10 s"
[link]
rate = "20 Mbit/s"
aqm = "cake diffserv4{wash}"
limit = "1000 packets"
[[links]]
name = "second"
rate = "20 Mbit/s"
limit = "1000 packets"
aqm = "htb default 20 {{ class 10 rate 1mbit cburst 15kB match dscp EF {{ fq_codel }}; class 20 rate 5mbit cburst 15kB {{ fq_codel }} }}"
[[flows]]
kind = "tcp"
dscp = "EF"
rtt = "20 ms"
route = ["link", "second"]
"#
        ));
        let (goodput, expected) = (goodputs(&output)[0], rate * 1448.0 / 1500.0);
        assert!((goodput / expected - 1.0).abs() < 0.03, "{wash}: {goodput} Mbit/s, not {expected}");
    }
}
