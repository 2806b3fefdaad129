//! What each queue discipline costs under overload, as the scorecard tells it: a table beside the score's code.

use crate::callgrind;
use crate::cost::{Discipline, Load, disciplines};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Counts every discipline and writes the table.
pub fn record() -> io::Result<()> {
    if !callgrind::available() {
        println!("skipped: instructions of queue disciplines, because valgrind is not installed");
        return Ok(());
    }
    let load = Load::find(LOAD).expect("a load of the table");
    let queues = disciplines();
    let counts = callgrind::side_by_side(&queues, |queue| load.instructions(&queue.name));
    let mut text = String::from("build,discipline,instructions\n");
    for (Discipline { name, .. }, count) in queues.iter().zip(counts) {
        let count = count.ok_or_else(|| io::Error::other(format!("{name} did not run under callgrind")))?;
        text += &format!("{},{},{count:.0}\n", env!("SOJOURN_BUILD"), quoted(name));
    }
    fs::write(file(), text)
}

/// A field of a table whose commas part its fields.
fn quoted(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_string() }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/sojourn/studies/score/instructions.csv")
}

/// A link of 10 Mbit/s that is offered 12.5 by 16 flows: the manager acts.
const LOAD: &str = "overload";
