//! Check values of the model: 100,000 draws each, or more if the sampling error requires it.

use super::*;
use crate::scenario::{Scenario, Traffic};
use std::path::Path;

const DRAWS: usize = 100_000;

fn streams(seed: u64) -> impl Fn(&str) -> Rng {
    move |part| Rng::stream(seed, part, 0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(q * sorted.len() as f64) as usize]
}

fn assert_within(found: f64, expected: f64, tolerance: f64, quantity: &str) {
    assert!((found / expected - 1.0).abs() < tolerance, "{quantity}: {found}, expected {expected} ± {tolerance}");
}

#[test]
fn parameters_follow_from_the_rate() {
    for (rate, shape, scale, white, white_scale, noise_scale) in [
        (1.0, 0.5607, 0.60478, 0.5574, 0.7466, 0.3205),
        (5.0, 0.7044, 0.15895, 0.7104, 0.8428, 0.2592),
        (15.0, 0.7849, 0.05803, 0.7944, 0.8913, 0.2184),
        (80.0, 0.8748, 0.01169, 0.8854, 0.9410, 0.1630),
    ] {
        let gaps = Gaps::new(rate, &streams(1));
        let close = |found: f64, expected: f64, digit: f64| {
            assert!((found - expected).abs() <= 0.51 * digit, "rate {rate}: {found}, expected {expected}");
        };
        close(gaps.shape, shape, 1e-4);
        close(gaps.scale_s, scale, 1e-5);
        close(gaps.mixture.white_scale * gaps.mixture.white_scale, white, 1e-4);
        close(gaps.mixture.white_scale, white_scale, 1e-4);
        close(gaps.mixture.noise_scale, noise_scale, 1e-4);
    }
    for (rate, shapes, white) in
        [(5.0, [0.745, 0.8029], 0.7069), (15.0, [0.8122, 0.8522], 0.8058), (80.0, [0.8872, 0.9073], 0.9046)]
    {
        let l = libm::log2(rate);
        let responses = Responses::new(l, Rng::from_state(1));
        assert!((0..2).all(|state| (responses.shapes[state] - shapes[state]).abs() < 6e-4), "{:?}", responses.shapes);
        let requests = Requests::new(l, &streams(1)).0;
        assert!((requests.white_scale * requests.white_scale - white).abs() < 1e-4);
    }
}

#[test]
fn gaps_are_weibull_and_lean_on_each_other() {
    let mut gaps = Gaps::new(15.0, &streams(1));
    let draws: Vec<f64> = (0..DRAWS).map(|_| gaps.draw().as_secs_f64()).collect();
    let average = mean(&draws);
    let deviation = mean(&draws.iter().map(|x| (x - average) * (x - average)).collect::<Vec<_>>()).sqrt();
    // The mean of long-range dependent draws converges slowly; its standard deviation over seeds is 1 %.
    assert_within(average, 1.0 / 15.0, 0.03, "mean gap");
    assert_within(deviation / average, 1.29, 0.05, "variation");
    let k: f64 = 0.7849;
    for q in [0.1, 0.5, 0.9, 0.99] {
        let expected = 0.05803 * libm::pow(-libm::log(1.0 - q), 1.0 / k);
        assert_within(quantile(&draws, q), expected, 0.05, "quantile of the gaps");
    }
    let lagged = mean(&draws.windows(2).map(|w| (w[0] - average) * (w[1] - average)).collect::<Vec<_>>());
    assert!(lagged / (deviation * deviation) > 0.05, "gaps do not lean on each other: {lagged}");
}

#[test]
fn responses_have_the_tabulated_quantiles() {
    let mut responses = Responses::new(libm::log2(15.0), Rng::stream(1, "packmime response", 0));
    let mut by_state = [Vec::new(), Vec::new()];
    for _ in 0..4 * DRAWS {
        let size = responses.draw() as f64;
        by_state[responses.downloading as usize].push(size);
    }
    let [validations, downloads] = by_state;
    let share = downloads.len() as f64 / (4 * DRAWS) as f64;
    assert!((share - 0.72).abs() < 0.01, "share of downloads {share}");
    assert_within(mean(&validations), 152.4, 0.01, "mean validation");
    assert_eq!(quantile(&validations, 0.999_999), 272.0, "largest validation");
    for (values, quantiles) in [
        (&validations, [(0.1, 74.0), (0.5, 140.0), (0.9, 249.0), (0.99, 271.0)]),
        (&downloads, [(0.1, 386.0), (0.5, 2271.0), (0.9, 20_392.0), (0.99, 93_470.0)]),
    ] {
        for (q, expected) in quantiles {
            assert_within(quantile(values, q), expected, 0.03, "quantile of the responses");
        }
    }
    // Integrating the table gives 10,767 up to its end at 62 MB; the tail beyond, once in 300,000 draws, adds 1,104.
    assert_within(typical(|seed| mean_response(15.0, seed, true)), 10_400.0, 0.07, "mean download");
}

#[test]
fn requests_have_the_tabulated_quantiles() {
    for rate in [5.0, 80.0] {
        let mut requests = Requests::new(libm::log2(rate), &streams(1));
        let draws: Vec<f64> = (0..DRAWS).map(|_| requests.draw() as f64).collect();
        assert_within(mean(&draws), 580.0, 0.05, "mean request");
        for (q, expected) in [(0.1, 279.0), (0.5, 421.0), (0.9, 868.0), (0.99, 3050.0)] {
            assert_within(quantile(&draws, q), expected, 0.05, "quantile of the requests");
        }
    }
}

#[test]
fn the_offered_load_is_the_published_one() {
    // Mb/s of responses under HTTP/1.0.
    for (rate, expected) in [(5.0, 0.32), (15.0, 1.0), (80.0, 5.3)] {
        let bytes = typical(|seed| mean_response(rate, seed, false));
        assert_within(rate * 8.0 * bytes / 1e6, expected, 0.07, "offered load");
    }
}

/// The mean of 100,000 responses, or of the downloads among them.
fn mean_response(rate: f64, seed: u64, downloads_only: bool) -> f64 {
    let mut responses = Responses::new(libm::log2(rate), Rng::stream(seed, "packmime response", 0));
    let draws = (0..DRAWS).map(|_| (responses.draw() as f64, responses.downloading));
    mean(&draws.filter(|&(_, download)| download || !downloads_only).map(|(size, _)| size).collect::<Vec<_>>())
}

/// The median over seeds: with a tail of index 1.23, single samples of this size vary by a tenth and more.
fn typical(mean_of: impl Fn(u64) -> f64) -> f64 {
    quantile(&(1..=21).map(mean_of).collect::<Vec<_>>(), 0.5)
}

#[test]
fn persistent_connections_have_the_published_number_of_requests() {
    let mut persistence = Persistence::new(Rng::from_state(1));
    let all: Vec<Vec<(Duration, u64)>> = (0..2 * DRAWS).map(|_| more(&mut persistence, 10_000)).collect();
    let requests = mean(&all.iter().map(|more| 1.0 + more.len() as f64).collect::<Vec<_>>());
    assert!((requests - 1.20).abs() < 0.01, "{requests} requests per connection");
    // A one-page connection always has several objects, so every persistent connection is visible.
    let share = mean(&all.iter().map(|more| !more.is_empty() as u8 as f64).collect::<Vec<_>>());
    assert!((share - 0.09).abs() < 0.003, "{share} of the connections are persistent");
    assert!(persistence_sizes(&mut persistence, 275).iter().all(|&size| size == 275));
    assert!(persistence_sizes(&mut persistence, 276).iter().any(|&size| size != 276));
}

fn persistence_sizes(persistence: &mut Persistence, first: u64) -> Vec<u64> {
    (0..1000).flat_map(|_| more(persistence, first)).map(|(_, size)| size).collect()
}

fn more(persistence: &mut Persistence, first: u64) -> Vec<(Duration, u64)> {
    let mut requests = Vec::new();
    persistence.more(first, |pause, size| requests.push((pause, size)));
    requests
}

#[test]
fn servers_need_a_tenth_of_a_second_at_the_most() {
    let mut rng = Rng::from_state(1);
    let times: Vec<f64> = (0..DRAWS).map(|_| think(&mut rng).as_secs_f64()).collect();
    assert_eq!(times.iter().copied().fold(0.0, f64::max), 0.1);
    assert_within(quantile(&times, 0.5), 5.9e-3, 0.02, "median of the server's time");
}

#[test]
fn clouds_with_the_same_seed_are_the_same() {
    let spec = |protocol| {
        let text = "duration = \"1 s\"\n[link]\nrate = \"1 Gbit/s\"\n[[flows]]\nkind = \"packmime\"\n\
                    stack = \"linux-2.6.29\"\ncc = \"reno\"\nconnections_per_second = 80";
        let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
        let Traffic::PackMime(spec) = &scenario.flows[0].traffic else { panic!("a PackMime cloud") };
        PackMimeSpec { protocol, ..spec.clone() }
    };
    let draw = |protocol, seed, index| {
        let mut cloud = packmime(&spec(protocol), Instant::ZERO, seed, index);
        let exchanges = |cloud: &mut PackMime| {
            let mut exchanges = Vec::new();
            cloud.exchanges(&mut exchanges);
            exchanges
        };
        (0..1000).map(|_| (cloud.gaps.draw(), exchanges(&mut cloud))).collect::<Vec<_>>()
    };
    assert_eq!(draw(Http::V1_1, 1, 0), draw(Http::V1_1, 1, 0));
    assert_ne!(draw(Http::V1_1, 1, 0), draw(Http::V1_1, 2, 0));
    assert_ne!(draw(Http::V1_1, 1, 0), draw(Http::V1_1, 1, 1));
    // The version of HTTP changes neither the arrivals nor the first exchanges.
    let firsts = |draws: Vec<(Duration, Vec<Exchange>)>| -> Vec<(Duration, u64, u64)> {
        draws.iter().map(|(gap, exchanges)| (*gap, exchanges[0].request, exchanges[0].response)).collect()
    };
    assert_eq!(firsts(draw(Http::V1_0, 1, 0)), firsts(draw(Http::V1_1, 1, 0)));
}

#[test]
fn a_think_time_is_a_weibull_variable_s_inverse_to_the_bit() {
    let (mut rng, mut plain) = (Rng::from_state(11), Rng::from_state(11));
    let mut bounded = 0;
    for _ in 0..DRAWS {
        let expected = Duration::from_secs_f64(1.0 / weibull(&mut plain, 0.63, 305.0).max(10.0));
        assert_eq!(think(&mut rng), expected);
        bounded += u32::from(expected == Duration::from_millis(100));
    }
    // The probability that an exponential variable is below (10 / 305)^0.63.
    assert_within(f64::from(bounded) / DRAWS as f64, 0.1097, 0.03, "share of the bound");
}
