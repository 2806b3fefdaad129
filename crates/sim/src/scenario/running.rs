//! Changes of a link of the emulator, applied while it runs and read back from its log.
//!
//! They are entries of `[[changes]]` for one direction, without the name of the link; a scenario with these entries is
//! the same run.

use super::changes::{self, CHANGING, Change};
use super::keys::{as_table, text};
use super::{Error, Folder, LinkSpec, LossSpec, RateChange, Service, StepValue, Steps, StepsService, TableCatalogue};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Rate};
use std::path::Path;

/// Effect of a change on a running link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunningChange {
    /// New rate.
    pub rate: Option<Rate>,
    /// New delay.
    pub delay: Option<Duration>,
    /// New loss.
    pub loss: Option<LossSpec>,
    /// Link after the change, if its queue changes.
    pub queue: Option<Box<LinkSpec>>,
    /// Whether waiting packets and the manager's state are kept.
    pub keeps: bool,
    /// Number of the change among those of queue and loss, from 1 on; it selects the random streams of the new queue.
    pub number: u64,
    /// Changed keys in canonical form, for the log.
    pub written: Map<String, Value>,
}

impl LinkSpec {
    /// Changes the keys of `values` (`rate`, `delay`, `loss`, `aqm`, `limit`) at time `at`, which must be after all
    /// earlier events. A later step of a schedule overrides the value. On an error nothing changes.
    pub fn change(
        &mut self,
        at: Duration,
        values: &Map<String, Value>,
        own: &dyn Catalogue,
    ) -> Result<RunningChange, Error> {
        let (mut new, mut changed) = (self.clone(), RunningChange::default());
        // Planned changes after `at` are appended again below, so the list stays in order of time.
        let later = new.changes.split_off(new.changes.partition_point(|change| change.at <= at));
        for (key, value) in values {
            let known = CHANGING.iter().map(|key| key.name);
            match key.as_str() {
                "rate" => changed.rate = Some(new.change_rate(at, value)?),
                "delay" => {
                    let delay = quantity(key, value)?;
                    new.delays.insert(at, delay);
                    changed.delay = Some(delay);
                }
                _ if known.clone().any(|name| name == key) => new.add(&Change::of_running(at, key, value), own)?,
                _ => return Err(Error::new("", unknown("key of a change", key, known))),
            }
        }
        let of_queue_or_loss = values.keys().any(|key| !["rate", "delay"].contains(&key.as_str()));
        let number = of_queue_or_loss.then_some(new.changes.len());
        new.changes.extend(later);
        let place = |_| values.keys().rfind(|key| !["rate", "delay", "loss"].contains(&key.as_str())).cloned();
        new.check_takeovers(|at| place(at).unwrap_or_default())?;
        changed.written.extend(changed.rate.map(|rate| ("rate".to_string(), json!(rate.to_string()))));
        changed.written.extend(changed.delay.map(|delay| ("delay".to_string(), json!(delay.to_string()))));
        if let Some(number) = number {
            let written = new.take_number(number, &mut changed);
            changed.written.extend(written);
        }
        *self = new;
        Ok(changed)
    }

    /// Time and effect of change `number` of queue and loss, from 1 on.
    pub fn planned(&self, number: usize) -> Option<(Duration, RunningChange)> {
        let at = self.changes.get(number.checked_sub(1)?)?.at;
        let mut changed = RunningChange::default();
        let written = self.take_number(number, &mut changed);
        changed.written = written;
        Some((at, changed))
    }

    /// Reads a link at `place` with the changes of its run; each of `changes` has a time (`at`) and keys.
    pub fn parse_changing(
        place: &str,
        link: &Value,
        changes: &[Value],
        base: &Path,
        own: &dyn Catalogue,
    ) -> Result<Self, Error> {
        let entries = changes.iter().map(|entry| {
            let mut keys = as_table(changes::KEY, entry)?.clone();
            let at = keys.remove("at").unwrap_or_default();
            Ok(json!({ "at": at, "link": keys }))
        });
        let entries: Vec<Value> = entries.collect::<Result<_, Error>>()?;
        let mut values: Map<String, Value> = [("link".to_string(), link.clone())].into_iter().collect();
        if !entries.is_empty() {
            values.insert(changes::KEY.to_string(), entries.into());
        }
        let own = &TableCatalogue { own, files: &Folder(base) };
        let folded = changes::fold(&values)?;
        let mut spec = Self::parse_with(place, &folded.values["link"], base, own)?;
        let mut back = spec.clone();
        changes::attach(&folded.later, (&mut spec, &mut back), &mut [], false, own)?;
        Ok(spec)
    }

    /// Fills `changed` from change `number` of queue and loss, and returns the changed keys.
    fn take_number(&self, number: usize, changed: &mut RunningChange) -> Map<String, Value> {
        let change = &self.changes[number - 1];
        let mut present = self.clone();
        self.changes[..number].iter().for_each(|change| present.apply(change));
        present.changes = Vec::new();
        changed.queue = change.is_of_queue().then(|| Box::new(present));
        (changed.loss, changed.keeps, changed.number) = (change.loss, change.keeps, number as u64);
        change.write()
    }

    fn change_rate(&mut self, at: Duration, value: &Value) -> Result<Rate, Error> {
        let rate: Rate = quantity("rate", value)?;
        let wrong = |text: &str| Err(Error::new("rate", text));
        let mut steps = match &self.service {
            Service::Rate(constant) => StepsService { rate: Steps::constant(*constant), change: RateChange::Fluid },
            Service::Steps(steps) => steps.clone(),
            _ => return wrong("the link has no rate that could change; start it with one"),
        };
        match steps.change {
            RateChange::Opportunity => {
                return wrong("a link of opportunities cannot change its rate; start it without change");
            }
            RateChange::Latch if rate < super::service::SLOWEST_LATCH => {
                return wrong("too slow for change = \"latch\": a packet would block the link for minutes");
            }
            _ => {}
        }
        steps.rate.insert(at, rate);
        self.service = Service::Steps(steps);
        Ok(rate)
    }
}

fn quantity<T: StepValue>(key: &str, value: &Value) -> Result<T, Error> {
    let read = text(value, &format!("a text with a unit such as {:?}", T::SINGLE)).and_then(T::parse);
    read.map_err(|wrong| Error::new(key, wrong.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;

    fn link(value: Value) -> LinkSpec {
        LinkSpec::parse("", &value, Path::new("/")).unwrap()
    }

    fn keys(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_was_changed_is_read_back_as_it_was_written() {
        let start = json!({ "rate": "5 Mbit/s", "aqm": "codel", "delay": "20 ms" });
        let mut running = link(start.clone());
        let mut log = Vec::new();
        for (ms, change) in [
            (1001, json!({ "rate": "2mbit" })),
            (1500, json!({ "aqm": "codel target 9ms", "delay": "35ms" })),
            (1750, json!({ "rate": "0bit", "loss": "3%" })),
            (2003, json!({ "aqm": "pie", "limit": "70 packets" })),
        ] {
            let at = Duration::from_millis(ms);
            let changed = running.change(at, &keys(change), REGISTERED).unwrap();
            let mut entry = changed.written.clone();
            entry.insert("at".to_string(), at.to_string().into());
            log.push(Value::Object(entry));
            assert_eq!(changed.keeps, ms == 1500, "only codel stays codel");
            assert_eq!(changed.queue.is_some(), ms == 1500 || ms == 2003);
        }
        let read = LinkSpec::parse_changing("", &start, &log, Path::new("/"), REGISTERED).unwrap();
        assert_eq!(read, LinkSpec { delay: running.delay, ..running.clone() });
        assert_eq!(read.planned(3).unwrap().1.queue.unwrap().aqm.text, "pie");
        assert_eq!(read.planned(2).unwrap().1.loss, Some(LossSpec::Random(0.03)));
        assert_eq!(read.planned(4), None);
    }

    #[test]
    fn what_cannot_change_is_refused_and_leaves_all_as_it_was() {
        let at = Duration::from_millis(7);
        for (start, change, error) in [
            (json!({ "rate": "1mbit" }), json!({ "rate": "2" }), r#"rate: "2" has no unit; write e.g. "10 Mbit/s""#),
            (
                json!({ "rate": "1mbit" }),
                json!({ "aqm": "codell" }),
                r#"aqm: unknown AQM "codell"; did you mean "codel"?"#,
            ),
            (
                json!({ "rate": "1mbit" }),
                json!({ "rat": "2" }),
                r#"unknown key of a change "rat"; did you mean "rate"?"#,
            ),
            (
                json!({ "rate": "1mbit", "aqm": "sfb" }),
                json!({ "limit": "9 packets" }),
                "limit: sfb: it cannot be changed while it runs; replace the whole queue manager instead",
            ),
            (
                json!({ "bucket": "1 Mbit/s", "burst": "3 kB", "peak": "2 Mbit/s" }),
                json!({ "rate": "2mbit" }),
                "rate: the link has no rate that could change; start it with one",
            ),
            (
                json!({ "rate": "1mbit@0s", "change": "latch" }),
                json!({ "rate": "0bit" }),
                "rate: too slow for change = \"latch\"",
            ),
        ] {
            let before = link(start);
            let mut running = before.clone();
            let found = running.change(at, &keys(change), REGISTERED).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
            assert_eq!(running, before);
        }
    }
}
