//! Files named by the spelling of a queue manager: netem's tables of distributions.

use super::Files;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::escape::{escape, unescape};
use sojourn_aqm::netem::Table;
use sojourn_aqm::registry::{Algorithm, Catalogue};
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// Catalogue of `own`, with the tables in `files`.
pub struct TableCatalogue<'a> {
    /// Algorithms beyond the registered ones.
    pub own: &'a dyn Catalogue,
    /// Access to the tables.
    pub files: &'a dyn Files,
}

/// Catalogue of `own`, with tables by name only, for spellings that have been read before: their files may be gone. It
/// has names of kernels' files, too. Do not run a queue that was built from it.
pub struct UnreadTables<'a>(pub &'a dyn Catalogue);

impl Catalogue for UnreadTables<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        self.0.find(name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.names()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        Some(Table::parse(name, "0").map(interned).map_err(ConfigError::Catalogue))
    }

    fn has_kernel_names(&self) -> bool {
        true
    }
}

impl Catalogue for TableCatalogue<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        self.own.find(name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.own.names()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        Some(read(self.files, name).map_err(ConfigError::Catalogue))
    }

    fn has_kernel_names(&self) -> bool {
        self.own.has_kernel_names()
    }
}

/// Reads the table in the file `word`, as written in a spelling, or in `word.dist`: tc omits the suffix.
fn read(files: &dyn Files, word: &str) -> Result<&'static Table, String> {
    let name = unescape(word);
    let path = files.find(&name).or_else(|wrong| files.find(&format!("{name}{ENDING}")).map_err(|_| wrong))?;
    let placed = |wrong: String| if wrong.starts_with(&path) { wrong } else { format!("{path}: {wrong}") };
    let mut text = String::new();
    // Limit the read: a longer file is not a table.
    files.open(&path)?.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| placed(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(placed(format!("it is longer than {MAX_BYTES} bytes, so it is not a table of a distribution")));
    }
    Ok(interned(Table::parse(&escape(&path), &text).map_err(placed)?))
}

/// Returns a static copy, one per file and contents: configurations hold `&'static` tables.
fn interned(table: Table) -> &'static Table {
    static KEPT: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find(|known| **known == &table) {
        return known;
    }
    kept.push(Box::leak(Box::new(table)));
    kept.last().expect("it was pushed")
}

/// Suffix of tc's files.
const ENDING: &str = ".dist";
/// Maximum bytes of a file: 64 per number of the longest table.
const MAX_BYTES: u64 = 1 << 20;
