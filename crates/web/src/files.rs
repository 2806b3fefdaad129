//! Files of a scenario, in memory.

use sojourn_sim::scenario::{Files, absent};
use std::collections::BTreeMap;
use std::io::Read;

/// Files by the name that scenarios use.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl Files for InMemoryFiles {
    fn find(&self, name: &str) -> Result<String, String> {
        match self.0.contains_key(name) {
            true => Ok(name.to_string()),
            false => Err(absent(name)),
        }
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        let data = self.0.get(path).ok_or_else(|| absent(path))?;
        Ok(Box::new(data.as_slice()))
    }

    fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}
