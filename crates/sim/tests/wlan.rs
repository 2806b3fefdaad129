//! The channel of a wireless LAN against calculation: maximum rates of single senders, and shares under contention.
//!
//! Expected values: exact times of 802.11g (a frame, SIFS, its acknowledgment, DIFS, and a mean back-off of 7.5 slots);
//! Bianchi's fixed point with seven attempts (IEEE JSAC 18(3), 2000); a simulation slot by slot (`slot_model`). The
//! simulator uses none of these formulas.

use crate::common::{run, whole};
use sojourn_aqm::Rng;
use sojourn_sim::{Output, Summary};

const RATES: [(f64, f64); 8] =
    [(6.0, 24.0), (9.0, 36.0), (12.0, 48.0), (18.0, 72.0), (24.0, 96.0), (36.0, 144.0), (48.0, 192.0), (54.0, 216.0)];

const SLOT: f64 = 9.0;
const SIFS: f64 = 10.0;
const DIFS: f64 = 28.0;
const EIFS: f64 = 88.0;
const MEAN_BACKOFF: f64 = 7.5 * SLOT;

/// Airtime in microseconds of a frame of `bytes`, header included.
fn airtime(bytes: f64, mbps: f64) -> f64 {
    let symbol_bits = RATES.iter().find(|rate| rate.0 == mbps).expect("a rate of 802.11g").1;
    26.0 + 4.0 * ((16.0 + 8.0 * bytes + 6.0) / symbol_bits).ceil()
}

fn data(ip_bytes: f64, mbps: f64) -> f64 {
    airtime(ip_bytes + 36.0, mbps)
}

fn ack(mbps: f64) -> f64 {
    airtime(14.0, [24.0, 12.0, 6.0].into_iter().find(|&basic| basic <= mbps).expect("6 Mbit/s is basic"))
}

fn exchange(ip_bytes: f64, mbps: f64) -> f64 {
    data(ip_bytes, mbps) + SIFS + ack(mbps)
}

/// Saturated senders of 1500-byte datagrams, one per station at these rates, up or down.
fn saturated(rates: &[f64], duration: &str, channel: &str, direction: &str) -> Summary {
    let stations: String = rates.iter().map(|r| format!("[[wlan.stations]]\nrate = \"{r} Mbit/s\"\n")).collect();
    run(&format!(
        "duration = \"{duration}\"\nwarmup = \"1 s\"\n[wlan]\n{channel}\n{stations}\
         [[flows]]\nkind = \"cbr\"\ncount = {}\nrate = \"{} Mbit/s\"\ndirection = \"{direction}\"",
        rates.len(),
        1 + 42 / rates.len()
    ))
    .summary
}

const QUIET: &str = "beacon = \"0 B\"";

fn goodput_mbps(summary: &Summary) -> f64 {
    summary.flows.iter().map(|flow| flow.payload.goodput_bps).sum::<f64>() / 1e6
}

fn jain(summary: &Summary) -> f64 {
    let rates: Vec<f64> = summary.flows.iter().map(|flow| flow.payload.goodput_bps).collect();
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|x| x * x).sum::<f64>())
}

#[test]
fn one_sender_reaches_the_ceiling_of_every_rate() {
    for (mbps, _) in RATES {
        let expected = 1472.0 * 8.0 / (DIFS + MEAN_BACKOFF + exchange(1500.0, mbps));
        for direction in ["forward", "reverse"] {
            let found = goodput_mbps(&saturated(&[mbps], "61 s", QUIET, direction));
            assert!((found / expected - 1.0).abs() < 0.002, "{mbps} Mbit/s, {direction}: {found}, expected {expected}");
        }
    }
}

#[test]
fn the_access_point_waits_by_rules_of_its_own() {
    let channel = format!("{QUIET}\nslot = \"long\"\nap_aifs = 7\nap_cwmin = 3\nap_cwmax = 3");
    for (direction, waits) in [("forward", 7.0 + 1.5), ("reverse", 2.0 + 7.5)] {
        let expected = 1472.0 * 8.0 / (SIFS + waits * 20.0 + exchange(1500.0, 54.0));
        let found = goodput_mbps(&saturated(&[54.0], "61 s", &channel, direction));
        assert!((found / expected - 1.0).abs() < 0.002, "{direction}: {found}, expected {expected}");
    }
}

#[test]
fn beacons_cost_less_than_a_hundredth() {
    let (with, without) = (saturated(&[54.0], "31 s", "", "forward"), saturated(&[54.0], "31 s", QUIET, "forward"));
    let loss = 1.0 - goodput_mbps(&with) / goodput_mbps(&without);
    assert!((0.001..0.01).contains(&loss), "{loss}");
    assert_eq!(with.wlan.expect("a channel").beacons, 293, "one every 102.4 ms in 30 s");
}

/// Goodput of `n` saturated stations at 54 Mbit/s by Bianchi's fixed point with seven attempts. Listeners wait for an
/// EIFS after a collision.
fn bianchi(n: i32) -> f64 {
    let window = |stage: i32| f64::min(16.0 * 2f64.powi(stage), 1024.0);
    let attempt = |p: f64| {
        let stages = || (0..7).map(|stage| (p.powi(stage), window(stage)));
        stages().map(|(reached, _)| reached).sum::<f64>()
            / stages().map(|(reached, window)| reached * (window + 1.0) / 2.0).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - attempt(p)).powi(n - 1) > p { low = p } else { high = p }
    }
    let tau = attempt(low);
    let idle = (1.0 - tau).powi(n);
    let alone = f64::from(n) * tau * (1.0 - tau).powi(n - 1);
    let together = 1.0 - idle - alone;
    let cycle = idle * SLOT + alone * (exchange(1500.0, 54.0) + DIFS) + together * (data(1500.0, 54.0) + EIFS);
    alone * 1472.0 * 8.0 / cycle
}

/// The same by a simulation slot by slot of a minute: goodput of each station.
fn slot_model(rates: &[f64], after_collision: f64) -> Vec<f64> {
    struct Station {
        backoff: u64,
        window: u64,
        attempts: u32,
        available: f64,
        sent: u64,
    }
    let rng = &mut Rng::from_state(11);
    let mut stations: Vec<Station> = rates
        .iter()
        .map(|_| Station { backoff: rng.below(16), window: 15, attempts: 0, available: DIFS, sent: 0 })
        .collect();
    let mut now = 0.0;
    while now < 60e6 {
        let start = |station: &Station| station.available + station.backoff as f64 * SLOT;
        now = stations.iter().map(start).fold(f64::INFINITY, f64::min);
        let sends: Vec<bool> = stations.iter().map(|station| start(station) < now + 0.5).collect();
        let senders = sends.iter().filter(|&&sends| sends).count();
        let times = || rates.iter().zip(&sends).filter(|(_, sends)| **sends).map(|(&rate, _)| data(1500.0, rate));
        let end = now + times().fold(0.0, f64::max);
        for ((station, &rate), &sends) in stations.iter_mut().zip(rates).zip(&sends) {
            if !sends {
                station.backoff -= ((now - station.available).max(0.0) / SLOT + 1e-6) as u64;
            } else if senders == 1 {
                station.sent += 1;
                (station.window, station.attempts) = (15, 0);
            } else {
                station.attempts += 1;
                station.window = (2 * station.window + 1).min(1023);
                if station.attempts == 7 {
                    (station.window, station.attempts) = (15, 0);
                }
            }
            if sends {
                station.backoff = rng.below(station.window + 1);
            }
            station.available = match (senders, sends) {
                (1, _) => DIFS + end + SIFS + rates.iter().zip([rate]).map(|(_, r)| ack(r)).fold(0.0, f64::max),
                (_, true) => DIFS + f64::max(now + data(1500.0, rate) + 39.0, end),
                (_, false) => end + after_collision,
            };
        }
        if senders == 1 {
            // All stations wait for the acknowledgment of the frame.
            let sender = sends.iter().position(|&sends| sends).expect("somebody sends");
            let idle = end + SIFS + ack(rates[sender]) + DIFS;
            stations.iter_mut().for_each(|station| station.available = idle);
        }
    }
    stations.iter().map(|station| station.sent as f64 * 1472.0 * 8.0 / now).collect()
}

#[test]
fn saturated_stations_share_what_the_slot_model_says() {
    for n in [1, 2, 4, 5, 8, 20] {
        for (eifs, after_collision) in [("listeners", EIFS), ("none", DIFS)] {
            let channel = format!("{QUIET}\neifs = \"{eifs}\"");
            let summary = saturated(&vec![54.0; n], "61 s", &channel, "reverse");
            let (found, model) =
                (goodput_mbps(&summary), slot_model(&vec![54.0; n], after_collision).iter().sum::<f64>());
            assert!((found / model - 1.0).abs() < 0.01, "{n} stations, EIFS {eifs}: {found}, slot model {model}");
            assert!(jain(&summary) > 0.99, "{n} stations, EIFS {eifs}: Jain's index {}", jain(&summary));
            if eifs == "listeners" {
                let bianchi = bianchi(n as i32);
                assert!((found / bianchi - 1.0).abs() < 0.03, "{n} stations: {found}, Bianchi {bianchi}");
            }
        }
    }
}

#[test]
fn a_slow_station_slows_all() {
    for rates in [&[6.0, 54.0][..], &[6.0, 54.0, 54.0, 54.0]] {
        let summary = saturated(rates, "61 s", QUIET, "reverse");
        let (found, model) = (goodput_mbps(&summary), slot_model(rates, EIFS));
        let expected = model.iter().sum::<f64>();
        assert!((found / expected - 1.0).abs() < 0.03, "{rates:?}: {found}, slot model {expected}");
        assert!(jain(&summary) > 0.98, "equal shares of packets: {}", jain(&summary));
    }
}

/// A TCP download per station at 54 Mbit/s.
fn download(stations: usize) -> Output {
    run(&format!(
        "duration = \"40 s\"\nwarmup = \"10 s\"\n[wlan]\n[[wlan.stations]]\ncount = {stations}\nrate = \"54 Mbit/s\"\n\
         [[flows]]\nkind = \"tcp\"\nstack = \"linux-3.8\"\ncc = \"reno\"\ncount = {stations}\nrtt = \"20 ms\""
    ))
}

#[test]
fn tcp_reaches_what_its_acknowledgments_leave() {
    for stations in [1, 4] {
        let summary = download(stations).summary;
        let found = goodput_mbps(&summary);
        assert!((24.6 * 0.97..24.8 * 1.03).contains(&found), "{stations} stations: {found} Mbit/s");
    }
}

/// Attempts of a run in order of start: start, node, outcome, airtime; times in ns.
fn attempts(output: &Output) -> Vec<(u64, u64, u64, u64)> {
    let [time, node, outcome, airtime] =
        ["time_ns", "node", "outcome", "airtime_ns"].map(|name| whole(output, "accesses", name));
    (0..time.len()).map(|i| (time[i], node[i], outcome[i], airtime[i])).collect()
}

#[test]
fn nobody_talks_into_another_s_frame_and_all_who_start_together_collide() {
    let text = std::fs::read_to_string("tests/scenarios/wlan.toml").expect("the scenario is there");
    let output = run(&format!("{text}\n[probes]\naccesses = true\npackets = true"));
    let attempts = attempts(&output);
    let mut idle = None;
    for group in attempts.chunk_by(|a, b| a.0 == b.0) {
        let &[(start, ..), ..] = group else { unreachable!("a group has an attempt") };
        assert!(idle.is_none_or(|idle| start >= idle + 28_000), "{start} starts less than a DIFS after {idle:?}");
        // A single colliding attempt has met a beacon.
        assert!(group.len() == 1 || group.iter().all(|&(_, _, outcome, _)| outcome == 1), "{group:?}");
        assert!(group.windows(2).all(|pair| pair[0].1 < pair[1].1), "a node once: {group:?}");
        idle = group.iter().map(|&(start, .., airtime)| start + airtime).max();
    }
    let wlan = output.summary.wlan.as_ref().expect("a channel");
    let nodes = || std::iter::once(&wlan.access_point).chain(wlan.stations.iter().map(|station| &station.node));
    assert_eq!(attempts.len() as u64, nodes().map(|node| node.attempts).sum::<u64>());
    // A packet that left a queue was acknowledged, given up, or is still in a ring.
    for (link, node) in nodes().enumerate() {
        let [fates, links] = ["fate", "link"].map(|name| whole(&output, "packets", name));
        let sent = fates.iter().zip(&links).filter(|&(&fate, &l)| fate < 2 && l == link as u64).count() as u64;
        let left = sent - node.frames - node.given_up;
        assert!(left <= 50, "node {link}: {sent} sent, {} acknowledged, {} given up", node.frames, node.given_up);
        let by_rate: u64 = node.rates.iter().map(|rate| rate.attempts).sum();
        assert!(node.attempts == by_rate && node.attempts >= node.frames + node.collisions);
    }
}

#[test]
fn small_queues_bound_what_a_connection_has_in_its_station() {
    let longest = |tsq: u32| {
        let output = run(&format!(
            "duration = \"10 s\"\n[wlan]\ntsq = {tsq}\n[[wlan.stations]]\nrate = \"54 Mbit/s\"\n[[flows]]\n\
             kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ncount = 2\ndirection = \"reverse\"\n\
             rtt = \"100 ms\"\n[reverse]\n\
             below = \"1 packet\"\n[probes]\nqueue = \"1 ms\""
        ));
        let [link, packets] = ["link", "packets"].map(|name| whole(&output, "queue", name));
        (link.iter().zip(packets).filter(|&(&link, _)| link == 1).map(|(_, n)| n).max(), goodput_mbps(&output.summary))
    };
    // The ring holds one of them.
    let (bounded, goodput) = longest(20);
    assert!(bounded.is_some_and(|most| (30..=39).contains(&most)), "{bounded:?}");
    assert!(goodput > 20.0, "what is sent leaves room at once: {goodput}");
    assert!(longest(0).0 > Some(500));
}

#[test]
fn a_shaper_keeps_the_queue_above_the_ring() {
    let output = run("duration = \"20 s\"\nwarmup = \"2 s\"\n[wlan]\nhtb_rate = \"10 Mbit/s\"\n[[wlan.stations]]\n\
                      rate = \"54 Mbit/s\"\n[[flows]]\nkind = \"cbr\"\nrate = \"15 Mbit/s\"");
    let (forward, wlan) = (&output.summary.links.forward, output.summary.wlan.as_ref().expect("a channel"));
    let rate = forward.bytes as f64 * 8.0 / 18.0 / 1e6;
    assert!((rate - 10.0).abs() < 0.01, "{rate}");
    assert!(wlan.access_point.ring_ms.max < Some(1.0) && forward.sojourn_ms.p50 > Some(500.0), "{wlan:?}");
}

/// Fractions of the access point's attempts by rate, and the summary, for a station with these keys.
fn downlink(station: &str) -> (Vec<(f64, f64)>, Summary) {
    let summary = run(&format!(
        "duration = \"21 s\"\nwarmup = \"1 s\"\n[wlan]\n{QUIET}\n[[wlan.stations]]\n{station}\n[[flows]]\nkind = \"cbr\"\n\
         rate = \"40 Mbit/s\""
    ))
    .summary;
    let node = &summary.wlan.as_ref().expect("a channel").access_point;
    let share = |n: u64| n as f64 / node.attempts as f64;
    (node.rates.iter().map(|rate| (rate.mbit_per_s, share(rate.attempts))).collect(), summary)
}

#[test]
fn errors_are_as_frequent_as_the_model_says() {
    for (snr, loss, ack_loss) in [("18.39 dB", 0.1, 0.0), ("17.55 dB", 0.5, 0.0), ("30 dB", 0.0, 0.0)] {
        let (_, summary) = downlink(&format!("rate = \"54 Mbit/s\"\nsnr = \"{snr}\""));
        let node = &summary.wlan.as_ref().expect("a channel").access_point;
        let found = node.errors as f64 / node.attempts as f64;
        assert!((found - loss - ack_loss).abs() < 0.01, "{snr}: {found}");
        // Seven attempts.
        let lost = node.given_up as f64 / (node.frames + node.given_up) as f64;
        assert!((lost - f64::powi(loss, 7)).abs() < 0.002, "{snr}: {lost}");
        assert_eq!(summary.links.forward.lost, node.given_up);
    }
}

#[test]
fn minstrel_finds_the_rate_that_the_channel_carries() {
    let most_used = |rates: &[(f64, f64)]| rates.iter().copied().fold((0.0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    let (clean, summary) = downlink("");
    assert!(most_used(&clean).0 == 54.0 && most_used(&clean).1 > 0.95, "{clean:?}");
    let fixed = goodput_mbps(&downlink("rate = \"54 Mbit/s\"").1);
    let cost = 1.0 - goodput_mbps(&summary) / fixed;
    assert!((0.0..0.03).contains(&cost), "trying rates out costs {cost}");
    // At the first ratio 24 Mbit/s loses 0.1 % and 36 Mbit/s nine of ten; at the second 12 Mbit/s is the fastest that
    // works.
    for (snr, rate) in [("11.5 dB", 24.0), ("5.1 dB", 12.0)] {
        let (rates, _) = downlink(&format!("snr = \"{snr}\""));
        assert!(most_used(&rates).0 == rate, "{snr}: {rates:?}");
    }
}

#[test]
fn a_cell_with_the_rates_of_802_11b_tries_them() {
    let text = |rates: &str| {
        format!(
            "duration = \"10 s\"\n[wlan]\nrates = \"{rates}\"\n[[wlan.stations]]\ncount = 2\n[[flows]]\n\
             kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
             count = 2\ndirection = \"reverse\"\nrtt = \"20 ms\""
        )
    };
    let [g, bg] = ["ofdm", "bg"].map(|rates| run(&text(rates)).summary);
    let slowest = |summary: &Summary| summary.wlan.as_ref().expect("a channel").stations[0].node.rates[0].mbit_per_s;
    assert_eq!((slowest(&g), slowest(&bg)), (6.0, 1.0));
    assert!(goodput_mbps(&bg) < goodput_mbps(&g));
}

#[test]
fn an_upload_s_delay_lies_behind_the_access_point() {
    let summary =
        run("duration = \"5 s\"\n[wlan]\nbeacon = \"0 B\"\n[[wlan.stations]]\nrate = \"54 Mbit/s\"\n[[flows]]\n\
                       kind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\ndirection = \"reverse\"\n\
                       rtt = \"100 ms\"\ndelayed_ack = false\nreceive_window = \"1448 B\"")
        .summary;
    let wlan = summary.wlan.expect("a channel");
    // One segment at a time: its frame, 50 ms in each direction, the frame of its acknowledgment; nothing else.
    let (sent, tapped) = (&wlan.rtts[0].sent_ms, &wlan.rtts[0].tapped_ms);
    assert!(sent.p50.is_some_and(|rtt| (100.3..100.8).contains(&rtt)), "{sent:?}");
    assert_eq!(sent.p50, tapped.p50, "nothing waits in the station");
    // Except the segment right after the handshake's last acknowledgment, for the driver's 12 us.
    assert_eq!(summary.links.reverse.sojourn_ms.max, Some(0.012));
}

/// UDP downloads to three stations at 54 Mbit/s and one at 6, each above its share: goodput in Mbit/s and share of the
/// access point's airtime of each.
fn downloads(queues: &str) -> (Vec<f64>, Vec<f64>) {
    let summary = run(&format!(
        "duration = \"31 s\"\nwarmup = \"1 s\"\n[wlan]\n{QUIET}\nqueues = \"{queues}\"\n[[wlan.stations]]\ncount = 3\nrate = \"54 Mbit/s\"\n\
         [[wlan.stations]]\nrate = \"6 Mbit/s\"\n[link]\naqm = \"codel\"\n[[flows]]\nkind = \"cbr\"\ncount = 4\nrate = \"10 Mbit/s\""
    ))
    .summary;
    let airtimes: Vec<f64> = summary.wlan.expect("a channel").stations.iter().map(|s| s.airtime_down).collect();
    let total: f64 = airtimes.iter().sum();
    (summary.flows.iter().map(|f| f.payload.goodput_bps / 1e6).collect(), airtimes.iter().map(|a| a / total).collect())
}

#[test]
fn queues_by_airtime_end_the_anomaly_and_queues_by_packets_do_not() {
    let ceiling = |mbps: f64| 1472.0 * 8.0 / (DIFS + MEAN_BACKOFF + exchange(1500.0, mbps));
    let (goodputs, airtimes) = downloads("airtime");
    // Airtime excludes interframe spaces and back-offs, which are a larger part of a fast station's turns.
    let pauses = |mbps: f64| (DIFS + MEAN_BACKOFF + exchange(1500.0, mbps)) / exchange(1500.0, mbps);
    let turns = 3.0 * pauses(54.0) + pauses(6.0);
    for (i, (goodput, airtime)) in goodputs.iter().zip(&airtimes).enumerate() {
        let mbps = if i < 3 { 54.0 } else { 6.0 };
        let expected = ceiling(mbps) * pauses(mbps) / turns;
        assert!((airtime - 0.25).abs() < 0.005, "{airtimes:?}");
        assert!((goodput / expected - 1.0).abs() < 0.02, "station {i}: {goodput}, expected {expected}");
    }
    let (goodputs, airtimes) = downloads("round-robin");
    let expected = 1.0 / (3.0 / ceiling(54.0) + 1.0 / ceiling(6.0));
    assert!(
        goodputs.iter().all(|goodput| (goodput / expected - 1.0).abs() < 0.01),
        "{goodputs:?}, expected {expected}"
    );
    assert!(airtimes[3] > 0.7, "{airtimes:?}");
}
