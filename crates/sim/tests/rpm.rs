//! Responsiveness tests: results on idle and full links, ramp-up, and termination.

use crate::common::{run, whole};
use sojourn_sim::{Confidence, Output, RpmSummary};

fn test(duration: &str, link: &str, more: &str) -> Output {
    run(&format!("duration = \"{duration}\"\n{link}\n[[flows]]\nkind = \"rpm\"\n{more}\n[probes]\ntransfers = true"))
}

fn result(output: &Output) -> RpmSummary {
    output.summary.groups[0].rpm.expect("a test of responsiveness")
}

/// A connection with a window of ten segments, 5.8 Mbit/s, on a link of 1 Gbit/s and a round trip of 20 ms.
const IDLE: &str = "[link]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"";
const SMALL: &str = "receive_window = \"14480 B\"\nmost = 1\ninterval = \"500 ms\"";

#[test]
fn an_idle_link_of_20_ms_has_3000_round_trips_a_minute_but_for_serialisation() {
    let output = test("20 s", IDLE, SMALL);
    let result = result(&output);
    let r = result.responsiveness;
    // A segment takes 12 µs and a window ten times that; a server's response of 3000 B has three segments.
    for (name, ms) in
        [("tcp", r.tcp_ms), ("tls", r.tls_ms), ("http", r.http_ms), ("http_l in the network", r.loaded_in_network_ms)]
    {
        let ms = ms.unwrap();
        assert!((20.0..20.2).contains(&ms), "{name}: {ms} ms");
    }
    assert!((2970.0..3000.0).contains(&r.rpm_in_network.unwrap()), "{r:?}");
    // 16 kB in the socket leave with the window, ten segments every 20 ms: after one or two round trips.
    let waited = r.loaded_ms.unwrap() - r.loaded_in_network_ms.unwrap();
    assert!((15.0..30.0).contains(&waited), "{waited} ms in the socket");
    assert!(r.rpm.unwrap() < 2600.0);
    assert_eq!((result.class, result.confidence, result.connections), (Some("good"), Confidence::High, 1));
    // Four intervals until goodput is stable, four more for responsiveness.
    assert_eq!((result.saturated_s, result.over_s), (Some(2.0), 4.0));
    let group = &output.summary.groups[0];
    assert_eq!(group.opened, group.closed, "and then all connections are closed");
}

#[test]
fn both_kinds_of_probes_take_turns_and_take_their_part_of_the_capacity_only() {
    let output = test("20 s", IDLE, SMALL);
    let [kind, start, took, in_socket] =
        ["kind", "start_ns", "duration_ns", "in_socket_ns"].map(|name| whole(&output, "rpm_probes", name));
    let count = |wanted: u64| kind.iter().filter(|&&kind| kind == wanted).count();
    assert!(count(0) > 15 && count(0).abs_diff(count(3)) <= 2 && count(0).abs_diff(count(2)) <= 2, "{kind:?}");
    let first = *start.iter().min().unwrap();
    assert!(first > 500_000_000, "the capacity is not known before: {first}");
    // 5 % of 5.8 Mbit/s, in pairs of 6000 B: six pairs per second, for 3.5 s.
    let most = (0.05 * 5.9e6 / (8.0 * 6000.0) * 3.5_f64).ceil() as usize;
    assert!(count(0) <= most && count(3) <= most, "{} and {}, at most {most}", count(0), count(3));
    assert!(kind.iter().zip(&in_socket).all(|(&kind, &ns)| kind == 3 || ns == 0));
    assert!(took.iter().all(|&ns| (20_000_000..60_000_000).contains(&ns)));
}

#[test]
fn without_tls_there_are_two_round_trips() {
    let result = result(&test("20 s", IDLE, &format!("{SMALL}\ntls = false")));
    let r = result.responsiveness;
    assert_eq!(r.tls_ms, None);
    let expected = 60_000.0 / ((r.tcp_ms.unwrap() + r.http_ms.unwrap()) / 2.0);
    assert_eq!(r.foreign_rpm, Some(expected));
}

#[test]
fn a_full_buffer_is_told_from_a_managed_one() {
    let under = |aqm: &str| {
        let link = format!("[link]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\naqm = \"{aqm}\"");
        let result = result(&test("60 s", &link, "interval = \"1 s\""));
        assert!(result.goodput_bps > 8e6, "{result:?}");
        result
    };
    let (full, managed) = (under("droptail"), under("fq_codel"));
    // A thousand packets are 1.2 s.
    assert_eq!(full.class, Some("poor"));
    assert!(full.responsiveness.rpm.unwrap() < 150.0, "{full:?}");
    assert!(managed.responsiveness.rpm.unwrap() > 5.0 * full.responsiveness.rpm.unwrap(), "{managed:?}");
    assert!(managed.responsiveness.foreign_rpm > managed.responsiveness.loaded_rpm, "its own queue is short");
}

#[test]
fn connections_are_added_at_every_interval_up_to_the_most() {
    let link = "[link]\nrate = \"50 Mbit/s\"\ndelay = \"20 ms\"\naqm = \"codel\"";
    let more = "interval = \"500 ms\"\ninitial = 2\nincrement = 3\nmost = 9\ntolerance = 1";
    let after = |ms: u32| result(&test("30 s", link, &format!("{more}\nstop = \"{ms} ms\"")));
    let connections = [600, 1100, 1600, 2600].map(|ms| after(ms).connections);
    assert_eq!(connections, [5, 8, 9, 9]);
}

#[test]
fn what_is_not_stable_in_time_is_told_with_its_confidence() {
    let link = "[link]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"";
    let after = |s: &str| result(&test("60 s", link, &format!("interval = \"1 s\"\nstop = \"{s}\"")));
    let early = after("3500 ms");
    assert_eq!((early.confidence, early.saturated_s, early.over_s), (Confidence::Low, None, 3.5));
    assert!(early.responsiveness.rpm.is_some(), "{early:?}");
    // The end of the run is a limit, too; a test without a complete interval has no result.
    let output = test("3 s", link, "interval = \"1 s\"");
    assert_eq!((result(&output).over_s, result(&output).confidence), (3.0, Confidence::Low));
    assert_eq!(test("900 ms", link, "interval = \"1 s\"").summary.groups[0].rpm, None);
}
