//! Parsing of the services, delays and losses of `link`, `delay` and `loss`.

use super::options::{DirectionOption, LinkOptions};
use crate::Error;
use crate::path::{PathKind, Side};
use serde_json::{Map, Value, json};
use sojourn_aqm::Duration;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Service, Steps};
use std::path::Path;

/// The two links: service (`--up`, `--down`, `--rate`), queue manager and limit of each.
pub(super) fn links(
    options: &LinkOptions,
    mtu: Option<&str>,
    managers: &dyn Catalogue,
) -> Result<[PathKind; 2], Error> {
    let link = |side: Side| -> Result<PathKind, Error> {
        let (aqm, limit) = (options.aqm().of(side), options.limit().of(side));
        let netem = options.netem().of(side);
        let Some((place, spec)) = options.service().of(side).or(netem.map(|_| ("--netem", FAST))) else {
            let (one, two) = ("--up and --down", "--rate for both");
            return Err(Error::Input(format!(
                "--{}: missing; write {one} (or {two}), e.g. --rate 12mbit, --down lte.down",
                side.name()
            )));
        };
        let mut table = table(place, spec, options.once)?;
        if let Some(mtu) = mtu {
            table.insert("mtu".to_string(), json!(mtu));
        }
        if let Some((_, value)) = aqm {
            table.insert("aqm".to_string(), json!(value));
        }
        if let Some((_, value)) = limit {
            table.insert("limit".to_string(), json!(value.split('+').map(str::trim).collect::<Vec<_>>()));
        }
        if let Some((option, line)) = netem {
            let aqm = emulated(line, table.get("aqm")).map_err(|wrong| Error::Input(format!("{option}: {wrong}")))?;
            table.insert("aqm".to_string(), aqm.into());
        }
        let changes = planned(options.changes.as_deref(), side)?;
        let read = LinkSpec::parse_changing("", &Value::Object(table), &changes, Path::new("."), managers);
        let spec = read.map_err(|error| {
            if error.place.starts_with("changes") {
                return Error::Input(format!("--changes: {error}"));
            }
            let place = match error.place.as_str() {
                "aqm" => netem.or(aqm).map_or("--aqm", |(option, _)| option),
                "limit" => limit.map_or("--limit", |(option, _)| option),
                "mtu" if mtu.is_some() => "--mtu",
                _ => place,
            };
            let remedy = if error.place == "trace" { NO_TRACE } else { "" };
            Error::Input(format!("{place}: {}{remedy}", error.message))
        })?;
        Ok(PathKind::Link(Box::new(spec)))
    };
    let kinds = [link(Side::Up)?, link(Side::Down)?];
    let follows_a_trace =
        |kind: &PathKind| matches!(kind, PathKind::Link(spec) if matches!(spec.service, Service::Trace(_)));
    if options.once && !kinds.iter().any(follows_a_trace) {
        return Err(Error::Input("--once: no direction follows a trace; leave it out".to_string()));
    }
    Ok(kinds)
}

/// Entries of `--changes` (like a scenario's `[[changes]]`) for the link of a direction.
fn planned(changes: Option<&str>, side: Side) -> Result<Vec<Value>, Error> {
    let Some(text) = changes else { return Ok(Vec::new()) };
    let wrong = |reason: &str| Error::Input(format!("--changes: {reason}"));
    let read: Value = serde_json::from_str(text).map_err(|e| wrong(&format!("not a JSON list: {e}")))?;
    let key = if side == Side::Down { "link" } else { "reverse" };
    let mut entries = Vec::new();
    for entry in read.as_array().ok_or_else(|| wrong("not a list of entries; write it like [[changes]]"))? {
        let table = entry.as_object().ok_or_else(|| wrong("an entry is not a table; write it like [[changes]]"))?;
        if let Some(other) = table.keys().find(|key| !["at", "link", "reverse"].contains(&key.as_str())) {
            return Err(wrong(&unknown("key", other, ["at", "link", "reverse"].into_iter())));
        }
        if let Some(keys) = table.get(key) {
            let mut keys = keys.as_object().cloned().ok_or_else(|| wrong(&format!("{key} is not a table")))?;
            keys.insert("at".to_string(), table.get("at").cloned().unwrap_or_default());
            entries.push(keys.into());
        }
    }
    Ok(entries)
}

/// Queue manager of a link with netem, in tc's syntax; `aqm` becomes the child in braces.
fn emulated(line: &str, aqm: Option<&Value>) -> Result<String, String> {
    let words = line.trim();
    let words = words.strip_prefix("netem").filter(|rest| rest.starts_with(' ')).unwrap_or(words);
    match aqm {
        None => Ok(format!("netem {words}")),
        Some(Value::String(aqm)) => Ok(format!("netem {words} {{ {aqm} }}")),
        Some(_) => Err("the link's queue manager is a table; give it with --aqm".to_string()),
    }
}

/// Rate of a link with netem and no rate, high enough not to queue packets.
const FAST: &str = "100 Gbit/s";

/// Keys of a link: a scenario's keys in JSON, or its service.
fn table(place: &str, spec: &str, once: bool) -> Result<Map<String, Value>, Error> {
    if !spec.starts_with('{') {
        return Ok(service(spec, once));
    }
    let read = serde_json::from_str(spec);
    let mut table: Map<String, Value> =
        read.map_err(|e| Error::Input(format!("{place}: not a link table in JSON: {e}")))?;
    if once && table.contains_key("trace") {
        table.insert("once".to_string(), true.into());
    }
    Ok(table)
}

/// Keys of a link with the service `spec`: a rate or rates in steps, otherwise the name of a trace.
fn service(spec: &str, once: bool) -> Map<String, Value> {
    let mut table = Map::new();
    let starts_with_number = spec.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if starts_with_number && !Path::new(spec).exists() {
        table.insert("rate".to_string(), spec.into());
    } else {
        table.insert("trace".to_string(), spec.into());
        table.insert("once".to_string(), once.into());
    }
    table
}

/// Delays of both directions.
pub(super) fn delays(given: &DirectionOption<'_>) -> Result<[PathKind; 2], Error> {
    let direction = |side: Side| -> Result<PathKind, Error> {
        let Some((place, text)) = one_of(given, side, "20ms")? else {
            return Ok(PathKind::Delay(Steps::constant(Duration::ZERO)));
        };
        let steps = match Path::new(text).is_file() {
            true => trace_of_delays(text),
            false => Steps::parse(text).map_err(|e| e.to_string()),
        };
        steps.map(PathKind::Delay).map_err(|e| Error::Input(format!("{place}: {e}")))
    };
    Ok([direction(Side::Up)?, direction(Side::Down)?])
}

/// Delays from a file with one step per line.
fn trace_of_delays(file: &str) -> Result<Steps<Duration>, String> {
    let source = std::fs::File::open(file).map_err(|e| format!("{file}: {e}"))?;
    Steps::read_trace(source, file)
}

/// Losses of both directions; a direction without its own option loses nothing if the other has one.
pub(super) fn losses(given: &DirectionOption<'_>) -> Result<[PathKind; 2], Error> {
    let direction = |side: Side| -> Result<PathKind, Error> {
        let Some((place, text)) = one_of(given, side, "1%")? else { return Ok(PathKind::Loss(None)) };
        let loss = loss(text).map_err(|e| Error::Input(format!("{place}: {e}")))?;
        Ok(PathKind::Loss(Some(loss)))
    };
    Ok([direction(Side::Up)?, direction(Side::Down)?])
}

/// Option of a direction and its value; `None` if only the other direction has one.
fn one_of<'a>(
    given: &DirectionOption<'a>,
    side: Side,
    example: &str,
) -> Result<Option<(&'static str, &'a str)>, Error> {
    let name = given.both.0;
    match given.of(side) {
        None if given.each.iter().all(|(_, value)| value.is_none()) => {
            Err(Error::Input(format!("{name}: missing; write e.g. sojourn {name} {example}")))
        }
        found => Ok(found),
    }
}

/// `0.01`, `1%`, or Gilbert and Elliott's `p 0.002 r 0.2 [bad 1] [good 0] [step 1ms]`.
pub(super) fn loss(text: &str) -> Result<LossSpec, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [text] = words[..] {
        return LossSpec::read(&text.into()).map_err(|wrong| wrong.to_string());
    }
    let mut table = Map::new();
    for pair in words.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} needs a value", pair[0])) };
        let value = if *name == "step" {
            json!(value)
        } else {
            json!(LossSpec::share(value).map_err(|wrong| wrong.to_string())?)
        };
        if table.insert((*name).to_string(), value).is_some() {
            return Err(format!("{name} is given twice; leave one of them out"));
        }
    }
    LossSpec::read(&table.into()).map_err(|wrong| wrong.to_string())
}

/// Remedy for a file that is not a trace.
const NO_TRACE: &str = "; write a rate such as 12mbit, or the name of a trace";

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;
    use sojourn_sim::scenario::Gilbert;

    #[test]
    fn losses_alone_and_in_bursts() {
        let chain = Gilbert { p: 0.002, r: 0.2, bad: 1.0, good: 0.0, step: None };
        for (text, spec) in [
            ("1%", LossSpec::Random(0.01)),
            ("0.25", LossSpec::Random(0.25)),
            ("0", LossSpec::Random(0.0)),
            ("p 0.2% r 20%", LossSpec::Gilbert(chain)),
            ("p 0.002 r 0.2 step 1ms", LossSpec::Gilbert(Gilbert { step: Some(Duration::from_millis(1)), ..chain })),
        ] {
            assert_eq!(loss(text).unwrap(), spec, "{text}");
        }
        assert_eq!(loss("one").unwrap_err(), r#""one" is not a probability; write e.g. 1% or 0.01"#);
        assert_eq!(loss("p 0.1 r").unwrap_err(), "r needs a value");
        assert_eq!(loss("p 0.1 p 0.2 r 1").unwrap_err(), "p is given twice; leave one of them out");
        assert_eq!(loss("1").unwrap_err(), "1 is ambiguous, 1 % or 100 %; write 1% or 1.0");
    }

    #[test]
    fn a_spec_is_a_rate_steps_or_a_trace() {
        for (spec, key) in
            [("12mbit", "rate"), ("1mbit@0s,2mbit@1s", "rate"), ("lte.down", "trace"), ("./12mbit", "trace")]
        {
            assert_eq!(service(spec, false)[key], spec);
        }
    }

    #[test]
    fn a_spec_in_json_has_every_key_of_a_link() {
        let spec = r#"{ "rate": "12 Mbit/s", "delay": "20 ms", "aqm": "codel", "loss": 0.01 }"#;
        let text = |text: &str| Some(text.to_string());
        let of = |down: &str| {
            let options =
                LinkOptions { down: text(down), up: text("1mbit"), aqm: text("pie"), ..LinkOptions::default() };
            links(&options, None, REGISTERED)
        };
        let [up, down] = of(spec).unwrap();
        let (PathKind::Link(up), PathKind::Link(down)) = (up, down) else { panic!("links are links") };
        assert_eq!((down.delay, down.loss), (Duration::from_millis(20), Some(LossSpec::Random(0.01))));
        // An option takes precedence over the table.
        assert_eq!((down.aqm.text, up.aqm.text), ("pie".to_string(), "pie".to_string()));
        let trace = std::env::temp_dir().join("sojourn-once-in-a-table.down");
        std::fs::write(&trace, "5\n").unwrap();
        let down = json!({ "trace": trace.to_str().unwrap() }).to_string();
        let options = LinkOptions { down: text(&down), up: text("1mbit"), once: true, ..LinkOptions::default() };
        let [_, down] = links(&options, None, REGISTERED).unwrap();
        let PathKind::Link(down) = down else { panic!("links are links") };
        assert!(matches!(down.service, Service::Trace(spec) if spec.once), "the option was ignored beside a table");
        let error = of("{ rate }").unwrap_err().to_string();
        assert!(error.starts_with("--down: not a link table in JSON: "), "{error}");
    }
}
