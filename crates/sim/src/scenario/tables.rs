//! Files that the spelling of a queue manager names: tables of distributions for netem.

use super::Files;
use sojourn_aqm::escape::{escape, unescape};
use sojourn_aqm::netem::Table;
use sojourn_aqm::refusal::Refusal;
use sojourn_aqm::registry::{Algorithm, Catalogue};
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// What `own` knows, and the tables in `files`.
pub struct WithTables<'a> {
    /// The algorithms beyond the registered ones.
    pub own: &'a dyn Catalogue,
    /// Where tables are.
    pub files: &'a dyn Files,
}

/// What `own` knows, and tables by their names alone: for spellings of what has been read before, whose files need not be
/// there any more. Nothing that is made of it is to be run.
pub struct Unread<'a>(pub &'a dyn Catalogue);

impl Catalogue for Unread<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, Refusal>> {
        self.0.find(name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.names()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, Refusal>> {
        Some(Table::parse(name, "0").map(kept).map_err(Refusal::Catalogue))
    }
}

impl Catalogue for WithTables<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, Refusal>> {
        self.own.find(name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.own.names()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, Refusal>> {
        Some(read(self.files, name).map_err(Refusal::Catalogue))
    }
}

/// The table in the file `word`, as a spelling has it, or `word.dist`, which tc leaves out.
fn read(files: &dyn Files, word: &str) -> Result<&'static Table, String> {
    let name = unescape(word);
    let path = files.find(&name).or_else(|wrong| files.find(&format!("{name}{ENDING}")).map_err(|_| wrong))?;
    let placed = |wrong: String| if wrong.starts_with(&path) { wrong } else { format!("{path}: {wrong}") };
    let mut text = String::new();
    // Nothing that is longer can be a table.
    files.open(&path)?.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| placed(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(placed(format!("it is longer than {MOST_BYTES} bytes, so it is no table of a distribution")));
    }
    Ok(kept(Table::parse(&escape(&path), &text).map_err(placed)?))
}

/// The table, which lives as long as the program: one for each file and its contents.
fn kept(table: Table) -> &'static Table {
    static KEPT: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find(|known| **known == &table) {
        return known;
    }
    kept.push(Box::leak(Box::new(table)));
    kept.last().expect("it was pushed")
}

/// What tc's own files end in.
const ENDING: &str = ".dist";
/// Most bytes of a file: 64 for each number of the longest table.
const MOST_BYTES: u64 = 1 << 20;
