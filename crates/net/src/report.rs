//! Results of a run, sentences about them, and the files that a failure leaves.

use crate::decisions;
use crate::error::Error;
use crate::files::write_atomically;
use serde_json::{Value, json};
use sojourn_sim::endpoint::EndId;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::sentence::{Evidence, Sentence, Vocabulary};
use sojourn_sim::{Column, Decision, Output, Summary};
use std::path::{Path, PathBuf};

/// Results of a run of a net.
#[derive(Debug)]
pub struct Report {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) scenario: Scenario,
    pub(crate) output: Output,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) hash: u64,
    pub(crate) count: u64,
    /// Names of the ends.
    pub(crate) names: Vec<(EndId, String)>,
}

/// Result of a sentence about a run.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The sentence.
    pub sentence: String,
    /// Whether it holds.
    pub holds: bool,
    /// By how much: positive if it holds, the logarithm of the ratio of both sides if these are positive.
    pub margin: f64,
    /// Per comparison: its text, its unit, and the values of both sides.
    pub sides: Vec<(String, String, [f64; 2])>,
}

impl Report {
    /// Name of the run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Summary of the run, as of every simulation.
    pub fn summary(&self) -> &Summary {
        &self.output.summary
    }

    /// Summary and recorded tables.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Hash of every verdict and departure of every queue, in 16 hexadecimal digits.
    pub fn fingerprint(&self) -> &str {
        &self.output.summary.fingerprint
    }

    /// Hash of the decision log: time, end, addresses, size, ECN field and tag of every datagram sent.
    pub fn decisions(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// Number of datagrams sent.
    pub fn datagrams(&self) -> u64 {
        self.count
    }

    /// Every datagram sent, unless the net [forgot](crate::Net::without_log) them.
    pub fn log(&self) -> &[Decision] {
        &self.decisions
    }

    /// Hash of the world, in 16 hexadecimal digits.
    pub fn world(&self) -> String {
        // FNV-1a, 64 bits.
        let hash = self
            .scenario
            .canonical()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.scenario.canonical()).unwrap_or_default()
    }

    /// Judges a sentence about this run, such as `p99(delay, call.rtp) <= 30 ms and share(call) >= 30 %`.
    ///
    /// # Errors
    ///
    /// [`Error::Sentence`] for a sentence that cannot be read.
    pub fn judge(&self, sentence: &str) -> Result<Verdict, Error> {
        let parsed = Sentence::parse(sentence, &Vocabulary::of("expect!", &[&self.scenario]))?;
        let runs = [Evidence::of(&self.scenario, &self.output)];
        let comparisons = parsed.comparisons().iter().zip(parsed.sides(&runs));
        let sides = comparisons.map(|(one, sides)| (one.text().to_string(), one.unit().to_string(), sides));
        Ok(Verdict {
            sentence: parsed.text().to_string(),
            holds: parsed.holds(&runs),
            margin: parsed.margin(&runs),
            sides: sides.collect(),
        })
    }

    /// The record of the run for `sojourn gate`: world, seed, summary, histogram of sojourn times, hashes.
    pub fn record(&self) -> Value {
        let table = self.output.tables.iter().find(|table| table.name == "sojourn_histogram");
        let columns = table.into_iter().flat_map(|table| &table.columns);
        let histogram: serde_json::Map<String, Value> = columns
            .map(|(name, column)| {
                let values = match column {
                    Column::U8(values) => json!(values),
                    Column::U16(values) => json!(values),
                    Column::U32(values) => json!(values),
                    Column::U64(values) => json!(values),
                    Column::F64(values) => json!(values),
                };
                ((*name).to_string(), values)
            })
            .collect();
        json!({
            "format": 1,
            "name": self.name,
            "world": self.world(),
            "scenario": self.document(),
            "seed": self.seed,
            "summary": self.output.summary,
            "histogram": histogram,
            "fingerprint": self.fingerprint(),
            "decisions": self.decisions(),
            "datagrams": self.count,
            "versions": { "sojourn": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Writes `NAME-SEED.json`, the record, and `NAME-SEED.decisions`, the decision log, into `folder`; each is complete
    /// or absent.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        let folder = folder.as_ref();
        let stem = format!("{}-{}", file_name(&self.name), self.seed);
        let log = folder.join(format!("{stem}.decisions"));
        write_atomically(&folder.join(format!("{stem}.json")), &self.record().to_string())?;
        write_atomically(&log, &decisions::write(self))?;
        Ok(log)
    }

    /// Writes the record and the log if `SOJOURN_NET_OUT` names a folder for them.
    pub(crate) fn write_if_wanted(&self) -> Result<(), Error> {
        match std::env::var_os("SOJOURN_NET_OUT") {
            Some(folder) if !folder.is_empty() => self.write(PathBuf::from(folder)).map(|_| ()),
            _ => Ok(()),
        }
    }
}

/// A name as a part of a file name.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(MAX_FILE_NAME).collect();
    if name.is_empty() { "net".to_string() } else { name }
}

/// Maximum length of the part of a file name that a name makes.
const MAX_FILE_NAME: usize = 100;
