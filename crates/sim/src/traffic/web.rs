//! Pages of one size, each over its own connection, at regular or random intervals.

use super::exchange::{Exchange, Script};
use super::job::Job;
use super::pattern::Pattern;
use crate::scenario::{TcpSpec, WebSpec};
use sojourn_aqm::{Duration, Instant, Rng};

pub(super) struct WebPages {
    spec: WebSpec,
    due: Instant,
    rng: Rng,
}

/// Pages from `start` on; with random intervals the first page comes after one of them.
pub(super) fn pages(spec: &WebSpec, start: Instant, rng: Rng) -> WebPages {
    let mut pages = WebPages { spec: spec.clone(), due: start, rng };
    if spec.random {
        let interval = pages.interval();
        pages.due += interval;
    }
    pages
}

impl WebPages {
    fn interval(&mut self) -> Duration {
        let mean = self.spec.interval;
        if self.spec.random { mean.mul_f64(self.rng.exponential()) } else { mean }
    }
}

impl Pattern for WebPages {
    fn due(&self) -> Instant {
        self.due
    }

    fn draw(&mut self, spare: &mut Vec<Exchange>) -> Job {
        let interval = self.interval();
        self.due += interval;
        let WebSpec { request, think, size, .. } = self.spec;
        let mut exchanges = std::mem::take(spare);
        exchanges.push(Exchange { pause: Duration::ZERO, request, think, response: size });
        Job::Dialogue(Script::list(exchanges))
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }

    fn max_open(&self) -> u32 {
        self.spec.at_once.unwrap_or(u32::MAX)
    }
}
