//! `[[changes]]`: values of links that change while a run goes on, each entry an instant and the keys that change then.
//!
//! An entry is written like the scenario itself: `link.rate = "5 Mbit/s"` beside `at = "5 s"`. A schedule of rates or
//! delays is the short form of such entries, so they are put into the link's own key before it is read, and both forms
//! give one scenario.

use super::keys::{Key, Kind, Need, Table, as_table, join, mismatch, text};
use super::steps::{Stepped, Steps};
use super::{Error, Service, hop};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::unknown;
use sojourn_aqm::{Duration, Rate};
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
];

/// The words for the direction back.
const REVERSE: &str = "reverse";

/// The words for the list of links.
const LINKS: &str = "links";

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// Number in the list `links`; none for `link`.
    hop: Option<usize>,
    reverse: bool,
}

/// A value that a key takes.
struct Change<'a> {
    at: Duration,
    target: Target,
    key: &'a str,
    value: &'a Value,
    /// Where its entry is.
    entry: String,
    /// Where it is written.
    place: String,
}

/// The scenario `values` with the changes of `[[changes]]` in the keys that they change, and without that list.
pub(super) fn fold(values: &Map<String, Value>) -> Result<Cow<'_, Map<String, Value>>, Error> {
    let Some(list) = values.get(KEY) else { return Ok(Cow::Borrowed(values)) };
    let wrong = || Error::new(KEY, mismatch(list, "a list of tables, [[changes]]").to_string());
    let mut changes = Vec::new();
    for (i, entry) in list.as_array().ok_or_else(wrong)?.iter().enumerate() {
        read_entry(&format!("{KEY}[{i}]"), entry, values, &mut changes)?;
    }
    if let Some(pair) = changes.windows(2).find(|pair| pair[1].at < pair[0].at) {
        let text = format!("{} comes after the change at {}; put them in order", pair[1].at, pair[0].at);
        return Err(Error::new(join(&pair[1].entry, "at"), text));
    }
    let mut folded = values.clone();
    folded.remove(KEY);
    for (i, first) in changes.iter().enumerate() {
        let is_same = |other: &&Change| (other.target, other.key) == (first.target, first.key);
        if changes[..i].iter().any(|other| is_same(&other)) {
            continue;
        }
        let same: Vec<&Change> = changes[i..].iter().filter(is_same).collect();
        let steps =
            if first.key == "rate" { schedule::<Rate>(values, &same) } else { schedule::<Duration>(values, &same) };
        if let (Some(steps), Some(table)) = (steps?, first.target.table_mut(&mut folded)) {
            table.insert(first.key.to_string(), steps.into());
        }
    }
    Ok(Cow::Owned(folded))
}

/// The schedule that the key of `changes`, all of one key, has with them; none where what is written there is refused
/// later, for itself.
fn schedule<T: Stepped>(values: &Map<String, Value>, changes: &[&Change]) -> Result<Option<String>, Error> {
    let first = changes[0];
    let Some(written) = first.target.written(values, first.key) else {
        let text = format!("there is no {} that could change; write one, or leave this out", first.key);
        return Err(Error::new(&first.place, text));
    };
    let Some(start) = written.as_str().and_then(|text| Steps::<T>::parse(text).ok()) else { return Ok(None) };
    let mut steps: Vec<(Duration, T)> = start.iter().collect();
    for change in changes {
        let read = |value: &Value| T::parse(text(value, &format!("a text with a unit such as {:?}", T::SINGLE))?);
        let value = read(change.value).map_err(|wrong| Error::new(&change.place, wrong.to_string()))?;
        let next = steps.partition_point(|&(at, _)| at < change.at);
        if steps.get(next).is_some_and(|&(at, _)| at == change.at) {
            let text = format!("there is another {} at {}; keep one of them", change.key, change.at);
            return Err(Error::new(&change.place, text));
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
