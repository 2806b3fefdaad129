//! Vocabulary of sentences: queue managers, links, flow groups, parameters and keys of scenarios.

use super::error::Error;
use super::evidence::{aqm_path, at, document, group_named, is_shell, key_of, link_names, parameters, parameters_of};
use super::quantity;
use super::words::{NOTE, OF_GROUP, OF_RUN, SHARE, SUBJECTS, Subject};
use crate::scenario::{Direction, LinkSpec, Scenario};
use serde_json::{Map, Value, json};

/// Names that a sentence may use.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Place that errors name: `--where`, `--expect`.
    pub(super) place: String,
    pub(super) managers: Vec<Manager>,
    /// Further canonical scenarios: a key need not be in every one.
    pub(super) points: Vec<Value>,
    /// Whether Jain's index of a whole run has a value in some scenario.
    pub(super) has_jain: bool,
    /// Number of the link that words without one are about.
    pub(super) link: usize,
}

/// A queue manager that a sentence may name: by its letter, A for the first one, or by its spelling.
#[derive(Clone, Debug)]
pub struct Manager {
    /// Spelling.
    pub spelling: String,
    /// A canonical scenario with it.
    pub scenario: Value,
    /// Parameters by path (`link.aqm.target`) of queue managers that are not registered.
    pub parameters: Map<String, Value>,
}

impl Vocabulary {
    /// With these queue managers. Without `has_jain` Jain's index needs a group: no scenario has one group of bulk flows.
    pub fn new(place: &str, managers: Vec<Manager>, has_jain: bool) -> Self {
        Self { place: place.into(), managers, points: Vec::new(), has_jain, link: 0 }
    }

    /// The queue managers of some scenarios.
    pub fn of(place: &str, scenarios: &[&Scenario]) -> Self {
        let has_jain = scenarios.iter().any(|scenario| {
            let forward = scenario.flows.iter().filter(|flow| flow.direction == Direction::Forward);
            forward.filter(|flow| flow.is_bulk(scenario.duration)).count() == 1
        });
        Self::new(place, scenarios.iter().map(|scenario| Manager::of(scenario)).collect(), has_jain)
    }

    /// With further canonical scenarios, which may have more keys.
    pub fn with_points(self, points: Vec<Value>) -> Self {
        Self { points, ..self }
    }

    /// With another link for words without one; the first if none has the name.
    pub fn with_link(self, name: &str) -> Self {
        let link = link_names(self.first()).iter().position(|link| link == name).unwrap_or(0);
        Self { link, ..self }
    }

    /// An error at this place.
    pub(super) fn error(&self, text: impl std::fmt::Display) -> Error {
        Error::new(format!("{}: {text}", self.place))
    }

    pub(super) fn unknown(&self, about: &str, word: &str, known: &[String]) -> Error {
        Error::unknown(&format!("{}: {about}", self.place), word, known)
    }

    /// The scenario that names links and groups.
    pub(super) fn first(&self) -> &Value {
        self.managers.first().map_or(&Value::Null, |manager| &manager.scenario)
    }

    /// Unit of a key, from the first scenario that has it.
    pub(super) fn unit_of_key(&self, path: &str) -> Result<&'static str, Error> {
        let all = self.managers.iter().map(|manager| &manager.scenario).chain(&self.points);
        let found = all.into_iter().find_map(|scenario| key_of(scenario, path));
        found.map(|(_, base)| base.unit().0).ok_or_else(|| {
            let example = "name one of the scenario, e.g. flows.0.count";
            self.error(format_args!("\"{path}\" is not a numeric key; {example}"))
        })
    }

    /// Properties selected by the arguments `words` of the call `text`.
    pub(super) fn chosen(&self, text: &str, words: &[String]) -> Result<Chosen, Error> {
        let mut chosen = Chosen::default();
        for word in words {
            let is_second = match self.argument(text, word)? {
                Argument::Subject(subject) => chosen.subject.replace(subject).is_some(),
                Argument::Group(group) => chosen.group.replace(group).is_some(),
                Argument::Manager(manager) => chosen.manager.replace(manager).is_some(),
                Argument::Link(link) => chosen.link.replace((link, word.clone())).is_some(),
            };
            if is_second {
                return Err(self.error(format_args!("\"{text}\" names two of the same kind; leave one out")));
            }
        }
        Ok(chosen)
    }

    fn argument(&self, text: &str, word: &str) -> Result<Argument, Error> {
        if let Some(&(_, subject)) = SUBJECTS.iter().find(|(name, _)| *name == word) {
            return Ok(Argument::Subject(subject));
        }
        if let Some(group) = self.group_by_number(text, word)? {
            return Ok(Argument::Group(group));
        }
        let letters: Vec<String> = (0..self.managers.len()).map(letter).collect();
        let spellings: Vec<String> = self.managers.iter().map(|manager| manager.spelling.clone()).collect();
        for names in [&letters, &spellings] {
            if let Some(manager) = names.iter().position(|name| name == word) {
                return Ok(Argument::Manager(manager));
            }
        }
        let links = link_names(self.first());
        if let Some(link) = links.iter().position(|name| name == word) {
            return Ok(Argument::Link(link));
        }
        if let Some(group) = self.group_by_name(word) {
            return Ok(Argument::Group(group));
        }
        let subjects = SUBJECTS.iter().filter(|(_, subject)| !is_shell(self.first()) || *subject == Subject::Sojourn);
        let subjects = subjects.map(|(name, _)| (*name).to_string());
        let groups = self.group_names();
        let known: Vec<String> =
            letters.into_iter().chain(spellings).chain(subjects).chain(links).chain(groups).collect();
        Err(self.unknown(&format!("\"{text}\""), word, &known))
    }

    /// The group in `flows.1` or `flows.1.sink.rtp`; `None` for other words.
    fn group_by_number(&self, text: &str, word: &str) -> Result<Option<GroupRef>, Error> {
        let Some((digits, rest)) = word.strip_prefix("flows.").map(|rest| rest.split_once('.').unwrap_or((rest, "")))
        else {
            return Ok(None);
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(None);
        }
        let count = self.first()["flows"].as_array().map_or(0, Vec::len);
        let number = digits.parse().ok().filter(|&number: &usize| number < count);
        let Some(number) = number else {
            let remedy = if count == 0 { "a shell has no flow groups" } else { "number the groups from 0" };
            return Err(self.error(format_args!("\"{text}\": no flows.{digits}; {remedy}")));
        };
        Ok(Some(GroupRef { number, name: None, text: format!("flows.{digits}"), path: steps(rest) }))
    }

    /// The group in `call` or `call.sink.rtp`.
    fn group_by_name(&self, word: &str) -> Option<GroupRef> {
        let (name, rest) = word.split_once('.').unwrap_or((word, ""));
        let number = group_named(self.first(), name)?;
        Some(GroupRef { number, name: Some(name.into()), text: name.into(), path: steps(rest) })
    }

    fn group_names(&self) -> Vec<String> {
        let flows = self.first()["flows"].as_array().map_or(&[][..], Vec::as_slice);
        flows.iter().filter_map(|flow| flow["name"].as_str().map(String::from)).collect()
    }

    /// Kind of a group's traffic.
    pub(super) fn is_endpoint(&self, group: &GroupRef) -> bool {
        self.first()["flows"][group.number]["kind"] == "endpoint"
    }

    /// Tags of an endpoint's datagrams.
    pub(super) fn tags(&self, group: &GroupRef) -> Vec<String> {
        let tags = self.first()["flows"][group.number]["tags"].as_array().map_or(&[][..], Vec::as_slice);
        tags.iter().filter_map(|tag| tag.as_str().map(String::from)).collect()
    }

    /// Parameters of the queue manager of a link.
    pub(super) fn parameters(&self, manager: usize, link: usize) -> Map<String, Value> {
        let manager = &self.managers[manager];
        let Some(path) = aqm_path(&manager.scenario, link) else { return Map::new() };
        let prefix = format!("{path}.");
        let own = manager.parameters.iter();
        let own = own.filter_map(|(path, value)| Some((path.strip_prefix(&prefix)?.to_string(), value.clone())));
        let own: Map<String, Value> = own.collect();
        if own.is_empty() { at(&manager.scenario, &path).map(parameters).unwrap_or_default() } else { own }
    }

    /// Words that need no arguments, or need some, for suggestions.
    pub(super) fn words(&self) -> Vec<String> {
        let shell = is_shell(self.first());
        let of_run = OF_RUN.iter().filter(|word| !shell || word.of_shell).map(|word| word.word);
        let of_group = OF_GROUP.iter().map(|(word, ..)| *word).chain([SHARE, NOTE]).filter(|_| !shell);
        let statistics = ["min", "mean", "max", "peak", "p99"];
        let words = of_run.chain(of_group).chain(statistics).map(String::from);
        let parameters = (0..self.managers.len()).flat_map(|manager| {
            let links = if shell { 0..2 } else { 0..1 };
            links.flat_map(move |link| self.parameters(manager, link).into_iter().map(|(name, _)| name))
        });
        words.chain(parameters).collect()
    }
}

impl Manager {
    /// The queue manager of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let spelling = scenario.link.aqm.text.clone();
        Self { spelling, scenario: document(scenario), parameters: parameters_of(scenario) }
    }

    /// The queue managers of a shell's link, whose traffic its programs make: inbound and outbound direction.
    pub fn of_shell(down: &LinkSpec, up: &LinkSpec) -> Self {
        let directions = [("link", down), ("reverse", up)];
        let parameters = directions.into_iter().flat_map(|(place, link)| {
            let own = link.aqm.parameters().into_iter();
            own.map(move |(name, value)| (format!("{place}.aqm.{name}"), value))
        });
        let parameters = parameters.collect();
        let scenario = json!({ "link": down.canonical(), "reverse": up.canonical(), "flows": [] });
        Self { spelling: down.aqm.text.clone(), scenario, parameters }
    }
}

/// Letter of a queue manager: A, B, ….
fn letter(place: usize) -> String {
    char::from_u32('A' as u32 + place as u32).map(String::from).unwrap_or_default()
}

fn steps(path: &str) -> Vec<String> {
    path.split('.').filter(|step| !step.is_empty()).map(String::from).collect()
}

enum Argument {
    Subject(Subject),
    Group(GroupRef),
    Manager(usize),
    Link(usize),
}

/// Properties selected by the arguments in brackets.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    pub manager: Option<usize>,
    /// Number and name.
    pub link: Option<(usize, String)>,
    pub group: Option<GroupRef>,
    pub subject: Option<Subject>,
}

/// A flow group that a sentence names.
#[derive(Clone, Debug)]
pub(super) struct GroupRef {
    pub number: usize,
    /// Its name, if the sentence uses it.
    pub name: Option<String>,
    /// As the sentence names it.
    pub text: String,
    /// Words after the group: an end, a tag, a note.
    pub path: Vec<String>,
}

impl Chosen {
    pub fn manager(&self) -> usize {
        self.manager.unwrap_or(0)
    }

    pub fn link(&self, words: &Vocabulary) -> usize {
        self.link.as_ref().map_or(words.link, |&(link, _)| link)
    }
}

/// Unit and number of a quantity.
pub(super) fn quantity_of(words: &Vocabulary, number: &str, unit: &'static str) -> Result<(&'static str, f64), Error> {
    quantity::written(number, unit).map_err(|text| words.error(text))
}
