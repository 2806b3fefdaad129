//! Numbers of a sentence: constants, metrics and arithmetic on them.

use super::error::Error;
use super::evidence::{Evidence, is_shell};
use super::tree::{Kind, Node};
use super::vocabulary::{Chosen, GroupRef, Vocabulary, quantity_of};
use super::words::{NOTE, OF_GROUP, OF_RUN, RunWord, SHARE, SUBJECTS, Statistic, Subject, TIMES};
use std::borrow::Borrow;

/// Example in errors.
pub(super) const EXAMPLE: &str = r#""p99(sojourn) > 10 * target" or "goodput(B) < 0.8 * goodput(A)""#;

/// A number with its unit.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub text: String,
    /// ms, Mbit/s, %, B, packets, or none.
    pub unit: &'static str,
    pub formula: Formula,
}

/// How a number is computed.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    Constant(f64),
    /// A metric of the run of a queue manager.
    Metric(usize, Metric),
    Negative(Box<Formula>),
    Binary(Operation, Box<[Formula; 2]>),
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Sum,
    Difference,
    Product,
    Quotient,
}

/// A number that a run has.
#[derive(Clone, Debug)]
pub(super) enum Metric {
    Run(&'static RunWord, usize),
    Group(GroupRef, GroupNumber),
    Sojourn(usize, Statistic),
    Goodputs(Option<GroupRef>, Statistic),
    Parameter(usize, String),
    Key(String),
}

/// A number of a flow group.
#[derive(Clone, Debug)]
pub(super) enum GroupNumber {
    /// A key of its summary, by path, and a scale.
    Key(Vec<String>, f64),
    /// Marked datagrams in per cent of those received in the direction at a path.
    Marks(Vec<String>),
    Share,
}

impl Formula {
    /// The number; NaN if a run has none.
    pub fn value(&self, runs: &[impl Borrow<Evidence>]) -> f64 {
        match self {
            Self::Constant(number) => *number,
            Self::Metric(manager, metric) => runs.get(*manager).map_or(f64::NAN, |run| metric.value(run.borrow())),
            Self::Negative(inner) => -inner.value(runs),
            Self::Binary(operation, sides) => {
                let [left, right] = [sides[0].value(runs), sides[1].value(runs)];
                match operation {
                    Operation::Sum => left + right,
                    Operation::Difference => left - right,
                    Operation::Product => left * right,
                    Operation::Quotient if right == 0.0 => f64::NAN,
                    Operation::Quotient => left / right,
                }
            }
        }
    }

    /// Calls `visit` with each metric.
    pub fn metrics(&self, visit: &mut dyn FnMut(&Metric)) {
        match self {
            Self::Constant(_) => {}
            Self::Metric(_, metric) => visit(metric),
            Self::Negative(inner) => inner.metrics(visit),
            Self::Binary(_, sides) => sides.iter().for_each(|side| side.metrics(visit)),
        }
    }
}

impl Metric {
    fn value(&self, run: &Evidence) -> f64 {
        match self {
            Self::Run(word, link) => run.of_run(word, *link),
            Self::Group(group, number) => number.value(run, run.group(group.number, group.name.as_deref())),
            Self::Sojourn(link, statistic) => run.sojourn(*link, *statistic),
            Self::Goodputs(group, statistic) => {
                let group = group.as_ref().map(|group| run.group(group.number, group.name.as_deref()));
                statistic.over(run.goodputs(group))
            }
            Self::Parameter(link, name) => run.parameter(*link, name),
            Self::Key(path) => run.key(path),
        }
    }

    /// Whether it is a quantile of sojourn times: a summary has their mean and maximum.
    pub fn needs_histogram(&self) -> bool {
        matches!(self, Self::Sojourn(_, Statistic::Quantile(_)))
    }

    /// Number of the flow group that it is about.
    pub fn group(&self) -> Option<usize> {
        match self {
            Self::Group(group, _) | Self::Goodputs(Some(group), _) => Some(group.number),
            Self::Key(path) => path.strip_prefix("flows.")?.split('.').next()?.parse().ok(),
            _ => None,
        }
    }
}

impl GroupNumber {
    fn value(&self, run: &Evidence, group: usize) -> f64 {
        let at = |path: &[String], key: Option<&str>| {
            let path: Vec<&str> = path.iter().map(String::as_str).chain(key).collect();
            run.of_group(group, &path)
        };
        match self {
            Self::Key(path, scale) => at(path, None) * scale,
            Self::Marks(path) => {
                let received = at(path, Some("received"));
                if received > 0.0 { 100.0 * at(path, Some("marked")) / received } else { f64::NAN }
            }
            Self::Share => run.share(group),
        }
    }
}

/// A number with its unit, from a part of a sentence.
pub(super) fn term(node: &Node, words: &Vocabulary) -> Result<Term, Error> {
    let text = node.to_string();
    match &node.kind {
        Kind::Binary(sign @ ("+" | "-" | "*" | "/"), left, right) => {
            combined([term(left, words)?, term(right, words)?], sign, text, words)
        }
        Kind::Negative(inner) => {
            let Term { unit, formula, .. } = term(inner, words)?;
            Ok(Term { text, unit, formula: Formula::Negative(Box::new(formula)) })
        }
        Kind::Number(value, _) => Ok(Term { text, unit: "", formula: Formula::Constant(*value) }),
        Kind::Quantity(number, unit) => {
            let (unit, value) = quantity_of(words, number, unit)?;
            Ok(Term { text, unit, formula: Formula::Constant(value) })
        }
        Kind::Name(name) => metric(text, name, &[], words),
        Kind::Call(name, arguments) => {
            let arguments = arguments.iter().map(|one| argument(one, words)).collect::<Result<Vec<_>, _>>()?;
            metric(text, name, &arguments, words)
        }
        Kind::Dotted(path) if is_key(path) => {
            let unit = words.unit_of_key(path)?;
            Ok(Term { text, unit, formula: Formula::Metric(0, Metric::Key(path.clone())) })
        }
        _ => Err(words.error(format_args!("\"{text}\" is not a number; write e.g. {EXAMPLE}"))),
    }
}

fn is_key(path: &str) -> bool {
    ["link", "reverse", "links", "flows"].contains(&path.split('.').next().unwrap_or_default())
}

fn argument(node: &Node, words: &Vocabulary) -> Result<String, Error> {
    match &node.kind {
        Kind::Name(name) | Kind::Dotted(name) => Ok(name.clone()),
        _ => {
            let example = "p99(sojourn, B) or goodput(flows.0)";
            Err(words.error(format_args!("\"{node}\" is not a name; write e.g. {example}")))
        }
    }
}

fn combined(sides: [Term; 2], sign: &str, text: String, words: &Vocabulary) -> Result<Term, Error> {
    let [left, right] = &sides;
    let (operation, unit) = match sign {
        "+" | "-" => {
            same_unit(left, sign, right, words)?;
            (if sign == "+" { Operation::Sum } else { Operation::Difference }, left.unit)
        }
        "*" if left.unit.is_empty() || right.unit.is_empty() => {
            (Operation::Product, if left.unit.is_empty() { right.unit } else { left.unit })
        }
        "/" if right.unit.is_empty() => (Operation::Quotient, left.unit),
        "/" if right.unit == left.unit => (Operation::Quotient, ""),
        _ => {
            let unit = if left.unit.is_empty() { "a number" } else { left.unit };
            return Err(words.error(format_args!("\"{text}\": {unit} {sign} {} is not a supported unit", right.unit)));
        }
    };
    let formula = Formula::Binary(operation, Box::new(sides.map(|side| side.formula)));
    Ok(Term { text, unit, formula })
}

/// Refuses terms with different units.
pub(super) fn same_unit(left: &Term, sign: &str, right: &Term, words: &Vocabulary) -> Result<(), Error> {
    if left.unit == right.unit {
        return Ok(());
    }
    let [a, b] = [left, right].map(|side| match side.unit {
        "" => format!("{} is a plain number", side.text),
        unit => format!("{} is in {unit}", side.text),
    });
    Err(words.error(format_args!("\"{} {sign} {}\": {a}, {b}; write both in one unit", left.text, right.text)))
}

/// A word with its arguments: a metric, a statistic, or a parameter of a queue manager.
fn metric(text: String, word: &str, arguments: &[String], words: &Vocabulary) -> Result<Term, Error> {
    let chosen = words.chosen(&text, arguments)?;
    let reader = Reader { text: &text, chosen, words };
    let (unit, metric) = reader.metric(word)?;
    let manager = reader.chosen.manager();
    Ok(Term { unit, formula: Formula::Metric(manager, metric), text })
}

/// Reads a word with its arguments.
struct Reader<'a> {
    text: &'a str,
    chosen: Chosen,
    words: &'a Vocabulary,
}

/// Unit and metric.
type Found = (&'static str, Metric);

impl Reader<'_> {
    fn metric(&self, word: &str) -> Result<Found, Error> {
        let is_flows = OF_GROUP.iter().any(|(name, ..)| *name == word) || [SHARE, NOTE].contains(&word);
        let run_word = OF_RUN.iter().find(|one| one.word == word);
        let statistic = Statistic::of(word);
        if is_shell(self.words.first()) {
            let is_other = self.chosen.subject.is_some_and(|subject| subject != Subject::Sojourn);
            if is_flows || is_other || run_word.is_some_and(|word| !word.of_shell) {
                let known = "sojourn, utilisation, drops, marks, packets and parameters of queue managers";
                return self.fail(format_args!("only programs know it; a link knows {known}"));
            }
        }
        match (run_word, statistic) {
            // "marks" is a metric of links, and of endpoints.
            (Some(found), _) if word == "marks" && self.chosen.group.as_ref().is_some_and(|g| self.is_endpoint(g)) => {
                let group = self.refuse(&[Part::Subject, Part::Link]).and_then(|()| self.group())?;
                let path = self.direction(group)?;
                Ok((found.unit, Metric::Group(group.clone(), GroupNumber::Marks(path))))
            }
            (Some(found), _) => self.of_run(found),
            _ if word == SHARE => {
                self.refuse(&[Part::Subject, Part::Link])?;
                Ok(("%", Metric::Group(self.whole_group()?.clone(), GroupNumber::Share)))
            }
            _ if word == NOTE => {
                self.refuse(&[Part::Subject, Part::Link])?;
                self.note("mean")
            }
            _ if is_flows => self.of_group(word),
            (None, Some(statistic)) => self.statistic(word, statistic),
            (None, None) => self.parameter(word),
        }
    }

    /// A metric of the summary; goodput and fairness also of a flow group.
    fn of_run(&self, word: &'static RunWord) -> Result<Found, Error> {
        self.refuse(if word.of_group { &[Part::Subject] } else { &[Part::Subject, Part::Group] })?;
        if word.key == "jain" && self.chosen.group.is_none() && !self.words.has_jain {
            return self
                .fail("needs one group of bulk flows, but there are none or several; name one, e.g. jain(flows.0)");
        }
        let metric = match &self.chosen.group {
            Some(_) => {
                let key = GroupNumber::Key(vec![word.key.into()], word.scale);
                Metric::Group(self.whole_group()?.clone(), key)
            }
            None => Metric::Run(word, self.chosen.link(self.words)),
        };
        Ok((word.unit, metric))
    }

    fn of_group(&self, word: &str) -> Result<Found, Error> {
        let found = OF_GROUP.iter().find(|(name, ..)| *name == word);
        let &(_, key, unit, scale) = found.expect("the caller has found the word");
        self.refuse(&[Part::Subject, Part::Link])?;
        let group = self.group()?;
        let mut path = vec![key.to_string()];
        if self.is_endpoint(group) && ["loss_rate", "delay_ms"].contains(&key) {
            path.splice(0..0, self.direction(group)?);
            path.extend((key == "delay_ms").then(|| "mean".to_string()));
        } else {
            self.whole_group()?;
        }
        Ok((unit, Metric::Group(group.clone(), GroupNumber::Key(path, scale))))
    }

    fn statistic(&self, word: &str, statistic: Statistic) -> Result<Found, Error> {
        match self.chosen.subject {
            None => {
                let examples = "p99(sojourn), min(goodput) or p95(completion, flows.0)";
                Err(self.words.error(format_args!("\"{}\" needs a metric; write e.g. {examples}", self.text)))
            }
            Some(Subject::Goodput) => {
                self.refuse(&[Part::Link])?;
                let group = self.chosen.group.as_ref().map(|_| self.whole_group()).transpose()?;
                Ok(("Mbit/s", Metric::Goodputs(group.cloned(), statistic)))
            }
            Some(Subject::Completion) => {
                let key = self.time_key("completion times", statistic)?;
                let path = vec!["completion_ms".into(), key.into()];
                Ok(("ms", Metric::Group(self.whole_group()?.clone(), GroupNumber::Key(path, 1.0))))
            }
            Some(Subject::Delay) => self.delay(statistic),
            Some(Subject::Note) => {
                self.refuse(&[Part::Link])?;
                match statistic {
                    Statistic::Min => self.note("min"),
                    Statistic::Max => self.note("max"),
                    Statistic::Mean => self.note("mean"),
                    Statistic::Quantile(_) => self.fail(format_args!("notes support only min, mean, max, not {word}")),
                }
            }
            Some(Subject::Sojourn) => {
                self.refuse(&[Part::Group])?;
                if statistic == Statistic::Min {
                    return self.fail("the minimum sojourn time is that of an empty queue; write e.g. p10(sojourn)");
                }
                Ok(("ms", Metric::Sojourn(self.chosen.link(self.words), statistic)))
            }
        }
    }

    /// Delay of an endpoint's datagrams; of other datagrams the mean only.
    fn delay(&self, statistic: Statistic) -> Result<Found, Error> {
        self.refuse(&[Part::Link])?;
        let group = self.group()?;
        let path = if self.is_endpoint(group) {
            let mut path = self.direction(group)?;
            path.extend(["delay_ms".into(), self.time_key("delays", statistic)?.into()]);
            path
        } else if statistic == Statistic::Mean {
            self.whole_group()?;
            vec!["delay_ms".into()]
        } else {
            return self.fail(format_args!("only endpoints have quantiles of delays; write delay({})", group.text));
        };
        Ok(("ms", Metric::Group(group.clone(), GroupNumber::Key(path, 1.0))))
    }

    fn time_key(&self, times: &str, statistic: Statistic) -> Result<&'static str, Error> {
        let known: Vec<&str> = TIMES.iter().map(|(key, _)| *key).collect();
        statistic.key().map_or_else(|| self.fail(format_args!("{times} support only {}", known.join(", "))), Ok)
    }

    /// A number of a note that an endpoint has taken: `call.source.cwnd`.
    fn note(&self, key: &str) -> Result<Found, Error> {
        let group = self.group()?;
        match group.path.as_slice() {
            [end, _, ..] if self.is_endpoint(group) && ENDS.contains(&end.as_str()) => {
                let path = ["endpoint", "notes", &group.path.join("."), key].map(String::from).to_vec();
                Ok(("", Metric::Group(group.clone(), GroupNumber::Key(path, 1.0))))
            }
            _ => self.fail("names no note of an endpoint; write e.g. note(call.source.cwnd)"),
        }
    }

    fn parameter(&self, name: &str) -> Result<Found, Error> {
        self.refuse(&[Part::Subject, Part::Group])?;
        let (manager, link) = (self.chosen.manager(), self.chosen.link(self.words));
        let parameters = self.words.parameters(manager, link);
        let spelling = self.words.managers.get(manager).map_or("", |manager| &manager.spelling);
        let Some(value) = parameters.get(name) else {
            let about = format!("\"{}\": neither a metric nor a parameter of {spelling}", self.text);
            return Err(self.words.unknown(&about, name, &self.words.words()));
        };
        let Some((_, base)) = super::quantity::of_value(value) else {
            let shown = value.as_str().map_or_else(|| value.to_string(), String::from);
            return self.fail(format_args!("{name} of {spelling} is not a number: {shown}"));
        };
        Ok((base.unit().0, Metric::Parameter(link, name.into())))
    }

    fn is_endpoint(&self, group: &GroupRef) -> bool {
        self.words.is_endpoint(group)
    }

    fn group(&self) -> Result<&GroupRef, Error> {
        self.chosen.group.as_ref().ok_or_else(|| {
            self.words.error(format_args!("\"{}\" needs a flow group; name one, e.g. flows.0", self.text))
        })
    }

    /// The group itself, without a part.
    fn whole_group(&self) -> Result<&GroupRef, Error> {
        let group = self.group()?;
        if group.path.is_empty() {
            return Ok(group);
        }
        let whole = format!("{}.{}", group.text, group.path.join("."));
        self.fail(format_args!("{whole} has no effect there; write {}", group.text))
    }

    /// Path in an endpoint's summary of the direction that a sentence names: by its sending end, by default the source,
    /// and by a tag.
    fn direction(&self, group: &GroupRef) -> Result<Vec<String>, Error> {
        let (end, tags) = match group.path.split_first() {
            Some((first, rest)) if ENDS.contains(&first.as_str()) => (first.as_str(), rest),
            _ => ("source", group.path.as_slice()),
        };
        let path = ["endpoint", end].map(String::from).to_vec();
        match tags {
            [] => Ok(path),
            [tag] => {
                let known = self.words.tags(group);
                if !known.is_empty() && !known.contains(tag) {
                    let ends = ENDS.map(String::from);
                    let known: Vec<String> = known.into_iter().chain(ends).collect();
                    return Err(self.words.unknown(&format!("\"{}\": tag", self.text), tag, &known));
                }
                Ok(path.into_iter().chain(["tags".into(), tag.clone()]).collect())
            }
            _ => self.fail(format_args!("write {0}, {0}.rtp or {0}.sink.rtp, with a tag of yours", group.text)),
        }
    }

    /// Refuses selected properties that have no effect.
    fn refuse(&self, parts: &[Part]) -> Result<(), Error> {
        let name = |part: &Part| match part {
            Part::Subject => {
                let subject = self.chosen.subject?;
                SUBJECTS.iter().find(|(_, one)| *one == subject).map(|(name, _)| (*name).to_string())
            }
            Part::Group => self.chosen.group.as_ref().map(|group| group.text.clone()),
            Part::Link => self.chosen.link.as_ref().map(|(_, name)| name.clone()),
        };
        match parts.iter().find_map(name) {
            Some(wrong) => self.fail(format_args!("{wrong} has no effect there; leave it out")),
            None => Ok(()),
        }
    }

    fn fail<T>(&self, text: impl std::fmt::Display) -> Result<T, Error> {
        Err(self.words.error(format_args!("\"{}\": {text}", self.text)))
    }
}

/// Ends of an endpoint group.
const ENDS: [&str; 2] = ["source", "sink"];

/// A property that arguments select.
enum Part {
    Subject,
    Group,
    Link,
}
