//! Checks of a congestion control: rules that every control keeps, and reactions that are worth a note.
//!
//! A control fails if it sticks, grows without bound, leaks memory, is not deterministic, or breaks a rule of the
//! interface. Other findings are notes: controls differ in how they respond to marks, time-outs and needless reductions.

use super::connection::Transport;
use super::copies::Copies;
use super::diff::EVENTS_PER_CONNECTION;
use super::ends::{Ends, RUNAWAY};
use super::judge::Judge;
use super::memory::MemoryWatch;
use super::recording::{CallObserver, RecordedDefinition, locked};
use super::repeat::Repeat;
use super::situations::{Findings, Situation, settle};
use super::world::World;
use crate::cc::foreign::ControlDefinition;
use sojourn_aqm::Instant;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A check in progress.
#[derive(Debug)]
pub struct Check {
    definition: Arc<dyn ControlDefinition>,
    target_calls: u64,
    seed: u64,
    transports: Vec<Transport>,
    phase: Phase,
    /// Random connections of the first pass.
    connections: u64,
    findings: Findings,
    judge: Arc<Mutex<Judge>>,
    repeat: Arc<Mutex<Repeat>>,
    copies: Arc<Mutex<Copies>>,
    memory: MemoryWatch,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Random,
    Situations(usize),
    Repeated(u64),
    Copied(u64),
    LongConnection,
    Over,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Parts of the check, in a fixed order.
    pub parts: Vec<Part>,
    /// Calls in random connections and in scripted ones.
    pub calls: u64,
    /// Random connections.
    pub connections: u64,
    /// Hash of all calls and results. Another process must find the same one.
    pub fingerprint: u64,
}

/// A part of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name: `faults`, `stuck`, `bounds`, `equal twice`, `copies`, `memory`, `time-outs`, `undo`, `idle`, `marks`.
    pub name: &'static str,
    /// Outcome.
    pub outcome: Outcome,
    /// The finding, or the amount checked.
    pub detail: String,
}

/// Outcome of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule holds.
    Passed,
    /// An unusual reaction, which is no failure.
    Noted,
    /// Not checked, because nothing could show it.
    Skipped,
    /// The rule is broken.
    Failed,
}

impl Report {
    /// Whether no part has failed.
    pub fn has_passed(&self) -> bool {
        self.parts.iter().all(|part| part.outcome != Outcome::Failed)
    }

    /// The part called `name`.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }
}

impl Outcome {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Noted => "noted",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.name, self.outcome.name(), self.detail)
    }
}

/// Memory in use, in bytes.
pub type MemoryGauge = Box<dyn Fn() -> u64 + Send>;

impl Check {
    /// Checks `definition` with at least `events` calls in random connections that `seed` selects. Without `memory` its
    /// growth is not checked.
    pub fn new(definition: Arc<dyn ControlDefinition>, events: u64, seed: u64, memory: Option<MemoryGauge>) -> Self {
        let (findings, repeat, copies) = Default::default();
        let judge = Arc::new(Mutex::new(Judge { steers: definition.needs().steers, ..Judge::default() }));
        Self {
            transports: Transport::all(&*definition),
            memory: MemoryWatch::new(memory),
            definition,
            target_calls: events,
            seed,
            phase: Phase::Situations(0),
            connections: 0,
            findings,
            judge,
            repeat,
            copies,
        }
    }

    /// Plays a connection, or a part of a long one; returns the share done, or none at the end.
    pub fn step(&mut self) -> Option<f64> {
        let (next, share) = match self.phase {
            Phase::Random => self.step_random(),
            Phase::Situations(index) => self.step_situation(index),
            Phase::Repeated(index) => self.step_repeated(index),
            Phase::Copied(index) => self.step_copied(index),
            Phase::LongConnection => self.step_long(),
            Phase::Over => return None,
        };
        let is_decided = self.findings.is_runaway || locked(&self.judge).fault.is_some();
        self.phase = if is_decided { Phase::Over } else { next };
        Some(share)
    }

    /// The result so far; final when [`Self::step`] has returned none.
    pub fn report(&self) -> Report {
        let judge = locked(&self.judge);
        let parts = super::verdict::parts(
            (&judge, &self.findings),
            (&locked(&self.repeat), &locked(&self.copies)),
            (&self.memory, self.definition.needs().steers),
        );
        Report { parts, calls: judge.calls, connections: self.connections, fingerprint: judge.digest.0 }
    }

    fn step_random(&mut self) -> (Phase, f64) {
        locked(&self.judge).begin(true, false);
        let judge = Arc::clone(&self.judge);
        let mut world = self.play(self.connections, judge);
        locked(&self.judge).is_random = false;
        let transport = self.transport(self.connections).name();
        let in_flight = world.ends.in_flight();
        if in_flight >= RUNAWAY {
            let text = format!("{transport}, connection {}: {in_flight} packets are in flight", self.connections);
            self.findings.bounds.push(text);
            self.findings.is_runaway = true;
        } else if let Some(text) = settle(&mut world) {
            self.findings.stuck.push(format!("{transport}, connection {}: {text}", self.connections));
        }
        self.connections += 1;
        let calls = locked(&self.judge).hashes.len() as u64;
        // A control that gets no calls in so many connections gets none at all.
        let is_over = calls >= self.target_calls || (calls == 0 && self.connections > 100);
        let next = if is_over { Phase::Repeated(0) } else { Phase::Random };
        (next, 0.3 + 0.3 * (calls as f64 / self.target_calls as f64).min(1.0))
    }

    fn step_situation(&mut self, index: usize) -> (Phase, f64) {
        let all = self.transports.iter().flat_map(|&transport| {
            Situation::ALL.into_iter().filter(move |situation| situation.fits(transport)).map(move |it| (it, transport))
        });
        let all: Vec<_> = all.collect();
        let (situation, transport) = all[index];
        locked(&self.judge).begin(false, situation == Situation::Marks);
        let recorded = RecordedDefinition::new(Arc::clone(&self.definition), Arc::clone(&self.judge));
        let found = situation.play(transport, Arc::new(recorded));
        let named = |text: String| format!("{}, {situation:?}: {text}", transport.name());
        self.findings.stuck.extend(found.stuck.into_iter().map(named));
        self.findings.is_runaway |= found.is_runaway;
        self.findings.bounds.extend(found.bounds.into_iter().map(named));
        self.findings.idle.extend(found.idle.into_iter().map(named));
        let next = if index + 1 < all.len() { Phase::Situations(index + 1) } else { Phase::Random };
        (next, 0.3 * (index + 1) as f64 / all.len() as f64)
    }

    fn step_repeated(&mut self, index: u64) -> (Phase, f64) {
        if index == 0 {
            locked(&self.repeat).expect(locked(&self.judge).hashes.clone());
        }
        let repeat = Arc::clone(&self.repeat);
        self.play(index, repeat);
        self.memory.sample_connection();
        let next = if index + 1 < self.connections { Phase::Repeated(index + 1) } else { Phase::Copied(0) };
        (next, 0.6 + 0.2 * (index + 1) as f64 / self.connections as f64)
    }

    fn step_copied(&mut self, index: u64) -> (Phase, f64) {
        if index == 0 {
            locked(&self.copies).expect(locked(&self.judge).hashes.clone());
        }
        let copies = Arc::clone(&self.copies);
        self.play(index, copies);
        locked(&self.copies).end_connection(&*self.definition);
        // Half of the connections show what there is.
        let count = self.connections.div_ceil(2);
        let next = if index + 1 < count { Phase::Copied(index + 1) } else { Phase::LongConnection };
        (next, 0.8 + 0.1 * (index + 1) as f64 / count as f64)
    }

    fn step_long(&mut self) -> (Phase, f64) {
        let share = self.memory.step_long(&self.definition, self.target_calls);
        (if share.is_some() { Phase::LongConnection } else { Phase::Over }, 0.9 + 0.1 * share.unwrap_or(1.0))
    }

    /// Plays random connection number `index`, observed by `observer`.
    fn play<O: CallObserver + 'static>(&self, index: u64, observer: Arc<Mutex<O>>) -> World<Box<dyn Ends>> {
        let recorded = Arc::new(RecordedDefinition::new(Arc::clone(&self.definition), observer));
        let (ends, rng) = self.transport(index).draw(recorded, self.seed, index);
        let (mut world, mut event) = World::random(ends, rng);
        for _ in 0..EVENTS_PER_CONNECTION {
            world.carry_out(event);
            if world.is_over() || world.ends.in_flight() >= RUNAWAY {
                break;
            }
            event = world.next_event(Instant::NEVER).expect("there is a next event until the end of time");
        }
        world
    }

    fn transport(&self, index: u64) -> Transport {
        self.transports[index as usize % self.transports.len()]
    }
}

/// Checks `definition` at once.
pub fn check(definition: Arc<dyn ControlDefinition>, events: u64, seed: u64, memory: Option<MemoryGauge>) -> Report {
    let mut check = Check::new(definition, events, seed, memory);
    while check.step().is_some() {}
    check.report()
}
