//! Random times around a mean: uniform, or by the inverse of a distribution in a table (`tabledist` of `sch_netem.c`).
//! The tables are those that the programs `normal.c`, `pareto.c` and `paretonormal.c` of iproute2 compute.

use super::crandom::Crandom;
use super::table::Table;
use crate::rng::Rng;
use alloc::boxed::Box;
use core::fmt;

/// Distribution of times around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform from the mean minus the jitter to the mean plus the jitter.
    Uniform,
    /// Normal; the jitter is the standard deviation.
    Normal,
    /// Pareto with exponent 3; the jitter is the standard deviation.
    Pareto,
    /// A quarter of a normally distributed time plus three quarters of a Pareto one.
    ParetoNormal,
    /// Table read from a file.
    Table(&'static Table),
}

impl Distribution {
    /// Distributions that need no file.
    pub const BUILT_IN: [Self; 4] = [Self::Uniform, Self::Normal, Self::Pareto, Self::ParetoNormal];
    /// Names of the built-in distributions.
    pub const WORDS: &'static [&'static str] = &["uniform", "normal", "pareto", "paretonormal"];

    /// Values of the inverse distribution in steps of equal probability, in units of the jitter over `SCALE`; `None`
    /// for [`Distribution::Uniform`].
    pub fn table(self) -> Option<Box<[i16]>> {
        let short = |value: i32| value.clamp(i16::MIN as i32, i16::MAX as i32) as i16;
        let entries = 0..ENTRIES;
        match self {
            Self::Uniform => None,
            Self::Normal => Some(entries.map(|i| short(normal(i))).collect()),
            Self::Pareto => Some(entries.map(|i| short(pareto(i))).collect()),
            Self::ParetoNormal => Some(entries.map(|i| short((normal(i) + 3 * pareto(i)) / 4)).collect()),
            Self::Table(table) => Some(table.entries().into()),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, Self::BUILT_IN.iter().position(|known| known == self)) {
            (Self::Table(table), _) => f.write_str(table.name()),
            (_, Some(i)) => f.write_str(Self::WORDS[i]),
            (_, None) => unreachable!("all others are built in"),
        }
    }
}

/// Generator of times around a mean.
#[derive(Clone, Debug)]
pub(super) struct DelayDistribution {
    /// In nanoseconds.
    pub mean: i64,
    /// In nanoseconds; at most `i32::MAX`.
    pub jitter: i32,
    table: Option<Box<[i16]>>,
}

impl DelayDistribution {
    /// Generator with `mean` and `jitter` in nanoseconds.
    pub fn new(mean: i64, jitter: i32, by: Distribution) -> Self {
        let table = if jitter > 0 { by.table() } else { None };
        Self { mean, jitter, table }
    }

    /// Draws the next time, in nanoseconds, possibly negative. Without jitter nothing is drawn.
    #[inline]
    pub fn next(&self, numbers: &mut Crandom, rng: &mut Rng) -> i64 {
        if self.jitter == 0 {
            return self.mean;
        }
        let random = numbers.next(rng);
        match &self.table {
            None => (random % (2 * self.jitter as u32)) as i64 + self.mean - self.jitter as i64,
            Some(table) => self.mean + scale(self.jitter as i64, table[random as usize % table.len()] as i64),
        }
    }
}

/// `sigma * t` in units of `SCALE`; only the remainder of `sigma / SCALE` is rounded.
#[inline]
fn scale(sigma: i64, t: i64) -> i64 {
    let x = sigma % SCALE * t;
    let half = if x >= 0 { SCALE / 2 } else { -SCALE / 2 };
    (x + half) / SCALE + sigma / SCALE * t
}

/// `NETEM_DIST_SCALE`: table value of one standard deviation.
const SCALE: i64 = 8192;
/// Entries of a table.
const ENTRIES: usize = 4096;

/// Entry `i`: of the points from −10 on in steps of 0.00005, the last one whose probability, rounded to 1/16384, does
/// not exceed that of the entry. iproute2's program walks along the 401,000 points.
fn normal(i: usize) -> i32 {
    let point = |k: i32| -10.0 + k as f64 * 0.00005;
    let rank = |x: f64| libm::rint(16384.0 * (0.5 + 0.5 * libm::erf(x / core::f64::consts::SQRT_2))) as usize;
    // Bisection, because the rank grows with the point: the first one above the entry's, minus one.
    let (mut below, mut above) = (0, 401_000);
    while above - below > 1 {
        let middle = (below + above) / 2;
        if rank(point(middle)) > 4 * i { above = middle } else { below = middle }
    }
    libm::rint(point(below) * SCALE as f64) as i32
}

/// Entry `i`.
fn pareto(i: usize) -> i32 {
    let part = (65_536 - 16 * i) as f64 / 65_536.0;
    let value = (1.0 / libm::pow(part, 1.0 / 3.0) - 1.5) * ((4.0 / 3.0) * SCALE as f64);
    libm::rint(value.min(32_767.0)) as i32
}
