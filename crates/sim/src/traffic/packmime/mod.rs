//! PackMime-HTTP: web traffic of many users as a stream of connections.
//!
//! Source: ns-2.35 `packmime/`, after Cao, Cleveland, Gao, Jeffay, Smith, Weigle: "Stochastic models for generating
//! synthetic HTTP source traffic", INFOCOM 2004. The rate of new connections is the only parameter; all shapes follow
//! from its binary logarithm.

mod convolution;
mod farima;
mod tables;
#[cfg(test)]
mod tests;

use super::exchange::{Exchange, Script};
use super::job::Job;
use super::pattern::Pattern;
use crate::random::{gamma, normal, normal_below, weibull, weibull_of};
use crate::scenario::{Http, PackMimeSpec, TcpSpec};
use farima::{Farima, scale_for};
use sojourn_aqm::{Duration, Instant, Rng};

/// A cloud of clients and a cloud of servers.
pub(super) struct PackMime {
    tcp: TcpSpec,
    due: Instant,
    gaps: Gaps,
    requests: Requests,
    responses: Responses,
    think: Rng,
    persistence: Option<Persistence>,
}

/// Cloud `index` of a run with `seed`; its first connection comes after a gap from `start`.
pub(super) fn packmime(spec: &PackMimeSpec, start: Instant, seed: u64, index: u32) -> PackMime {
    let rng = |part: &str| Rng::stream(seed, part, index as u64);
    let l = libm::log2(spec.connections_per_second as f64);
    let mut packmime = PackMime {
        tcp: spec.tcp.clone(),
        due: start,
        gaps: Gaps::new(spec.connections_per_second as f64, &rng),
        requests: Requests::new(l, &rng),
        responses: Responses::new(l, rng("packmime response")),
        think: rng("packmime server"),
        persistence: (spec.protocol == Http::V1_1).then(|| Persistence::new(rng("packmime persistence"))),
    };
    let gap = packmime.gaps.draw();
    packmime.due += gap;
    packmime
}

impl PackMime {
    /// Appends one exchange, and maybe more under HTTP/1.1, to `exchanges`.
    fn exchanges(&mut self, exchanges: &mut Vec<Exchange>) {
        let (request, response) = (self.requests.draw(), self.responses.draw());
        let rng = &mut self.think;
        let mut add = |pause, response| exchanges.push(Exchange { pause, request, think: think(rng), response });
        add(Duration::ZERO, response);
        if let Some(persistence) = &mut self.persistence {
            persistence.more(response, add);
        }
    }
}

impl Pattern for Box<PackMime> {
    fn due(&self) -> Instant {
        self.due
    }

    fn draw(&mut self, spare: &mut Vec<Exchange>) -> Job {
        let gap = self.gaps.draw();
        self.due += gap;
        let mut exchanges = std::mem::take(spare);
        self.exchanges(&mut exchanges);
        Job::Dialogue(Script::list(exchanges))
    }

    fn tcp(&self) -> &TcpSpec {
        &self.tcp
    }
}

/// Standard normal variables, partly white and partly fractional noise.
struct Mixture {
    noise: Farima,
    noise_scale: f64,
    white: Rng,
    white_scale: f64,
}

impl Mixture {
    /// `white` is the share of white noise in the variance.
    fn new(white: f64, noise: Farima, d: f64, rng: Rng) -> Self {
        Self { noise, noise_scale: scale_for(d, 1.0 - white), white: rng, white_scale: white.sqrt() }
    }

    fn draw(&mut self) -> f64 {
        self.noise.draw() * self.noise_scale + normal(&mut self.white) * self.white_scale
    }
}

/// Times between connections: Weibull, long-range dependent.
struct Gaps {
    mixture: Mixture,
    shape: f64,
    scale_s: f64,
}

impl Gaps {
    fn new(rate: f64, rng: &impl Fn(&str) -> Rng) -> Self {
        let l = libm::log2(rate);
        let noise = Farima::new(GAP_D, GAP_MEMORY, rng("packmime gap"));
        let shape = logit_inverse(0.352 + 0.388 * l);
        Self {
            mixture: Mixture::new(logit_inverse(0.333 + 0.414 * l), noise, GAP_D, rng("packmime gap noise")),
            shape,
            scale_s: 1.0 / (rate * libm::tgamma(1.0 + 1.0 / shape)),
        }
    }

    fn draw(&mut self) -> Duration {
        let survival = normal_below(-self.mixture.draw());
        Duration::from_secs_f64(self.scale_s * libm::pow(-libm::log(survival), 1.0 / self.shape))
    }
}

/// Sizes of requests.
struct Requests(Mixture);

impl Requests {
    fn new(l: f64, rng: &impl Fn(&str) -> Rng) -> Self {
        let noise = Farima::new(REQUEST_D, REQUEST_MEMORY, rng("packmime request"));
        Self(Mixture::new(logit_inverse(0.123 + 0.494 * l), noise, REQUEST_D, rng("packmime request noise")))
    }

    fn draw(&mut self) -> u64 {
        let z = self.0.draw();
        let below = normal_below(z);
        if below <= 0.5 {
            return whole_bytes(tables::SMALL_REQUEST.at(2.0 * below));
        }
        // 1 - q with q = 2 below - 1.
        let above = 2.0 * normal_below(-z);
        whole_bytes(libm::exp2(tables::LARGE_REQUEST.at(libm::log2(above))))
    }
}

/// Sizes of responses: alternating runs of cache validations and of downloads.
struct Responses {
    rng: Rng,
    shapes: [f64; 2],
    downloading: bool,
    /// Responses left in the run.
    left: u64,
}

impl Responses {
    fn new(l: f64, rng: Rng) -> Self {
        let shapes = [logit_inverse(0.718 + 0.357 * l), logit_inverse(1.293 + 0.316 * l)];
        // The first draw starts a run of downloads.
        Self { rng, shapes, downloading: false, left: 0 }
    }

    fn draw(&mut self) -> u64 {
        if self.left == 0 {
            self.downloading = !self.downloading;
            let state = self.downloading as usize;
            self.left = weibull(&mut self.rng, self.shapes[state], RUN_SCALES[state]).ceil().max(1.0) as u64;
        }
        self.left -= 1;
        let u = self.rng.uniform();
        if self.downloading {
            whole_bytes(libm::exp2(tables::DOWNLOAD.at(libm::log2(1.0 - u))))
        } else {
            whole_bytes(tables::VALIDATION.within(u))
        }
    }
}

/// Persistent connections of HTTP/1.1: some serve several requests.
struct Persistence {
    rng: Rng,
    page_gap: LogNormals,
    object_gap: LogNormals,
}

/// Log-normal variables (base 2) whose location and scale are themselves drawn.
#[derive(Clone, Copy)]
struct LogNormals {
    location: f64,
    scale: f64,
}

impl LogNormals {
    fn new(rng: &mut Rng, (mean, variance): (f64, f64), shape: f64, factor: f64) -> Self {
        let location = mean + variance.sqrt() * normal(rng);
        Self { location, scale: (gamma(rng, shape) / shape * factor).sqrt() }
    }

    fn draw(self, rng: &mut Rng) -> f64 {
        libm::exp2(self.location + self.scale * normal(rng))
    }
}

impl Persistence {
    fn new(mut rng: Rng) -> Self {
        // Drawn once for the whole cloud, as in the source.
        let page_gap = LogNormals::new(&mut rng, (3.22, 0.73), 1.85, 1.21);
        let object_gap = LogNormals::new(&mut rng, (-4.15, 3.12), 2.35, 1.57);
        Self { rng, page_gap, object_gap }
    }

    /// Calls `add` with pause and size of each response after the first, which has size `first`.
    fn more(&mut self, first: u64, mut add: impl FnMut(Duration, u64)) {
        let rng = &mut self.rng;
        if rng.uniform() >= PERSISTENT {
            return;
        }
        let pages = if rng.uniform() < ONE_PAGE { 1 } else { at_least_two(rng, 0.417) };
        let sizes = LogNormals::new(rng, (10.62, 0.94), 3.22, 2.43);
        for page in 0..pages {
            let single = pages > 1 && rng.uniform() < ONE_OBJECT;
            let objects = if single { 1 } else { at_least_two(rng, 1.578) };
            for object in 0..objects {
                if (page, object) == (0, 0) {
                    continue;
                }
                let gap = if object == 0 { self.page_gap } else { self.object_gap };
                let pause = Duration::from_secs_f64(gap.draw(rng).min(LONGEST_PAUSE_S));
                let size = if first <= LARGEST_VALIDATION { first } else { whole_bytes(sizes.draw(rng)) };
                add(pause, size);
            }
        }
    }
}

/// One plus an exponential variable of this mean, rounded up; at least two.
fn at_least_two(rng: &mut Rng, mean: f64) -> u64 {
    ((mean * rng.exponential() + 1.0).ceil() as u64).max(2)
}

/// The server's think time: the inverse of a Weibull variable, at most a tenth of a second.
fn think(rng: &mut Rng) -> Duration {
    let exponential = rng.exponential();
    // Skips the power if the bound applies anyway: (10 / 305)^0.63 = 0.1162.
    let per_second = if exponential < 0.116 { 0.0 } else { weibull_of(exponential, 0.63, 305.0) };
    Duration::from_secs_f64(1.0 / per_second.max(10.0))
}

/// A whole number of bytes, at least one.
fn whole_bytes(bytes: f64) -> u64 {
    (bytes as u64).clamp(1, LARGEST)
}

/// Inverse logit to the base 2.
fn logit_inverse(x: f64) -> f64 {
    let odds = libm::exp2(x);
    odds / (1.0 + odds)
}

const GAP_D: f64 = 0.33;
const GAP_MEMORY: usize = 1000;
const REQUEST_D: f64 = 0.31;
const REQUEST_MEMORY: usize = 5000;

/// Scales of run lengths: validations, downloads.
const RUN_SCALES: [f64; 2] = [0.775, 3.11];

/// Responses up to this many bytes are cache validations.
const LARGEST_VALIDATION: u64 = 275;

const PERSISTENT: f64 = 0.09;
const ONE_PAGE: f64 = 0.82;
const ONE_OBJECT: f64 = 0.69;

/// Bounds beyond any draw of a run; they keep times and sums of bytes within their types.
const LARGEST: u64 = 1 << 50;
const LONGEST_PAUSE_S: f64 = 1e9;
