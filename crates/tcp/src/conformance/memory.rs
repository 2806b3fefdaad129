//! Whether memory grows over many connections, and over many calls of one.

use super::check::MemoryGauge;
use super::connection::Transport;
use super::ends::{Ends, Event};
use super::path::Impairments;
use super::recording::{CallObserver, CallRecord, RecordedDefinition, locked};
use super::world::World;
use crate::cc::foreign::{ControlDefinition, ForeignControl};
use sojourn_aqm::{Duration, Rng};
use std::fmt;
use std::sync::{Arc, Mutex};

/// Samples of the memory in use.
pub(super) struct MemoryWatch {
    gauge: Option<MemoryGauge>,
    over_connections: Vec<u64>,
    over_calls: Vec<u64>,
    long: Option<LongConnection>,
    calls: Arc<Mutex<CallCount>>,
}

struct LongConnection {
    world: World<Box<dyn Ends>>,
    /// Number of calls at the next sample.
    next: u64,
}

impl fmt::Debug for MemoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWatch").field("over_connections", &self.over_connections).finish_non_exhaustive()
    }
}

impl MemoryWatch {
    pub fn new(gauge: Option<MemoryGauge>) -> Self {
        Self { gauge, over_connections: Vec::new(), over_calls: Vec::new(), long: None, calls: Arc::default() }
    }

    /// A random connection has ended.
    pub fn sample_connection(&mut self) {
        if let Some(gauge) = &self.gauge {
            self.over_connections.push(gauge());
        }
    }

    /// Plays a second of a connection of `target` calls; returns the share done, or none at the end.
    pub fn step_long(&mut self, definition: &Arc<dyn ControlDefinition>, target: u64) -> Option<f64> {
        let gauge = self.gauge.as_ref()?;
        let LongConnection { world, next } = self.long.get_or_insert_with(|| {
            let recorded = RecordedDefinition::new(Arc::clone(definition), Arc::clone(&self.calls));
            let ends = Transport::all(&**definition)[0].plain(Arc::new(recorded), false);
            // A few losses, so that calls of recovery are among them.
            let path = Impairments { lost: 1, ..Impairments::GOOD };
            let mut world = World::scripted(ends, path, Rng::stream(0, "memory", 0));
            world.carry_out(Event::Opens(None));
            LongConnection { world, next: 0 }
        });
        let before = locked(&self.calls).0;
        world.run_until(world.now + Duration::from_secs(1), &mut |_, _| false);
        let calls = locked(&self.calls).0;
        while calls >= *next && self.over_calls.len() <= SAMPLES {
            self.over_calls.push(gauge());
            *next += target.div_ceil(SAMPLES as u64);
        }
        // A connection without calls is reported as stuck.
        let is_over = self.over_calls.len() > SAMPLES || (calls == before && world.now.as_secs_f64() > 1_000.0);
        (!is_over).then(|| (calls as f64 / target as f64).min(1.0))
    }

    /// Whether memory was sampled.
    pub fn is_watched(&self) -> bool {
        self.gauge.is_some()
    }

    /// A sentence about growth, if there is any.
    pub fn growth(&self) -> Option<String> {
        let per_call = growth_of(&self.over_calls, locked(&self.calls).0, 4);
        let per_connection = growth_of(&self.over_connections, self.over_connections.len() as u64, 4_096);
        match (per_call, per_connection) {
            (Some(bytes), _) => Some(format!("grows by {bytes} bytes in the second half of a long connection")),
            (_, Some(bytes)) => Some(format!("grows by {bytes} bytes over the second half of the connections")),
            _ => None,
        }
    }
}

/// Growth in bytes over the second half of `samples`, if both of its halves grow, each by a noticeable amount and by
/// `least` bytes per call or connection; `count` is the number of these over all samples. The first half fills caches
/// and the allocator's arenas.
fn growth_of(samples: &[u64], count: u64, least: u64) -> Option<u64> {
    if samples.len() < 8 {
        return None;
    }
    let last = samples.len() - 1;
    let [middle, late, end] = [last / 2, 3 * last / 4, last].map(|index| samples[index]);
    let threshold = NOTICEABLE.max(least * count / 4);
    let grows = |from: u64, to: u64| to.saturating_sub(from) >= threshold;
    (grows(middle, late) && grows(late, end)).then(|| end - middle)
}

/// Counts calls.
#[derive(Debug, Default)]
struct CallCount(u64);

impl CallObserver for CallCount {
    fn called(&mut self, _: &CallRecord, _: &dyn ForeignControl) {
        self.0 += 1;
    }

    fn failed(&mut self, _: &str) {}
}

/// Samples in a long connection.
const SAMPLES: usize = 64;
/// Growth that is no noise of an allocator, in bytes.
const NOTICEABLE: u64 = 64 * 1024;
