//! Rates over time as CSV, converted to and from opportunities.
//!
//! A row is `time,rate`, also separated by a semicolon, spaces or a tab. The rate holds until the next row, the last one
//! as long as the one before it. Quantities have units in the cells (`0 s,10 Mbit/s`) or in the header (`time [s],rate
//! [Mbit/s]`), or those that the caller gives.

use super::lte::LONGEST_S;
use super::{Lte, MAX_LINES, Trace, TraceError};
use crate::schedule::{Quanta, Steps};
use sojourn_aqm::{Duration, Instant, Rate, units};

/// Rates over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Starts of the rates, increasing from zero.
    pub starts: Vec<Duration>,
    /// As many; at least one of them is above zero.
    pub rates: Vec<Rate>,
    /// End of the last rate.
    pub end: Duration,
}

impl Series {
    /// Reads CSV. `units` are those of numbers without units, of times and of rates; a header has precedence.
    pub fn parse(text: &str, units: [Option<&str>; 2]) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty()).peekable();
        let mut column_units = units;
        if let Some(&(_, first)) = lines.peek().filter(|(_, line)| is_header(line)) {
            let own = units_of(first);
            column_units = [own[0].or(units[0]), own[1].or(units[1])];
            lines.next();
        }
        let rows = lines.map(|(number, line)| read_row(number, line, column_units)).collect::<Result<Vec<_>, _>>()?;
        let ([first, ..], [.., before, last]) = (&rows[..], &rows[..]) else {
            return Err(error(" has fewer than two rows; write time,rate in each, e.g. \"0 s,10 Mbit/s\""));
        };
        rows.windows(2).try_for_each(|pair| check_order(&pair[0], &pair[1]))?;
        let rates: Vec<Rate> = rows.iter().map(|row| row.rate).collect();
        if rates.iter().all(|rate| rate.as_bps() == 0) {
            return Err(error(" has no rate above zero; a link needs one"));
        }
        let starts = rows.iter().map(|row| row.time - first.time).collect();
        Ok(Self { starts, rates, end: last.time - first.time + (last.time - before.time) })
    }

    /// CSV with units in the header.
    pub fn csv(&self) -> String {
        let mut csv = String::from("time [s],rate [Mbit/s]\n");
        for (start, rate) in self.starts.iter().zip(&self.rates) {
            let time = decimal(start.as_nanos() as u64, 9);
            csv += &format!("{time},{}\n", decimal(rate.as_bps(), 6));
        }
        csv
    }

    /// The rates of `trace` in steps; an opportunity counts for the millisecond before it.
    pub fn of(trace: &Trace, step_ms: u32, mtu: u32) -> Result<Self, TraceError> {
        if step_ms == 0 {
            return Err(TraceError("a step of 0 ms is too short; give at least 1 ms".to_string()));
        }
        let rows = trace.period_ms().div_ceil(step_ms) as usize;
        if rows > MAX_ROWS {
            let text = format!("a step of {step_ms} ms makes {rows} rows, more than {MAX_ROWS}; give a wider one");
            return Err(TraceError(text));
        }
        let mut counts = vec![0u64; rows];
        for &ms in &trace.opportunities_ms {
            counts[(ms.saturating_sub(1) / step_ms) as usize] += 1;
        }
        let bps = |count: u64| (count as u128 * mtu as u128 * 8 * 1000 / step_ms as u128) as u64;
        let rates = counts.into_iter().map(|count| Rate::from_bps(bps(count))).collect();
        let step = Duration::from_millis(step_ms.into());
        let starts = (0..rows as i64).map(|row| step * row).collect();
        Ok(Self { starts, rates, end: step * rows as i64 })
    }

    /// Opportunities of `mtu` bytes: one at the end of the millisecond in which the rates have added up to another one.
    pub fn trace(&self, mtu: u32) -> Result<Trace, TraceError> {
        self.check_size(mtu)?;
        let end = Instant::ZERO + self.end;
        let steps = Steps::from_ordered(self.starts.iter().copied().zip(self.rates.iter().copied()).collect());
        let ms =
            Quanta::new(&steps, mtu).take_while(|&at| at <= end).map(|at| at.as_nanos().div_ceil(NANOS_PER_MS as u64));
        finished(ms.map(|ms| ms as u32).collect())
    }

    /// Opportunities of `mtu` bytes in the bursts of `link`, with the mean rates of this series.
    pub fn bursty_trace(&self, mtu: u32, link: &Lte, seed: u64) -> Result<Trace, TraceError> {
        self.check_size(mtu)?;
        if self.end.as_secs_f64() > f64::from(LONGEST_S) {
            return Err(error(&format!(" is longer than {LONGEST_S} s, too long for bursts; split it")));
        }
        let per_ms = (0..self.end.as_nanos() / NANOS_PER_MS).map(|ms| {
            let started = self.starts.partition_point(|&start| start <= Duration::from_millis(ms));
            self.rates[started - 1].as_bps() as f64 / (8000.0 * f64::from(mtu))
        });
        finished(link.batches(per_ms, seed))
    }

    fn check_size(&self, mtu: u32) -> Result<(), TraceError> {
        let ends = self.starts.iter().skip(1).chain([&self.end]);
        let holds_s = self.starts.iter().zip(ends).map(|(&start, &end)| (end - start).as_secs_f64());
        let bits: f64 = self.rates.iter().zip(holds_s).map(|(rate, seconds)| rate.as_bps() as f64 * seconds).sum();
        if bits / (8.0 * f64::from(mtu)) > MAX_LINES as f64 {
            return Err(error(&format!(" would make more than {MAX_LINES} lines, the limit; cut it")));
        }
        if self.end.as_secs_f64() * 1000.0 > f64::from(u32::MAX) {
            return Err(error(&format!(" is longer than {} ms; split it", u32::MAX)));
        }
        Ok(())
    }
}

fn finished(opportunities_ms: Vec<u32>) -> Result<Trace, TraceError> {
    if opportunities_ms.last().is_none_or(|&last| last == 0) {
        return Err(error(" does not add up to one opportunity after 0 ms; it is too short or too slow"));
    }
    Trace::new(opportunities_ms)
}

/// A row of the file.
struct Row {
    line: usize,
    time: Duration,
    rate: Rate,
}

fn read_row(line: usize, text: &str, [of_time, of_rate]: [Option<&str>; 2]) -> Result<Row, TraceError> {
    let cells: Vec<&str> = match [',', ';'].into_iter().find(|&separator| text.contains(separator)) {
        Some(separator) => text.split(separator).map(str::trim).collect(),
        None => text.split_whitespace().collect(),
    };
    let &[time, rate] = &cells[..] else {
        let text = format!(", line {line}: {} cells; write time,rate, e.g. \"0 s,10 Mbit/s\"", cells.len());
        return Err(error(&text));
    };
    let cell = |name: &str, text: &str, unit: Option<&str>| {
        if text.is_empty() {
            return Err(error(&format!(", line {line}: no {name}; fill the gap, with 0 bit/s if there was an outage")));
        }
        let bare = text.chars().all(|c| c.is_ascii_digit() || c == '.');
        Ok(unit.filter(|_| bare).map_or(text.to_string(), |unit| format!("{text} {unit}")))
    };
    let wrong = |e: units::UnitError| error(&format!(", line {line}: {}", e.0));
    let time = units::duration(&cell("time", time, of_time)?).map_err(wrong)?;
    let rate = units::rate(&cell("rate", rate, of_rate)?).map_err(wrong)?;
    Ok(Row { line, time, rate })
}

fn check_order(before: &Row, row: &Row) -> Result<(), TraceError> {
    if row.time > before.time {
        return Ok(());
    }
    let text = format!(", line {}: {} after {}; times must increase, sort the rows", row.line, row.time, before.time);
    Err(error(&text))
}

/// A first line that starts with a letter names the columns.
fn is_header(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The units in brackets of a header's two columns.
fn units_of(header: &str) -> [Option<&str>; 2] {
    let mut units = header.split(',').map(|cell| Some(cell.split_once('[')?.1.split_once(']')?.0.trim()));
    [units.next().flatten(), units.next().flatten()]
}

/// `value / 10^digits` without trailing zeros.
fn decimal(value: u64, digits: usize) -> String {
    let unit = 10u64.pow(digits as u32);
    let text = format!("{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn error(text: &str) -> TraceError {
    TraceError(text.to_string())
}

const NANOS_PER_MS: i64 = 1_000_000;

/// Maximum rows of a series made from a trace: eleven days in steps of 100 ms.
const MAX_ROWS: usize = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Vec<u32> {
        Series::parse(text, [None; 2]).unwrap().trace(1500).unwrap().opportunities_ms
    }

    #[test]
    fn rates_become_opportunities_when_they_have_added_up() {
        assert_eq!(ms("0 ms,12 Mbit/s\n2 ms,12 Mbit/s\n"), [1, 2, 3, 4]);
        // 8.333 per millisecond: 8, 8, 9; and 1 Mbit/s: one every 12 ms.
        let fast = ms("time [s],rate [Mbit/s]\n0,100\n0.003,100\n");
        assert_eq!((1..=6).map(|i| fast.iter().filter(|&&at| at == i).count()).collect::<Vec<_>>(), [8, 8, 9, 8, 8, 9]);
        assert_eq!(ms("0 ms,1 Mbit/s\n18 ms,1 Mbit/s\n"), [12, 24, 36]);
        // Half an opportunity waits through an outage.
        assert_eq!(ms("0 s,1mbit\r\n6 ms,0 bit/s\r\n12 ms,3mbit\r\n"), [14, 18]);
    }

    #[test]
    fn there_and_back() {
        let csv = "time [s],rate [Mbit/s]\n0,12\n0.1,0\n0.2,6\n0.3,1.2\n";
        let series = Series::parse(csv, [None; 2]).unwrap();
        assert_eq!((series.end, series.csv().as_str()), (Duration::from_millis(400), csv));
        let trace = series.trace(1500).unwrap();
        assert_eq!(Series::of(&trace, 100, 1500).unwrap(), series);
    }

    #[test]
    fn rates_hold_until_the_next_row() {
        // The clock of a recording need not start at zero. The last rate holds for 1 ms, as the one before it.
        assert_eq!(ms("5 ms,12mbit\n8 ms,0mbit\n12 ms,24mbit\n13 ms,12mbit\n"), [1, 2, 3, 8, 8, 9]);
        let series = Series::parse("7 s,12mbit\n8.5 s,0mbit\n8.75 s,3mbit\n", [None; 2]).unwrap();
        assert_eq!(series.csv(), "time [s],rate [Mbit/s]\n0,12\n1.5,0\n1.75,3\n");
        assert_eq!(series.end, Duration::from_millis(2000));
    }

    #[test]
    fn columns_of_numbers_have_the_units_that_are_given() {
        let expected = Series::parse("0 s,1.5mbit\n1 s,2mbit\n2.5 s,0.25mbit\n", [None; 2]).unwrap();
        for text in [
            "10.0 1500\n11.0\t2000\n\n  12.5   250 \n",
            "10;1500\r\n11; 2000\r\n12.5;250\r\n",
            "t,rate\n10,1500\n11 s,2 Mbit/s\n12.5,250",
            "t,rate [bit/s]\n10,1500000\n11,2000000\n12.5,250000",
        ] {
            assert_eq!(Series::parse(text, [Some("s"), Some("kbit/s")]).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn bursts_keep_the_rates() {
        let series = Series::parse("time [s],rate [Mbit/s]\n0,12\n20,0\n40,48\n", [None; 2]).unwrap();
        let link = super::super::PRESETS.iter().find(|(name, ..)| *name == "tmobile-short").unwrap().2;
        let trace = series.bursty_trace(1500, &link, 1).unwrap();
        assert_eq!(trace, series.bursty_trace(1500, &link, 1).unwrap());
        assert_ne!(trace, series.bursty_trace(1500, &link, 2).unwrap());
        let rates = Series::of(&trace, 20_000, 1500).unwrap().rates;
        let mbps: Vec<f64> = rates.iter().map(|rate| rate.as_bps() as f64 / 1e6).collect();
        assert!(
            (mbps[0] / 12.0 - 1.0).abs() < 0.06 && mbps[1] < 0.01 && (mbps[2] / 48.0 - 1.0).abs() < 0.03,
            "{mbps:?}"
        );
        let mean_burst = |trace: &Trace| {
            let mut busy = trace.opportunities_ms.clone();
            busy.dedup();
            trace.len() as f64 / busy.len() as f64
        };
        assert!(mean_burst(&trace) > 1.5 * mean_burst(&series.trace(1500).unwrap()));
    }

    #[test]
    fn refusals() {
        for (csv, text) in [
            ("", " has fewer than two rows; write time,rate in each, e.g. \"0 s,10 Mbit/s\""),
            ("0 s,1mbit\n", " has fewer than two rows; write time,rate in each, e.g. \"0 s,10 Mbit/s\""),
            ("0 s,1mbit\n\n1\n", ", line 3: 1 cells; write time,rate, e.g. \"0 s,10 Mbit/s\""),
            ("0 s,1mbit\n1 s,\n", ", line 2: no rate; fill the gap, with 0 bit/s if there was an outage"),
            ("0 s,1mbit\n0 s,1mbit\n", ", line 2: 0 s after 0 s; times must increase, sort the rows"),
            ("0 s,1mbit\n1 s,1mbit\n0.5 s,1mbit\n", ", line 3: 500 ms after 1 s; times must increase, sort the rows"),
            ("0,1\n1,1\n", r#", line 1: "0" has no unit; write e.g. "5 ms""#),
            ("0 s,1\n1 s,1\n", r#", line 1: "1" has no unit; write e.g. "10 Mbit/s""#),
            ("0 s,-1mbit\n1 s,1mbit\n", r#", line 1: "-1mbit" is negative; write e.g. "10 Mbit/s""#),
            ("0 s,0mbit\n1 s,0mbit\n", " has no rate above zero; a link needs one"),
            ("0 s,1bit\n1 s,1bit\n", " does not add up to one opportunity after 0 ms; it is too short or too slow"),
            ("0 s,1bit\n99999999 s,1bit\n", " is longer than 4294967295 ms; split it"),
            ("0 s,99999999gbit\n1000 s,1gbit\n", " would make more than 50000000 lines, the limit; cut it"),
        ] {
            let found = Series::parse(csv, [None; 2]).and_then(|series| series.trace(1500)).unwrap_err();
            assert_eq!(found.0, text, "{csv:?}");
        }
    }
}
