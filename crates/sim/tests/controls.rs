//! Current controls over whole runs against published results; nothing here is tuned to the numbers.

use crate::common::{real, run, whole};
use sojourn_sim::Output;

/// Goodput of each group in Mbit/s.
fn goodput(output: &Output) -> Vec<f64> {
    output.summary.groups.iter().map(|group| group.payload.goodput_bps / 1e6).collect()
}

/// Two flows over `link`, each with a control and an RTT in milliseconds.
fn pair(link: &str, seconds: u32, flows: [(&str, u32); 2]) -> Output {
    let flow = |(cc, rtt)| {
        format!("[[flows]]\nkind = \"tcp\"\ncc = \"{cc}\"\nrtt = \"{rtt} ms\"\necn = true\nspread = \"1 s\"\n")
    };
    let flows: String = flows.into_iter().map(flow).collect();
    run(&format!("duration = \"{seconds} s\"\nwarmup = \"{} s\"\n[link]\n{link}\n{flows}", seconds / 3))
}

#[test]
fn prague_gets_more_than_cubic_over_dualpi2_but_not_four_times_as_much() {
    for rtt in [10, 20, 80] {
        let output = pair("rate = \"50 Mbit/s\"\naqm = \"dualpi2@linux\"", 60, [("prague", rtt), ("cubic", rtt)]);
        let goodput = goodput(&output);
        let ratio = goodput[0] / goodput[1];
        assert!((1.0..4.0).contains(&ratio), "{goodput:?} at {rtt} ms");
        assert!(goodput.iter().sum::<f64>() > 46.0, "{goodput:?} at {rtt} ms");
    }
}

#[test]
fn prague_starves_cubic_behind_a_queue_for_classic_traffic() {
    let output = pair("rate = \"50 Mbit/s\"\naqm = \"codel ecn\"", 30, [("prague", 20), ("cubic", 20)]);
    let goodput = goodput(&output);
    assert!(goodput[0] > 8.0 * goodput[1], "{goodput:?}");
}

#[test]
fn dctcp_shares_a_step_and_keeps_the_queue_at_it() {
    for cc in ["dctcp@linux", "dctcp@rfc8257"] {
        let link = "rate = \"50 Mbit/s\"\naqm = \"codel@linux ce_threshold 1ms\"";
        let output = pair(link, 30, [(cc, 10), (cc, 10)]);
        let (goodput, sojourn) =
            (goodput(&output), output.summary.links.forward.sojourn_ms.p99.expect("packets were sent"));
        assert!(goodput.iter().sum::<f64>() > 43.0 && sojourn < 3.0, "{cc}: {goodput:?}, {sojourn} ms");
        assert!(output.summary.links.forward.marked > 0 && output.summary.links.forward.dropped == 0);
    }
}

#[test]
fn bbr_keeps_four_packets_in_flight_for_200_ms_every_ten_seconds() {
    let output = run("duration = \"45 s\"\n[link]\nrate = \"10 Mbit/s\"\nlimit = \"1000 packets\"\n\
         [[flows]]\nkind = \"tcp\"\ncc = \"bbr\"\nrtt = \"40 ms\"\n[probes]\nflows = \"10 ms\"");
    let (in_flight, cwnd) = (whole(&output, "flows", "in_flight"), real(&output, "flows", "cwnd"));
    // Dips after the start, as ranges of 10 ms samples.
    let mut dips: Vec<(usize, usize)> = Vec::new();
    for i in (100..in_flight.len()).filter(|&i| in_flight[i] <= 4) {
        match dips.last_mut() {
            Some((_, last)) if *last + 1 == i => *last = i,
            _ => dips.push((i, i)),
        }
    }
    assert_eq!(dips.len(), 4, "{dips:?}");
    assert!(dips.iter().all(|(first, last)| (20..30).contains(&(last + 1 - first))), "{dips:?}");
    assert!(dips.windows(2).all(|pair| (1_000..1_060).contains(&(pair[1].0 - pair[0].0))), "{dips:?}");
    // The specification's window at this rate and RTT, in the phases without a probe (two more with one).
    assert_eq!(cwnd[100..1_000].iter().filter(|&&cwnd| cwnd == 76.0 || cwnd == 78.0).count(), 900);
    let utilisation = output.summary.links.forward.utilisation;
    assert!((0.97..0.99).contains(&utilisation), "about 2 % go to the dips: {utilisation}");
}

#[test]
fn bbr_takes_more_than_its_share_of_a_shallow_buffer_and_not_of_a_deep_one() {
    let goodput = |packets: u32| {
        let link = format!("rate = \"10 Mbit/s\"\nlimit = \"{packets} packets\"");
        let goodput = goodput(&pair(&link, 90, [("bbr", 40), ("cubic", 40)]));
        goodput[0] / goodput.iter().sum::<f64>()
    };
    let (shallow, deep) = (goodput(33), goodput(270));
    assert!(shallow > 0.7 && deep < 0.55, "{shallow} of a buffer of 1 BDP, {deep} of 8");
    let two = self::goodput(&pair("rate = \"10 Mbit/s\"\nlimit = \"1000 packets\"", 90, [("bbr", 40), ("bbr", 40)]));
    assert!((two[0] / two[1] - 1.0).abs() < 0.15, "two of the same RTT converge: {two:?}");
}

#[test]
fn bbr3_keeps_half_a_bandwidth_delay_product_in_flight_every_five_seconds() {
    let output = run("duration = \"45 s\"\n[link]\nrate = \"10 Mbit/s\"\nlimit = \"1000 packets\"\n\
         [[flows]]\nkind = \"tcp\"\ncc = \"bbr3\"\nrtt = \"40 ms\"\n[probes]\nflows = \"10 ms\"");
    let in_flight = whole(&output, "flows", "in_flight");
    // The bandwidth-delay product is 33 packets; only PROBE_RTT keeps 18 or fewer for 200 ms.
    let mut dips: Vec<(usize, usize)> = Vec::new();
    for i in (100..in_flight.len()).filter(|&i| in_flight[i] <= 18) {
        match dips.last_mut() {
            Some((_, last)) if *last + 3 >= i => *last = i,
            _ => dips.push((i, i)),
        }
    }
    dips.retain(|(first, last)| last - first >= 15);
    assert!((7..=8).contains(&dips.len()), "{dips:?}");
    assert!(dips.windows(2).all(|pair| (500..560).contains(&(pair[1].0 - pair[0].0))), "{dips:?}");
    let link = &output.summary.links.forward;
    assert!((0.96..1.0).contains(&link.utilisation), "{}", link.utilisation);
    assert_eq!(link.dropped, 0);
}

#[test]
fn bbr3_leaves_cubic_more_of_a_shallow_buffer_than_bbr_does() {
    let share = |cc: &str| {
        let goodput = goodput(&pair("rate = \"10 Mbit/s\"\nlimit = \"33 packets\"", 90, [(cc, 40), ("cubic", 40)]));
        goodput[0] / goodput.iter().sum::<f64>()
    };
    let (version_1, version_3) = (share("bbr"), share("bbr3"));
    assert!(version_3 < version_1 - 0.1, "{version_3} and {version_1}");
    let two = goodput(&pair("rate = \"10 Mbit/s\"\nlimit = \"1000 packets\"", 90, [("bbr3", 40), ("bbr3", 40)]));
    assert!((two[0] / two[1] - 1.0).abs() < 0.25, "two of the same RTT converge: {two:?}");
}

#[test]
fn one_stream_of_random_numbers_for_each_flow() {
    let output = |seed| {
        run(&format!(
            "duration = \"20 s\"\nseed = {seed}\n[link]\nrate = \"10 Mbit/s\"\nlimit = \"1000 packets\"\n\
             [[flows]]\nkind = \"tcp\"\ncc = \"bbr\"\ncount = 2\nrtt = \"40 ms\""
        ))
    };
    assert_eq!(output(1).summary.fingerprint, output(1).summary.fingerprint);
    assert_ne!(output(1).summary.fingerprint, output(2).summary.fingerprint, "the phase of the cycle is drawn");
}

#[test]
fn a_short_name_is_the_same_control() {
    let fingerprint = |cc| pair("rate = \"10 Mbit/s\"", 5, [(cc, 20), ("cubic", 20)]).summary.fingerprint;
    for (short, long) in sojourn_tcp::cc::ALIASES {
        assert_eq!(fingerprint(short), fingerprint(long));
    }
}

#[test]
fn a_stack_that_cannot_serve_a_control_is_refused_with_the_remedy() {
    let text = "duration = \"1 s\"\n[link]\nrate = \"1 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\nrtt = \"10 ms\"\n\
                cc = \"bbr\"\nstack = \"linux-3.8\"";
    let error = sojourn_sim::scenario::Scenario::parse(text, &[], std::path::Path::new(".")).unwrap_err().to_string();
    let expected =
        "flows[0].cc: bbr needs a stack that decides on recovery before the window; choose linux-3.13 or linux-6.1";
    assert_eq!(error, expected);
}
