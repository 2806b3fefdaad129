//! `[[changes]]`: values of links that change while a run goes on, each entry an instant and the keys that change then.
//!
//! Of a queue or a loss that changes, the link has a list ([`LinkSpec::changes`]).
//!
//! An entry is written like the scenario itself: `link.rate = "5 Mbit/s"` beside `at = "5 s"`. A schedule of rates or
//! delays is the short form of such entries, so they are put into the link's own key before it is read, and both forms
//! give one scenario.

use super::hop::{self, Hop};
use super::keys::{Key, Kind, Need, Table, as_table, join, mismatch, text, write};
use super::loss::LOSS;
use super::steps::{Stepped, Steps};
use super::{AqmSpec, Error, LinkChange, LinkSpec, LossSpec, Scenario, Service};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::unknown;
use sojourn_aqm::refusal::Refusal;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Host, Instant, Rate, Rng};
use std::borrow::Cow;

/// The key of the list in a scenario.
pub(super) const KEY: &str = "changes";

/// When the keys of an entry change; all others are those of links.
pub(super) const KEYS: &[Key] = &[Key {
    name: "at",
    kind: Kind::PositiveTime,
    need: Need::Required("5 s"),
    doc: "When the keys beside it change, from the start of the run.",
}];

/// The keys of a link that can change, to one value.
pub(super) const CHANGING: &[Key] = &[
    Key { name: "rate", kind: Kind::Rate, need: Need::Optional, doc: "Rate on the wire from then on; may be 0 bit/s." },
    Key { name: "delay", kind: Kind::Time, need: Need::Optional, doc: "One-way propagation delay from then on." },
    Key {
        name: "loss",
        kind: Kind::Own(&LOSS),
        need: Need::Optional,
        doc: "Loss between server and far end from then on.",
    },
    Key { name: "aqm", kind: Kind::Aqm, need: Need::Optional, doc: "Queue manager from then on." },
    Key { name: "limit", kind: Kind::Limits, need: Need::Optional, doc: "Most that may wait from then on." },
];

/// The words for the direction back.
const REVERSE: &str = "reverse";

/// The words for the groups of flows.
const FLOWS: &str = "flows";

/// The words for the list of links.
const LINKS: &str = "links";

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// Number in the list `links`; none for `link`.
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
    /// Is what it is after a change; of the loss the change itself knows.
    pub(crate) fn take(&mut self, change: &LinkChange) {
        if let Some(aqm) = &change.aqm {
            self.aqm = aqm.clone();
        }
        self.limits = change.limits.unwrap_or(self.limits);
    }

    /// Adds what a key changes to.
    pub(super) fn add(&mut self, change: &Change, own: &dyn Catalogue) -> Result<(), Error> {
        let wrong = |text: String| Error::new(&change.place, text);
        if matches!(self.service, Service::Wlan(_)) {
            return Err(wrong("a wireless LAN keeps its queues and its loss; leave this out".into()));
        }
        if self.changes.last().is_none_or(|last| last.at != change.at) {
            self.changes.push(LinkChange { at: change.at, aqm: None, limits: None, loss: None, keeps: false });
        }
        let (limits, told) = (self.limits, self.told());
        let last = self.changes.last_mut().expect("one was pushed");
        let is_there = match change.key {
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
        if is_there { Err(change.is_twice()) } else { Ok(()) }
    }

    /// Finds out whether the queue keeps what waits at each change, and tries that on empty queues.
    pub(super) fn try_changes(&mut self, place_of: impl Fn(Duration) -> String) -> Result<(), Error> {
        let mut present = Self { changes: Vec::new(), ..self.clone() };
        for change in self.changes.iter_mut().filter(|change| change.is_of_queue()) {
            let before = present.clone();
            present.take(change);
            change.keeps = present.aqm.differs_in_parameters_only(&before.aqm);
            if change.keeps {
                let refused = |reason: Refusal| {
                    Error::new(place_of(change.at), format!("{}: {reason}", present.aqm.config.name()))
                };
                succeed(&present, &before).map_err(refused)?;
            }
        }
        Ok(())
    }
}

/// Whether the queue of `new` can take the place of that of `old` with what waits there.
fn succeed(new: &LinkSpec, old: &LinkSpec) -> Result<(), Refusal> {
    let queue = |spec: &LinkSpec| {
        let host = Host { link: spec.told(), rng: Rng::from_state(0) };
        spec.aqm.queue(spec.limits, host)
    };
    let (mut new, mut old) = (queue(new), queue(old));
    let old = old.as_any().ok_or(Refusal::Unchangeable)?;
    new.succeed(old, Instant::ZERO, &mut |_, _, _| {})
}

/// A value that a key takes.
pub(super) struct Change<'a> {
    at: Duration,
    target: Target,
    key: &'a str,
    value: &'a Value,
    /// Where its entry is.
    entry: String,
    /// Where it is written.
    place: String,
}

/// A scenario whose changes of rates and delays are in the keys that they change.
pub(super) struct Folded<'a> {
    /// The scenario without the list.
    pub values: Cow<'a, Map<String, Value>>,
    /// The other changes.
    pub later: Vec<Change<'a>>,
}

/// Puts the changes of rates and delays in `[[changes]]` into the keys that they change.
pub(super) fn fold(values: &Map<String, Value>) -> Result<Folded<'_>, Error> {
    let Some(list) = values.get(KEY) else { return Ok(Folded { values: Cow::Borrowed(values), later: Vec::new() }) };
    let changes = read(list, values)?;
    let mut folded = values.clone();
    folded.remove(KEY);
    for (i, first) in changes.iter().enumerate() {
        let is_same = |other: &&Change| (other.target, other.key) == (first.target, first.key);
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
    Ok(Folded { values: Cow::Owned(folded), later })
}

/// The changes of a list, in order of time.
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

/// Gives the links their changes: the first link's directions, then `others`, or with `has_nodes` all links of a list.
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
        let its = || later.iter().filter(|change| change.target == first.target);
        its().try_for_each(|change| spec.add(change, own))?;
        let place = |at| {
            let mut of_queue = its().filter(|change| change.at == at && change.key != "loss");
            of_queue.next_back().map_or_else(String::new, |change| change.place.clone())
        };
        spec.try_changes(place)?;
    }
    Ok(())
}

/// Each queue manager that a change brings, with its place.
pub(super) fn aqms<'a>(later: &'a [Change], scenario: &'a Scenario) -> impl Iterator<Item = (&'a str, &'a AqmSpec)> {
    let links: Vec<(&LinkSpec, &LinkSpec)> = scenario.hops().map(|(_, link, reverse)| (link, reverse)).collect();
    let has_nodes = scenario.graph.is_some();
    later.iter().filter(|change| change.key == "aqm").filter_map(move |change| {
        let (link, reverse) = links[change.target.number(has_nodes)];
        let spec = if change.target.reverse { reverse } else { link };
        let its = spec.changes.iter().find(|known| known.at == change.at)?;
        Some((change.place.as_str(), its.aqm.as_ref()?))
    })
}

/// The list as it is read: an entry for each change of a direction.
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
    /// Of a link that runs elsewhere, and is the only one.
    pub(super) fn of_running(at: Duration, key: &'a str, value: &'a Value) -> Self {
        let target = Target { hop: None, reverse: false };
        Self { at, target, key, value, entry: String::new(), place: key.to_string() }
    }

    /// The same key changes twice at one instant.
    fn is_twice(&self) -> Error {
        Error::new(&self.place, format!("there is another {} at {}; keep one of them", self.key, self.at))
    }
}

/// The schedule that the key of `changes`, all of one key, has with them; none where what is written there is refused
/// later, for itself.
fn schedule<T: Stepped>(values: &Map<String, Value>, changes: &[&Change]) -> Result<Option<String>, Error> {
    let first = changes[0];
    let Some(written) = first.target.written(values, first.key) else {
        let text = format!("there is no {} that could change; write one, or leave this out", first.key);
        return Err(Error::new(&first.place, text));
    };
    let has = |target: Target, key: &str| target.table(values).is_some_and(|table| table.contains_key(key));
    let lent = first.target.reverse && !has(first.target, "delay");
    let traced =
        has(first.target, "delay_trace") || lent && has(Target { reverse: false, ..first.target }, "delay_trace");
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

/// Adds what the entry at `place` changes.
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
                return Err(no_such("key that can change", key, place, CHANGING.iter().map(|known| known.name)));
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
                let text = "flows do not change while they run; write another group with start and stop";
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

/// The number of the link called `name` in the list.
fn find_hop(place: &str, name: &str, values: &Map<String, Value>) -> Result<usize, Error> {
    let links = values.get(LINKS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let names = links.iter().map(|link| link.get("name").and_then(Value::as_str).unwrap_or_default());
    let found = names.clone().position(|known| known == name);
    found.ok_or_else(|| no_such("link", name, place.to_string(), names.filter(|name| !name.is_empty())))
}

/// There is no `what` of this name; the place ends with it already.
fn no_such<'a>(what: &str, name: &str, place: String, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    Error::new(place, unknown(what, name, known).replacen(&format!(" {name:?}"), "", 1))
}

impl Target {
    /// Its number among all bottlenecks, of which the list has all with nodes, and else those behind the first.
    fn number(self, has_nodes: bool) -> usize {
        self.hop.map_or(0, |hop| hop + usize::from(!has_nodes))
    }

    /// The table of this direction, as far as it is written.
    fn table(self, values: &Map<String, Value>) -> Option<&Map<String, Value>> {
        let link = match self.hop {
            None if self.reverse => return values.get(REVERSE)?.as_object(),
            None => values.get(hop::FIRST)?,
            Some(hop) => values.get(LINKS)?.get(hop)?,
        };
        if self.reverse { link.get(REVERSE)?.as_object() } else { link.as_object() }
    }

    /// The same, for writing: a direction back that is not written is made.
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

    /// What `key` is at the start; a direction back has from the other one what it does not say itself, without the
    /// changes there.
    fn written(self, values: &Map<String, Value>, key: &str) -> Option<Value> {
        let of = |target: Self| target.table(values).and_then(|table| table.get(key));
        let serves = |target: Self| target.table(values).is_some_and(Service::is_given);
        let inherits = self.reverse && (key != "rate" || !serves(self));
        let found = of(self).or_else(|| of(Self { reverse: false, ..self }).filter(|_| inherits)).cloned();
        found.or_else(|| (key == "delay").then(|| "0 s".into()))
    }
}
