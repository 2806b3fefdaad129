//! `[[changes]]`: changes of links during the run. Each entry has a time and the keys that change, written as in the
//! scenario itself: `link.rate = "5 Mbit/s"` beside `at = "5 s"`.
//!
//! A schedule of rates or delays is the short form of such entries: they are folded into the link's own key before it
//! is read, so that both forms give the same scenario and hash. Changes of queue and loss are in [`LinkSpec::changes`].

use super::hop::{self, Hop};
use super::keys::{Key, Kind, Need, Table, as_table, join, mismatch, text, write};
use super::loss::LOSS;
use super::steps::{StepValue, Steps};
use super::{AqmSpec, Error, LinkChange, LinkSpec, LossSpec, Scenario, Service};
use serde_json::{Map, Value, json};
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Host, Instant, Rate, Rng};
use std::borrow::Cow;

/// Key of the list in a scenario.
pub(super) const KEY: &str = "changes";

/// Key of every entry; all others are those of links.
pub(super) const KEYS: &[Key] = &[Key {
    name: "at",
    kind: Kind::PositiveTime,
    need: Need::Required("5 s"),
    doc: "Time of the change, from the start of the run.",
}];

/// Keys of a link that can change, each to a single value.
pub(super) const CHANGING: &[Key] = &[
    Key {
        name: "rate",
        kind: Kind::Rate,
        need: Need::Optional,
        doc: "New rate of a link that has a `rate`; may be `0 bit/s`. The link's key `change` says how it affects the \
              packet in transmission.",
    },
    Key {
        name: "delay",
        kind: Kind::Time,
        need: Need::Optional,
        doc: "New propagation delay, one way; packets under way keep theirs.",
    },
    Key {
        name: "loss",
        kind: Kind::Custom(&LOSS),
        need: Need::Optional,
        doc: "New loss between server and far end, for packets whose transmission begins at this time or later; a \
              chain of two states starts anew.",
    },
    Key {
        name: "aqm",
        kind: Kind::Aqm,
        need: Need::Optional,
        doc: "New queue manager, or new parameters of the present one.",
    },
    Key { name: "limit", kind: Kind::Limits, need: Need::Optional, doc: "New limit of the queue." },
];

/// Key of the reverse direction.
const REVERSE: &str = "reverse";

/// Key of the groups of flows.
const FLOWS: &str = "flows";

/// Key of the list of links.
const LINKS: &str = "links";

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// Index in the list `links`; `None` for `link`.
    hop: Option<usize>,
    reverse: bool,
}

impl LinkChange {
    pub(super) fn write(&self) -> Map<String, Value> {
        let mut out = Map::new();
        write(CHANGING, "loss", &self.loss, &mut out);
        write(CHANGING, "aqm", &self.aqm, &mut out);
        write(CHANGING, "limit", &self.limits, &mut out);
        out
    }
}

impl LinkSpec {
    /// Applies the queue part of a change; the loss stays in the change.
    pub(crate) fn apply(&mut self, change: &LinkChange) {
        if let Some(aqm) = &change.aqm {
            self.aqm = aqm.clone();
        }
        self.limits = change.limits.unwrap_or(self.limits);
    }

    /// Adds one changed key to [`LinkSpec::changes`], in order of time.
    pub(super) fn add(&mut self, change: &Change, own: &dyn Catalogue) -> Result<(), Error> {
        let wrong = |text: String| Error::new(&change.place, text);
        if matches!(self.service, Service::Wlan(_)) {
            return Err(wrong("a wireless LAN cannot change its queues or its loss; leave this out".into()));
        }
        if self.changes.last().is_none_or(|last| last.at != change.at) {
            self.changes.push(LinkChange { at: change.at, aqm: None, limits: None, loss: None, keeps: false });
        }
        let (limits, told) = (self.limits, self.nominal_link());
        let last = self.changes.last_mut().expect("one was pushed");
        let is_duplicate = match change.key {
            "loss" => {
                let loss = LossSpec::read(change.value).map_err(|reason| wrong(reason.to_string()))?;
                last.loss.replace(loss).is_some()
            }
            "aqm" => {
                let aqm = AqmSpec::read_with(change.value, own).map_err(|reason| wrong(reason.to_string()))?;
                let limits = last.limits.unwrap_or(limits);
                aqm.config.check_link(limits, told).map_err(|reason| wrong(reason.to_string()))?;
                last.aqm.replace(aqm).is_some()
            }
            _ => {
                let limits = super::values::limits(change.value).map_err(|reason| wrong(reason.to_string()))?;
                last.limits.replace(limits).is_some()
            }
        };
        if is_duplicate { Err(change.is_twice()) } else { Ok(()) }
    }

    /// Determines at each change whether the queue keeps its packets, and tries the takeover on empty queues, so that a
    /// change which the queue manager refuses is an error before the run.
    pub(super) fn check_takeovers(&mut self, place_of: impl Fn(Duration) -> String) -> Result<(), Error> {
        let mut present = Self { changes: Vec::new(), ..self.clone() };
        for change in self.changes.iter_mut().filter(|change| change.is_of_queue()) {
            let before = present.clone();
            present.apply(change);
            change.keeps = present.aqm.differs_in_parameters_only(&before.aqm);
            if change.keeps {
                let refused = |reason: ConfigError| {
                    Error::new(place_of(change.at), format!("{}: {reason}", present.aqm.config.name()))
                };
                succeed(&present, &before).map_err(refused)?;
            }
        }
        Ok(())
    }
}

/// Whether the queue of `new` can take over the packets and the state of the queue of `old`.
fn succeed(new: &LinkSpec, old: &LinkSpec) -> Result<(), ConfigError> {
    let queue = |spec: &LinkSpec| {
        let host = Host { link: spec.nominal_link(), rng: Rng::from_state(0) };
        spec.aqm.queue(spec.limits, host)
    };
    let (mut new, mut old) = (queue(new), queue(old));
    let old = old.as_any().ok_or(ConfigError::Immutable)?;
    new.inherit(old, Instant::ZERO, &mut |_, _, _| {})
}

/// New value of a key.
pub(super) struct Change<'a> {
    at: Duration,
    target: Target,
    key: &'a str,
    value: &'a Value,
    /// Place of its entry.
    entry: String,
    /// Place of the value.
    place: String,
}

/// Scenario whose changes of rates and delays are folded into the keys.
pub(super) struct FoldedChanges<'a> {
    /// Scenario without the list.
    pub values: Cow<'a, Map<String, Value>>,
    /// Remaining changes, of queue and loss.
    pub later: Vec<Change<'a>>,
}

/// Folds the changes of rates and delays in `[[changes]]` into schedules of the keys.
pub(super) fn fold(values: &Map<String, Value>) -> Result<FoldedChanges<'_>, Error> {
    let Some(list) = values.get(KEY) else {
        return Ok(FoldedChanges { values: Cow::Borrowed(values), later: Vec::new() });
    };
    let changes = read(list, values)?;
    let mut folded = values.clone();
    folded.remove(KEY);
    for (i, first) in changes.iter().enumerate() {
        let is_same = |other: &&Change| (other.target, other.key) == (first.target, first.key);
        // Folded with the first change of this key.
        if changes[..i].iter().any(|other| is_same(&other)) {
            continue;
        }
        let same: Vec<&Change> = changes[i..].iter().filter(is_same).collect();
        let steps = match first.key {
            "rate" => schedule::<Rate>(values, &same)?,
            "delay" => schedule::<Duration>(values, &same)?,
            _ => None,
        };
        if let (Some(steps), Some(table)) = (steps, first.target.table_mut(&mut folded)) {
            table.insert(first.key.to_string(), steps.into());
        }
    }
    let later = changes.into_iter().filter(|change| !["rate", "delay"].contains(&change.key)).collect();
    Ok(FoldedChanges { values: Cow::Owned(folded), later })
}

/// Reads the list; an error if its entries are not in order of time.
fn read<'a>(list: &'a Value, values: &Map<String, Value>) -> Result<Vec<Change<'a>>, Error> {
    let wrong = || Error::new(KEY, mismatch(list, "a list of tables, [[changes]]").to_string());
    let mut changes = Vec::new();
    for (i, entry) in list.as_array().ok_or_else(wrong)?.iter().enumerate() {
        read_entry(&format!("{KEY}[{i}]"), entry, values, &mut changes)?;
    }
    match changes.windows(2).find(|pair| pair[1].at < pair[0].at) {
        None => Ok(changes),
        Some(pair) => {
            let text = format!("{} comes after the change at {}; put them in order", pair[1].at, pair[0].at);
            Err(Error::new(join(&pair[1].entry, "at"), text))
        }
    }
}

/// Attaches the changes to their links. Target 0 is `link` and `reverse`, the rest is `others`; with `has_nodes` the
/// targets count from the list `links`.
pub(super) fn attach(
    later: &[Change],
    (link, reverse): (&mut LinkSpec, &mut LinkSpec),
    others: &mut [Hop],
    has_nodes: bool,
    own: &dyn Catalogue,
) -> Result<(), Error> {
    let mut tried: Vec<Target> = Vec::new();
    for first in later {
        if tried.contains(&first.target) {
            continue;
        }
        tried.push(first.target);
        let number = first.target.number(has_nodes);
        let spec = match (number.checked_sub(1), first.target.reverse) {
            (None, false) => &mut *link,
            (None, true) => &mut *reverse,
            (Some(other), false) => &mut others[other].link,
            (Some(other), true) => &mut others[other].reverse,
        };
        let target_changes = || later.iter().filter(|change| change.target == first.target);
        target_changes().try_for_each(|change| spec.add(change, own))?;
        let place = |at| {
            let mut of_queue = target_changes().filter(|change| change.at == at && change.key != "loss");
            of_queue.next_back().map_or_else(String::new, |change| change.place.clone())
        };
        spec.check_takeovers(place)?;
    }
    Ok(())
}

/// Queue managers that changes install, with their places.
pub(super) fn aqms<'a>(later: &'a [Change], scenario: &'a Scenario) -> impl Iterator<Item = (&'a str, &'a AqmSpec)> {
    let links: Vec<(&LinkSpec, &LinkSpec)> = scenario.hops().map(|(_, link, reverse)| (link, reverse)).collect();
    let has_nodes = scenario.graph.is_some();
    later.iter().filter(|change| change.key == "aqm").filter_map(move |change| {
        let (link, reverse) = links[change.target.number(has_nodes)];
        let spec = if change.target.reverse { reverse } else { link };
        let attached = spec.changes.iter().find(|known| known.at == change.at)?;
        Some((change.place.as_str(), attached.aqm.as_ref()?))
    })
}

/// Writes the list in canonical form: one entry per change and direction.
pub(super) fn write_all(scenario: &Scenario) -> Vec<Value> {
    let has_nodes = scenario.graph.is_some();
    let mut entries: Vec<(Duration, Value)> = Vec::new();
    for (number, (name, link, reverse)) in scenario.hops().enumerate() {
        for (is_back, spec) in [(false, link), (true, reverse)] {
            for change in &spec.changes {
                let (table, at) = (change.write(), change.at.to_string());
                let entry = match (number == 0 && !has_nodes, is_back) {
                    (true, false) => json!({ "at": at, hop::FIRST: table }),
                    (true, true) => json!({ "at": at, REVERSE: table }),
                    (false, false) => json!({ "at": at, LINKS: { name: table } }),
                    (false, true) => json!({ "at": at, LINKS: { name: { REVERSE: table } } }),
                };
                entries.push((change.at, entry));
            }
        }
    }
    entries.sort_by_key(|&(at, _)| at);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

impl<'a> Change<'a> {
    /// Change of the only link of an emulator.
    pub(super) fn of_running(at: Duration, key: &'a str, value: &'a Value) -> Self {
        let target = Target { hop: None, reverse: false };
        Self { at, target, key, value, entry: String::new(), place: key.to_string() }
    }

    /// Error: the same key changes twice at the same time.
    fn is_twice(&self) -> Error {
        Error::new(&self.place, format!("another {} at {} exists; keep one of them", self.key, self.at))
    }
}

/// Schedule of one key with its `changes`; `None` if the key's own value is invalid, which its reader reports.
fn schedule<T: StepValue>(values: &Map<String, Value>, changes: &[&Change]) -> Result<Option<String>, Error> {
    let first = changes[0];
    let Some(written) = first.target.written(values, first.key) else {
        let text = format!("there is no {} to change; write one, or leave this out", first.key);
        return Err(Error::new(&first.place, text));
    };
    let has = |target: Target, key: &str| target.table(values).is_some_and(|table| table.contains_key(key));
    let inherits_delay = first.target.reverse && !has(first.target, "delay");
    let traced = has(first.target, "delay_trace")
        || inherits_delay && has(Target { reverse: false, ..first.target }, "delay_trace");
    if first.key == "delay" && traced {
        let text = "the delay follows a trace; write the change into its file, or the steps into delay";
        return Err(Error::new(&first.place, text));
    }
    let Some(start) = written.as_str().and_then(|text| Steps::<T>::parse(text).ok()) else { return Ok(None) };
    let mut steps: Vec<(Duration, T)> = start.iter().collect();
    for change in changes {
        let read = |value: &Value| T::parse(text(value, &format!("a text with a unit such as {:?}", T::SINGLE))?);
        let value = read(change.value).map_err(|wrong| Error::new(&change.place, wrong.to_string()))?;
        let next = steps.partition_point(|&(at, _)| at < change.at);
        if steps.get(next).is_some_and(|&(at, _)| at == change.at) {
            return Err(change.is_twice());
        }
        steps.insert(next, (change.at, value));
    }
    Ok(Some(Steps::from_ordered(steps).to_string()))
}

/// Appends the changes of the entry at `entry_place`.
fn read_entry<'a>(
    entry_place: &str,
    entry: &'a Value,
    values: &Map<String, Value>,
    changes: &mut Vec<Change<'a>>,
) -> Result<(), Error> {
    let table = as_table(entry_place, entry)?;
    let at = Table::new(entry_place, table, KEYS).field("at")?;
    let before = changes.len();
    let mut add = |target: Target, place: &str, keys: &'a Map<String, Value>, skip: &str| {
        for (key, value) in keys.iter().filter(|(key, _)| *key != skip) {
            let place = join(place, key);
            if !CHANGING.iter().any(|known| known.name == key) {
                return Err(no_such("key of a change", key, place, CHANGING.iter().map(|known| known.name)));
            }
            changes.push(Change { at, target, key, value, entry: entry_place.to_string(), place });
        }
        Ok(())
    };
    let has_nodes = values.contains_key("nodes");
    for (key, value) in table.iter().filter(|(key, _)| *key != "at") {
        let place = join(entry_place, key);
        match key.as_str() {
            hop::FIRST if !has_nodes => {
                add(Target { hop: None, reverse: false }, &place, as_table(&place, value)?, "")?
            }
            REVERSE if !has_nodes => add(Target { hop: None, reverse: true }, &place, as_table(&place, value)?, "")?,
            LINKS => {
                for (name, keys) in as_table(&place, value)? {
                    let place = join(&place, name);
                    let (hop, keys) = (Some(find_hop(&place, name, values)?), as_table(&place, keys)?);
                    add(Target { hop, reverse: false }, &place, keys, REVERSE)?;
                    if let Some(back) = keys.get(REVERSE) {
                        let place = join(&place, REVERSE);
                        add(Target { hop, reverse: true }, &place, as_table(&place, back)?, "")?;
                    }
                }
            }
            FLOWS => {
                let text = "flows cannot change while they run; write another group with start and stop";
                return Err(Error::new(place, text));
            }
            dotted if dotted.contains('.') => {
                return Err(Error::new(place, format!("write it without quotation marks: {dotted} = …")));
            }
            _ => {
                let known = [hop::FIRST, REVERSE, LINKS];
                let known = if has_nodes { &known[2..] } else { &known[..] };
                return Err(no_such("key", key, place, known.iter().copied()));
            }
        }
    }
    if changes.len() == before {
        return Err(Error::new(entry_place, r#"changes nothing; write e.g. link.rate = "5 Mbit/s""#));
    }
    Ok(())
}

/// Index of the link `name` in the list.
fn find_hop(place: &str, name: &str, values: &Map<String, Value>) -> Result<usize, Error> {
    let links = values.get(LINKS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names = links.iter().map(|link| link.get("name").and_then(Value::as_str).unwrap_or_default());
    let found = names.clone().position(|known| known == name);
    found.ok_or_else(|| no_such("link", name, place.to_string(), names.filter(|name| !name.is_empty())))
}

/// Error for an unknown `what`; the place already ends with the name.
fn no_such<'a>(what: &str, name: &str, place: String, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    Error::new(place, unknown(what, name, known).replacen(&format!(" {name:?}"), "", 1))
}

impl Target {
    /// Number of the hop. With nodes the list has all hops, otherwise those behind the first.
    fn number(self, has_nodes: bool) -> usize {
        self.hop.map_or(0, |hop| hop + usize::from(!has_nodes))
    }

    /// Table of this direction in the file, if present.
    fn table(self, values: &Map<String, Value>) -> Option<&Map<String, Value>> {
        let link = match self.hop {
            None if self.reverse => return values.get(REVERSE)?.as_object(),
            None => values.get(hop::FIRST)?,
            Some(hop) => values.get(LINKS)?.get(hop)?,
        };
        if self.reverse { link.get(REVERSE)?.as_object() } else { link.as_object() }
    }

    /// Same, mutable; inserts an absent table of the reverse direction.
    fn table_mut(self, values: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
        let parent = match self.hop {
            None => values,
            Some(hop) => values.get_mut(LINKS)?.get_mut(hop)?.as_object_mut()?,
        };
        match (self.hop, self.reverse) {
            (None, false) => parent.get_mut(hop::FIRST)?.as_object_mut(),
            (Some(_), false) => Some(parent),
            (_, true) => parent.entry(REVERSE).or_insert_with(|| json!({})).as_object_mut(),
        }
    }

    /// Initial value of `key`. A reverse direction inherits an absent one from the forward direction, without the
    /// changes there.
    fn written(self, values: &Map<String, Value>, key: &str) -> Option<Value> {
        let of = |target: Self| target.table(values).and_then(|table| table.get(key));
        let serves = |target: Self| target.table(values).is_some_and(Service::is_given);
        let inherits = self.reverse && (key != "rate" || !serves(self));
        let found = of(self).or_else(|| of(Self { reverse: false, ..self }).filter(|_| inherits)).cloned();
        found.or_else(|| (key == "delay").then(|| "0 s".into()))
    }
}
