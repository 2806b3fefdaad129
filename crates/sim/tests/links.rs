//! Properties of every kind of link: it carries its capacity and no more, the same seed gives the same run, and a link
//! with k times the rate does the same in 1/k of the time.

use crate::common::{TraceFile, real, run, scenario, whole};
use sojourn_sim::scenario::service::first_keys;
use sojourn_sim::{Output, Simulation};

/// A kind of link, sped up by a factor k.
struct LinkKind {
    name: &'static str,
    /// Its keys; TRACE is replaced by the trace file.
    keys: fn(u64) -> String,
    /// Capacity in bytes up to a time in seconds, for a link that is never idle; `None` if random.
    bytes_until: Option<fn(f64) -> f64>,
    /// Maximum shortfall from that capacity, in bytes.
    max_shortfall: f64,
    random: bool,
}

const MTU: f64 = 1500.0;

fn kinds() -> Vec<LinkKind> {
    let exact = |name, keys, bytes_until| LinkKind {
        name,
        keys,
        bytes_until: Some(bytes_until),
        max_shortfall: MTU,
        random: false,
    };
    let random = |name, keys| LinkKind { name, keys, bytes_until: None, max_shortfall: 0.0, random: true };
    vec![
        exact("rate", |k| format!("rate = \"{} Mbit/s\"", 12 * k), |s| 1.5e6 * s),
        exact("rate, fluid", |k| steps(k, "fluid"), steps_until),
        // A packet of 1 ms, 24 ms or 0.5 ms keeps its transmission time at each rise: up to 24 ms at 48 instead of 0.5
        // Mbit/s.
        LinkKind {
            max_shortfall: 2.0 * 24e-3 * 6e6,
            ..exact("rate, latch", |k| steps(k, "latch"), |s| steps_until(s) + 62.5e3 * (s - 1.0).clamp(0.0, 0.4))
        },
        exact("rate, opportunity", |k| steps(k, "opportunity"), steps_until),
        exact(
            "bucket",
            |k| format!("bucket = \"{} Mbit/s\"\nburst = \"1 MB\"\npeak = \"{} Mbit/s\"", 6 * k, 24 * k),
            bucket_until,
        ),
        exact(
            "bucket, overdraft",
            |k| {
                format!(
                    "bucket = \"{} Mbit/s\"\nburst = \"1 MB\"\npeak = \"{} Mbit/s\"\noverdraft = true",
                    6 * k,
                    24 * k
                )
            },
            bucket_until,
        ),
        random("poisson", |k| format!("poisson = \"{} Mbit/s\"", 12 * k)),
        // The step of the rate per tick grows with k, and a tick is 1/k as long: sigma grows as k^1.5.
        random("cox", |k| {
            let sigma = 200.0 * (k as f64).powf(1.5);
            format!(
                "cox = \"{} Mbit/s\"\nsigma = {sigma}\ntick = \"{} ms\"\noutage = \"{} ms\"",
                12 * k,
                20 / k,
                200 / k
            )
        }),
        // Bursts of three opportunities every 4 ms, with a pause of 40 ms in each period of 400 ms.
        exact("trace", |k| format!("trace = \"TRACE{k}\""), trace_until),
    ]
}

fn steps(k: u64, change: &str) -> String {
    let rates = [(12, 0), (0, 1000), (48, 1400), (24, 2000), (6, 2600)]
        .map(|(mbit, ms)| format!("{} Mbit/s@{} ms", mbit * k, ms as f64 / k as f64));
    // With `latch` no rate may be near zero.
    let text = rates.join(",");
    let text = if change == "latch" {
        text.replace("0 Mbit/s@1000", "0.5 Mbit/s@1000").replace("0 Mbit/s@250", "2 Mbit/s@250")
    } else {
        text
    };
    format!("rate = \"{text}\"\nchange = \"{change}\"")
}

fn steps_until(s: f64) -> f64 {
    let rates = [(12.0, 0.0, 1.0), (0.0, 1.0, 1.4), (48.0, 1.4, 2.0), (24.0, 2.0, 2.6), (6.0, 2.6, 1e9)];
    rates.iter().map(|&(mbit, from, to)| mbit * 1e6 / 8.0 * (s.min(to) - from).max(0.0)).sum()
}

fn bucket_until(s: f64) -> f64 {
    (3e6 * s).min(1e6 + 0.75e6 * s)
}

fn trace_ms(k: u64) -> Vec<u64> {
    (1..=90u64).flat_map(|i| [4 * i / k; 3]).chain([400 / k]).collect()
}

fn trace_until(s: f64) -> f64 {
    let ms = (s * 1e3 + 1e-6) as u64;
    let lap = trace_ms(1);
    MTU * (ms / 400 * lap.len() as u64 + lap.iter().filter(|&&at| at <= ms % 400).count() as u64) as f64
}

/// A run of `kind` with `flows`, sped up by a factor k, over 4 s / k.
fn run_kind(kind: &LinkKind, k: u64, link: &str, flows: &str, seed: u64) -> Output {
    let traces = [1, 4].map(|k| TraceFile::new(trace_ms(k)));
    let keys = (kind.keys)(k).replace("TRACE1", &traces[0].path()).replace("TRACE4", &traces[1].path());
    let text = format!(
        "duration = \"{} ms\"\n[link]\n{keys}\n{link}\n[reverse]\nrate = \"1 Gbit/s\"\n{flows}\n[probes]\npackets = true\n\
         utilisation = \"{} ms\"",
        4000 / k,
        100 / k
    );
    Simulation::new(&scenario(&text), seed).finish()
}

/// Departure times in seconds, and bytes.
fn departures(output: &Output) -> Vec<(f64, f64)> {
    let [time, fate, bytes, link] = ["time_ns", "fate", "bytes", "link"].map(|name| whole(output, "packets", name));
    let sent = (0..time.len()).filter(|&i| fate[i] < 2 && link[i] == 0);
    sent.map(|i| (time[i] as f64 / 1e9, bytes[i] as f64)).collect()
}

const SATURATED: &str = "[[flows]]\nkind = \"cbr\"\nrate = \"60 Mbit/s\"";

#[test]
fn every_kind_is_tested() {
    let tested: Vec<String> =
        kinds().iter().map(|kind| (kind.keys)(1).split(' ').next().unwrap().to_string()).collect();
    // Rates that a channel assigns are tested in wlan.rs.
    for first in first_keys().into_iter().filter(|&first| first != "wlan_rate") {
        assert!(tested.iter().any(|key| key == first), "add {first} to the kinds");
    }
}

#[test]
fn no_span_carries_more_than_its_capacity_and_a_saturated_link_no_less() {
    for kind in kinds() {
        let Some(bytes_until) = kind.bytes_until else { continue };
        let output = run_kind(&kind, 1, "limit = \"100 packets\"", SATURATED, 1);
        // A packet is counted when its transmission starts, so one more than the capacity may have begun.
        let mut sent = 0.0;
        let mut spans: Vec<(f64, f64)> = departures(&output)
            .iter()
            .map(|&(at, bytes)| {
                sent += bytes;
                (at, sent)
            })
            .collect();
        assert!(sent > 1e6, "{}: {sent}", kind.name);
        // Of several departures at one instant, the last one shows the bytes carried by then.
        spans.reverse();
        spans.dedup_by_key(|&mut (at, _)| at);
        spans.reverse();
        for &(at, sent) in &spans {
            let possible = bytes_until(at);
            assert!(sent <= possible + MTU + 1.0, "{}: {sent} of {possible} bytes until {at} s", kind.name);
            assert!(
                sent >= possible - kind.max_shortfall - 1.0,
                "{}: only {sent} of {possible} until {at} s",
                kind.name
            );
        }
        for (i, &(from, before)) in spans.iter().enumerate().step_by(97) {
            for &(to, after) in spans[i..].iter().step_by(31) {
                let (carried, possible) = (after - before, bytes_until(to) - bytes_until(from));
                let most = possible + MTU + if kind.name.contains("latch") { kind.max_shortfall } else { 0.0 };
                assert!(carried <= most + 1.0, "{}: {carried} of {possible} bytes in [{from}, {to}] s", kind.name);
            }
        }
    }
}

#[test]
fn a_saturated_link_is_always_used_and_an_idle_one_never() {
    for kind in kinds() {
        let output = run_kind(&kind, 1, "limit = \"100 packets\"", SATURATED, 1);
        assert!(output.summary.links.forward.packets > 500, "{}", kind.name);
        assert!((output.summary.links.forward.utilisation - 1.0).abs() < 1e-3, "{}", kind.name);
        let (time, link) = (whole(&output, "utilisation", "time_ns"), whole(&output, "utilisation", "link"));
        let utilisation = real(&output, "utilisation", "utilisation");
        // The first step includes the time before the first packet, and without capacity nothing is used.
        for i in (0..time.len()).filter(|&i| link[i] == 0 && time[i] > 100_000_000) {
            let (at, used) = (time[i], utilisation[i]);
            assert!((used - 1.0).abs() < 1e-9 || used == 0.0, "{}: {used} at {at} ns", kind.name);
        }
        let full = (0..time.len()).filter(|&i| link[i] == 0 && utilisation[i] > 0.99).count();
        assert!(full >= if kind.name == "cox" { 10 } else { 34 }, "{}: {full} steps of 40", kind.name);

        let idle = run_kind(&kind, 1, "", &format!("{SATURATED}\nstart = \"3900 ms\""), 1);
        let used = real(&idle, "utilisation", "utilisation");
        assert!(used[..60].iter().all(|&used| used == 0.0), "{}", kind.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let tcp = "[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ncount = 3\nrtt = \"20 ms\"";
    for kind in kinds() {
        let of = |seed| run_kind(&kind, 1, "aqm = \"codel\"", tcp, seed).summary.fingerprint;
        assert_eq!(of(1), of(1), "{}", kind.name);
        assert_eq!(of(1) != of(2), kind.random, "{}", kind.name);
    }
}

#[test]
fn a_faster_link_does_the_same_in_less_time() {
    // All rates times four, all times divided by four, and time-independent queue managers: the same packets are
    // dropped.
    let flows = |k: u64| {
        format!(
            "[[flows]]\nkind = \"poisson\"\nrate = \"{} Mbit/s\"\n[[flows]]\nkind = \"poisson\"\nrate = \"{} Mbit/s\"\n\
             size = \"700 B\"",
            8 * k,
            4 * k
        )
    };
    let fates = |kind: &LinkKind, k: u64, aqm: &str| {
        let output = run_kind(kind, k, &format!("limit = \"30 packets\"\naqm = \"{aqm}\""), &flows(k), 1);
        let [flow, fate] = ["flow", "fate"].map(|name| whole(&output, "packets", name));
        let dropped = output.summary.links.forward.dropped;
        (flow.into_iter().zip(fate).collect::<Vec<_>>(), dropped)
    };
    for kind in kinds() {
        for aqm in ["droptail", "red min 2500B max 7500B weight 0.01"] {
            let (slow, dropped) = fates(&kind, 1, aqm);
            let (fast, _) = fates(&kind, 4, aqm);
            assert!(dropped > 20, "{} with {aqm}: {dropped} drops", kind.name);
            // Rounding by a nanosecond may move an event across the end of the run.
            let both = slow.len().min(fast.len());
            assert!(
                slow.len().abs_diff(fast.len()) <= 1,
                "{} with {aqm}: {} and {}",
                kind.name,
                slow.len(),
                fast.len()
            );
            assert!(slow[..both] == fast[..both], "{} with {aqm}", kind.name);
        }
    }
}

#[test]
fn poisson_arrivals_at_a_poisson_link_are_an_m_m_1_queue() {
    // Load 0.8: 4 packets in the system, for 4 / lambda by Little's law.
    let runs: Vec<(f64, f64)> = (1..=8)
        .map(|seed| {
            let text = "duration = \"130 s\"\nwarmup = \"10 s\"\n[link]\npoisson = \"12 Mbit/s\"\nlimit = \"100000 packets\"\n\
                        [[flows]]\nkind = \"poisson\"\nrate = \"9.6 Mbit/s\"";
            let forward = Simulation::new(&scenario(text), seed).finish().summary.links.forward;
            (forward.mean_backlog_packets, forward.sojourn_ms.mean.unwrap())
        })
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    // 0.77 million packets, correlated over about 1 / (1 - rho)^2 = 25 and more of them: the standard error is 2 %.
    assert!((mean(|run| run.0) - 4.0).abs() < 0.3, "{runs:?}");
    assert!((mean(|run| run.1) - 5.0).abs() < 0.4, "{runs:?}");
}

#[test]
fn a_queue_of_a_boosted_link_is_five_times_as_slow_when_the_boost_ends() {
    // 50 packets of 1500 B: 12 ms at 50 Mbit/s, 60 ms at 10. The bucket of 2.5 MB is empty after 2.5 * 8 / 40 = 0.5 s.
    let output = run(
        "duration = \"2 s\"\n[link]\nbucket = \"10 Mbit/s\"\nburst = \"2.5 MB\"\npeak = \"50 Mbit/s\"\nlimit = \"50 packets\"\n\
         [[flows]]\nkind = \"cbr\"\nrate = \"60 Mbit/s\"\n[probes]\npackets = true",
    );
    let [time, sojourn, fate] = ["time_ns", "sojourn_ns", "fate"].map(|name| whole(&output, "packets", name));
    let sojourn_ms = |from_ms: u64, to_ms: u64| {
        let within = (0..time.len()).filter(|&i| fate[i] == 0 && (from_ms..to_ms).contains(&(time[i] / 1_000_000)));
        let all: Vec<f64> = within.map(|i| sojourn[i] as f64 / 1e6).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (boosted, after) = (sojourn_ms(200, 490), sojourn_ms(600, 1900));
    assert!((boosted - 12.0).abs() < 0.3 && (after - 60.0).abs() < 1.0, "{boosted} ms, then {after} ms");
}

/// Sprout's model starts anywhere in its range without mean reversion; only the absorption at zero pulls it down.
#[test]
fn a_cox_link_wanders_over_its_whole_range() {
    let (mut rates, mut outages) = (Vec::new(), 0);
    for seed in 1..=20 {
        let text =
            format!("duration = \"100 s\"\n[link]\ncox = \"12 Mbit/s\"\n{SATURATED}\n[probes]\nutilisation = \"1 s\"");
        let output = Simulation::new(&scenario(&text), seed).finish();
        let (bytes, link) = (whole(&output, "utilisation", "bytes"), whole(&output, "utilisation", "link"));
        let found: Vec<f64> = (0..bytes.len()).filter(|&i| link[i] == 0).map(|i| bytes[i] as f64 / MTU).collect();
        outages += found.iter().filter(|&&rate| rate == 0.0).count();
        rates.extend(found);
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let high = rates.iter().filter(|&&rate| rate > 900.0).count() as f64 / rates.len() as f64;
    // The stationary distribution has mass m at zero and is flat elsewhere; m follows from the balance of flows per
    // tick: density * step / sqrt(2 pi) = m * (1 - exp(-0.02)), so m = 0.36 and the mean is 318.
    assert!((mean - 318.0).abs() < 80.0, "{mean} packets/s");
    assert!(high > 0.02 && outages > 100, "{high} near the top, {outages} s without a packet");
    // With a mean outage of years the rate soon falls to zero and stays there; the run ends quickly all the same.
    let text =
        "duration = \"1 s\"\n[link]\ncox = \"1 Mbit/s\"\nsigma = 9000\ntick = \"10 us\"\noutage = \"1000000000 s\"";
    let output = run(&format!("{text}\n{SATURATED}"));
    assert!(output.summary.links.forward.packets < 20, "{:?}", output.summary.links.forward);
}

#[test]
fn a_pair_of_traces_carries_both_directions() {
    let (down, up) = (TraceFile::new(trace_ms(1)), TraceFile::new((1..=50).map(|i| 8 * i)));
    for once in [false, true] {
        let output = run(&format!(
            "duration = \"2 s\"\n[link]\ntrace = \"{}\"\nonce = {once}\n[reverse]\ntrace = \"{}\"\nonce = {once}\n{SATURATED}\n\
             {SATURATED}\ndirection = \"reverse\"",
            down.path(),
            up.path()
        ));
        let links = &output.summary.links;
        let laps = if once { 1 } else { 5 };
        assert_eq!((links.forward.packets, links.reverse.packets), (laps * 271, laps * 50), "once = {once}");
        assert_eq!((links.forward.utilisation, links.reverse.utilisation), (1.0, 1.0));
    }
}

/// The schedule of the published experiments with CoDel: 1000 packets are 0.12, 1.2 and 12 s of delay.
#[test]
fn tail_drop_fills_its_buffer_in_the_slow_segments_of_the_published_schedule() {
    let of = |aqm: &str| {
        let output = run(&format!(
            "duration = \"300 s\"\n[link]\n\
             rate = \"100mbit@0s,10mbit@50s,1mbit@100s,50mbit@150s,1mbit@200s,100mbit@250s\"\naqm = \"{aqm}\"\n\
             [reverse]\nrate = \"12 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             count = 4\nrtt = \"100 ms\"\nspread = \"1 s\"\n\
             [probes]\nutilisation = \"50 s\""
        ));
        let (bytes, link) = (whole(&output, "utilisation", "bytes"), whole(&output, "utilisation", "link"));
        let segments: Vec<f64> = (0..bytes.len()).filter(|&i| link[i] == 0).map(|i| bytes[i] as f64 / 1e6).collect();
        for (sent, capacity) in segments.iter().zip([625.0, 62.5, 6.25, 312.5, 6.25, 625.0]) {
            assert!(*sent <= capacity + 0.0015, "{aqm}: {segments:?} MB");
        }
        (segments, output.summary.links.forward.sojourn_ms.max.unwrap())
    };
    let (tail, tail_ms) = of("droptail");
    assert!((tail_ms - 12_000.0).abs() < 1.0, "{tail_ms} ms");
    assert!(tail.iter().sum::<f64>() > 0.97 * 1637.5, "{tail:?} MB");
    // Up to 5 s of data arrive when the rate falls from 50 to 1 Mbit/s; CoDel drops the excess within two.
    let (codel, codel_ms) = of("codel");
    assert!((1_000.0..3_000.0).contains(&codel_ms), "{codel_ms} ms");
    assert!(codel[2] > 0.9 * 6.25 && codel[4] > 0.9 * 6.25, "{codel:?} MB");
}
