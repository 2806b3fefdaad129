//! Records the instructions of each qdisc under overload, for the scorecard.

use crate::callgrind;
use crate::cost::{Discipline, Load, disciplines};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Counts every qdisc and writes the table.
pub fn record() -> io::Result<()> {
    if !callgrind::available() {
        println!("skipped: instructions of queue disciplines, because valgrind is not installed");
        return Ok(());
    }
    let load = Load::find(LOAD).expect("a load of the table");
    let queues = disciplines();
    let counts = callgrind::count_in_parallel(&queues, |queue| load.instructions(&queue.name));
    let mut text = String::from("build,discipline,instructions\n");
    for (Discipline { name, .. }, count) in queues.iter().zip(counts) {
        let count = count.ok_or_else(|| io::Error::other(format!("{name} did not run under callgrind")))?;
        text += &format!("{},{},{count:.0}\n", env!("SOJOURN_BUILD"), quoted(name));
    }
    fs::write(file(), text)
}

/// Quotes a CSV field if it contains a comma.
fn quoted(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_string() }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/sojourn/studies/score/instructions.csv")
}

/// 16 flows offer 12.5 Mbit/s to a link of 10 Mbit/s, so the AQM drops.
const LOAD: &str = "overload";
