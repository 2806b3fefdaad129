//! Super-packets: bursts of senders with segmentation offload, segments joined by NICs with receive offload.

use crate::common::{run, whole};
use sojourn_sim::Output;
use sojourn_sim::scenario::Scenario;
use std::path::Path;

/// Packets sent or dropped by the queue of a link: time in microseconds, bytes, and whether dropped.
fn log(output: &Output, of_link: u64) -> Vec<(u64, u64, bool)> {
    let [link, time, bytes, fate] = ["link", "time_ns", "bytes", "fate"].map(|name| whole(output, "packets", name));
    (0..link.len()).filter(|&i| link[i] == of_link).map(|i| (time[i] / 1000, bytes[i], fate[i] > 1)).collect()
}

/// One transfer of `size` bytes over `link` with an RTT of 20 ms and an initial window of 10.
fn transfer(link: &str, size: u32, flow: &str) -> Output {
    run(&format!(
        "duration = \"20 s\"\n[link]\n{link}\n[reverse]\nrate = \"1 Gbit/s\"\n[[flows]]\nkind = \"tcp\"\n\
         cc = \"reno\"\nsize = \"{size} B\"\ninitial_window = 10\nrtt = \"20 ms\"\n{flow}\n[probes]\npackets = true"
    ))
}

const OLD: &str = "stack = \"linux-2.6.29\"";

#[test]
fn a_burst_is_one_packet_of_the_queue_and_its_segments_leave_back_to_back() {
    // Seven full segments and 777 bytes, each with 52 bytes of headers: 1500 B take 12 ms at 1 Mbit/s.
    let size = 7 * 1448 + 777;
    let plain = transfer("rate = \"1 Mbit/s\"", size, OLD);
    let joined = transfer("rate = \"1 Mbit/s\"", size, &format!("{OLD}\ngso = true"));
    let whole = 7 * 1500 + 829;
    let (of_plain, of_joined) = (log(&plain, 0), log(&joined, 0));
    // The SYN; 20 ms plus its own 480 us (and 0.48 us of the SYN-ACK) later an acknowledgment, followed by the data.
    let sizes: Vec<u64> = of_plain.iter().map(|&(_, bytes, _)| bytes).collect();
    assert_eq!(sizes[..10], [60, 52, 1500, 1500, 1500, 1500, 1500, 1500, 1500, 829]);
    assert_eq!(of_joined[..3], [(10_000, 60, false), (30_480, 52, false), (30_896, whole, false)]);
    assert_eq!(of_joined[0], of_plain[0]);
    // All segments leave the wire at the same times, so the transfer and all acknowledgments take the same time.
    let done = |output: &Output| output.summary.groups[0].completion_ms.max.expect("it ends");
    assert_eq!(done(&plain), done(&joined));
    assert_eq!(log(&plain, 1), log(&joined, 1));
    let [a, b] = [&plain, &joined].map(|output| &output.summary.links.forward);
    assert_eq!((a.bytes, a.utilisation, a.packets - 7), (b.bytes, b.utilisation, b.packets));
    // The super-packet waits as one packet.
    assert!(a.mean_backlog_packets > 10.0 * b.mean_backlog_packets);
}

#[test]
fn bursts_follow_the_stack() {
    // An open window of 100 segments, and 100 segments to send.
    let bursts = |flow: &str| {
        let flow = format!("{flow}\ngso = true").replace("initial_window", "window");
        let text = format!(
            "duration = \"2 s\"\n[link]\nrate = \"10 Gbit/s\"\n[[flows]]\nkind = \"tcp\"\ncc = \"reno\"\nsize = \"144800 B\"\n\
             initial_window = 100\nrtt = \"50 ms\"\n{flow}\n[probes]\npackets = true"
        );
        let log = log(&run(&text), 0);
        log.iter().filter(|(_, bytes, _)| *bytes > 100).map(|(_, bytes, _)| bytes / 1500).collect::<Vec<_>>()
    };
    // 64 kB hold 45 segments.
    assert_eq!(bursts(OLD), [45, 45, 10]);
    assert_eq!(bursts("stack = \"linux-3.8\""), [45, 45, 10]);
    // Twice 100 segments per 50 ms is 3.9 per 1/1024 s.
    assert_eq!(bursts("stack = \"linux-3.13\""), [[3; 33].as_slice(), &[1]].concat());
    // The window is infinitely far below the threshold: the same rate. A segment that fills the receive window of
    // 64,088 bytes and the remainder of its piece have 1448 bytes together.
    let modern = bursts("stack = \"linux-6.1\"");
    assert_eq!((modern.iter().sum::<u64>(), modern.iter().max()), (99, Some(&3)), "{modern:?}");
}

#[test]
fn a_super_packet_is_dropped_whole() {
    let size = 7 * 1448 + 777;
    let whole = 7 * 1500 + 829;
    let flow = format!("{OLD}\ngso = true");
    for (limit, drops) in [
        // The first packet passes an idle link at any limit in packets.
        ("1 packet", 0),
        (&format!("{whole} B"), 0),
        (&format!("{} B", whole - 1), 1),
    ] {
        let output = transfer(&format!("rate = \"1 Mbit/s\"\nlimit = \"{limit}\""), size, &flow);
        let group = &output.summary.groups[0];
        let dropped: Vec<_> = log(&output, 0).into_iter().filter(|(.., dropped)| *dropped).collect();
        assert_eq!(dropped, vec![(30_480, whole, true); drops], "{limit}");
        // All eight segments are lost: a time-out, and single retransmissions.
        let expected = if drops > 0 { 8 } else { 0 };
        assert_eq!((group.transfers, group.retransmissions), (1, expected), "{limit}");
    }
}

#[test]
fn cake_and_dualpi2_take_segments_unless_told_otherwise() {
    let size = 7 * 1448 + 777;
    for (aqm, count) in [
        ("cake", 8),
        ("cake split_gso off", 1),
        ("dualpi2", 8),
        ("dualpi2 no_split_gso", 1),
        ("fq_codel", 1),
        ("pie", 1),
    ] {
        // All packets wait for less than any target: 5 ms.
        let link = format!("rate = \"20 Mbit/s\"\naqm = \"{aqm}\"");
        let output = transfer(&link, size, &format!("{OLD}\ngso = true"));
        let data = log(&output, 0).iter().filter(|(_, bytes, _)| *bytes > 100).count();
        assert_eq!(data, count, "{aqm}");
    }
}

#[test]
fn a_shaper_charges_every_segment_of_a_super_packet() {
    // Ten segments with 22 B of overhead each at 4 Mbit/s above a link of 1 Gbit/s; then the next packet may be sent.
    let size = 20 * 1448;
    let departures = |split: &str| {
        let link = format!("rate = \"1 Gbit/s\"\naqm = \"cake bandwidth 4Mbit rtt 1s overhead 22 split_gso {split}\"");
        let output = transfer(&link, size, &format!("{OLD}\ngso = true"));
        let data = log(&output, 0).into_iter().filter(|(_, bytes, _)| *bytes > 100);
        data.map(|(time, bytes, _)| (time, bytes / 1500)).collect::<Vec<_>>()
    };
    let (split, unsplit) = (departures("on"), departures("off"));
    assert_eq!((split.len(), unsplit[0].1), (20, 10));
    // Ten packets of 1522 B take 30.44 ms.
    for (departures, of_second) in [(&split, 10), (&unsplit, 1)] {
        let gap = departures[of_second].0 - departures[0].0;
        assert!(gap.abs_diff(30_440) <= 1, "{gap} us: {departures:?}");
    }
}

#[test]
fn a_card_joins_what_arrives_within_a_poll() {
    // Ten segments arrive over an access link every 120 us; the NIC is polled 500 us after the first.
    let size = 10 * 1448;
    let flow = format!("{OLD}\naccess_rate = \"100 Mbit/s\"");
    let plain = log(&transfer("rate = \"10 Mbit/s\"", size, &flow), 0);
    let joined = log(&transfer("rate = \"10 Mbit/s\"\ngro = \"500 us\"", size, &flow), 0);
    let data = |log: &[(u64, u64, bool)]| {
        log.iter().map(|&(time, bytes, _)| (time, bytes)).filter(|&(_, b)| b > 100).collect::<Vec<_>>()
    };
    let (plain, joined) = (data(&plain), data(&joined));
    assert_eq!(plain.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), [1500; 10]);
    // The SYN waits for a poll. The last acknowledgment of the handshake, 120 us before the data, starts another one
    // with four segments; five segments arrive in the next. The link takes 41.6 us for the acknowledgment, 1.2 ms for a
    // segment.
    let first = joined[0].0;
    assert!(first.abs_diff(plain[0].0 + 500 - 120 + 500 + 41) <= 1, "{first}");
    assert_eq!(joined, [(first, 6000), (first + 4800, 7500), (first + 10_800, 1500)]);

    // A sender's NIC sends segments whatever its bursts; without a rate it sends the burst itself.
    let offloaded = log(&transfer("rate = \"10 Mbit/s\"", size, &format!("{flow}\ngso = true")), 0);
    assert_eq!(data(&offloaded), plain);
    let offloaded = log(&transfer("rate = \"10 Mbit/s\"", size, &format!("{OLD}\ngso = true")), 0);
    assert_eq!(data(&offloaded).iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), [15_000]);
}

#[test]
fn datagrams_acknowledgments_and_other_flows_stay_apart() {
    let text = |gro: &str| {
        format!(
            "duration = \"2 s\"\n[link]\nrate = \"20 Mbit/s\"\n{gro}\n[reverse]\nrate = \"20 Mbit/s\"\n{gro}\n\
             [[flows]]\nkind = \"cbr\"\nrate = \"8 Mbit/s\"\n\
             [[flows]]\nkind = \"tcp\"\n{OLD}\ncount = 3\nrtt = \"20 ms\"\naccess_rate = \"1 Gbit/s\"\n[probes]\npackets = true"
        )
    };
    let (plain, joined) = (run(&text("")), run(&text("gro = \"3 ms\"")));
    for (output, has_joined) in [(&plain, false), (&joined, true)] {
        let [link, flow, bytes] = ["link", "flow", "bytes"].map(|name| whole(output, "packets", name));
        let largest = |l: u64, f: fn(u64) -> bool| {
            (0..link.len()).filter(|&i| link[i] == l && f(flow[i])).map(|i| bytes[i]).max().unwrap()
        };
        assert_eq!(largest(0, |flow| flow == 0), 1500, "datagrams");
        assert!(largest(1, |_| true) <= 60 + 16, "acknowledgments");
        assert_eq!(largest(0, |flow| flow > 0) > 1500, has_joined);
        let tcp = &output.summary.groups[1];
        assert!(tcp.payload.goodput_bps > 5e6, "{}", tcp.payload.goodput_bps);
    }
}

#[test]
fn further_links_get_segments_or_join_them_again() {
    let bytes = |gro: &str| {
        let output = run(&format!(
            "duration = \"2 s\"\n[link]\nrate = \"100 Mbit/s\"\n[[links]]\nname = \"second\"\nrate = \"50 Mbit/s\"\n{gro}\n\
             [[flows]]\nkind = \"tcp\"\n{OLD}\ngso = true\nsize = \"14480 B\"\ninitial_window = 10\nrtt = \"20 ms\"\n\
             route = [\"link\", \"second\"]\n[probes]\npackets = true"
        ));
        let of =
            |link| log(&output, link).into_iter().map(|(_, bytes, _)| bytes).filter(|&b| b > 100).collect::<Vec<_>>();
        (of(0), of(2))
    };
    assert_eq!(bytes(""), (vec![15_000], vec![1500; 10]));
    // Segments arrive every 120 us: four after an acknowledgment, five, and the last one.
    assert_eq!(bytes("gro = \"500 us\""), (vec![15_000], vec![6000, 7500, 1500]));
}

#[test]
fn a_receiver_acknowledges_what_its_card_has_joined() {
    // Ten segments, one every 1.2 ms. Two are acknowledged at once, then every second one; with a poll every 5 ms, each
    // poll.
    let size = 10 * 1448;
    let acks = |more: &str| {
        let output = transfer("rate = \"10 Mbit/s\"", size, &format!("{OLD}\n{more}"));
        let done = output.summary.groups[0].completion_ms.max.expect("it ends");
        (log(&output, 1).len(), done)
    };
    let ((plain, plain_ms), (joined, joined_ms)) = (acks(""), acks("gro = \"5 ms\""));
    // SYN-ACK; the acknowledgment of the handshake waits for its own poll, at 5 ms with 4 more segments; then five
    // segments 6.2 ms later, and the last one.
    assert_eq!((plain, joined), (1 + 6, 1 + 3), "{plain_ms} and {joined_ms} ms");
    // The SYN and the last segment wait for 5 ms each.
    assert!((joined_ms - plain_ms - 10.0).abs() < 1e-6, "{plain_ms} and {joined_ms} ms");
    // A dialogue: a request and 20 kB, repeatedly.
    let pages = |gro: &str| {
        let output = run(&format!(
            "duration = \"3 s\"\n[link]\nrate = \"10 Mbit/s\"\n[[flows]]\nkind = \"request\"\nsize = \"20 kB\"\n{OLD}\n\
             rtt = \"20 ms\"\n{gro}"
        ));
        let group = &output.summary.groups[0];
        (group.transfers, group.retransmissions, output.summary.links.reverse.packets)
    };
    let ((plain, _, plain_acks), (joined, retransmissions, joined_acks)) = (pages(""), pages("gro = \"3 ms\""));
    assert!(joined > 20 && joined < plain && retransmissions == 0, "{joined} of {plain}");
    assert!(
        joined_acks * plain * 2 < plain_acks * joined * 3 / 2,
        "{joined_acks} for {joined}, {plain_acks} for {plain}"
    );
}

#[test]
fn rings_below_the_queue_hold_super_packets() {
    let link = "rate = \"1 Mbit/s\"\nbelow = \"1 packet\"";
    let size = 20 * 1448;
    let output = transfer(link, size, &format!("{OLD}\ngso = true"));
    let joined: Vec<_> = log(&output, 0).into_iter().filter(|&(_, bytes, _)| bytes > 100).collect();
    // The second super-packet leaves the queue after the last of the ten segments of the first.
    assert_eq!((joined[0], joined[1].0), ((30_896, 15_000, false), 30_896 + 10 * 12_000));
}

#[test]
fn wrong_input_is_named() {
    let scenario =
        |text: &str| Scenario::parse(text, &[], Path::new(".")).map(|_| ()).map_err(|error| error.to_string());
    let flow =
        |more: &str| format!("duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\n{more}");
    let wlan = |link: &str, more: &str| {
        format!("duration = \"1 s\"\n[wlan]\n[[wlan.stations]]\n[link]\n{link}\n[[flows]]\nkind = \"tcp\"\n{more}")
    };
    for (text, error) in [
        (
            flow("stack = \"ns2\"\ncc = \"reno\"\ngso = true"),
            "flows[0].gso: ns2 sends packets one by one; choose a stack of Linux, or leave it out",
        ),
        (flow("gso = \"on\""), "flows[0].gso: expected true or false, found a text"),
        (
            flow("stack = \"linux-6.1\"\nabc = 1"),
            "flows[0].abc: linux-6.1 has no appropriate byte counting, which Linux dropped in 3.9; choose linux-2.6.29 or linux-3.8",
        ),
        (flow("stack = \"linux-3.8\"\nabc = 3"), "flows[0].abc: 3 is out of range; from 0 to 2"),
        (
            flow("").replace("[[flows]]", "gro = \"0 s\"\n[[flows]]"),
            "link.gro: \"0 s\" is not above zero; write e.g. \"5 ms\"",
        ),
        (wlan("", "gso = true"), "flows[0].gso: a wireless LAN carries no super-packets; leave it out"),
        (wlan("gro = \"1 ms\"", ""), "link.gro: a wireless LAN has no receive offload; leave it out"),
    ] {
        assert_eq!(scenario(&text), Err(error.to_string()), "{text}");
    }
}
