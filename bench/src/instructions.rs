//! What each queue discipline costs under overload, as the scorecard tells it: a table beside the score's code.

use crate::callgrind;
use crate::cost::{Load, disciplines};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{fs, io, thread};

/// Counts every discipline and writes the table.
pub fn record() -> io::Result<()> {
    if !callgrind::available() {
        println!("skipped: instructions of queue disciplines, because valgrind is not installed");
        return Ok(());
    }
    let load = Load::find(LOAD).expect("a load of the table");
    let queues = disciplines();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Relaxed);
            let Some(queue) = queues.get(place) else { break };
            let count = load.instructions(&queue.name);
            found.lock().expect("no discipline panics").push((place, count));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let mut found = found.into_inner().expect("no discipline panics");
    found.sort_unstable_by_key(|&(place, _)| place);
    let mut text = String::from("build,discipline,instructions\n");
    for (place, count) in found {
        let name = &queues[place].name;
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/sojourn/score/instructions.csv")
}

/// A link of 10 Mbit/s that is offered 12.5 by 16 flows: the manager acts.
const LOAD: &str = "overload";
