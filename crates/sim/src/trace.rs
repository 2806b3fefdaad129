//! Delivery-opportunity traces in Mahimahi's format.
//!
//! Each line is one opportunity, in whole milliseconds since the start of the trace, never decreasing. The schedule
//! repeats; its last timestamp is the period (ravinet/mahimahi, `src/frontend/link_queue.cc`).

mod lte;
mod series;
mod stats;

pub use lte::{Lte, PRESETS};
pub use series::Series;
pub use stats::TraceStats;

use crate::scenario::{Files as _, Folder};
use sojourn_aqm::Rate;
use std::fmt;
use std::io::Read;
use std::path::Path;

/// A trace for a link: not empty, in order, with a period above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Milliseconds since the start of a period, non-decreasing; the last one is the period and above zero.
    pub opportunities_ms: Vec<u32>,
}

/// A trace was rejected. The text has the file, the line, the problem and its solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError(pub String);

impl Trace {
    /// Reads the trace file at `path`.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        let name = path.to_str().ok_or_else(|| TraceError(format!("{} is not valid UTF-8", path.display())))?;
        Self::read(Folder(Path::new("")).open(name).map_err(TraceError)?, name)
    }

    /// Reads a trace from `source`; errors call it `name`.
    pub fn read(source: impl Read, name: &str) -> Result<Self, TraceError> {
        Self::read_lines(source, MAX_LINES).map_err(|text| TraceError(format!("{name}{text}")))
    }

    /// A trace of opportunities at these milliseconds.
    pub fn new(opportunities_ms: Vec<u32>) -> Result<Self, TraceError> {
        if let Some(i) = opportunities_ms.windows(2).position(|pair| pair[1] < pair[0]) {
            let (last, value) = (opportunities_ms[i], opportunities_ms[i + 1]);
            return Err(TraceError(format!("opportunity {}: {value} ms after {last} ms; sort them", i + 2)));
        }
        match opportunities_ms.last() {
            None | Some(0) => Err(TraceError("no opportunity above 0 ms; a trace needs one".to_string())),
            Some(_) => Ok(Self { opportunities_ms }),
        }
    }

    /// Length of a period in milliseconds; at least 1.
    pub fn period_ms(&self) -> u32 {
        *self.opportunities_ms.last().expect("a trace is not empty")
    }

    /// The mean rate if an opportunity carries `mtu` bytes; at least 1 bit/s.
    pub fn mean_rate(&self, mtu: u32) -> Rate {
        let bits = self.len() as u128 * mtu as u128 * 8;
        Rate::from_bps((bits * 1000 / self.period_ms() as u128).max(1) as u64)
    }

    /// Opportunities per period; at least 1.
    #[allow(clippy::len_without_is_empty)] // a trace is never empty
    pub fn len(&self) -> usize {
        self.opportunities_ms.len()
    }

    /// Reads opportunities from `source`; errors start with the separator after the file name.
    fn read_lines(mut source: impl Read, max_lines: usize) -> Result<Self, String> {
        let mut lines = TraceParser { max_lines, values: Vec::new(), current: None, ended_by_cr: false };
        let mut chunk = [0; 1 << 16];
        loop {
            match source.read(&mut chunk) {
                Ok(0) => return lines.finish(),
                Ok(n) => chunk[..n].iter().try_for_each(|&byte| lines.push(byte))?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!(": {e}")),
            }
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// Parser of a trace, fed byte by byte, so that a huge or binary file fails at its first error.
struct TraceParser {
    max_lines: usize,
    values: Vec<u32>,
    /// The number on the current line; `None` before its first digit.
    current: Option<u64>,
    ended_by_cr: bool,
}

impl TraceParser {
    fn push(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'\n' => self.end_line(),
            _ if self.ended_by_cr => Err(self.not_a_number(byte)),
            b'0'..=b'9' => {
                let value = self.current.unwrap_or(0) * 10 + u64::from(byte - b'0');
                if value > u64::from(u32::MAX) {
                    return Err(self.at(format!("longer than {} ms; split the trace", u32::MAX)));
                }
                self.current = Some(value);
                Ok(())
            }
            b'\r' => {
                self.ended_by_cr = true;
                Ok(())
            }
            _ => Err(self.not_a_number(byte)),
        }
    }

    fn end_line(&mut self) -> Result<(), String> {
        let Some(value) = self.current.take() else {
            return Err(
                self.at("empty line; a line holds the milliseconds of one opportunity; leave it out".to_string())
            );
        };
        let value = value as u32;
        if let Some(&last) = self.values.last().filter(|&&last| value < last) {
            return Err(self.at(format!("{value} ms after {last} ms; timestamps must not decrease, sort the file")));
        }
        if self.values.len() == self.max_lines {
            return Err(format!(" has more than {} lines, the limit; cut it", self.max_lines));
        }
        self.values.push(value);
        self.ended_by_cr = false;
        Ok(())
    }

    fn finish(mut self) -> Result<Trace, String> {
        if self.current.is_some() {
            self.end_line()?;
        }
        match self.values.last() {
            None => Err(" is empty; a trace needs one line per delivery opportunity".to_string()),
            Some(0) => Err(self.last("0 ms; a trace repeats after its last timestamp, which must be above 0")),
            Some(_) => Ok(Trace { opportunities_ms: self.values }),
        }
    }

    fn not_a_number(&self, byte: u8) -> String {
        let problem = if byte.is_ascii_graphic() || byte == b' ' {
            format!("{:?} is not a digit", byte as char)
        } else {
            format!("byte 0x{byte:02x} is not text")
        };
        self.at(format!("{problem}; a trace holds one whole number of milliseconds per line"))
    }

    fn at(&self, text: String) -> String {
        format!(", line {}: {text}", self.values.len() + 1)
    }

    fn last(&self, text: &str) -> String {
        format!(", line {}: {text}", self.values.len())
    }
}

/// Maximum lines of a trace: 200 MB in memory, weeks of a fast link.
pub const MAX_LINES: usize = 50_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace, String> {
        Trace::read_lines(text.as_bytes(), 6)
    }

    #[test]
    fn opportunities_period_and_mean_rate() {
        for (text, opportunities, period_ms, bps) in [
            ("1\n", vec![1], 1, 12_000_000),
            ("5\n5\n10\n", vec![5, 5, 10], 10, 3_600_000),
            ("0\n5", vec![0, 5], 5, 4_800_000),
            ("5\r\n10\r\n", vec![5, 10], 10, 2_400_000),
            ("4294967295\n", vec![u32::MAX], u32::MAX, 1),
        ] {
            let trace = read(text).unwrap();
            assert_eq!(trace.opportunities_ms, opportunities, "{text:?}");
            assert_eq!((trace.period_ms(), trace.mean_rate(1500).as_bps()), (period_ms, bps), "{text:?}");
        }
    }

    #[test]
    fn refusals_name_line_and_mend() {
        for (text, error) in [
            ("", " is empty; a trace needs one line per delivery opportunity"),
            ("0\n0\n", ", line 2: 0 ms; a trace repeats after its last timestamp, which must be above 0"),
            ("1\n\n2\n", ", line 2: empty line; a line holds the milliseconds of one opportunity; leave it out"),
            ("5\n9\n7\n", ", line 3: 7 ms after 9 ms; timestamps must not decrease, sort the file"),
            ("1\n# no\n", ", line 2: '#' is not a digit; a trace holds one whole number of milliseconds per line"),
            ("-1\n", ", line 1: '-' is not a digit; a trace holds one whole number of milliseconds per line"),
            ("1 \n", ", line 1: ' ' is not a digit; a trace holds one whole number of milliseconds per line"),
            ("1\r2\n", ", line 1: '2' is not a digit; a trace holds one whole number of milliseconds per line"),
            ("\0\u{1}", ", line 1: byte 0x00 is not text; a trace holds one whole number of milliseconds per line"),
            ("1\n4294967296\n", ", line 2: longer than 4294967295 ms; split the trace"),
            ("99999999999999999999999999\n", ", line 1: longer than 4294967295 ms; split the trace"),
            ("1\n2\n3\n4\n5\n6\n7\n", " has more than 6 lines, the limit; cut it"),
        ] {
            assert_eq!(read(text).unwrap_err(), error, "{text:?}");
        }
    }

    #[test]
    fn files_that_are_none() {
        let error = |path: &str| Trace::load(Path::new(path)).unwrap_err().to_string();
        assert!(error("/nonexistent.down").starts_with("/nonexistent.down: No such file"));
        assert_eq!(error("/dev/null"), "/dev/null is not a regular file");
        assert_eq!(error("/"), "/ is not a regular file");
    }
}
