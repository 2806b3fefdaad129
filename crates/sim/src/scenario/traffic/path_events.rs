//! Events on the path of an endpoint: a NAT that forgets its binding, another path, and times without connection.

use crate::scenario::keys::{CustomForm, Datum, Field};
use crate::scenario::value_error::ValueError;
use crate::scenario::values::{mismatch, names, time};
use serde_json::{Map, Value, json};
use sojourn_aqm::{Duration, Instant};
use std::collections::BTreeMap;

/// Events in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEvents(pub Vec<PathEvent>);

/// An event on the path of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// Time of the run.
    pub at: Instant,
    /// Its effect.
    pub effect: PathEffect,
}

/// Effect of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEffect {
    /// A NAT gives the source another port.
    RebindPort,
    /// A NAT gives the source another address and port.
    RebindAddress,
    /// Packets of both directions take one of the group's `paths` from now on, by name.
    Path(String),
    /// Packets of both directions are lost on leaving their host, for this time.
    Down(Duration),
}

impl PathEvents {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let expected = r#"a list of tables such as [{ at = "3 s", rebind = "port" }]"#;
        let list = value.as_array().ok_or_else(|| mismatch(value, expected))?;
        if list.len() > MAX_EVENTS {
            return Err(ValueError::Form(format!("{} events; at most {MAX_EVENTS}", list.len())));
        }
        let read = |entry: &Value| {
            PathEvent::read(
                entry
                    .as_object()
                    .ok_or_else(|| mismatch(entry, r#"a table such as { at = "3 s", rebind = "port" }"#))?,
            )
        };
        let mut events: Vec<PathEvent> = list.iter().map(read).collect::<Result<_, _>>()?;
        events.sort_by_key(|event| event.at);
        Ok(Self(events))
    }
}

impl PathEvents {
    /// Whether a NAT gives the source other addresses.
    pub(super) fn has_rebinding(&self) -> bool {
        self.0.iter().any(|event| matches!(event.effect, PathEffect::RebindPort | PathEffect::RebindAddress))
    }

    /// Names of the paths that packets take.
    pub(super) fn path_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|event| match &event.effect {
            PathEffect::Path(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl PathEvent {
    fn read(values: &Map<String, Value>) -> Result<Self, ValueError> {
        let form = |text: String| ValueError::Form(format!("{text}; write e.g. {{ at = \"3 s\", rebind = \"port\" }}"));
        if let Some(key) = values.keys().find(|key| !["at", "rebind", "path", "down"].contains(&key.as_str())) {
            return Err(form(format!("unknown key {key:?} of an event")));
        }
        let at = values.get("at").ok_or_else(|| form("an event has no at".into()))?;
        let at = Instant::ZERO + time(at, Duration::ZERO)?;
        let named = ["rebind", "path", "down"].map(|key| values.get(key).map(|value| (key, value)));
        let effects: Vec<(&str, &Value)> = named.into_iter().flatten().collect();
        let effect = match effects.as_slice() {
            [("path", Value::String(name))] => PathEffect::Path(name.clone()),
            [("rebind", Value::String(what))] if what == "port" => PathEffect::RebindPort,
            [("rebind", Value::String(what))] if what == "address" => PathEffect::RebindAddress,
            [("down", span)] => PathEffect::Down(time(span, Duration::from_nanos(1))?),
            [("path", other)] => return Err(form(format!("path is {other}, not a name"))),
            [(_, other)] => return Err(form(format!("rebind is {other}, neither \"port\" nor \"address\""))),
            [] => return Err(form("an event has none of rebind, path and down".into())),
            [(one, _), (other, _), ..] => return Err(form(format!("an event has both {one} and {other}"))),
        };
        Ok(Self { at, effect })
    }

    fn write(&self) -> Value {
        let at = (self.at - Instant::ZERO).to_string();
        match &self.effect {
            PathEffect::RebindPort => json!({ "at": at, "rebind": "port" }),
            PathEffect::RebindAddress => json!({ "at": at, "rebind": "address" }),
            PathEffect::Path(name) => json!({ "at": at, "path": name }),
            PathEffect::Down(span) => json!({ "at": at, "down": span.to_string() }),
        }
    }
}

/// Paths that events can choose: by name, the names of the links that the data cross; acknowledgments take the same
/// links back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPaths(pub BTreeMap<String, Vec<String>>);

impl NamedPaths {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let expected = r#"a table of lists of links such as { lte = ["b"] }"#;
        let table = value.as_object().ok_or_else(|| mismatch(value, expected))?;
        if table.len() > MAX_PATHS {
            return Err(ValueError::Form(format!("{} paths; at most {MAX_PATHS}", table.len())));
        }
        let read = |(name, route): (&String, &Value)| Ok((name.clone(), names(route)?));
        table.iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl Field for NamedPaths {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Custom(value) => Self::read(&value).expect("the key was checked"),
            _ => unreachable!("a field has the type of its key"),
        }
    }

    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(json!(self.0)))
    }
}

pub(super) static PATHS: CustomForm = CustomForm {
    check: |value| NamedPaths::read(value).map(|_| ()),
    schema: || {
        json!({
            "title": "paths",
            "type": "object",
            "additionalProperties": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "examples": [{ "lte": ["b"] }]
        })
    },
};

impl Field for PathEvents {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Custom(value) => Self::read(&value).expect("the key was checked"),
            _ => unreachable!("a field has the type of its key"),
        }
    }

    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(self.0.iter().map(|event| event.write()).collect()))
    }
}

pub(super) static EVENTS: CustomForm = CustomForm {
    check: |value| PathEvents::read(value).map(|_| ()),
    schema: || {
        json!({
            "title": "events",
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "at": { "type": "string" }, "rebind": { "enum": ["port", "address"] }, "path": { "type": "string" }, "down": { "type": "string" } },
                "required": ["at"],
                "additionalProperties": false
            },
            "examples": [[{ "at": "3 s", "rebind": "port" }]]
        })
    },
};

/// Maximum number of events of a group.
const MAX_EVENTS: usize = 10_000;

/// Maximum number of paths of a group.
const MAX_PATHS: usize = 16;
