//! `ctl`: lists running shells, and changes them.

use super::args::{self, OperandLimit};
use super::help::{self, Help};
use super::kinds::loss;
use super::options::CtlOptions;
use super::{CommandResult, fail};
use crate::Error;
use crate::event_loop::control_protocol::{Change, ControlRequest, ControlResponse, DirectionStates, ShellState};
use crate::event_loop::control_socket::{RunningShell, running};
use serde_json::json;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::{NamedConfig, REGISTERED};
use sojourn_sim::scenario::{Folder, TableCatalogue};
use std::io::{Write, stdout};
use std::path::Path;

/// Runs a command line without its first word, `ctl`.
pub fn main(words: &[String]) -> CommandResult {
    match execute(words) {
        Ok(text) => {
            // A closed pipe is not an error.
            let _ = write!(stdout(), "{}", super::printable(&text));
            CommandResult::of(0)
        }
        Err(error) => fail(&error),
    }
}

/// Executes the command line and returns its output.
fn execute(words: &[String]) -> Result<String, Error> {
    let Some(line) = args::parse::<CtlOptions>(words, &[], OperandLimit::All)? else {
        let changes = CHANGE_HELPS.map(|(change, about)| (change.to_string(), about.to_string())).to_vec();
        let sections = vec![("Changes", changes), ("Options", help::options::<CtlOptions>(true))];
        return Ok(format!("{}\n", Help { usage: USAGE, about: ABOUT, sections }.text()));
    };
    let CtlOptions { up, down, link, json } = line.options;
    let Some((id, change)) = line.words.split_first() else { return list(json) };
    let side = match (link.as_deref(), up, down) {
        (Some(_), true, _) | (Some(_), _, true) => {
            return Err(Error::Input("--link: names one direction; leave --up and --down out".to_string()));
        }
        (Some(link), ..) => Some(link),
        (None, true, false) => Some("up"),
        (None, false, true) => Some("down"),
        _ => None,
    };
    let shell = find(id)?;
    let request = match change.split_first() {
        None => ControlRequest::Show,
        Some((key, values)) => {
            ControlRequest::Change { side: side.map(str::to_string), change: change_of(key, values)? }
        }
    };
    let answer = shell.send(&request).map_err(|e| {
        Error::Machine(format!("shell {}: does not answer ({e}); it has exited or is stopped", shell.pid))
    })?;
    match answer {
        ControlResponse::Refused { error } => Err(Error::Input(error)),
        answer if json => Ok(format!("{}\n", json!(answer))),
        ControlResponse::State(state) => Ok(table(&[(shell, state)])),
        ControlResponse::Changed { .. } => Ok(String::new()),
    }
}

/// Parses a change.
fn change_of(key: &str, values: &[String]) -> Result<Change, Error> {
    let text = values.join(" ");
    let wrong = |reason: String| Error::Input(format!("{key}: {reason}"));
    let value = match key {
        "pause" | "resume" if !values.is_empty() => return Err(wrong(format!("takes no value; leave {text:?} out"))),
        "pause" => return Ok(Change::Pause),
        "resume" => return Ok(Change::Resume),
        _ if !CHANGES.contains(&key) => return Err(Error::Input(unknown("change", key, CHANGES.iter().copied()))),
        _ if text.is_empty() => return Err(wrong(format!("needs a value; write e.g. {}", example(key)))),
        "loss" => loss(&text).map_err(wrong)?.canonical(),
        "limit" => json!(text.split('+').map(str::trim).collect::<Vec<_>>()),
        "aqm" => json!(with_whole_paths(&text)),
        _ => json!(text),
    };
    Ok(Change::Keys([(key.to_string(), value)].into_iter().collect()))
}

/// The queue manager with absolute paths of its distribution tables, because the shell may run in another folder. If it
/// cannot be parsed here, the shell reports the error.
fn with_whole_paths(text: &str) -> String {
    let read = NamedConfig::parse_with(text, &TableCatalogue { own: REGISTERED, files: &Folder(Path::new(".")) });
    let found = read.ok().filter(|named| !named.config.tables().is_empty());
    found.map_or_else(|| text.to_string(), |named| named.spelling())
}

fn example(key: &str) -> &'static str {
    match key {
        "rate" => "rate 5mbit",
        "aqm" => "aqm codel target 10ms",
        "limit" => "limit \"250 kB\"",
        "loss" => "loss 1%",
        _ => "delay 80ms",
    }
}

/// Finds a running shell by PID or name.
fn find(id: &str) -> Result<RunningShell, Error> {
    let mut all = running();
    let known: Vec<String> =
        all.iter().flat_map(|shell| [Some(shell.pid.to_string()), shell.name.clone()]).flatten().collect();
    all.retain(|shell| shell.name.as_deref() == Some(id) || shell.pid.to_string() == id);
    match (all.pop(), all.len()) {
        (Some(shell), 0) => Ok(shell),
        (Some(_), _) => Err(Error::Input(format!("{id}: several shells have that name; give the PID of one"))),
        (None, _) => Err(Error::Input(unknown("shell", id, known.iter().map(String::as_str)))),
    }
}

fn list(as_json: bool) -> Result<String, Error> {
    let state = |shell: RunningShell| match shell.send(&ControlRequest::Show) {
        Ok(ControlResponse::State(state)) => Some((shell, state)),
        // A shell may end while the list is made.
        _ => None,
    };
    let shells: Vec<(RunningShell, ShellState)> = running().into_iter().filter_map(state).collect();
    Ok(match (as_json, shells.is_empty()) {
        (true, _) => format!("{}\n", json!(shells.iter().map(|(_, state)| state).collect::<Vec<_>>())),
        (false, true) => "no shell is running\n".to_string(),
        (false, false) => table(&shells),
    })
}

/// One line per shell, and per direction of a network's links.
fn table(shells: &[(RunningShell, ShellState)]) -> String {
    let head = ["pid", "name", "shell", "up", "down", "command"].map(str::to_string);
    let row = |(shell, state): &(RunningShell, ShellState), kind: String, does: [&str; 2]| {
        let [up, down] = does.map(str::to_string);
        let command = one_line(&state.info.command.join(" ")).chars().take(40).collect();
        [shell.pid.to_string(), shell.name.clone().unwrap_or_default(), kind, up, down, command]
    };
    let rows_of = |entry: &(RunningShell, ShellState)| -> Vec<[String; 6]> {
        let ShellState { info, directions } = &entry.1;
        match directions {
            DirectionStates::Shell { up, down } => {
                vec![row(entry, info.shell.clone(), [&up.description, &down.description])]
            }
            // Each direction of a link has its own name.
            DirectionStates::Network { links } => links
                .iter()
                .map(|(name, link)| row(entry, format!("{} {name}", info.shell), [&link.description, ""]))
                .collect(),
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

/// The text with each run of white space as one space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Keys that can change.
const CHANGES: [&str; 5] = ["rate", "aqm", "limit", "delay", "loss"];

const USAGE: &str = "sojourn ctl [OPTIONS] [PID|NAME [CHANGE]]";

const ABOUT: &str =
    "Change one of your running shells. Without CHANGE, show it; without PID or NAME, list all that are running.";

const CHANGE_HELPS: [(&str, &str); 6] = [
    ("rate 5mbit", "Rate of a link that has one; 0bit is allowed."),
    ("aqm codel target 10ms", "Queue manager; parameters that are not given return to their defaults."),
    ("limit \"250 kB\"", "Limit of the queue."),
    ("delay 80ms", "Delay of `sojourn delay`, or of a link."),
    ("loss 1%", "Loss of `sojourn loss`, or of a link; also \"p 0.002 r 0.2\"."),
    ("pause, resume", "Stop a link that has a rate; resume it at that rate."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_several_lines_is_one_row() {
        assert_eq!(one_line("sh -c\n  sleep 9\r\n\techo\u{2028}end"), "sh -c sleep 9 echo end");
    }

    #[test]
    fn words_become_keys_of_a_scenario() {
        for (words, request) in [
            ("rate 5mbit", json!({ "keys": { "rate": "5mbit" } })),
            ("aqm codel target 10ms", json!({ "keys": { "aqm": "codel target 10ms" } })),
            ("limit 250 kB + 70 packets", json!({ "keys": { "limit": ["250 kB", "70 packets"] } })),
            ("loss 1%", json!({ "keys": { "loss": 0.01 } })),
            ("pause", json!({ "pause": true })),
            ("resume", json!({ "pause": false })),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            let change = change_of(&words[0], &words[1..]).unwrap();
            assert_eq!(json!(ControlRequest::Change { side: None, change }), request);
        }
        for (words, error) in [
            ("rat 5mbit", r#"unknown change "rat"; did you mean "rate"?"#),
            ("rate", "rate: needs a value; write e.g. rate 5mbit"),
            ("pause now", r#"pause: takes no value; leave "now" out"#),
            ("loss 1", "loss: 1 is ambiguous, 1 % or 100 %; write 1% or 1.0"),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            assert_eq!(change_of(&words[0], &words[1..]).unwrap_err().to_string(), error);
        }
    }
}
