//! `topology FILE`: command that the engine `emulate` runs for a scenario of several links. The file is JSON:
//! `scenario` (text), `seed`, `log` (a folder), `gso`, `classes` (pairs of a port and a class), `hosts` (a port and the
//! hosts of its client and server), `server` and `client` (words), `enter` (a node and words), `pcap` (a prefix),
//! `meter` (a link), `name`.

use super::native::{gso_of, port_rules, shell_name};
use super::{CommandResult, fail, print_line};
use crate::Error;
use crate::atomic_file::write_atomic;
use crate::cli::args::text;
use crate::topology::{Topology, run};
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;
use sojourn_sim::scenario::Scenario;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Runs a command line without its first word. Writes `shell.json` to the folder of the log, or without a log a report
/// to standard error.
pub fn main(words: &[String], own: &dyn Catalogue) -> CommandResult {
    let ran = match words {
        [file] => read(Path::new(file), own).and_then(|topology| Ok((run(&topology, own)?, topology.log))),
        _ => Err(Error::Input("topology: needs a file; sojourn run --engine emulate starts it".to_string())),
    };
    let (outcome, log) = match ran {
        Ok(ran) => ran,
        Err(error) => return fail(&error),
    };
    let mut code = outcome.ended.code;
    match log {
        Some(folder) => {
            let path = folder.join(super::SHELL_FILE);
            if let Err(error) = write_atomic(&path, outcome.json().as_bytes()) {
                print_line(&format!("Error: {}: {error}; free some space or choose another place", path.display()));
                code = if code == 0 { super::MACHINE } else { code };
            }
        }
        None => {
            outcome.lines().iter().for_each(|line| print_line(line));
            outcome.faults().iter().for_each(|fault| print_line(&format!("not faithful: {fault}")));
        }
    }
    CommandResult::of(code)
}

fn read(path: &Path, own: &dyn Catalogue) -> Result<Topology, Error> {
    let wrong = |what: &str| Error::Input(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| wrong(&e.to_string()))?;
    let options: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&e.to_string()))?;
    let scenario = options["scenario"].as_str().ok_or_else(|| wrong("has no scenario"))?;
    let scenario = Scenario::parse_with(scenario, &[], Path::new("/"), own)?;
    let words = |value: &Value| -> Result<Vec<CString>, Error> {
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(|word| text("words", word.as_str().unwrap_or_default().to_string())).collect()
    };
    let texts =
        |key: &str| -> Vec<&str> { options[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect() };
    let enter = match &options["enter"] {
        Value::Null => None,
        enter => Some((enter["node"].as_str().unwrap_or_default().to_string(), words(&enter["command"])?)),
    };
    Ok(Topology {
        scenario,
        seed: options["seed"].as_u64().ok_or_else(|| wrong("has no seed"))?,
        log: options["log"].as_str().map(PathBuf::from),
        gso: gso_of(options["gso"].as_str().unwrap_or("cut"))?,
        ports: port_rules(&texts("classes"), &texts("hosts"))?,
        server: words(&options["server"])?,
        client: words(&options["client"])?,
        enter,
        pcap: options["pcap"].as_str().map(PathBuf::from),
        meter: options["meter"].as_str().map(str::to_string),
        control_name: options["name"].as_str().map(shell_name).transpose()?,
    })
}
