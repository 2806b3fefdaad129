//! Sentences: conditions about runs, `p99(sojourn) > 10 * target and goodput(flows.0) > 0.8 * goodput`.
//!
//! Every number has a unit, and comparisons of different units are rejected before anything runs. A sentence is judged
//! on [`Evidence`], one run per queue manager: a simulated run, or the record of a run of any engine. The same sentences
//! serve `sojourn hunt`, `sojourn run --expect`, `sojourn gate` and tests in Rust.
//!
//! | module | purpose |
//! |---|---|
//! | `token`, `tree`, `parse` | syntax, of bounded depth |
//! | `words`, `vocabulary`, `quantity` | names and units |
//! | `error`, `suggest` | errors and suggestions |
//! | `formula` | numbers with units |
//! | `evidence` | numbers of a run |

mod error;
mod evidence;
mod formula;
mod parse;
mod quantity;
mod suggest;
mod token;
mod tree;
mod vocabulary;
mod words;

pub use error::Error;
pub use evidence::{Evidence, SojournBin};
pub use vocabulary::{Manager, Vocabulary};

use formula::{EXAMPLE, Metric, Term, same_unit, term};
use parse::{Fault, parse};
use std::borrow::Borrow;
use std::collections::BTreeSet;
use tree::{Kind, MAX_DEPTH, Node};

/// A condition about runs.
#[derive(Clone, Debug)]
pub struct Sentence {
    text: String,
    comparisons: Vec<Comparison>,
    truth: Truth,
}

/// A comparison of two numbers.
#[derive(Clone, Debug)]
pub struct Comparison {
    text: String,
    left: Term,
    right: Term,
    /// Whether the left side must be greater.
    is_greater: bool,
    is_strict: bool,
}

/// A number about a run, alone.
#[derive(Clone, Debug)]
pub struct Expression(Term);

/// How comparisons make up a sentence.
#[derive(Clone, Debug)]
enum Truth {
    Any(Vec<Truth>),
    All(Vec<Truth>),
    Not(Box<Truth>),
    /// Number of a comparison.
    Comparison(usize),
}

impl Sentence {
    /// Parses a sentence; `words` resolves its names.
    pub fn parse(text: &str, words: &Vocabulary) -> Result<Self, Error> {
        let node = read(text, words, "condition", EXAMPLE)?;
        let mut comparisons = Vec::new();
        let truth = truth(&node, words, &mut comparisons)?;
        Ok(Self { text: text.trim().into(), comparisons, truth })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its comparisons, in the order of the text.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Margin of its truth for `runs`, one per queue manager in their order: positive if it is.
    pub fn margin(&self, runs: &[impl Borrow<Evidence>]) -> f64 {
        self.truth.margin(&self.comparisons, runs)
    }

    /// Whether it is true for `runs`.
    pub fn holds(&self, runs: &[impl Borrow<Evidence>]) -> bool {
        self.margin(runs) > 0.0
    }

    /// Values of both sides of each comparison.
    pub fn sides(&self, runs: &[impl Borrow<Evidence>]) -> Vec<[f64; 2]> {
        self.comparisons.iter().map(|comparison| comparison.sides(runs)).collect()
    }

    /// Numbers of the flow groups that it names.
    pub fn groups(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.metrics(&mut |metric| found.extend(metric.group()));
        found
    }

    /// Whether it needs the histogram of sojourn times.
    pub fn needs_histogram(&self) -> bool {
        let mut found = false;
        self.metrics(&mut |metric| found |= metric.needs_histogram());
        found
    }

    fn metrics(&self, visit: &mut dyn FnMut(&Metric)) {
        for Comparison { left, right, .. } in &self.comparisons {
            left.formula.metrics(visit);
            right.formula.metrics(visit);
        }
    }
}

impl Comparison {
    /// Its text: `p99(sojourn) > 10 * target`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Texts of both sides.
    pub fn texts(&self) -> [&str; 2] {
        [&self.left.text, &self.right.text]
    }

    /// Unit of both sides; may be empty.
    pub fn unit(&self) -> &'static str {
        self.left.unit
    }

    /// Values of both sides; NaN if a run has none.
    pub fn sides(&self, runs: &[impl Borrow<Evidence>]) -> [f64; 2] {
        [self.left.formula.value(runs), self.right.formula.value(runs)]
    }

    /// The logarithm of the ratio of both sides if these are positive. A side that is not a number, such as the delay
    /// without packets, makes it false.
    fn margin(&self, runs: &[impl Borrow<Evidence>]) -> f64 {
        let [left, right] = self.sides(runs);
        if left.is_nan() || right.is_nan() {
            return f64::NEG_INFINITY;
        }
        let (large, small) = if self.is_greater { (left, right) } else { (right, left) };
        if large == small {
            return if self.is_strict { -TINY } else { TINY };
        }
        if large > 0.0 && small > 0.0 {
            return libm::log(large / small);
        }
        // No ratio exists for values of zero or less: use the difference, relative to the size of both.
        (large - small) / large.abs().max(small.abs())
    }
}

impl Expression {
    /// Parses a number; `words` resolves its names.
    pub fn parse(text: &str, words: &Vocabulary) -> Result<Self, Error> {
        let node = read(text, words, "number", EXAMPLE_NUMBER)?;
        if matches!(node.kind, Kind::Compare(..) | Kind::Joined { .. } | Kind::Not(_)) {
            let shown = short(&node.to_string());
            return Err(words.error(format_args!("\"{shown}\" is a condition; write a number, e.g. {EXAMPLE_NUMBER}")));
        }
        term(&node, words).map(Self)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Its unit: ms, Mbit/s, %, B, packets, or none.
    pub fn unit(&self) -> &'static str {
        self.0.unit
    }

    /// The number for `runs`, one per queue manager; NaN if a run has none.
    pub fn value(&self, runs: &[impl Borrow<Evidence>]) -> f64 {
        self.0.formula.value(runs)
    }

    /// Whether it needs the histogram of sojourn times.
    pub fn needs_histogram(&self) -> bool {
        let mut found = false;
        self.0.formula.metrics(&mut |metric| found |= metric.needs_histogram());
        found
    }
}

impl Truth {
    fn margin(&self, comparisons: &[Comparison], runs: &[impl Borrow<Evidence>]) -> f64 {
        let of = |part: &Self| part.margin(comparisons, runs);
        match self {
            Self::Any(parts) => parts.iter().map(of).fold(f64::NEG_INFINITY, f64::max),
            Self::All(parts) => parts.iter().map(of).fold(f64::INFINITY, f64::min),
            Self::Not(inner) => -of(inner),
            Self::Comparison(number) => comparisons[*number].margin(runs),
        }
    }
}

/// Margin of equal sides.
const TINY: f64 = 1e-12;
/// Maximum characters of a sentence shown in an error.
const MAX_SHOWN: usize = 200;
const EXAMPLE_NUMBER: &str = r#""p99(sojourn)" or "delay(flows.1) / 2""#;

fn read(text: &str, words: &Vocabulary, kind: &str, example: &str) -> Result<Node, Error> {
    parse(text).map_err(|fault| {
        let shown = short(text);
        match fault {
            Fault::Syntax => words.error(format_args!("\"{shown}\" is not a {kind}; write e.g. {example}")),
            Fault::Depth => {
                words.error(format_args!("\"{shown}\" is nested more than {MAX_DEPTH} deep; write a shorter {kind}"))
            }
        }
    })
}

/// Start of a sentence, for an error.
fn short(text: &str) -> String {
    text.char_indices().nth(MAX_SHOWN).map_or_else(|| text.into(), |(end, _)| format!("{}…", &text[..end]))
}

fn truth(node: &Node, words: &Vocabulary, found: &mut Vec<Comparison>) -> Result<Truth, Error> {
    match &node.kind {
        Kind::Joined { any, parts } => {
            let parts = parts.iter().map(|part| truth(part, words, found)).collect::<Result<_, _>>()?;
            Ok(if *any { Truth::Any(parts) } else { Truth::All(parts) })
        }
        Kind::Not(inner) => Ok(Truth::Not(Box::new(truth(inner, words, found)?))),
        Kind::Compare(first, rest) => {
            let from = found.len();
            compare(node, (first, rest), words, found)?;
            Ok(Truth::All((from..found.len()).map(Truth::Comparison).collect()))
        }
        _ => Err(words.error(format_args!("\"{node}\" is neither true nor false; compare it, e.g. {EXAMPLE}"))),
    }
}

fn compare(
    node: &Node,
    (first, rest): (&Node, &[(&'static str, Node)]),
    words: &Vocabulary,
    found: &mut Vec<Comparison>,
) -> Result<(), Error> {
    let terms = rest.iter().map(|(_, side)| term(side, words));
    let mut terms = std::iter::once(term(first, words)).chain(terms).collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut left = terms.next().expect("a chain begins with a term");
    for ((sign, _), right) in rest.iter().zip(terms) {
        let (is_greater, is_strict) = match *sign {
            ">" => (true, true),
            ">=" => (true, false),
            "<" => (false, true),
            "<=" => (false, false),
            _ => return Err(words.error(format_args!("\"{node}\": compare with >, >=, < or <="))),
        };
        same_unit(&left, sign, &right, words)?;
        let text = format!("{} {sign} {}", left.text, right.text);
        found.push(Comparison { text, left, right: right.clone(), is_greater, is_strict });
        left = right;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
