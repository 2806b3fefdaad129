//! tc's keywords for netem (`netem_parse_opt` of `q_netem.c`), which take several values each and may be abbreviated.

use crate::error::ConfigError;
use crate::param_list;
use crate::params::Param;
use crate::quote::quoted;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Parses the next words if they are tc's.
pub(super) fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    params: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    // The flag is parsed like any other.
    let known = WORDS.iter().find(|(known, _)| known.starts_with(word)).filter(|_| word != "ecn");
    let Some(&(known, read)) = known else { return Ok(false) };
    words.next();
    read(&mut WordArgs { word: known, words, given: params }).map(|()| true)
}

type WordParser = fn(&mut WordArgs<'_, '_>) -> Result<(), ConfigError>;

/// In tc's order, which resolves abbreviations.
const WORDS: &[(&str, WordParser)] = &[
    ("limit", |line| line.value("limit")),
    ("latency", delay),
    ("delay", delay),
    ("loss", loss),
    ("drop", loss),
    ("ecn", |line| line.set("ecn", "on")),
    ("reorder", |line| line.chance("reorder", "reorder_corr")),
    ("corrupt", |line| line.chance("corrupt", "corrupt_corr")),
    ("gap", |line| line.value("gap")),
    ("duplicate", |line| line.chance("duplicate", "duplicate_corr")),
    ("distribution", |line| line.value("distribution")),
    ("rate", rate),
    ("slot", slot),
];

/// Rest of a line after `word`.
struct WordArgs<'a, 'w> {
    word: &'static str,
    words: &'a mut Peekable<SplitWhitespace<'w>>,
    given: &'a mut Vec<(String, String)>,
}

impl<'w> WordArgs<'_, 'w> {
    /// Next word, which is required.
    fn next(&mut self) -> Result<&'w str, ConfigError> {
        self.words.next().ok_or_else(|| param_list::missing_value("netem", self.word))
    }

    /// Next word if it starts with a digit, or with a sign if `signed`.
    fn number(&mut self, signed: bool) -> Option<&'w str> {
        self.words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit() || signed && c == '-'))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        param_list::add(self.given, "netem", name, value.into())
    }

    fn value(&mut self, name: &str) -> Result<(), ConfigError> {
        let value = self.next()?;
        self.set(name, value)
    }

    /// Required percentage, with or without the percent sign.
    fn percent(&mut self, name: &str) -> Result<(), ConfigError> {
        let value = self.next()?;
        self.set(name, without_sign(value))
    }

    /// Optional percentage. Returns whether there was one.
    fn percent_if(&mut self, name: &str) -> Result<bool, ConfigError> {
        match self.number(false) {
            Some(value) => self.set(name, without_sign(value)).map(|()| true),
            None => Ok(false),
        }
    }

    fn chance(&mut self, name: &str, correlation: &str) -> Result<(), ConfigError> {
        self.percent(name)?;
        self.percent_if(correlation).map(drop)
    }

    /// Percentages of a chain: the first, then as many of `others` as given. The first of these defaults to the
    /// difference from 100 %.
    fn percents(&mut self, first: &str, others: &[&str]) -> Result<(), ConfigError> {
        let value = without_sign(self.next()?);
        self.set(first, value)?;
        let left = |value: &str| value.parse().map_or_else(|_| value.to_string(), |p: f64| (100.0 - p).to_string());
        for (i, name) in others.iter().enumerate() {
            if !self.percent_if(name)? {
                return if i == 0 { self.set(name, &left(value)) } else { Ok(()) };
            }
        }
        Ok(())
    }
}

fn without_sign(percent: &str) -> &str {
    percent.strip_suffix('%').unwrap_or(percent)
}

fn delay(line: &mut WordArgs<'_, '_>) -> Result<(), ConfigError> {
    line.value("delay")?;
    if let Some(jitter) = line.number(false) {
        line.set("jitter", jitter)?;
        line.percent_if("delay_corr")?;
    }
    Ok(())
}

fn loss(line: &mut WordArgs<'_, '_>) -> Result<(), ConfigError> {
    if ["loss", "loss_model"].iter().any(|name| param_list::value(line.given, name).is_some()) {
        return Err(ConfigError::DuplicateParam { param: "loss".into(), name: "netem".into() });
    }
    match line.words.peek().copied() {
        Some("state") => {
            line.words.next();
            line.set("loss_model", "state")?;
            line.percents("p13", &["p31", "p32", "p23", "p14"])
        }
        Some("gemodel") => {
            line.words.next();
            line.set("loss_model", "gemodel")?;
            line.percents("ge_p", &["ge_r", "ge_1_h", "ge_1_k"])
        }
        Some(word) if word != "random" && !word.starts_with(|c: char| c.is_ascii_digit()) => Err(format!(
            "loss {}: unknown model; write e.g. loss 1%, loss state 1% 30% or loss gemodel 1% 30%",
            quoted(word)
        )
        .into()),
        random => {
            if random == Some("random") {
                line.words.next();
            }
            line.chance("loss", "loss_corr")
        }
    }
}

fn rate(line: &mut WordArgs<'_, '_>) -> Result<(), ConfigError> {
    line.value("rate")?;
    for (name, signed) in [("packet_overhead", true), ("cell_size", false), ("cell_overhead", true)] {
        if let Some(value) = line.number(signed) {
            line.set(name, value)?;
        }
    }
    Ok(())
}

fn slot(line: &mut WordArgs<'_, '_>) -> Result<(), ConfigError> {
    if line.words.next_if_eq(&"distribution").is_some() {
        for name in ["slot_distribution", "slot_delay", "slot_jitter"] {
            line.value(name)?;
        }
    } else {
        let least = line.next()?;
        line.set("slot_min", least)?;
        let most = line.number(false).unwrap_or(least);
        line.set("slot_max", most)?;
    }
    if line.words.next_if_eq(&"packets").is_some() {
        line.value("slot_packets")?;
    }
    if line.words.next_if_eq(&"bytes").is_some() {
        let bytes = line.next()?;
        // tc's sizes need no unit.
        let unit = if bytes.ends_with(|c: char| c.is_ascii_digit()) { "B" } else { "" };
        line.set("slot_bytes", &format!("{bytes}{unit}"))?;
    }
    Ok(())
}
