//! `ctl`: what runs, and changes of it.

use super::args::{Args, Opt, describe};
use super::kinds::loss;
use super::{Ended, refuse};
use crate::Error;
use crate::event_loop::desk::{Found, running};
use serde_json::{Map, Value, json};
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::{Named, REGISTERED};
use sojourn_sim::scenario::{Folder, WithTables};
use std::io::{Write, stdout};
use std::path::Path;

/// Runs a command line without its first word, `ctl`.
pub fn main(words: &[String]) -> Ended {
    match order(words) {
        Ok(text) => {
            // A reader that has gone is no error.
            let _ = write!(stdout(), "{}", super::printable(&text));
            Ended { code: 0, log: None }
        }
        Err(error) => refuse(&error),
    }
}

/// Does what the command line says; what to print.
fn order(words: &[String]) -> Result<String, Error> {
    let args = Args::parse(words, OPTIONS, usize::MAX)?;
    if args.has("--help") {
        return Ok(format!("{}\n\nOptions:\n{}", USAGE.trim(), describe(OPTIONS)));
    }
    let Some((which, change)) = args.words.split_first() else { return list(args.has("--json")) };
    let side = match (args.get("--link"), args.has("--up"), args.has("--down")) {
        (Some(_), true, _) | (Some(_), _, true) => {
            return Err(Error::Input("--link: names one direction; leave --up and --down out".to_string()));
        }
        (Some(link), ..) => json!(link),
        (None, true, false) => json!("up"),
        (None, false, true) => json!("down"),
        _ => Value::Null,
    };
    let shell = find(which)?;
    let silent = |e: std::io::Error| {
        Error::Machine(format!("shell {}: does not answer ({e}); it has ended or is stopped", shell.pid))
    };
    let Some((what, values)) = change.split_first() else {
        let told = shell.tell(&json!({})).map_err(silent)?;
        return Ok(if args.has("--json") { format!("{told}\n") } else { table(&[(shell, told)]) });
    };
    let mut order = change_of(what, values)?;
    order.insert("side".to_string(), side);
    let answer = shell.tell(&order.into()).map_err(silent)?;
    match answer["error"].as_str() {
        Some(error) => Err(Error::Input(error.to_string())),
        None if args.has("--json") => Ok(format!("{answer}\n")),
        None => Ok(String::new()),
    }
}

/// The order that the words are.
fn change_of(what: &str, values: &[String]) -> Result<Map<String, Value>, Error> {
    let text = values.join(" ");
    let wrong = |reason: String| Error::Input(format!("{what}: {reason}"));
    let value = match what {
        "pause" | "resume" if values.is_empty() => {
            return Ok([("pause".to_string(), json!(what == "pause"))].into_iter().collect());
        }
        "pause" | "resume" => return Err(wrong(format!("takes no value; leave {text:?} out"))),
        _ if !CHANGES.contains(&what) => return Err(Error::Input(unknown("change", what, CHANGES.iter().copied()))),
        _ if text.is_empty() => return Err(wrong(format!("its value is missing; write e.g. {}", example(what)))),
        "loss" => loss(&text).map_err(wrong)?.canonical(),
        "limit" => json!(text.split('+').map(str::trim).collect::<Vec<_>>()),
        "aqm" => json!(with_whole_paths(&text)),
        _ => json!(text),
    };
    Ok([("keys".to_string(), json!({ what: value }))].into_iter().collect())
}

/// The queue manager with its tables of distributions by their whole paths, as the shell may be in another folder. What
/// cannot be read here is for the shell to judge.
fn with_whole_paths(text: &str) -> String {
    let read = Named::parse_with(text, &WithTables { own: REGISTERED, files: &Folder(Path::new(".")) });
    let found = read.ok().filter(|named| !named.config.tables().is_empty());
    found.map_or_else(|| text.to_string(), |named| named.spelling())
}

fn example(what: &str) -> &'static str {
    match what {
        "rate" => "rate 5mbit",
        "aqm" => "aqm codel target 10ms",
        "limit" => "limit \"250 kB\"",
        "loss" => "loss 1%",
        _ => "delay 80ms",
    }
}

/// The shell of that number or name.
fn find(which: &str) -> Result<Found, Error> {
    let mut all = running();
    let known: Vec<String> =
        all.iter().flat_map(|shell| [Some(shell.pid.to_string()), shell.name.clone()]).flatten().collect();
    all.retain(|shell| shell.name.as_deref() == Some(which) || shell.pid.to_string() == which);
    match (all.pop(), all.len()) {
        (Some(shell), 0) => Ok(shell),
        (Some(_), _) => Err(Error::Input(format!("{which}: several shells have that name; give the number of one"))),
        (None, _) => Err(Error::Input(unknown("shell", which, known.iter().map(String::as_str)))),
    }
}

fn list(as_json: bool) -> Result<String, Error> {
    // One that ends meanwhile is none any more.
    let told: Vec<(Found, Value)> =
        running().into_iter().filter_map(|shell| shell.tell(&json!({})).ok().map(|told| (shell, told))).collect();
    Ok(match (as_json, told.is_empty()) {
        (true, _) => format!("{}\n", Value::from(told.into_iter().map(|(_, told)| told).collect::<Vec<_>>())),
        (false, true) => "no shell runs\n".to_string(),
        (false, false) => table(&told),
    })
}

/// One line for each shell, and for each direction of a link of a network.
fn table(shells: &[(Found, Value)]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_string();
    let head = ["pid", "name", "shell", "up", "down", "command"].map(str::to_string);
    let row = |(shell, told): &(Found, Value), what: String, does: [String; 2]| {
        let [up, down] = does;
        let command: Vec<&str> = told["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        [
            shell.pid.to_string(),
            shell.name.clone().unwrap_or_default(),
            what,
            up,
            down,
            command.join(" ").chars().take(40).collect(),
        ]
    };
    let rows_of = |one: &(Found, Value)| -> Vec<[String; 6]> {
        let (told, what) = (&one.1, text(&one.1["shell"]));
        match told["links"].as_object() {
            // Each direction of a link has its name.
            Some(links) => {
                let each = |(name, link): (&String, &Value)| {
                    row(one, format!("{what} {name}"), [text(&link["does"]), String::new()])
                };
                links.iter().map(each).collect()
            }
            None => vec![row(one, what, [text(&told["up"]["does"]), text(&told["down"]["does"])])],
        }
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(shells.iter().flat_map(rows_of)).collect();
    let widths: [usize; 6] = std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// What can change, but for pauses.
const CHANGES: [&str; 5] = ["rate", "aqm", "limit", "delay", "loss"];

const OPTIONS: &[Opt] = &[
    Opt { name: "--up", value: "", about: "Only the outgoing direction." },
    Opt { name: "--down", value: "", about: "Only the incoming direction." },
    Opt {
        name: "--link",
        value: "NAME",
        about: "Of a network (`sojourn run … --enter NODE`): this direction of a link.",
    },
    Opt { name: "--json", value: "", about: "Print what the shell answers as JSON." },
    Opt { name: "--help", value: "", about: "Show this help." },
];

const USAGE: &str = "
Usage: sojourn ctl [OPTIONS] [PID|NAME [CHANGE]]

Change a shell of yours while it runs; without a change, show it, and without a name, every one that runs.
CHANGE is one of
  rate 5mbit               of a link with a rate, also 0bit
  aqm codel target 10ms    the whole of it: other parameters have their defaults
  limit \"250 kB\"           of the queue
  delay 80ms               of a delay, or of the link behind its queue
  loss 1%                  of a loss, or of the link behind its queue; also \"p 0.002 r 0.2\"
  pause, resume            a link with a rate sends nothing, and goes on at that rate";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_keys_of_a_scenario() {
        for (words, order) in [
            ("rate 5mbit", json!({ "keys": { "rate": "5mbit" } })),
            ("aqm codel target 10ms", json!({ "keys": { "aqm": "codel target 10ms" } })),
            ("limit 250 kB + 70 packets", json!({ "keys": { "limit": ["250 kB", "70 packets"] } })),
            ("loss 1%", json!({ "keys": { "loss": 0.01 } })),
            ("resume", json!({ "pause": false })),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            assert_eq!(Value::from(change_of(&words[0], &words[1..]).unwrap()), order);
        }
        for (words, error) in [
            ("rat 5mbit", r#"unknown change "rat"; did you mean "rate"?"#),
            ("rate", "rate: its value is missing; write e.g. rate 5mbit"),
            ("pause now", r#"pause: takes no value; leave "now" out"#),
            ("loss 1", "loss: 1 could be one per cent or all; write 1% or 1.0"),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            assert_eq!(change_of(&words[0], &words[1..]).unwrap_err().to_string(), error);
        }
    }
}
