//! Datagram sources against arithmetic: rates, gaps, delay, loss, and call quality.

use crate::common::{run, whole};
use sojourn_sim::{Output, mos, r_factor};

/// Transmission times in seconds of a source on a link that is always idle.
fn departures(output: &Output) -> Vec<f64> {
    whole(output, "packets", "time_ns").into_iter().map(|ns| ns as f64 / 1e9).collect()
}

fn idle_link(source: &str, seconds: u32) -> Output {
    run(&format!(
        "duration = \"{seconds} s\"\n[link]\nrate = \"1 Gbit/s\"\n[[flows]]\n{source}\n[probes]\npackets = true"
    ))
}

#[test]
fn streaming_has_uniform_gaps_of_the_right_mean() {
    let output = idle_link("kind = \"streaming\"\nrate = \"640 kbit/s\"\nsize = \"840 B\"", 1000);
    let times = departures(&output);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    // 10.5 ms; uniform between half and one and a half of it. 95,000 gaps: 0.1 % and 0.5 % are three standard errors.
    assert!((mean / 0.0105 - 1.0).abs() < 0.003, "{mean} s");
    assert!((variance * 12.0 / (0.0105 * 0.0105) - 1.0).abs() < 0.02, "variance {variance}");
    assert!(gaps.iter().all(|gap| (0.00525 - 1e-8..0.01575 + 1e-8).contains(gap)));
}

#[test]
fn a_call_talks_and_is_silent_as_long_as_it_should() {
    // Forty sources for 500 s: 8500 talk spurts, whose mean lengths are accurate to about 2 %.
    let output = idle_link("kind = \"voice\"\ncount = 40", 500);
    let sent: u64 = output.summary.flows.iter().map(|flow| flow.sent).sum();
    let expected = 40.0 * 500.0 * 40.0 * 1.0 / 2.35;
    assert!((sent as f64 / expected - 1.0).abs() < 0.05, "{sent} datagrams, expected {expected}");
    let (time, flow) = (whole(&output, "packets", "time_ns"), whole(&output, "packets", "flow"));
    let first: Vec<u64> = time.iter().zip(&flow).filter(|&(_, &flow)| flow == 0).map(|(&time, _)| time).collect();
    let gaps: Vec<u64> = first.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap >= 24_999_000), "25 ms and then silences");
    let talking = gaps.iter().filter(|&&gap| gap < 25_001_000).count() as f64;
    assert!((talking / gaps.len() as f64 - 39.0 / 40.0).abs() < 0.01, "bursts of 40 datagrams on average");
}

#[test]
fn a_call_over_an_idle_link_is_as_good_as_its_delay_allows() {
    for delay_ms in [20, 150, 400] {
        let output = run(&format!(
            "duration = \"60 s\"\n[link]\nrate = \"8 Mbit/s\"\ndelay = \"{delay_ms} ms\"\n[[flows]]\nkind = \"voice\"\noff = \"0 s\""
        ));
        let call = &output.summary.flows[0].datagrams;
        // 200 bytes take 0.2 ms.
        let delay = delay_ms as f64 + 0.2;
        assert!((call.delay_ms.unwrap() - delay).abs() < 1e-9, "{call:?}");
        assert_eq!((call.delay_variation_ms, call.loss_rate), (Some(0.0), Some(0.0)));
        assert!((call.mos.unwrap() - mos(r_factor(delay, 0.0))).abs() < 1e-9, "{call:?}");
        assert_eq!(output.summary.groups[0].datagrams.mos, call.mos);
    }
}

#[test]
fn staggered_flows_start_and_stop_one_after_the_other() {
    let output = idle_link(
        "kind = \"cbr\"\nrate = \"800 kbit/s\"\nsize = \"1000 B\"\ncount = 4\nstart = \"1 s\"\nstop = \"3 s\"\nstagger = \"1.503 s\"",
        10,
    );
    let (time, flow) = (whole(&output, "packets", "time_ns"), whole(&output, "packets", "flow"));
    for i in 0..4 {
        let times: Vec<u64> = time.iter().zip(&flow).filter(|&(_, &f)| f == i).map(|(&time, _)| time).collect();
        // A packet every 10 ms for two seconds; never two at a time, so no packet waits.
        let start = 1_000_000_000 + i * 1_503_000_000;
        assert_eq!((times[0], times[199], times.len()), (start, start + 1_990_000_000, 200), "flow {i}");
    }
}

#[test]
fn a_period_collects_its_datagrams_at_its_start() {
    for (bps, size, period_ms) in [(8_000_000u64, 1000u64, 100u64), (7_777_777, 1234, 100), (64_000, 1400, 30)] {
        let output = idle_link(
            &format!("kind = \"cbr\"\nrate = \"{bps} bit/s\"\nsize = \"{size} B\"\nperiod = \"{period_ms} ms\""),
            20,
        );
        let times = whole(&output, "packets", "time_ns");
        // Datagram n is due after n sizes at the rate; the link of 1 Gbit/s takes 8 ns per byte.
        let (mut begun, mut queued) = (u64::MAX, 0);
        for (n, &time) in times.iter().enumerate() {
            let due_ns = (n as u128 * u128::from(size) * 8_000_000_000 / u128::from(bps)) as u64;
            let start = due_ns / (period_ms * 1_000_000) * period_ms * 1_000_000;
            queued = if start == begun { queued + 1 } else { 0 };
            begun = start;
            assert_eq!(time, start + queued * size * 8, "{bps} bit/s, datagram {n}");
        }
        let sent = 20 * bps / (8 * size);
        assert!(
            (times.len() as u64).abs_diff(sent) <= 1 + bps * period_ms / (8000 * size),
            "{} of {sent}",
            times.len()
        );
    }
}

#[test]
fn equal_gaps_are_a_period_of_one_datagram() {
    let gaps = idle_link("kind = \"cbr\"\nrate = \"8 Mbit/s\"\nsize = \"1000 B\"", 5);
    let periods = idle_link("kind = \"cbr\"\nrate = \"8 Mbit/s\"\nsize = \"1000 B\"\nperiod = \"1 ms\"", 5);
    assert_eq!(gaps.summary.fingerprint, periods.summary.fingerprint);
}

#[test]
fn twice_the_rate_loses_half_and_waits_for_the_whole_buffer() {
    let output = run(r#"
        duration = "100 s"
        warmup = "10 s"
        [link]
        rate = "8 Mbit/s"
        limit = "20 packets"
        [[flows]]
        kind = "cbr"
        rate = "16 Mbit/s"
        size = "1000 B"
        "#);
    let seen = &output.summary.flows[0].datagrams;
    assert!((seen.loss_rate.unwrap() - 0.5).abs() < 1e-3, "{seen:?}");
    // One in transmission, up to twenty ahead of it at 1 ms each, and the packet's own transmission.
    assert!((20.0..=21.5).contains(&seen.delay_ms.unwrap()), "{seen:?}");
    assert_eq!(seen.mos, None, "no call");
}
