//! Evidence for sentences: the scenario of a run, its summary, and the histogram of its sojourn times.

use super::quantity;
use super::words::{RunWord, Statistic};
use crate::document_paths::paths_of_document;
use crate::scenario::{AqmSpec, Paths, Scenario, UnreadTables};
use crate::simulation::Output;
use crate::table::{Column, Table};
use serde_json::{Map, Value};
use sojourn_aqm::registry::REGISTERED;

/// A run as sentences see it, of any engine: as JSON, so that records of earlier runs serve as well.
///
/// A number that a run lacks is NaN.
#[derive(Clone, Debug)]
pub struct Evidence {
    scenario: Value,
    summary: Value,
    histogram: Vec<SojournBin>,
    parameters: Map<String, Value>,
}

/// A bin of a histogram of sojourn times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SojournBin {
    /// Number of the queue.
    pub link: u16,
    /// Lower bound in nanoseconds.
    pub lower_ns: u64,
    /// Upper bound in nanoseconds, excluded.
    pub upper_ns: u64,
    /// Number of packets.
    pub count: u64,
}

impl Evidence {
    /// From a canonical scenario, the summary of its run, and the bins of its table `sojourn_histogram` in their order.
    pub fn new(scenario: Value, summary: Value, histogram: Vec<SojournBin>) -> Self {
        Self { scenario, summary, histogram, parameters: Map::new() }
    }

    /// From a simulated run.
    pub fn of(scenario: &Scenario, output: &Output) -> Self {
        let summary = serde_json::to_value(&output.summary).unwrap_or_default();
        let table = output.tables.iter().find(|table| table.name == "sojourn_histogram");
        let histogram = table.map(SojournBin::of).unwrap_or_default();
        Self::new(document(scenario), summary, histogram).with_parameters(parameters_of(scenario))
    }

    /// With parameters of queue managers by path (`link.aqm.target`), which take precedence over the scenario's; for
    /// managers that are not registered.
    pub fn with_parameters(self, parameters: Map<String, Value>) -> Self {
        Self { parameters, ..self }
    }

    /// A metric of a run or of a link by its number; NaN if the run has none.
    pub(super) fn of_run(&self, word: &RunWord, link: usize) -> f64 {
        let found = if word.of_link {
            self.link(link).map_or(&Value::Null, |summary| &summary[word.key])
        } else if is_shell(&self.scenario) && word.key == "goodput_bps" {
            let own = &self.summary["emulation"]["links"][SHELL_LINKS[link % 2]][word.key];
            // Earlier results have it for the first direction only.
            if own.is_null() && link == 0 { &self.summary[word.key] } else { own }
        } else {
            &self.summary[word.key]
        };
        found.as_f64().map_or(f64::NAN, |value| value * word.scale)
    }

    /// A number in a group's summary, by path.
    pub(super) fn of_group(&self, group: usize, path: &[&str]) -> f64 {
        number(path.iter().fold(&self.summary["groups"][group], |value, key| &value[*key]))
    }

    /// Goodputs in Mbit/s of the long-lived forward flows, all or those of a group.
    pub(super) fn goodputs(&self, group: Option<usize>) -> Vec<f64> {
        let flows = self.summary["flows"].as_array().map_or(&[][..], Vec::as_slice);
        let chosen = flows.iter().filter(|flow| flow["direction"] == "forward");
        let chosen = chosen.filter(|flow| group.is_none_or(|group| flow["group"] == group));
        chosen.map(|flow| number(&flow["goodput_bps"]) * 1e-6).collect()
    }

    /// Goodput of a group in per cent of that of all groups with its direction.
    pub(super) fn share(&self, group: usize) -> f64 {
        let groups = self.summary["groups"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(own) = groups.get(group) else { return f64::NAN };
        let alike = groups.iter().filter(|one| one["direction"] == own["direction"]);
        let all: f64 = alike.map(|one| number(&one["goodput_bps"])).sum();
        if all > 0.0 { 100.0 * number(&own["goodput_bps"]) / all } else { f64::NAN }
    }

    /// A statistic of the sojourn times at a link in ms.
    pub(super) fn sojourn(&self, link: usize, statistic: Statistic) -> f64 {
        let Statistic::Quantile(percent) = statistic else {
            let key = statistic.key().unwrap_or("min");
            return self.link(link).map_or(f64::NAN, |summary| number(&summary["sojourn_ms"][key]));
        };
        let queues = self.queues(link);
        let several = queues.len() > 1;
        let own = |bin: &&SojournBin| queues.contains(&usize::from(bin.link));
        let mut bins: Vec<_> = self.histogram.iter().filter(own).collect();
        if several {
            bins.sort_by_key(|bin| bin.lower_ns);
        }
        let total: u64 = bins.iter().map(|bin| bin.count).sum();
        let rank = percent / 100.0 * total as f64;
        let mut seen = 0;
        let reached = bins.into_iter().find(|bin| {
            seen += bin.count;
            total > 0 && seen as f64 >= rank
        });
        reached.map_or(f64::NAN, |bin| (bin.lower_ns as f64 * MS + bin.upper_ns as f64 * MS) / 2.0)
    }

    /// A parameter of the queue manager of a link, in the unit of sentences.
    pub(super) fn parameter(&self, link: usize, name: &str) -> f64 {
        let Some(path) = aqm_path(&self.scenario, link) else { return f64::NAN };
        if let Some(own) = self.parameters.get(&format!("{path}.{name}")) {
            return in_sentence(own);
        }
        at(&self.scenario, &path).map_or(f64::NAN, |table| parameters(table).get(name).map_or(f64::NAN, in_sentence))
    }

    /// A key of the scenario, in the unit of sentences.
    pub(super) fn key(&self, path: &str) -> f64 {
        key_of(&self.scenario, path).map_or(f64::NAN, |(value, base)| value * base.unit().1)
    }

    /// Number of a group, by its name if it was named so; a simpler scenario has fewer groups.
    pub(super) fn group(&self, number: usize, name: Option<&str>) -> usize {
        name.and_then(|name| group_named(&self.scenario, name)).unwrap_or(number)
    }

    /// Summary of a link by its number.
    fn link(&self, link: usize) -> Option<&Value> {
        let direction = ["forward", "reverse"][link % 2];
        match link / 2 {
            0 => self.summary["links"].get(direction),
            hop => self.summary["hops"].get(hop - 1)?.get(direction),
        }
    }

    /// Numbers of the queues of a link: several if these are the stations of a wireless LAN.
    fn queues(&self, link: usize) -> std::ops::Range<usize> {
        let stations = |hop: usize| {
            let owner = if hop == 0 { Some(&self.summary) } else { self.summary["hops"].get(hop - 1) };
            owner.and_then(|owner| owner["wlan"]["stations"].as_array()).map_or(1, Vec::len)
        };
        let first: usize = (0..link / 2).map(|hop| 1 + stations(hop)).sum();
        if link % 2 == 0 { first..first + 1 } else { first + 1..first + 1 + stations(link / 2) }
    }
}

impl SojournBin {
    /// The bins in a table `sojourn_histogram`.
    fn of(table: &Table) -> Vec<Self> {
        let column = |name: &str| table.columns.iter().find(|(own, _)| own == name).map(|(_, column)| column);
        let (Some(Column::U16(link)), Some(Column::U64(lower)), Some(Column::U64(upper)), Some(Column::U64(count))) =
            (column("link"), column("lower_ns"), column("upper_ns"), column("count"))
        else {
            return Vec::new();
        };
        let rows = link.iter().zip(lower).zip(upper.iter().zip(count));
        rows.map(|((&link, &lower_ns), (&upper_ns, &count))| Self { link, lower_ns, upper_ns, count }).collect()
    }
}

/// Milliseconds per nanosecond. A product with it, not a quotient, so that quantiles equal those of frames to the bit.
const MS: f64 = 1.0 / 1e6;

/// Directions of a shell's link: inbound, outbound.
pub(super) const SHELL_LINKS: [&str; 2] = ["down", "up"];

/// Canonical form of a scenario.
pub(super) fn document(scenario: &Scenario) -> Value {
    serde_json::from_str(&scenario.canonical()).expect("a canonical scenario is JSON")
}

/// Every parameter of every queue manager of a scenario by path.
pub(super) fn parameters_of(scenario: &Scenario) -> Map<String, Value> {
    let document = document(scenario);
    let specs = scenario.hops().flat_map(|(_, link, reverse)| [&link.aqm, &reverse.aqm]);
    let paths = specs.enumerate().filter_map(|(link, spec)| Some((aqm_path(&document, link)?, spec.parameters())));
    paths.flat_map(|(path, own)| own.into_iter().map(move |(name, value)| (format!("{path}.{name}"), value))).collect()
}

/// Every parameter of the queue manager in a table of a canonical scenario; none if it is not registered.
pub(super) fn parameters(table: &Value) -> Map<String, Value> {
    AqmSpec::read_with(table, &UnreadTables(REGISTERED)).map(|spec| spec.parameters()).unwrap_or_default()
}

/// Whether a canonical scenario is that of a shell, whose programs make the traffic.
pub(super) fn is_shell(scenario: &Value) -> bool {
    scenario["flows"].as_array().is_none_or(Vec::is_empty)
}

/// Names of the links by number: both directions of each bottleneck.
pub(super) fn link_names(scenario: &Value) -> Vec<String> {
    if is_shell(scenario) {
        return SHELL_LINKS.map(String::from).to_vec();
    }
    let first = if is_graph(scenario) { Vec::new() } else { vec!["forward".to_string(), "reverse".to_string()] };
    let others = scenario["links"].as_array().map_or(&[][..], Vec::as_slice);
    let others = others.iter().filter_map(|hop| hop["name"].as_str());
    first.into_iter().chain(others.flat_map(|name| [name.to_string(), format!("{name} reverse")])).collect()
}

/// Path of the queue manager of a link.
pub(super) fn aqm_path(scenario: &Value, link: usize) -> Option<String> {
    let (hop, reverse) = (link / 2, link % 2 == 1);
    let hop = match hop.checked_sub(usize::from(!is_graph(scenario))) {
        None => return Some(if reverse { "reverse.aqm" } else { "link.aqm" }.into()),
        Some(hop) => hop,
    };
    scenario["links"].get(hop)?;
    Some(format!("links.{hop}.{}aqm", if reverse { "reverse." } else { "" }))
}

/// Number of the group with a name.
pub(super) fn group_named(scenario: &Value, name: &str) -> Option<usize> {
    scenario["flows"].as_array()?.iter().position(|flow| flow["name"] == name)
}

/// Value at a dotted path.
pub(super) fn at<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(document, |value, step| match value {
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })
}

/// Number and base unit of a key of a canonical scenario; of `flows.0.rtt` the round-trip time of propagation.
pub(super) fn key_of(scenario: &Value, path: &str) -> Option<(f64, quantity::Base)> {
    let group = path.strip_prefix("flows.").and_then(|rest| rest.strip_suffix(".rtt")).and_then(|n| n.parse().ok());
    if let Some(seconds) = group.and_then(|group| base_rtt(scenario, group)) {
        return Some((seconds, quantity::Base::Seconds));
    }
    quantity::of_value(at(scenario, path)?)
}

/// Round-trip time of propagation of a group in seconds, with the first value of a changing delay.
fn base_rtt(scenario: &Value, group: usize) -> Option<f64> {
    let paths = paths_of_document(scenario).ok()?;
    let Paths { data, acks } = paths.get(group)?;
    let link = |&number: &u16| {
        let path = aqm_path(scenario, usize::from(number))?;
        quantity::seconds(&at(scenario, path.strip_suffix(".aqm")?)?["delay"])
    };
    let delays: f64 = data.iter().chain(acks.iter()).filter_map(link).sum();
    Some(2.0 * quantity::seconds(&scenario["flows"][group]["access_delay"])? + delays)
}

fn is_graph(scenario: &Value) -> bool {
    scenario.get("nodes").is_some()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A canonical value in the unit of sentences; NaN if it is no number.
fn in_sentence(value: &Value) -> f64 {
    quantity::of_value(value).map_or(f64::NAN, |(value, base)| value * base.unit().1)
}
