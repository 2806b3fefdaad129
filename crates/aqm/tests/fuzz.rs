//! Random operations on random disciplines: time, arrivals of every size, flow and ECN field, departures, updates,
//! under any parameters and limits. Each case is a sequence of bytes that the conformance suite decodes and judges.
//!
//! Cases are numbered and reproducible by seed. The normal test run has 24 million operations, the same on every
//! machine, because some disciplines seldom drop by themselves (`fq(pie)` first after 16 million); `make fuzz` runs for
//! a given time, `make soak` for ten million operations.

use sojourn_aqm::conformance::case::{Case, SHAPERS, disciplines};
use sojourn_aqm::{DropReason, Rng, Stats};
use std::collections::BTreeMap;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

#[test]
#[expect(clippy::disallowed_methods, reason = "a search has a budget of time")]
fn random_operations_keep_to_the_rules() {
    let budget = Budget::from_environment();
    let seed = number("SOJOURN_FUZZ_SEED").unwrap_or(1);
    let all = disciplines();
    let mut tally = BTreeMap::new();
    let (start, mut reported, mut operations, mut n) = (Instant::now(), Duration::ZERO, 0, 0);
    while n < ROUNDS * all.len() as u64 || !budget.is_spent(start.elapsed(), operations) {
        let bytes = random_bytes(seed, n, all.len() as u64);
        let case = Case::from_bytes(&bytes);
        let stats = outcome(&bytes).unwrap_or_else(|e| fail(seed, n, &bytes, &e));
        let discipline: &mut Tally = tally.entry(&all[(n % all.len() as u64) as usize]).or_default();
        discipline.add(case.ops.len() as u64, &stats);
        operations += case.ops.len() as u64;
        n += 1;
        if start.elapsed() >= reported + Duration::from_secs(5) {
            reported = start.elapsed();
            println!("{:4} s: {n} cases, {operations} operations", reported.as_secs());
        }
    }
    println!("{n} cases, {operations} operations on {} disciplines (seed {seed}):", tally.len());
    for (aqm, Tally { operations, overflowed, managed }) in &tally {
        println!("{aqm:28} {operations:9} operations, {overflowed:8} packets did not fit, {managed:8} were managed");
    }
    assert_eq!(tally.len(), all.len(), "every discipline has its turn");
    for (aqm, Tally { overflowed, managed, .. }) in tally {
        let acts = !LIMITS_ONLY.contains(&aqm.as_str()) && !SHAPERS.contains(&aqm.as_str());
        assert!(overflowed > 0 && (managed > 0 || !acts), "{aqm}: {overflowed} did not fit, {managed} were managed");
    }
}

/// Duration of the run.
enum Budget {
    Time(Duration),
    Operations(u64),
}

impl Budget {
    fn from_environment() -> Self {
        match (number("SOJOURN_FUZZ_OPERATIONS"), number("SOJOURN_FUZZ_SECONDS")) {
            (Some(operations), _) => Self::Operations(operations),
            (None, Some(seconds)) => Self::Time(Duration::from_secs(seconds)),
            (None, None) => Self::Operations(24_000_000),
        }
    }

    fn is_spent(&self, elapsed: Duration, operations: u64) -> bool {
        match self {
            Self::Time(most) => elapsed >= *most,
            Self::Operations(most) => operations >= *most,
        }
    }
}

/// Totals of a discipline's cases.
#[derive(Default)]
struct Tally {
    operations: u64,
    /// Packets dropped by the limits.
    overflowed: u64,
    /// Packets dropped or marked by the algorithm.
    managed: u64,
}

impl Tally {
    fn add(&mut self, operations: u64, stats: &Stats) {
        let overflowed = stats.dropped[DropReason::Limit as usize].packets;
        self.operations += operations;
        self.overflowed += overflowed;
        self.managed += stats.dropped_total().packets - overflowed + stats.marked.packets;
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {n:?}")))
}

/// The bytes of case `n`; disciplines alternate.
fn random_bytes(seed: u64, n: u64, disciplines: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "fuzz", n);
    let turn = ((n % disciplines) as u16).to_le_bytes();
    let length = 20 + rng.below(100);
    turn.into_iter().chain((0..length).map(|_| rng.next_u64() as u8)).collect()
}

/// Final counters of the case of these bytes, or its violation.
fn outcome(bytes: &[u8]) -> Result<Stats, String> {
    let run = || Case::from_bytes(bytes).run();
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(judged) => judged.map_err(|broken| broken.to_string()),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a word");
            Err(format!("panic: {text}"))
        }
    }
}

/// Fails the test with the shortest failing case found.
fn fail(seed: u64, n: u64, bytes: &[u8], error: &str) -> ! {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let shortest = shortened(bytes, |bytes| outcome(bytes).is_err());
    let finding = outcome(&shortest).err().unwrap_or_else(|| error.to_string());
    panic::set_hook(hook);
    let hex: String = shortest.iter().map(|byte| format!("{byte:02x}")).collect();
    let case = Case::from_bytes(&shortest);
    let ops = &case.ops[..case.ops.len().min(30)];
    panic!("case {n} of seed {seed}: {error}\nshortest: {finding}\n  {case}\n  bytes {hex}\n  beginning with {ops:?}");
}

/// Removes bytes, first many and then few, while the case still fails.
fn shortened(bytes: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut shortest = bytes.to_vec();
    let mut chunk = shortest.len() / 2;
    while chunk > 0 {
        // The first two bytes select the discipline.
        let mut at = 2;
        while at < shortest.len() {
            let end = (at + chunk).min(shortest.len());
            let candidate = [&shortest[..at], &shortest[end..]].concat();
            if fails(&candidate) {
                shortest = candidate;
            } else {
                at = end;
            }
        }
        chunk /= 2;
    }
    shortest
}

#[test]
fn a_failing_case_is_shortened_to_what_makes_it_fail() {
    let bytes: Vec<u8> = (0..100).collect();
    let both = |bytes: &[u8]| bytes.contains(&40) && bytes.contains(&90);
    assert_eq!(shortened(&bytes, both), [0, 1, 40, 90]);
}

#[test]
fn every_sequence_of_bytes_is_a_case() {
    for bytes in [&[][..], &[0], &[0xff; 3], &[0xff; 40], &[0; 400]] {
        let case = Case::from_bytes(bytes);
        assert_eq!(case.ops, Case::from_bytes(bytes).ops);
        case.run().unwrap_or_else(|broken| panic!("{case}: {broken}"));
    }
}

/// Minimum number of cases per discipline.
const ROUNDS: u64 = 30;
/// Disciplines without an algorithm that drops or marks.
const LIMITS_ONLY: [&str; 15] = [
    "droptail",
    "drophead",
    "sfq",
    "sfq@linux-3.10",
    "sfq@ns2",
    "drr",
    "fq(droptail)",
    "fq(drophead)",
    "tbf",
    "prio",
    "htb",
    "htb@linux-6.1",
    "pfifo_fast",
    "sch_fq",
    "sch_fq@linux-6.1",
];
