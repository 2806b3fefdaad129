//! Events on the path of an endpoint: a NAT that forgets its binding, and times without connection.

use crate::scenario::keys::{CustomForm, Datum, Field};
use crate::scenario::value_error::ValueError;
use crate::scenario::values::{mismatch, time};
use serde_json::{Map, Value, json};
use sojourn_aqm::{Duration, Instant};

/// Events in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEvents(pub Vec<PathEvent>);

/// An event on the path of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// Time of the run.
    pub at: Instant,
    /// Its effect.
    pub effect: PathEffect,
}

/// Effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEffect {
    /// A NAT gives the source another port.
    RebindPort,
    /// A NAT gives the source another address and port.
    RebindAddress,
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
}

impl PathEvent {
    fn read(values: &Map<String, Value>) -> Result<Self, ValueError> {
        let form = |text: String| ValueError::Form(format!("{text}; write e.g. {{ at = \"3 s\", rebind = \"port\" }}"));
        if let Some(key) = values.keys().find(|key| !["at", "rebind", "down"].contains(&key.as_str())) {
            return Err(form(format!("unknown key {key:?} of an event")));
        }
        let at = values.get("at").ok_or_else(|| form("an event has no at".into()))?;
        let at = Instant::ZERO + time(at, Duration::ZERO)?;
        let effect = match (values.get("rebind"), values.get("down")) {
            (Some(Value::String(what)), None) if what == "port" => PathEffect::RebindPort,
            (Some(Value::String(what)), None) if what == "address" => PathEffect::RebindAddress,
            (Some(other), None) => return Err(form(format!("rebind is {other}, neither \"port\" nor \"address\""))),
            (None, Some(span)) => PathEffect::Down(time(span, Duration::from_nanos(1))?),
            (Some(_), Some(_)) => return Err(form("an event has both rebind and down".into())),
            (None, None) => return Err(form("an event has neither rebind nor down".into())),
        };
        Ok(Self { at, effect })
    }

    fn write(self) -> Value {
        let at = (self.at - Instant::ZERO).to_string();
        match self.effect {
            PathEffect::RebindPort => json!({ "at": at, "rebind": "port" }),
            PathEffect::RebindAddress => json!({ "at": at, "rebind": "address" }),
            PathEffect::Down(span) => json!({ "at": at, "down": span.to_string() }),
        }
    }
}

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
                "properties": { "at": { "type": "string" }, "rebind": { "enum": ["port", "address"] }, "down": { "type": "string" } },
                "required": ["at"],
                "additionalProperties": false
            },
            "examples": [[{ "at": "3 s", "rebind": "port" }]]
        })
    },
};

/// Maximum number of events of a group.
const MAX_EVENTS: usize = 10_000;
