//! A link that follows a recorded trace.

use super::ServiceKind;
use crate::scenario::Error;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use crate::trace::Trace;
use serde_json::{Map, Value};
use sojourn_aqm::Rate;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trace of delivery opportunities.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceService {
    /// The file, absolute and without symbolic links.
    pub path: PathBuf,
    /// Whether the link stops for ever at the end of the trace instead of repeating it.
    pub once: bool,
    /// What the file holds.
    pub trace: Arc<Trace>,
}

impl ServiceKind for TraceService {
    const KEYS: &'static [Key] = &[
        Key {
            name: "trace",
            kind: Kind::Text,
            need: Need::Optional,
            doc: "File of delivery opportunities in Mahimahi's format; its path starts from the scenario's folder.",
        },
        Key {
            name: "once",
            kind: Kind::Flag,
            need: Need::Default("false"),
            doc: "Stops the link for ever at the end of the trace instead of repeating it.",
        },
    ];

    fn read(table: &Table, base: &Path) -> Result<Self, Error> {
        let path = base.join(table.field::<String>("trace")?);
        let load = || {
            let canonical = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
            if canonical.to_str().is_none() {
                return Err(format!("{} is not valid UTF-8; rename the file", canonical.display()));
            }
            let trace = Arc::new(Trace::load(&canonical).map_err(|e| e.to_string())?);
            Ok((canonical, trace))
        };
        let (path, trace) = load().map_err(|text| table.error("trace", text))?;
        Ok(Self { path, once: table.field("once")?, trace })
    }

    fn write(&self, out: &mut Map<String, Value>) {
        self.write_with(&self.path, out);
    }

    /// The sibling (`X.up` of `X.down` and the other way round) if it exists, else the trace's mean rate.
    fn write_reverse(&self, mtu: u32, out: &mut Map<String, Value>) {
        match self.sibling() {
            Some(path) => self.write_with(&path, out),
            None => write(Rate::KEYS, "rate", &self.nominal_rate(mtu), out),
        }
    }

    /// The mean.
    fn nominal_rate(&self, mtu: u32) -> Rate {
        self.trace.mean_rate(mtu)
    }
}

impl TraceService {
    fn sibling(&self) -> Option<PathBuf> {
        let other = match self.path.extension()?.to_str()? {
            "down" => "up",
            "up" => "down",
            _ => return None,
        };
        Some(self.path.with_extension(other)).filter(|path| path.exists())
    }

    fn write_with(&self, path: &Path, out: &mut Map<String, Value>) {
        let text = path.to_str().expect("the path was checked to be UTF-8").to_string();
        write(Self::KEYS, "trace", &text, out);
        write(Self::KEYS, "once", &self.once, out);
    }
}
