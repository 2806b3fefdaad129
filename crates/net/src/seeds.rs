//! Runs of a test with several seeds: every failure, and how the sides of its sentences are distributed.

use crate::report::Verdict;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Left side of a comparison: its unit, and its value by seed.
type Observed = (String, Vec<(u64, f64)>);

thread_local! {
    /// By comparison.
    static OBSERVED: RefCell<BTreeMap<String, Observed>> = const { RefCell::new(BTreeMap::new()) };
    /// Whether [`seeds`] is calling a test.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Notes the sides of a sentence that was judged.
pub(crate) fn observe(seed: u64, verdict: &Verdict) {
    OBSERVED.with_borrow_mut(|observed| {
        for (text, unit, [left, _]) in &verdict.sides {
            let entry = observed.entry(text.clone()).or_insert_with(|| (unit.clone(), Vec::new()));
            entry.1.push((seed, *left));
        }
    });
}

/// Whether the test of this thread is called with seeds that the environment may choose.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.get()
}

/// The sentences judged so far in a thread, for another one that continues its test.
#[cfg(feature = "process")]
pub(crate) struct SentenceLog(BTreeMap<String, Observed>, bool);

#[cfg(feature = "process")]
impl SentenceLog {
    /// Takes this thread's.
    pub fn take() -> Self {
        Self(OBSERVED.take(), IS_RUNNING.get())
    }

    /// Makes them this thread's.
    pub fn restore(self) {
        OBSERVED.set(self.0);
        IS_RUNNING.set(self.1);
    }
}

/// Calls `test` with every seed of `seeds`, whichever fail, and then panics if any did: with their number, the first
/// message, and the distribution of each comparison's left side.
///
/// `SOJOURN_SEED=7` selects one seed instead, and `SOJOURN_SEEDS=1-40` a range.
///
/// # Panics
///
/// If `test` panics with any seed, or if the variables name no seeds.
pub fn seeds(seeds: RangeInclusive<u64>, mut test: impl FnMut(u64)) {
    let chosen = chosen(seeds).unwrap_or_else(|text| panic!("{text}"));
    OBSERVED.with_borrow_mut(BTreeMap::clear);
    let mut failures: Vec<(u64, String)> = Vec::new();
    IS_RUNNING.set(true);
    for seed in chosen.clone() {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
            failures.push((seed, text.unwrap_or_else(|| "panicked".to_string())));
        }
    }
    IS_RUNNING.set(false);
    let Some((_, first)) = failures.first() else { return };
    let count = chosen.end() - chosen.start() + 1;
    let failed: Vec<String> = failures.iter().map(|(seed, _)| seed.to_string()).collect();
    panic!("{} of {count} seeds failed: {}\n{first}{}", failures.len(), failed.join(", "), distribution());
}

/// The left sides of all comparisons judged so far: minimum, median and maximum, with their seeds.
fn distribution() -> String {
    OBSERVED.with_borrow_mut(|observed| {
        let mut out = String::new();
        for (text, (unit, values)) in std::mem::take(observed) {
            let mut values: Vec<(u64, f64)> = values.into_iter().filter(|(_, value)| !value.is_nan()).collect();
            values.sort_by(|a, b| a.1.total_cmp(&b.1));
            let (Some(least), Some(most)) = (values.first(), values.last()) else { continue };
            let median = values[values.len() / 2];
            if values.len() > 1 && least.1 == most.1 {
                let _ = write!(
                    out,
                    "\n  {text}: the same with all {} seeds; a world draws with e.g. spread = \"1 s\" on its flows",
                    values.len()
                );
                continue;
            }
            let show = |(seed, value): (u64, f64)| format!("{value:.4} {unit} (seed {seed})");
            let _ =
                write!(out, "\n  {text}: minimum {}, median {}, maximum {}", show(*least), show(median), show(*most));
        }
        out
    })
}

/// The seeds to run: those of the environment, or `seeds`.
fn chosen(seeds: RangeInclusive<u64>) -> Result<RangeInclusive<u64>, String> {
    let of = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    if let Some(text) = of("SOJOURN_SEED") {
        let seed = text.parse().map_err(|_| format!("SOJOURN_SEED: {text:?} is no seed; write e.g. 7"))?;
        return Ok(seed..=seed);
    }
    let Some(text) = of("SOJOURN_SEEDS") else { return Ok(seeds) };
    let range = text.split_once('-').and_then(|(first, last)| Some(first.parse().ok()?..=last.parse().ok()?));
    range
        .filter(|range: &RangeInclusive<u64>| !range.is_empty() && range.end() - range.start() < MAX_SEEDS)
        .ok_or_else(|| format!("SOJOURN_SEEDS: {text:?} is no range of seeds; write e.g. 1-20"))
}

/// Maximum number of seeds of a test.
const MAX_SEEDS: u64 = 1_000_000;

/// Body of a test of [`#[sojourn_net::test]`](crate::test): a net of the world at `path` for each seed.
///
/// # Panics
///
/// If the world cannot be loaded, or the test panics.
#[doc(hidden)]
pub fn run_test(path: &str, name: &str, count: u64, test: impl Fn(crate::Net)) {
    seeds(1..=count.max(1), |seed| {
        test(crate::Net::load(path, seed).unwrap_or_else(|error| panic!("{error}")).named(name));
    });
}
