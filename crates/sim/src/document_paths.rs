//! Paths of flows in a canonical scenario whose files may be gone.

use crate::scenario::{Error, Paths, Scenario};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Paths of the groups of a canonical scenario; empty in a wireless LAN, which is the only bottleneck.
///
/// Reads only the keys that determine them, because trace files and queue managers may be gone by now.
pub fn paths_of_document(document: &Value) -> Result<Vec<Paths>, Error> {
    let flows = document["flows"].as_array().map_or(&[][..], Vec::as_slice);
    if document.get("wlan").is_some() || flows.is_empty() {
        return Ok(flows.iter().map(|_| Paths { data: [].into(), acks: [].into() }).collect());
    }
    let kept = |value: &Value, keys: &[&str]| -> Map<String, Value> {
        keys.iter().filter_map(|&key| Some((key.to_string(), value.get(key)?.clone()))).collect()
    };
    let bare = |link: &Value| json!({ "rate": "1 Mbit/s", "delay": link["delay"] });
    let hop = |hop: &Value| {
        let mut out = kept(hop, &["name", "from", "to"]);
        if hop.get("wlan").is_some() {
            out.insert("wlan".into(), json!({ "stations": [{}] }));
        } else {
            out.extend([("rate".into(), "1 Mbit/s".into()), ("delay".into(), hop["delay"].clone())]);
            out.insert("reverse".into(), bare(&hop["reverse"]));
        }
        Value::Object(out)
    };
    let flow = |flow: &Value| {
        let mut out = kept(flow, &["direction", "from", "to", "route", "return_route"]);
        out.insert("kind".into(), "tcp".into());
        Value::Object(out)
    };
    let mut form = kept(document, &["nodes"]);
    form.insert("duration".into(), "1 s".into());
    for key in ["link", "reverse"].into_iter().filter(|&key| document.get(key).is_some()) {
        form.insert(key.into(), bare(&document[key]));
    }
    let links = document["links"].as_array().map_or(&[][..], Vec::as_slice);
    form.insert("links".into(), links.iter().map(hop).collect());
    form.insert("flows".into(), flows.iter().map(flow).collect());
    let scenario = Scenario::parse(&Value::Object(form).to_string(), &[], Path::new("."))?;
    Ok(scenario.flows.into_iter().map(|flow| flow.paths).collect())
}
