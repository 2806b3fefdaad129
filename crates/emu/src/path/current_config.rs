//! Current configuration of a direction, with the changes made and planned.

use super::PathKind;
use serde_json::{Map, Value, json};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Instant, Rate};
use sojourn_sim::scenario::{LossSpec, RunningChange, Service, StepValue};

/// Current configuration of a direction.
#[derive(Clone)]
pub struct CurrentConfig {
    kind: PathKind,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the direction in the run; selects its random streams.
    pub index: usize,
    /// Number of changes of queue and loss so far.
    pub changes_made: usize,
    /// Time of the next planned change; [`Instant::NEVER`] without one.
    pub next_change: Instant,
    /// Rate before the pause, while paused.
    pub paused: Option<Rate>,
}

impl CurrentConfig {
    pub fn new(kind: PathKind, seed: u64, index: usize) -> Self {
        let mut new = Self { kind, seed, index, changes_made: 0, next_change: Instant::NEVER, paused: None };
        new.find_next_change();
        new
    }

    pub fn kind(&self) -> &PathKind {
        &self.kind
    }

    /// Updates [`Self::next_change`].
    pub fn find_next_change(&mut self) {
        let planned = if let PathKind::Link(spec) = &self.kind { spec.changes.get(self.changes_made) } else { None };
        self.next_change = planned.map_or(Instant::NEVER, |change| Instant::ZERO + change.at);
    }

    /// The next planned change.
    pub fn planned(&self) -> Option<RunningChange> {
        let PathKind::Link(spec) = &self.kind else { return None };
        spec.planned(self.changes_made + 1).map(|(_, changed)| changed)
    }

    /// Applies the keys `values` from `at` on.
    pub fn apply(
        &mut self,
        at: Instant,
        values: &Map<String, Value>,
        own: &dyn Catalogue,
    ) -> Result<RunningChange, String> {
        let since = at - Instant::ZERO;
        match &mut self.kind {
            PathKind::Link(spec) => spec.change(since, values, own).map_err(|wrong| wrong.to_string()),
            PathKind::Delay(delays) => {
                let value = only(values, "delay", "a delay has no queue")?;
                let text = value.as_str().unwrap_or_default();
                let delay = Duration::parse(text).map_err(|wrong| format!("delay: {wrong}"))?;
                delays.insert(since, delay);
                let written = entry("delay", json!(delay.to_string()));
                Ok(RunningChange { delay: Some(delay), written, ..RunningChange::default() })
            }
            PathKind::Loss(present) => {
                let value = only(values, "loss", "a loss has no queue")?;
                let loss = LossSpec::read(value).map_err(|wrong| format!("loss: {wrong}"))?;
                *present = Some(loss);
                let (written, number) = (entry("loss", loss.canonical()), self.changes_made as u64 + 1);
                Ok(RunningChange { loss: Some(loss), written, number, ..RunningChange::default() })
            }
            PathKind::OnOff { .. } => Err("a link that is on and off cannot be changed; restart it".to_string()),
        }
    }

    /// Rate at `now` of a link that has one.
    pub fn rate(&self, now: Instant) -> Result<Rate, String> {
        match &self.kind {
            PathKind::Link(spec) => match &spec.service {
                Service::Rate(rate) => Ok(*rate),
                Service::Steps(steps) => Ok(steps.rate.at(now - Instant::ZERO)),
                _ => Err(NO_RATE.to_string()),
            },
            _ => Err(NO_RATE.to_string()),
        }
    }
}

/// Value of `key`, the only key of a direction without a queue.
fn only<'a>(values: &'a Map<String, Value>, key: &str, why: &str) -> Result<&'a Value, String> {
    match values.keys().find(|known| *known != key) {
        Some(other) => Err(format!("{other}: {why}; only its {key} can be changed")),
        None => values.get(key).ok_or_else(|| format!("{key}: missing; write a value")),
    }
}

/// An entry of `[[changes]]` with one key.
pub fn entry(key: &str, value: Value) -> Map<String, Value> {
    [(key.to_string(), value)].into_iter().collect()
}

const NO_RATE: &str = "only a link with a rate can be paused; start one around it";
