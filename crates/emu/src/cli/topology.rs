//! `topology FILE`: what the engine `emulate` starts for a scenario of several links. The file is JSON: `scenario` (text),
//! `seed`, `log` (a folder), `gso`, `classes` (pairs of a port and a class), `server` and `client` (words), `enter` (a node
//! and words), `pcap` (a prefix), `meter` (a link), `name`.

use super::native::{class, given, gso_of};
use super::{Ended, refuse, say};
use crate::Error;
use crate::cli::args::text;
use crate::topology::{Topology, run};
use crate::whole::write_whole;
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;
use sojourn_sim::scenario::Scenario;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Runs a command line without its first word. With a log the folder gets `shell.json`, else standard error a report.
pub fn main(words: &[String], own: &dyn Catalogue) -> Ended {
    let ran = match words {
        [file] => read(Path::new(file), own).and_then(|topology| Ok((run(&topology, own)?, topology.log))),
        _ => Err(Error::Input("topology: takes a file; it is what sojourn run --engine emulate starts".to_string())),
    };
    let (outcome, log) = match ran {
        Ok(ran) => ran,
        Err(error) => return refuse(&error),
    };
    let mut code = outcome.ended.code;
    match log {
        Some(folder) => {
            let path = folder.join(super::SHELL_FILE);
            if let Err(error) = write_whole(&path, outcome.json().as_bytes()) {
                say(&format!("Error: {}: {error}; free some space or choose another place", path.display()));
                code = if code == 0 { super::MACHINE } else { code };
            }
        }
        None => {
            outcome.lines().iter().for_each(|line| say(line));
            outcome.faults().iter().for_each(|fault| say(&format!("not faithful: {fault}")));
        }
    }
    Ended { code, log: None }
}

fn read(path: &Path, own: &dyn Catalogue) -> Result<Topology, Error> {
    let wrong = |what: &str| Error::Input(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| wrong(&e.to_string()))?;
    let told: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&e.to_string()))?;
    let scenario = told["scenario"].as_str().ok_or_else(|| wrong("has no scenario"))?;
    let scenario = Scenario::parse_with(scenario, &[], Path::new("/"), own)?;
    let words = |value: &Value| -> Result<Vec<CString>, Error> {
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(|word| text("words", word.as_str().unwrap_or_default().to_string())).collect()
    };
    let classes = told["classes"].as_array().map_or(&[][..], Vec::as_slice);
    let enter = match &told["enter"] {
        Value::Null => None,
        enter => Some((enter["node"].as_str().unwrap_or_default().to_string(), words(&enter["command"])?)),
    };
    Ok(Topology {
        scenario,
        seed: told["seed"].as_u64().ok_or_else(|| wrong("has no seed"))?,
        log: told["log"].as_str().map(PathBuf::from),
        gso: gso_of(told["gso"].as_str().unwrap_or("cut"))?,
        classes: classes.iter().filter_map(Value::as_str).map(class).collect::<Result<_, _>>()?,
        server: words(&told["server"])?,
        client: words(&told["client"])?,
        enter,
        pcap: told["pcap"].as_str().map(PathBuf::from),
        meter: told["meter"].as_str().map(str::to_string),
        given: told["name"].as_str().map(given).transpose()?,
    })
}
