//! Link that follows a recorded trace.

use super::ServiceKind;
use crate::scenario::keys::{Key, Kind, Need, Table, write};
use crate::scenario::{Error, Files};
use crate::trace::Trace;
use serde_json::{Map, Value};
use sojourn_aqm::Rate;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Trace of delivery opportunities.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceService {
    /// File; absolute path without symbolic links.
    pub path: PathBuf,
    /// Whether the link stops at the end of the trace instead of repeating it.
    pub once: bool,
    /// Contents of the file.
    pub trace: Arc<Trace>,
    /// Trace of the other direction in the same folder, if it exists.
    sibling: Option<PathBuf>,
}

impl ServiceKind for TraceService {
    const KEYS: &'static [Key] = &[
        Key {
            name: "trace",
            kind: Kind::File,
            need: Need::Optional,
            doc: "File of delivery opportunities in Mahimahi's format, one line per opportunity with its time in whole \
                  ms; relative to the scenario file. It is repeated when it ends.",
        },
        Key {
            name: "once",
            kind: Kind::Flag,
            need: Need::Default("false"),
            doc: "With `trace`: stop at the end of the file instead of repeating it.",
        },
    ];

    fn read(table: &Table, files: &dyn Files) -> Result<Self, Error> {
        let name: String = table.field("trace")?;
        let load = || {
            let path = files.find(&name)?;
            let trace = Trace::read(files.open(&path)?, &path).map_err(|e| e.to_string())?;
            Ok((path, Arc::new(trace)))
        };
        let (path, trace) = load().map_err(|text: String| table.error("trace", text))?;
        let sibling = sibling(&path).filter(|path| files.has(path)).map(PathBuf::from);
        Ok(Self { path: path.into(), once: table.field("once")?, trace, sibling })
    }

    fn write(&self, out: &mut Map<String, Value>) {
        self.write_with(&self.path, out);
    }

    /// Uses the sibling (`X.up` for `X.down` and vice versa) if it exists, otherwise the trace's mean rate.
    fn write_reverse(&self, mtu: u32, out: &mut Map<String, Value>) {
        match &self.sibling {
            Some(path) => self.write_with(path, out),
            None => write(Rate::KEYS, "rate", &self.nominal_rate(mtu), out),
        }
    }

    /// Mean rate of the trace.
    fn nominal_rate(&self, mtu: u32) -> Rate {
        self.trace.mean_rate(mtu)
    }
}

impl TraceService {
    fn write_with(&self, path: &Path, out: &mut Map<String, Value>) {
        let text = path.to_str().expect("the path was checked to be UTF-8").to_string();
        write(Self::KEYS, "trace", &text, out);
        write(Self::KEYS, "once", &self.once, out);
    }
}

/// Path of the trace of the other direction: `X.up` for `X.down` and vice versa.
fn sibling(path: &str) -> Option<String> {
    let (of_down, of_up) = (path.strip_suffix(".down"), path.strip_suffix(".up"));
    of_down.map(|stem| format!("{stem}.up")).or_else(|| of_up.map(|stem| format!("{stem}.down")))
}
