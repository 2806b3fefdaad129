//! Around a link's server: framing, the buffer below the queue, loss and delay after it.

use crate::common::{TraceFile, real, run, whole};
use sojourn_sim::Output;

/// Departure times from the queue of the packets sent on the forward link, in microseconds.
fn dequeues_us(output: &Output) -> Vec<u64> {
    let [time, fate, link] = ["time_ns", "fate", "link"].map(|name| whole(output, "packets", name));
    (0..time.len()).filter(|&i| fate[i] < 2 && link[i] == 0).map(|i| time[i] / 1000).collect()
}

/// Packets of 1500 B of all flows that reach their sinks in each millisecond, from a probe of 1 ms.
fn arrivals_by_ms(output: &Output, ms: usize) -> Vec<u64> {
    let (time, goodput) = (whole(output, "flows", "time_ns"), real(output, "flows", "goodput_bps"));
    let mut arrivals = vec![0; ms + 1];
    for (time, goodput) in time.iter().zip(goodput) {
        arrivals[(time / 1_000_000) as usize] += (goodput / 8000.0 / 1472.0).round() as u64;
    }
    arrivals
}

/// Six simultaneous packets of 1500 B on a link that takes 1 ms for each.
fn six_at_once(link: &str) -> Output {
    let flow = "[[flows]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstop = \"1 us\"\ncount = 6\n";
    run(&format!("duration = \"20 ms\"\n[link]\n{link}\n{flow}[probes]\npackets = true\nflows = \"1 ms\""))
}

#[test]
fn a_buffer_below_takes_packets_out_of_the_queue_and_delivers_none_earlier() {
    for (below, dequeued_ms) in [
        ("", [0, 1, 2, 3, 4, 5]),
        // Linux stops once its limit is exceeded: one packet is sent while a second waits in the driver.
        ("below = \"1514 B\"", [0, 0, 1, 2, 3, 4]),
        ("below = \"1513 B\"", [0, 1, 2, 3, 4, 5]),
        ("below = \"3 kB\"", [0, 0, 1, 2, 3, 4]),
        ("below = \"1 packet\"", [0, 1, 2, 3, 4, 5]),
        ("below = \"3 packets\"", [0, 0, 0, 1, 2, 3]),
        // Three packets, and again when one is left.
        ("below = \"3 packets wake 1 packet\"", [0, 0, 0, 2, 2, 4]),
        ("below = \"1 MB\"", [0; 6]),
        // The limit is zero at first, and one packet once the driver has run dry.
        ("below = \"bql\"", [0, 1, 1, 2, 3, 4]),
        ("below = \"2 packets bql\"", [0, 1, 1, 2, 3, 4]),
        ("below = \"bql max 1513 B\"", [0, 1, 2, 3, 4, 5]),
        ("below = \"1 packet bql\"", [0, 1, 2, 3, 4, 5]),
    ] {
        let output = six_at_once(&format!("rate = \"12 Mbit/s\"\n{below}"));
        assert_eq!(dequeues_us(&output), dequeued_ms.map(|ms| ms * 1000), "{below}");
        assert_eq!(arrivals_by_ms(&output, 20)[..8], [0, 1, 1, 1, 1, 1, 1, 0], "{below}");
        assert_eq!(output.summary.links.forward.utilisation, 0.3, "{below}");

        // Two opportunities every 2 ms: the same, in pairs.
        let trace = TraceFile::new([2, 2, 4, 4, 6, 6, 8, 8]);
        let output = six_at_once(&format!("trace = \"{}\"\n{below}", trace.path()));
        assert_eq!(arrivals_by_ms(&output, 20)[..8], [0, 0, 2, 0, 2, 0, 2, 0], "{below}");
    }
    let trace = TraceFile::new([2, 2, 4, 4, 6, 6, 8, 8]);
    let output = six_at_once(&format!("trace = \"{}\"\nbelow = \"1514 B\"", trace.path()));
    // Two packets enter the buffer at once; each departure admits another one.
    assert_eq!(dequeues_us(&output), [0, 0, 2000, 2000, 4000, 4000]);
}

#[test]
fn a_packet_that_waits_below_is_no_longer_the_queue_managers() {
    // 10 packets in the queue, 1 ms each, and 20 more in the ring: they wait 30 ms, and the queue sees 10 of these.
    let text = |below: &str| {
        format!(
            "duration = \"2 s\"\nwarmup = \"1 s\"\n[link]\nrate = \"12 Mbit/s\"\nlimit = \"10 packets\"\n{below}\n\
             [[flows]]\nkind = \"cbr\"\nrate = \"24 Mbit/s\"\n[probes]\nflows = \"1 ms\""
        )
    };
    let (plain, ring) = (run(&text("")), run(&text("below = \"20 packets\"")));
    for output in [&plain, &ring] {
        let forward = &output.summary.links.forward;
        assert!(forward.utilisation == 1.0 && forward.packets.abs_diff(1000) <= 1, "{} packets", forward.packets);
        assert!((forward.sojourn_ms.mean.unwrap() - 10.0).abs() < 0.6, "{:?}", forward.sojourn_ms);
    }
}

#[test]
fn framing_takes_its_time_and_the_queue_counts_it_or_not() {
    // 33 ATM cells of 53 B for 1500 B with 40 B of PPPoE: 1749 B take 13.992 ms at 1 Mbit/s.
    for (account, bytes) in [("adjusted", 1749), ("ip", 1500)] {
        let link =
            format!("rate = \"1 Mbit/s\"\nframing = \"pppoe-llcsnap\"\naccount = \"{account}\"\nlimit = \"5 packets\"");
        let output = run(&format!(
            "duration = \"1 s\"\n[link]\n{link}\n[[flows]]\nkind = \"cbr\"\nrate = \"3 Mbit/s\"\n[probes]\npackets = true"
        ));
        let times = dequeues_us(&output);
        assert_eq!(times.len(), 72);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 13_992), "{account}");
        assert!(whole(&output, "packets", "bytes").iter().all(|&found| found == bytes), "{account}");
        assert_eq!(output.summary.links.forward.utilisation, 1.0);
    }
    // The same overhead with and without the general code: 1538 B.
    let of = |framing: &str| {
        let output = run(&format!(
            "duration = \"5 s\"\n[link]\nrate = \"10 Mbit/s\"\n{framing}\naqm = \"codel\"\n[[flows]]\nkind = \"tcp\"\n\
             stack = \"linux-2.6.29\"\ncc = \"reno\"\nrtt = \"20 ms\""
        ));
        output.summary.fingerprint
    };
    assert_eq!(of("overhead = \"38 B\""), of("framing = \"ethernet-wire\""), "an ACK of 52 B has 90 B on the wire");
    assert_ne!(of("overhead = \"38 B\""), of("overhead = \"38 B\"\nmpu = \"91 B\""));
}

#[test]
fn loss_is_behind_the_queue_and_counted_apart() {
    let text = |loss: &str| {
        format!(
            "duration = \"101 s\"\nwarmup = \"1 s\"\n[link]\nrate = \"12 Mbit/s\"\n{loss}\nlimit = \"10 packets\"\n\
             [[flows]]\nkind = \"cbr\"\nrate = \"18 Mbit/s\""
        )
    };
    let clean = run(&text("")).summary;
    for loss in ["loss = 0.05", "loss = { p = 0.01, r = 0.19 }"] {
        let lossy = run(&text(loss)).summary;
        let (forward, before) = (&lossy.links.forward, &clean.links.forward);
        assert_eq!(lossy.fingerprint, clean.fingerprint, "the queue does not know of it");
        assert_eq!((forward.dropped, forward.packets, before.lost), (before.dropped, before.packets, 0));
        let share = forward.lost as f64 / forward.packets as f64;
        assert!((share - 0.05).abs() < 0.006, "{loss}: {share}");
        let loss_share = 1.0 - lossy.flows[0].payload.bytes as f64 / clean.flows[0].payload.bytes as f64;
        assert!((loss_share - share).abs() < 1e-4, "{loss}: {loss_share} of the goodput, {share} of the packets");
    }
    let all = run(&text("loss = 1.0")).summary;
    assert_eq!((all.flows[0].payload.bytes, all.links.forward.lost), (0, all.links.forward.packets));
}

#[test]
fn tcp_repairs_what_the_medium_loses() {
    let text = |link: &str, reverse: &str| {
        format!(
            "duration = \"20 s\"\n[link]\nrate = \"10 Mbit/s\"\n{link}\n[reverse]\nrate = \"10 Mbit/s\"\n{reverse}\n\
             [[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nrtt = \"40 ms\"\n"
        )
    };
    let data = run(&text("loss = 0.01", "")).summary;
    assert!(data.flows[0].retransmissions > 20 && data.links.forward.lost > 20, "{:?}", data.flows);
    let acks = run(&text("", "loss = 0.3")).summary;
    assert!(acks.links.reverse.lost > 1000, "{:?}", acks.links.reverse);
    assert!(acks.goodput_bps > data.goodput_bps, "ACKs are cumulative");
}

#[test]
fn packets_keep_their_order_when_the_delay_falls_unless_they_may_overtake() {
    // A packet per millisecond; the delay falls from 50 to 10 ms at 1 s, and rises to 30 ms at 2 s.
    let arrivals = |reorder: bool| {
        let output = run(&format!(
            "duration = \"3 s\"\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"50 ms@0s,10 ms@1s,30 ms@2s\"\nreorder = {reorder}\n\
             [[flows]]\nkind = \"cbr\"\nrate = \"12 Mbit/s\"\n[probes]\nflows = \"1 ms\""
        ));
        arrivals_by_ms(&output, 3000)
    };
    let (fifo, free) = (arrivals(false), arrivals(true));
    assert_eq!((fifo[900], free[900], fifo[1500], free[1500]), (1, 1, 1, 1));
    // Packets sent from 0.950 to 1 s are in transit, and from 1.010 s on later ones arrive between them.
    assert!((1011..1049).all(|ms| fifo[ms] == 1 && free[ms] == 2), "{:?}", &free[1005..1055]);
    // In order, the 40 packets that are early arrive together with the last of the old ones.
    assert!((1049..=1051).any(|ms| fifo[ms] >= 40), "{:?}", &fifo[1045..1055]);
    // A rise leaves a gap of its size.
    assert_eq!((2012..2029).map(|ms| fifo[ms] + free[ms]).sum::<u64>(), 0);
    let total = |arrivals: &[u64]| arrivals.iter().sum::<u64>();
    assert_eq!(total(&fifo), total(&free));
}

#[test]
fn ethernet_carries_97_and_a_half_percent_of_ip() {
    // 1448 B of payload in 1538 B on the wire: 9.415 of 10 Mbit/s; 9.753 Mbit/s of IP.
    let output = run(
        "duration = \"20 s\"\nwarmup = \"10 s\"\n[link]\nrate = \"10 Mbit/s\"\nframing = \"ethernet-wire\"\naccount = \"ip\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nrtt = \"20 ms\"\n\
         receive_window = \"100 kB\"",
    );
    let (forward, goodput) = (&output.summary.links.forward, output.summary.goodput_bps);
    assert_eq!(forward.utilisation, 1.0);
    assert!((forward.bytes as f64 * 0.8 - 9.753e6).abs() < 2e3, "{} bytes of IP", forward.bytes);
    assert!((goodput - 9.415e6).abs() < 2e3, "{goodput} bit/s");
}
