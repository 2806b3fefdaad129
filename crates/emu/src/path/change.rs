//! Changes of a running direction: planned in its link's `[[changes]]`, or requested.
//!
//! A change takes effect before everything else at its instant, and is logged. Both kinds behave alike: a simulation of
//! the link with the logged changes as `[[changes]]` decides the same.

use super::current_config::entry;
use super::queued_link::QueueChange;
use super::{Direction, PathKind};
use serde_json::{Map, Value, json};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Instant, Rate};
use sojourn_sim::scenario::{DEFAULT_LIMIT, LossSpec, RunningChange, Service};
use sojourn_sim::stream_of_queue;

impl Direction {
    /// Applies `values`, the keys of an entry of `[[changes]]`, at `now`, or 1 ns after the instant already processed.
    /// On an error nothing changes.
    pub fn change(&mut self, now: Instant, values: &Map<String, Value>, own: &dyn Catalogue) -> Result<(), String> {
        let at = now.max(self.now + NANOSECOND);
        self.change_until(at);
        let changed = self.current.apply(at, values, own)?;
        self.apply(at, &changed);
        self.now = at;
        Ok(())
    }

    /// Returns the error that [`Self::change`] would return.
    pub fn try_change(&self, now: Instant, values: &Map<String, Value>, own: &dyn Catalogue) -> Result<(), String> {
        let at = now.max(self.now + NANOSECOND);
        self.current.clone().apply(at, values, own).map(|_| ())
    }

    /// Stops sending, or resumes at the rate before the pause; queued packets stay.
    pub fn pause(&mut self, now: Instant, pause: bool, own: &dyn Catalogue) -> Result<(), String> {
        let rate = self.current.rate(now)?;
        self.try_pause(now, pause)?;
        let to = if pause { Rate::from_bps(0) } else { self.current.paused.unwrap_or(rate) };
        self.change(now, &entry("rate", json!(to.to_string())), own)?;
        self.current.paused = pause.then_some(rate);
        Ok(())
    }

    /// Returns the error that [`Self::pause`] would return.
    pub fn try_pause(&self, now: Instant, pause: bool) -> Result<(), String> {
        self.current.rate(now)?;
        match (pause, self.current.paused) {
            (true, Some(_)) => Err("it is already paused; resume it".to_string()),
            (false, None) => Err("it is not paused; pause it first".to_string()),
            _ => Ok(()),
        }
    }

    /// Current configuration in a few words.
    pub fn describe(&self) -> String {
        let now = self.now - Instant::ZERO;
        let loss = |loss: &LossSpec| match loss {
            LossSpec::Random(share) => format!("loss {} %", 100.0 * share),
            LossSpec::Gilbert(_) => "loss in bursts".to_string(),
        };
        match self.kind() {
            PathKind::Link(spec) => {
                let service = match &spec.service {
                    _ if self.current.paused.is_some() => "paused".to_string(),
                    Service::Rate(rate) => rate.to_string(),
                    Service::Steps(steps) => steps.rate.at(now).to_string(),
                    Service::Trace(trace) => trace.path.display().to_string(),
                    other => format!("{} on average", other.nominal_rate(spec.mtu)),
                };
                let delay = Some(spec.delays.at(now)).filter(|&delay| delay > Duration::ZERO);
                let delay = delay.map(|delay| delay.to_string());
                let made = &spec.changes[..self.current.changes_made.min(spec.changes.len())];
                let aqm = made.iter().rev().find_map(|change| change.aqm.as_ref()).unwrap_or(&spec.aqm);
                let loss = made.iter().rev().find_map(|change| change.loss.as_ref()).or(spec.loss.as_ref()).map(loss);
                let given = Some(spec.limits).filter(|limits| limits.to_string() != DEFAULT_LIMIT);
                let limit = made.iter().rev().find_map(|change| change.limits).or(given);
                let limit = limit.map(|limits| format!("limit {limits}"));
                [Some(service), Some(aqm.text.clone()), limit, delay, loss]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(", ")
            }
            PathKind::Delay(delays) => delays.at(now).to_string(),
            PathKind::Loss(spec) => spec.as_ref().map_or_else(|| "no loss".to_string(), loss),
            PathKind::OnOff { .. } => "on and off".to_string(),
        }
    }

    /// Applies the changes planned up to and including `until`.
    #[inline]
    pub(super) fn change_until(&mut self, until: Instant) {
        while self.current.next_change <= until {
            let at = self.current.next_change;
            let changed = self.current.planned().expect("it is the next one");
            self.apply(at, &changed);
            self.now = self.now.max(at);
        }
    }

    #[inline(never)]
    fn apply(&mut self, at: Instant, changed: &RunningChange) {
        let (seed, index) = (self.current.seed, self.current.index);
        let datapath = &mut self.datapath;
        if let Some(queued_link) = &mut self.link {
            // The change precedes the events at `at`.
            queued_link.advance(at - NANOSECOND, datapath);
            if changed.queue.is_some() {
                queued_link.prepare_change(at, datapath);
            }
        }
        datapath.recorder.changed(at, &changed.written);
        if let Some(medium) = &mut datapath.medium {
            if let Some(delay) = changed.delay {
                medium.set_delay(at, delay);
            }
        }
        if let Some(loss) = changed.loss {
            // A simulation applies the loss model in force at the start of a transmission.
            self.link.iter_mut().for_each(|queued_link| queued_link.decide_loss(datapath));
            if let Some(medium) = &mut datapath.medium {
                medium.set_loss(loss, seed, changed.number, index);
            }
        }
        if let Some(queued_link) = &mut self.link {
            if let Some(rate) = changed.rate {
                queued_link.change_rate(at, rate);
            }
            if let Some(spec) = &changed.queue {
                let rng = stream_of_queue(seed, index, changed.number);
                queued_link.change_queue(at, QueueChange { spec, keeps: changed.keeps, rng }, datapath);
                let splits = queued_link.splits_gso();
                self.keeps_superframes = self.gso_keep && !splits;
            }
        }
        self.current.changes_made = self.current.changes_made.max(changed.number as usize);
        if changed.rate.is_some() {
            self.current.paused = None;
        }
        self.current.find_next_change();
    }
}

/// A requested change takes effect after everything that the loop has processed, and first in its instant: the same
/// order as in a simulation of the log.
const NANOSECOND: Duration = Duration::from_nanos(1);
