//! The registries as JSON.

use crate::scenario::{AqmSpec, traffic};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::{self, Param};
use sojourn_aqm::registry::{ALGORITHMS, Algorithm, AnyConfig, QueueLayout};
use sojourn_tcp::cc::{self, AnyCc, Description};
use sojourn_tcp::stack::{self, Stack};

/// All names for scenario files.
pub fn registry() -> Value {
    json!({
        "aqms": ALGORITHMS.iter().map(algorithm).collect::<Vec<_>>(),
        "stacks": named(stack::NAMES.iter().copied()),
        "ccs": cc::DESCRIPTIONS.iter().map(control).collect::<Vec<_>>(),
        "traffic": named(traffic::kinds()),
    })
}

/// A configured queue manager.
pub fn aqm(aqm: &AqmSpec) -> Value {
    json!({
        "name": aqm.config.name(),
        "profile": aqm.profile,
        "text": aqm.text,
        "state_bytes": aqm.config.state_bytes(),
        "params": values(aqm.algorithm(), &aqm.config),
        "parameters": aqm.parameters(),
        "algorithm": algorithm(aqm.algorithm()),
    })
}

fn algorithm(algorithm: &'static Algorithm) -> Value {
    let plain = profile(algorithm, algorithm.profiles[0].0);
    let profiles = algorithm.profiles.iter().zip(algorithm.spellings());
    let profiles = profiles.map(|(&(name, summary), spelling)| {
        let values = values(algorithm, &profile(algorithm, name));
        json!({ "name": name, "summary": summary, "spelling": spelling, "values": values })
    });
    json!({
        "name": algorithm.name,
        "summary": algorithm.summary,
        "source": algorithm.source,
        "by_flow": algorithm.queues.are_by_flow(),
        "exclude_ce": algorithm.queues.can_exclude_ce(),
        "holds": algorithm.queues == QueueLayout::Tree,
        "state_bytes": plain.state_bytes(),
        "queue_bytes": algorithm.queue_bytes,
        "params": algorithm.params.iter().map(|p| param(p, plain.value(p.name))).collect::<Vec<_>>(),
        "profiles": profiles.collect::<Vec<_>>(),
    })
}

fn param(param: &Param, default: Option<params::Value>) -> Value {
    let is_choice =
        matches!(param.range.0, params::Value::Choice(_) | params::Value::Bands(_) | params::Value::Distribution(_));
    let bound = |value: params::Value| if is_choice { Value::Null } else { value.to_string().into() };
    json!({
        "name": param.name,
        "doc": param.doc.split_whitespace().collect::<Vec<_>>().join(" "),
        "kind": kind(param.range.0),
        "default": default.map(|value| value.to_string()),
        "min": bound(param.range.0),
        "max": bound(param.range.1),
        "default_value": default.and_then(number),
        "min_value": number(param.range.0),
        "max_value": number(param.range.1),
        "unit": unit(param.range.0),
        "choices": param.choices,
    })
}

/// A quantity as a number in its smallest unit; none if the value is no quantity.
fn number(value: params::Value) -> Option<f64> {
    match value {
        params::Value::Time(span) => Some(span.as_nanos() as f64),
        params::Value::Bytes(n) | params::Value::Count(n) => Some(n as f64),
        params::Value::Rate(rate) => Some(rate.as_bps() as f64),
        params::Value::Number(x) => Some(x),
        params::Value::Flag(_)
        | params::Value::Choice(_)
        | params::Value::Bands(_)
        | params::Value::Minor(_)
        | params::Value::Distribution(_) => None,
    }
}

fn unit(value: params::Value) -> &'static str {
    match value {
        params::Value::Time(_) => "ns",
        params::Value::Bytes(_) => "B",
        params::Value::Rate(_) => "bit/s",
        _ => "",
    }
}

/// The value of every parameter as text, by name.
fn values(algorithm: &Algorithm, config: &AnyConfig) -> Map<String, Value> {
    let pairs = algorithm.params.iter().filter_map(|p| Some((p.name, config.value(p.name)?)));
    pairs.map(|(name, value)| (name.to_string(), value.to_string().into())).collect()
}

fn profile(algorithm: &'static Algorithm, name: &str) -> AnyConfig {
    algorithm.configure(name, &[]).expect("a profile is a valid configuration")
}

fn kind(value: params::Value) -> &'static str {
    match value {
        params::Value::Time(_) => "time",
        params::Value::Bytes(_) => "bytes",
        params::Value::Rate(_) => "rate",
        params::Value::Count(_) => "count",
        params::Value::Number(_) => "number",
        params::Value::Flag(_) => "flag",
        params::Value::Choice(_) => "choice",
        params::Value::Bands(_) => "bands",
        params::Value::Minor(_) => "class",
        params::Value::Distribution(_) => "distribution",
    }
}

fn control(control: &Description) -> Value {
    let needs = AnyCc::new(control.name).expect("it is registered").needs();
    let fits = |name: &&str| needs.is_met_by(Stack::find(name).expect("it is registered"));
    let constants = control.constants.iter().map(|constant| {
        json!({
            "name": constant.name,
            "value": constant.value,
            "unit": constant.unit,
            "meaning": constant.meaning,
        })
    });
    json!({
        "name": control.name,
        "alias": cc::ALIASES.iter().find(|(_, name)| *name == control.name).map(|(alias, _)| alias),
        "summary": control.summary,
        "source": control.source,
        "constants": constants.collect::<Vec<_>>(),
        "params": control.params.iter().map(|p| param(p, (control.defaults)(p.name))).collect::<Vec<_>>(),
        "state_bytes": control.state_bytes,
        "stacks": stack::NAMES.iter().map(|(name, _)| *name).filter(fits).collect::<Vec<_>>(),
    })
}

fn named<'a>(names: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Value> {
    names.map(|(name, summary)| json!({ "name": name, "summary": summary })).collect()
}
