//! JSON Schema of scenario files, for editors and the documentation, generated from the key tables.

use super::keys::{Key, Kind, Need, literal};
use super::{ChannelSpec, KEYS, Probes, StationSpec, changes, control, flow, graph, hop, link, service, traffic, wlan};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::{self, Param};
use sojourn_aqm::registry::{ALGORITHMS, Algorithm, QueueLayout};

/// JSON Schema, draft 2020-12. It rejects unknown keys and quantities without a unit; only
/// [`Scenario::parse`](super::Scenario::parse) checks ranges and dependencies between keys.
pub fn schema() -> String {
    let mut schema = object(KEYS.iter());
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Sojourn scenario".into();
    schema["properties"]["wlan"] = described(wlan_schema(), "wlan");
    schema["properties"]["link"] = described(link_schema(false), "link");
    // A wireless LAN serves its links; any other link must have a service.
    let serves =
        json!({ "required": ["link"], "properties": { "link": { "anyOf": required(&service::keys_without_wlan()) } } });
    // All links of a graph are in the list.
    schema["anyOf"] = json!([{ "required": ["wlan"] }, serves, { "required": ["nodes", "links"] }]);
    schema["not"] = json!({ "required": ["nodes"], "anyOf": required(&["wlan", "link", "reverse"]) });
    schema["properties"]["nodes"] =
        described(json!({ "type": "array", "minItems": 2, "items": object(graph::KEYS.iter()) }), "nodes");
    schema["properties"]["reverse"] = described(link_schema(false), "reverse");
    schema["properties"]["links"] = described(json!({ "type": "array", "items": hop_schema() }), "links");
    schema["properties"]["probes"] = described(object(Probes::KEYS.iter()), "probes");
    let kinds: Vec<_> = traffic::KINDS.iter().map(flow_schema).collect();
    let flows = json!({ "type": "array", "minItems": 1, "items": { "type": "object", "oneOf": kinds } });
    schema["properties"]["flows"] = described(flows, "flows");
    schema["properties"][changes::KEY] = described(changes_schema(), changes::KEY);
    schema["$defs"] = json!({
        "duration": quantity(TIMES),
        "rate": quantity(RATES),
        "size": quantity(SIZES),
        "limit": { "type": "string", "pattern": limit_pattern() },
        "aqm": aqm_schema(),
    });
    format!("{schema:#}\n")
}

/// Schema of a table with exactly `keys`.
fn object<'k>(keys: impl Iterator<Item = &'k Key> + Clone) -> Value {
    let properties: Map<_, _> = keys.clone().map(|key| (key.name.to_string(), property(key))).collect();
    let order: Vec<_> = keys.clone().map(|key| key.name).collect();
    let required: Vec<_> = keys.filter(|key| matches!(key.need, Need::Required(_))).map(|key| key.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        // Declaration order of the keys, for the tables in docs/scenario: serde_json sorts the keys of objects.
        ORDER: order,
    })
}

/// Annotation of a table with its keys in order of declaration.
const ORDER: &str = "x-order";

fn property(key: &Key) -> Value {
    let mut schema = kind_schema(key.kind);
    schema["description"] = key.doc.trim().into();
    if let Need::Default(text) = key.need {
        schema["default"] = literal(text);
    }
    schema
}

fn kind_schema(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::File => json!({ "type": "string", "format": "path" }),
        Kind::Word(_, names) => json!({ "enum": names() }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Time | Kind::PositiveTime => json!({ "$ref": "#/$defs/duration" }),
        Kind::Rate => json!({ "$ref": "#/$defs/rate" }),
        Kind::Size(..) => json!({ "$ref": "#/$defs/size" }),
        Kind::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Aqm => json!({ "$ref": "#/$defs/aqm" }),
        Kind::Control => json!({ "title": "name with parameters, or table", "anyOf": [
            { "type": "string", "examples": control::names().collect::<Vec<_>>() },
            { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } },
        ] }),
        Kind::Limits => json!({ "title": "packets, size, time or list", "anyOf": [
            { "$ref": "#/$defs/limit" },
            { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/limit" } },
        ] }),
        Kind::Custom(own) => (own.schema)(),
        Kind::Names => json!({ "type": "array", "minItems": 1, "items": { "type": "string" } }),
        Kind::Section => json!({}),
    }
}

/// Schema of a wireless LAN with its groups of stations.
fn wlan_schema() -> Value {
    let mut schema = object(ChannelSpec::KEYS.iter().chain(wlan::OWN_KEYS));
    let stations = &mut schema["properties"]["stations"];
    let doc = stations["description"].take();
    *stations =
        json!({ "type": "array", "minItems": 1, "items": object(StationSpec::KEYS.iter()), "description": doc });
    schema
}

/// Schemas that each require one of `keys`.
fn required(keys: &[&str]) -> Vec<Value> {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// Schema of a link. With `serves` it must have a service; otherwise it may inherit one.
fn link_schema(serves: bool) -> Value {
    let mut schema = object(link::KEYS.iter());
    // If several kinds share a key, the last one describes it; a key of every link is described by the link.
    let is_of_kind = |key: &&Key| !link::KEYS.iter().any(|other| other.name == key.name);
    let mut order: Vec<&str> = Vec::new();
    for key in service::KINDS.iter().copied().flatten().filter(is_of_kind) {
        schema["properties"][key.name] = property(key);
        if !order.contains(&key.name) {
            order.push(key.name);
        }
    }
    order.extend(link::KEYS.iter().map(|key| key.name));
    schema[ORDER] = order.into();
    let mut kinds = required(&service::first_keys());
    if !serves {
        kinds.push(json!({ "not": { "anyOf": kinds } }));
    }
    schema["oneOf"] = kinds.into();
    let mut dependent = Map::new();
    for keys in service::KINDS {
        let (first, others) = keys.split_first().expect("a kind has a key");
        dependent.extend(others.iter().filter(is_of_kind).map(|key| (key.name.to_string(), json!([first.name]))));
        let needed = others.iter().filter(|key| matches!(key.need, Need::Required(_))).map(|key| key.name);
        let needed: Vec<_> = needed.collect();
        if !needed.is_empty() {
            dependent.insert(first.name.to_string(), needed.into());
        }
    }
    schema["dependentRequired"] = dependent.into();
    schema
}

/// Schema of an entry of `links`: the keys of a link, its name and its reverse direction.
fn hop_schema() -> Value {
    let mut schema = link_schema(true);
    for key in hop::KEYS {
        schema["properties"][key.name] = property(key);
    }
    let order = schema[ORDER].as_array_mut().expect("a list");
    order.splice(0..0, hop::KEYS.iter().map(|key| key.name.into()));
    for (key, section) in [("reverse", link_schema(false)), (wlan::KEY, wlan_schema())] {
        let doc = schema["properties"][key]["description"].take();
        schema["properties"][key] = section;
        schema["properties"][key]["description"] = doc;
    }
    // A wireless LAN counts as a service.
    let kinds = schema["oneOf"].as_array_mut().expect("a list");
    kinds.push(json!({ "required": [wlan::KEY], "not": { "anyOf": kinds } }));
    for (key, others) in [("from", vec!["to"]), ("to", vec!["from"]), (wlan::KEY, vec!["from", "to"])] {
        schema["dependentRequired"][key] = json!(others);
    }
    schema["required"].as_array_mut().expect("a list").push("name".into());
    schema
}

/// Schema of `[[changes]]`: entries like the scenario itself, with the keys that can change.
fn changes_schema() -> Value {
    let link = object(changes::CHANGING.iter());
    let mut hop = link.clone();
    hop["properties"]["reverse"] = link.clone();
    let mut entry = object(changes::KEYS.iter());
    entry["properties"]["link"] = link.clone();
    entry["properties"]["reverse"] = link;
    entry["properties"]["links"] = json!({ "type": "object", "additionalProperties": hop });
    entry["minProperties"] = 2.into();
    json!({ "type": "array", "items": entry })
}

fn flow_schema(kind: &traffic::TrafficKind) -> Value {
    let mut schema = object(flow::KEYS.iter().chain(kind.keys));
    schema["description"] = kind.summary.into();
    let doc = schema["properties"]["kind"]["description"].take();
    schema["properties"]["kind"] = json!({ "const": kind.name, "description": doc });
    schema["not"] = json!({ "required": ["access_delay", "rtt"] });
    schema
}

fn aqm_schema() -> Value {
    let names: Vec<_> = ALGORITHMS.iter().map(|a| a.name).collect();
    let text = json!({ "type": "string", "pattern": format!(r"^\s*(({})(@\S+)?(\s|\{{|$)|fq\s*\(.+\)|{OWN})", names.join("|")) });
    let tables = ALGORITHMS.iter().map(algorithm_schema);
    let own = json!({
        "type": "object",
        "description": "A class in a Python file, with its own parameters.",
        "properties": { "name": { "type": "string", "pattern": format!("^{OWN}$") } },
        "required": ["name"],
    });
    json!({ "oneOf": std::iter::once(text).chain(tables).chain([own]).collect::<Vec<_>>() })
}

/// Pattern of a class in a Python file: `my_aqm.py:MyAqm`.
const OWN: &str = r"[^\s()]+:[^\s()]+";

fn algorithm_schema(algorithm: &Algorithm) -> Value {
    let mut properties: Map<_, _> =
        algorithm.params.iter().map(|param| (param.name.to_string(), param_schema(param))).collect();
    let name = match algorithm.name {
        "fq" => json!({ "type": "string", "pattern": r"^fq\s*\(.+\)$" }),
        "sch_fq" => json!({ "enum": ["fq", "sch_fq"] }),
        name if algorithm.queues == QueueLayout::Tree => {
            json!({ "type": "string", "pattern": format!(r"^{name}\s*(\{{[\s\S]*\}})?$") })
        }
        name => json!({ "const": name }),
    };
    properties.insert("name".into(), name);
    let profiles: Vec<_> = algorithm.profiles.iter().map(|&(name, _)| name).collect();
    properties.insert("profile".into(), json!({ "enum": profiles, "default": profiles[0] }));
    json!({
        "type": "object",
        "description": algorithm.summary,
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
    })
}

fn param_schema(param: &Param) -> Value {
    let mut schema = match param.range.0 {
        params::Value::Time(_) => json!({ "$ref": "#/$defs/duration" }),
        params::Value::Bytes(_) => json!({ "$ref": "#/$defs/size" }),
        params::Value::Rate(_) => json!({ "$ref": "#/$defs/rate" }),
        params::Value::Count(_) => json!({ "type": ["integer", "string"] }),
        params::Value::Number(_) => json!({ "type": ["number", "string"] }),
        params::Value::Flag(_) => json!({ "type": ["boolean", "string"] }),
        params::Value::Choice(_) => json!({ "enum": param.choices }),
        params::Value::Bands(_) | params::Value::Minor(_) | params::Value::Distribution(_) => {
            json!({ "type": "string" })
        }
    };
    schema["description"] = param.doc.trim().into();
    schema
}

fn described(mut schema: Value, name: &str) -> Value {
    let key = KEYS.iter().find(|key| key.name == name).expect("a section is a key");
    schema["description"] = key.doc.into();
    schema
}

/// Schema of a number with one of `units`, case-insensitive like the reader.
fn quantity(units: &[&str]) -> Value {
    json!({ "type": "string", "pattern": format!("^{}$", amount(units)) })
}

fn amount(units: &[&str]) -> String {
    let units: Vec<_> = units.iter().map(|unit| any_case(unit)).collect();
    format!(r"\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*({})\s*", units.join("|"))
}

fn limit_pattern() -> String {
    let units: Vec<_> = ["packets", "packet", "pkts", "pkt", "p"].iter().chain(SIZES).chain(TIMES).copied().collect();
    format!(r"^{0}(\+{0})*$", amount(&units))
}

/// Case-insensitive pattern for `unit`; patterns of JSON Schema have no flag for it.
fn any_case(unit: &str) -> String {
    let both = |c: char| {
        if c.is_ascii_alphabetic() {
            format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase())
        } else {
            c.to_string()
        }
    };
    unit.chars().map(both).collect()
}

const SIZES: &[&str] = &["B", "byte", "bytes", "kB", "MB", "GB", "KiB", "K", "MiB", "M", "GiB", "G"];

const TIMES: &[&str] =
    &["ns", "nsec", "nsecs", "us", "µs", "usec", "usecs", "ms", "msec", "msecs", "s", "sec", "secs", "min"];

const RATES: &[&str] = &[
    "bit/s", "bit", "bps", "b/s", "kbit/s", "kbit", "kb/s", "Mbit/s", "Mbit", "Mb/s", "Mbps", "Gbit/s", "Gbit", "Gb/s",
    "Gbps",
];
