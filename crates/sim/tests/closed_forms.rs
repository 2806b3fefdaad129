//! Whole runs against mathematics: queueing theory, the sawtooth of Reno, and byte counts.

use crate::common::{TraceFile, real, run, whole};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{LinkSummary, Simulation};
use std::path::Path;

/// Packets of 1500 bytes take 1.2 ms each.
const TEN_MBIT: &str = r#"rate = "10 Mbit/s""#;

#[test]
fn md1_mean_wait_is_rho_s_over_2_1_minus_rho() {
    // Eight runs of 200 s, 0.7 to 1.2 million packets. Waits are correlated over 1 / (1 - rho)^2 packets, so the
    // standard error is about 1 % at a load of 0.9 and less below; the tolerance is four times that, and the spread is
    // checked.
    for (rate, rho) in [("5 Mbit/s", 0.5), ("8 Mbit/s", 0.8), ("9 Mbit/s", 0.9)] {
        let expected_ms = rho * 1.2 / (2.0 * (1.0 - rho));
        let text = format!(
            r#"
            duration = "210 s"
            warmup = "10 s"
            [link]
            {TEN_MBIT}
            limit = "1000000 packets"
            [[flows]]
            kind = "poisson"
            rate = "{rate}"
            "#
        );
        let scenario = Scenario::parse(&text, &[], Path::new(".")).unwrap();
        let runs: Vec<_> =
            (1..=8).map(|seed| Simulation::new(&scenario, seed).finish().summary.links.forward).collect();
        let waits: Vec<f64> = runs.iter().map(|link| link.sojourn_ms.mean.unwrap()).collect();
        let (mean, error) = mean_and_standard_error(&waits);
        assert!(error / mean < 0.015, "load {rho}: {mean} ± {error} ms is too wide to judge");
        assert!((mean / expected_ms - 1.0).abs() < 0.04, "load {rho}: {mean} ± {error} ms, expected {expected_ms} ms");
        runs.iter().for_each(|link| assert_littles_law(link, 200.0));
        let utilisation = runs.iter().map(|link| link.utilisation).sum::<f64>() / 8.0;
        assert!((utilisation - rho).abs() < 0.005, "load {rho}: utilisation {utilisation}");
    }
}

/// Little's law: mean backlog = arrival rate x mean wait, except for the few packets that are queued at the two ends of
/// the window.
fn assert_littles_law(link: &LinkSummary, window_s: f64) {
    let expected = link.packets as f64 / window_s * link.sojourn_ms.mean.unwrap() / 1e3;
    assert!((link.mean_backlog_packets / expected - 1.0).abs() < 1e-3, "{} != {expected}", link.mean_backlog_packets);
}

fn mean_and_standard_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn dd1_never_waits_even_at_full_load() {
    // The odd rates have transmission times that are not whole nanoseconds.
    for (link, source, size) in [
        ("10 Mbit/s", "5 Mbit/s", 1500),
        ("10 Mbit/s", "10 Mbit/s", 1500),
        ("7 Mbit/s", "7 Mbit/s", 1000),
        ("333333333 bit/s", "333333333 bit/s", 1499),
    ] {
        let output = run(&format!(
            r#"
            duration = "20 s"
            [link]
            rate = "{link}"
            [[flows]]
            kind = "cbr"
            rate = "{source}"
            size = "{size} B"
            "#
        ));
        let forward = &output.summary.links.forward;
        assert!(forward.packets > 8000, "{link}");
        assert_eq!(forward.sojourn_ms.max, Some(0.0), "{source} into {link}");
        assert_eq!(forward.mean_backlog_packets, 0.0);
    }
}

#[test]
fn constant_rate_is_exact_in_the_long_run() {
    // Packets k = 0, 1, … are sent at k x bits / rate, and one more exactly at the end.
    for (rate, size, sent) in [("7 Mbit/s", 1000, 87_500), ("10 Mbit/s", 1507, 82_946), ("999983 bit/s", 125, 99_998)] {
        let output = run(&format!(
            r#"
            duration = "100 s"
            [link]
            rate = "100 Mbit/s"
            [[flows]]
            kind = "cbr"
            rate = "{rate}"
            size = "{size} B"
            [probes]
            packets = true
            "#
        ));
        assert_eq!(output.summary.flows[0].sent, sent + 1, "{rate}");
        let bits = size * 8;
        let bps: u64 = rate.split_once(' ').map(|(n, unit)| n.parse::<u64>().unwrap() * scale(unit)).unwrap();
        for (k, &time_ns) in whole(&output, "packets", "time_ns").iter().enumerate() {
            let exact = k as u128 * bits as u128 * 1_000_000_000 / bps as u128;
            assert!(
                (time_ns as i128 - exact as i128).abs() <= 1,
                "{rate}, packet {k}: {time_ns} ns, expected {exact} ns"
            );
        }
    }
}

fn scale(unit: &str) -> u64 {
    if unit == "Mbit/s" { 1_000_000 } else { 1 }
}

#[test]
fn framing_bytes_take_their_time_on_the_wire() {
    // 1500 B + 7 B at 10 Mbit/s: 1.2056 ms between departures from a queue that never empties.
    let output = run(&format!(
        r#"
        duration = "10 s"
        [link]
        {TEN_MBIT}
        overhead = "7 B"
        limit = "10 packets"
        [[flows]]
        kind = "cbr"
        rate = "20 Mbit/s"
        [probes]
        packets = true
        "#
    ));
    let (times, fates) = (whole(&output, "packets", "time_ns"), whole(&output, "packets", "fate"));
    let sent: Vec<u64> = times.iter().zip(&fates).filter(|&(_, &fate)| fate == 0).map(|(&time, _)| time).collect();
    assert_eq!(sent.len(), 8295, "10 s / 1.2056 ms, begun");
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 1_205_600));
    assert!(whole(&output, "packets", "bytes").iter().all(|&bytes| bytes == 1507));
    let forward = &output.summary.links.forward;
    assert_eq!((forward.utilisation, forward.bytes), (1.0, 8295 * 1507));
}

#[test]
fn goodput_is_payload() {
    // A window of 300 packets always fills the pipe of 40, and the limit is never reached: no packet is lost.
    let tcp = run(r#"
        duration = "20 s"
        warmup = "10 s"
        [link]
        rate = "12 Mbit/s"
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        rtt = "40 ms"
        receive_window = "434400 B"
        "#);
    let forward = &tcp.summary.links.forward;
    assert_eq!((forward.utilisation, forward.dropped), (1.0, 0));
    // 1 ms per packet of 1500 B, with 1448 B of payload.
    assert_eq!((forward.packets, forward.bytes), (10_000, 15_000_000));
    let segments = tcp.summary.flows[0].payload.bytes as f64 / 1448.0;
    assert!((segments - 10_000.0).abs() <= 1.0, "{segments} segments");
    assert!((tcp.summary.goodput_bps / 12e6 - 1448.0 / 1500.0).abs() < 1e-4, "{} bit/s", tcp.summary.goodput_bps);

    // Half the load as datagrams: IP and UDP headers take 28 of 1000 bytes.
    let udp = run(r#"
        duration = "20 s"
        warmup = "10 s"
        [link]
        rate = "12 Mbit/s"
        [[flows]]
        kind = "cbr"
        rate = "6 Mbit/s"
        size = "1000 B"
        "#);
    assert!((udp.summary.links.forward.utilisation - 0.5).abs() < 1e-4);
    assert!((udp.summary.goodput_bps - 6e6 * 0.972).abs() < 1e3, "{} bit/s", udp.summary.goodput_bps);
}

#[test]
fn a_single_reno_flow_fills_what_its_sawtooth_fills() {
    // BDP: 100 packets of 1 ms. The window grows by one packet per round trip up to 100 + B, plus one in transmission;
    // then it is halved. Without a buffer that makes 75.0 %, to which four packets add three points.
    for (buffer, expected) in [(1, 0.765), (4, 0.786), (10, 0.824), (25, 0.897), (50, 0.966), (100, 1.0)] {
        let b = (buffer + 1) as f64 / 100.0;
        assert!((sawtooth_utilisation(b) - expected).abs() < 0.0005, "{buffer} packets");
        let peak = 100 + buffer;
        let sawtooth_ms: u64 = (peak / 2..peak).map(|window: u64| window.max(100)).sum();
        let output = run(&format!(
            r#"
            duration = "{} ms"
            warmup = "60 s"
            [link]
            rate = "12 Mbit/s"
            limit = "{buffer} packets"
            [reverse]
            rate = "1 Gbit/s"
            [[flows]]
            kind = "tcp"
            stack = "linux-2.6.29"
            cc = "reno"
            rtt = "99 ms"
            delayed_ack = false
            "#,
            60_000 + 20 * sawtooth_ms
        ));
        let (forward, flow) = (&output.summary.links.forward, &output.summary.flows[0]);
        let utilisation = forward.utilisation;
        assert!((utilisation - expected).abs() < 0.01, "{buffer} packets: {utilisation}, expected {expected}");
        assert!(
            (18..=20).contains(&forward.dropped),
            "{buffer} packets: {} drops are no 20 sawtooths",
            forward.dropped
        );
        assert_eq!(flow.timeouts, 0, "{buffer} packets");
    }
}

/// Mean rate of a sawtooth between (1 + b) / 2 and 1 + b bandwidth-delay products, for a buffer of b products.
fn sawtooth_utilisation(b: f64) -> f64 {
    let full = b * (1.0 + b / 2.0);
    if b >= 1.0 { 1.0 } else { ((1.0 - b) * (3.0 + b) / 8.0 + full) / ((1.0 - b) / 2.0 + full) }
}

/// Every opportunity of a saturated link carries a full packet.
#[test]
fn a_saturated_source_gets_every_opportunity_of_a_trace() {
    // 1 to 9 opportunities per millisecond, gaps of up to 27 ms, a period of about a second.
    let opportunities: Vec<u64> = (0..100u64).flat_map(|i| vec![10 * i + i * i % 28; (i % 9 + 1) as usize]).collect();
    let opportunities = {
        let mut sorted = opportunities;
        sorted.sort();
        sorted
    };
    let (period, trace) = (*opportunities.last().unwrap(), TraceFile::new(opportunities.clone()));
    let sources = [
        r#"kind = "cbr"
           rate = "50 Mbit/s""#,
        r#"kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
           rtt = "40 ms"
           receive_window = "1 MB""#,
        r#"kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
           count = 4
           rtt = "40 ms"
           receive_window = "300 kB""#,
    ];
    for source in sources {
        let output = run(&format!(
            r#"
            duration = "30 s"
            warmup = "5 s"
            [link]
            trace = "{}"
            limit = "1000 packets"
            [reverse]
            rate = "100 Mbit/s"
            [[flows]]
            {source}
            "#,
            trace.path()
        ));
        let within = |from: u64, to: u64| {
            (0..=to / period)
                .flat_map(|lap| opportunities.iter().map(move |ms| lap * period + ms))
                .filter(|&ms| from < ms && ms <= to)
                .count() as u64
        };
        let forward = &output.summary.links.forward;
        assert_eq!(forward.utilisation, 1.0, "{source}");
        assert_eq!(forward.bytes, within(5_000, 30_000) * 1500, "{source}");
        assert_eq!(forward.packets * 1500, forward.bytes, "{source}");
    }
}

#[test]
fn a_single_cubic_flow_has_two_kinds_of_teeth() {
    // BDP and buffer: 100 packets each, so the window falls from 201 to 141. If it has just set a new W_max, that is
    // its plateau: it returns after K = cbrt(60 / 0.4) = 5.3 s, and is within one segment of it after 4.0 s. Then it
    // falls short of W_max by a fraction, and fast convergence lowers the plateau to 171: K = 4.2 s, and as long again
    // for the convex part up to 201. A pair of teeth takes 12.4 to 13.7 s, less two round trips of 0.2 s because the
    // curve is evaluated one round trip ahead.
    for cc in ["cubic", "cubic@rfc9438"] {
        let output = run(&format!(
            r#"
            duration = "200 s"
            warmup = "30 s"
            [link]
            rate = "12 Mbit/s"
            limit = "100 packets"
            [reverse]
            rate = "1 Gbit/s"
            [[flows]]
            kind = "tcp"
            stack = "linux-2.6.29"
            cc = "{cc}"
            rtt = "99 ms"
            delayed_ack = false
            [probes]
            flows = "10 ms"
            "#
        ));
        assert_eq!(output.summary.links.forward.utilisation, 1.0, "{cc}: 141 packets keep the link busy");
        assert_eq!(output.summary.flows[0].timeouts, 0, "{cc}");
        let cwnd = &real(&output, "flows", "cwnd")[3_000..];
        let (low, high) = cwnd.iter().fold((f64::MAX, 0.0f64), |(low, high), &w| (low.min(w), high.max(w)));
        assert!((138.0..=143.0).contains(&low) && (200.0..=206.0).contains(&high), "{cc}: {low} to {high}");
        let teeth = cwnd.windows(2).filter(|w| w[0] >= 150.0 && w[1] < 150.0).count() as f64;
        let pair_s = 2.0 * 170.0 / teeth;
        assert!((11.5..=14.0).contains(&pair_s), "{cc}: {pair_s} s for two of {teeth} teeth");
        // Half of them have the plateau of fast convergence.
        let at_171 = cwnd.windows(100).step_by(100).filter(|w| w.iter().all(|w| (170.0..=172.0).contains(w))).count();
        assert!((26..=60).contains(&at_171), "{cc}: {at_171} s at the lower plateau");
    }
}
