//! Textual form of a queue discipline: name, profile, parameters, and a manager in brackets.

use crate::aqm::Aqm;
use crate::error::ConfigError;
use crate::fq::ManagerConfig;
use crate::limits::Limits;
use crate::param_list;
use crate::params::{Value, unknown};
use crate::parent::{ChildConfig, text};
use crate::qdisc::{Host, Qdisc};
use crate::queue_layout::QueueLayout;
use crate::registry::{Algorithm, AnyConfig, Catalogue, EXCLUDE_CE, REGISTERED};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A configuration and its profile.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedConfig {
    /// Name of the profile.
    pub profile: &'static str,
    /// The configuration.
    pub config: AnyConfig,
}

impl NamedConfig {
    /// Parses tc's form, `NAME[(AQM…)][@PROFILE] [PARAM VALUE]… [FLAG [on|off]]… [noFLAG]… [{ … }]`: `codel@act target
    /// 5ms ecn`, `fq(codel@act ecn) quantum 300B`, `tbf rate 10mbit burst 5kB { fq_codel }`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, REGISTERED)
    }

    /// [`NamedConfig::parse`] with the algorithms of `own` as well.
    pub fn parse_with(text: &str, own: &dyn Catalogue) -> Result<Self, ConfigError> {
        Self::parse_over(text, "", own)
    }

    /// [`NamedConfig::parse_with`] with `defaults` in the same syntax for parameters that `text` does not
    /// set.
    pub fn parse_over(text: &str, defaults: &str, own: &dyn Catalogue) -> Result<Self, ConfigError> {
        Self::parse_between(text, defaults, &[], own)
    }

    /// [`NamedConfig::parse_over`] with `overrides` replacing the parameters in `text`.
    fn parse_between(
        text: &str,
        defaults: &str,
        overrides: &[(String, String)],
        own: &dyn Catalogue,
    ) -> Result<Self, ConfigError> {
        text::check_depth(text)?;
        let (text, braces) = braces(text, own)?;
        let (name, words) = split_name(text)?;
        let (name, profile) = name.rsplit_once('@').filter(|(_, p)| !p.contains(')')).unwrap_or((name, ""));
        let algorithm = algorithm(name, own)?;
        let mut all = params(name, algorithm, defaults)?;
        for list in [params(name, algorithm, words)?, overrides.to_vec()] {
            all.retain(|(param, _)| list.iter().all(|(known, _)| known != param));
            all.extend(list);
        }
        Self::configure_with(&text::join(name, braces.map(String::from)), profile, &all, own)
    }

    /// The configuration of `profile` (empty: the plain one) of `name`, with `params` set by name. `name` may include a
    /// manager in brackets or children in braces.
    pub fn configure(name: &str, profile: &str, params: &[(String, String)]) -> Result<Self, ConfigError> {
        Self::configure_with(name, profile, params, REGISTERED)
    }

    /// [`NamedConfig::configure_with`] whose `params` may also belong to the manager in brackets, unless the discipline
    /// has a parameter of that name: `fq(codel)` has a `target`.
    pub fn configure_within(
        name: &str,
        profile: &str,
        params: &[(String, String)],
        own: &dyn Catalogue,
    ) -> Result<Self, ConfigError> {
        text::check_depth(name)?;
        let plain = braces(name, own)?.0;
        let Some(inside) = brackets(plain) else { return Self::configure_with(name, profile, params, own) };
        let outer = algorithm(name, own)?;
        let has = |algorithm: &Algorithm, name: &str| algorithm.params.iter().any(|param| param.name == name);
        let (head, _) = split_name(inside)?;
        let inner = algorithm(head.split('@').next().unwrap_or(head), own)?;
        let (mut around, mut within) = (Vec::new(), Vec::new());
        for (param, value) in params {
            let pair = (param.clone(), value.clone());
            match param.as_str() {
                EXCLUDE_CE => around.push(pair),
                name if has(outer, name) => around.push(pair),
                name if has(inner, name) => within.push(pair),
                name => {
                    let all = outer.params.iter().chain(inner.params).map(|param| param.name);
                    return Err(ConfigError::Unknown(unknown("parameter", name, all)));
                }
            }
        }
        let changed = Self::parse_between(inside, "", &within, own)?.spelling();
        Self::configure_with(&format!("{}({changed})", outer.name), profile, &around, own)
    }

    /// [`NamedConfig::configure`] with the algorithms of `own` as well. A catalogue is an argument, not a global table:
    /// a canonical scenario contains only parameters that differ from the algorithm's defaults, and those are covered
    /// by the hash of its source, so that a stored result can be named without loading code.
    pub fn configure_with(
        name: &str,
        profile: &str,
        params: &[(String, String)],
        own: &dyn Catalogue,
    ) -> Result<Self, ConfigError> {
        text::check_depth(name)?;
        let (name, braces) = braces(name, own)?;
        let algorithm = algorithm(name, own)?;
        let (common, params): (Vec<_>, Vec<_>) = params.iter().cloned().partition(|(name, _)| name == EXCLUDE_CE);
        let configured = algorithm.configure_with(profile, &params, own);
        let mut config = configured.map_err(|error| explain_unknown_param(error, algorithm, &params, braces, own))?;
        match &config {
            AnyConfig::Custom(own) => own.config.check()?,
            AnyConfig::Foreign(foreign) => foreign.check()?,
            _ => {}
        }
        if let Some(inner) = brackets(name) {
            let AnyConfig::Fq(flows) = config else {
                return Err(ConfigError::NoBrackets(algorithm.name));
            };
            config = AnyConfig::Fq(flows.with_aqm(Self::parse_with(inner, own)?.of_one_queue()?));
        }
        config = config.with_children(braces, own)?;
        if config.depth() > text::DEEPEST {
            return Err(ConfigError::TooDeep);
        }
        for (name, text) in common {
            if is_on(&text).ok_or(ConfigError::NotBool { name, text })? {
                config = config.excluding_ce()?;
            }
        }
        let mut profiles = algorithm.profiles.iter().map(|&(name, _)| name);
        let is_meant = |name: &&str| profile.is_empty() || name.eq_ignore_ascii_case(profile);
        let profile = profiles.find(is_meant).expect("it was configured");
        Ok(Self { profile, config })
    }

    /// Name in the registry, with its brackets or braces if any: `codel`, `fq(codel@act)`, `tbf { fq_codel }`.
    pub fn name(&self) -> String {
        match self.config.with_ce() {
            // `fq` without brackets is another discipline.
            AnyConfig::Fq(flows) => format!("{}({})", self.config.name(), flows.aqm().spelling()),
            config => text::join(config.name(), config.braces()),
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.config.algorithm()
    }

    /// Parameters that differ from the profile.
    pub fn changed(&self) -> Vec<(&'static str, Value)> {
        let algorithm = self.algorithm();
        let plain = algorithm.configure(self.profile, &[]).expect("a profile is a valid configuration");
        let pairs = algorithm.params.iter().filter_map(|p| Some((p.name, self.config.value(p.name)?)));
        let common = matches!(self.config, AnyConfig::ExcludingCe(_)).then_some((EXCLUDE_CE, Value::Flag(true)));
        pairs.filter(|&(name, value)| plain.value(name) != Some(value)).chain(common).collect()
    }

    /// The shortest text that [`NamedConfig::parse`] parses to this value.
    pub fn spelling(&self) -> String {
        let algorithm = self.algorithm();
        let braces = self.config.with_ce().braces();
        let mut text = if braces.is_some() { algorithm.name.to_string() } else { self.name() };
        if self.profile != algorithm.profiles[0].0 {
            text = format!("{text}@{}", self.profile);
        }
        for (name, value) in self.changed() {
            text += &match value {
                Value::Choice(words) if algorithm.is_foreign() => format!(" {words}"),
                value => param_list::spell_param(name, value),
            };
        }
        text::join(&text, braces)
    }
}

impl NamedConfig {
    /// Returns `self`, or an error if it cannot manage each queue of `fq`.
    fn of_one_queue(self) -> Result<Self, ConfigError> {
        if matches!(self.config, AnyConfig::ExcludingCe(_)) {
            return Err(ConfigError::ExcludeCeInBrackets);
        }
        if self.config.manager().is_some() {
            return Ok(self);
        }
        let does = match (&self.config, self.algorithm().queues) {
            (AnyConfig::Foreign(_), _) => "holds packets itself",
            (_, QueueLayout::Two) => "has two queues itself",
            (_, QueueLayout::Tree) => "holds other disciplines itself",
            _ => "queues flows itself",
        };
        Err(ConfigError::NotSingleQueue { name: self.config.name(), does })
    }
}

impl ManagerConfig for NamedConfig {
    fn plain() -> Self {
        Self::parse("droptail").expect("tail drop is registered")
    }
    fn manager(&self) -> Box<dyn Aqm + Send> {
        self.config.manager().expect("the brackets hold a single-queue manager")
    }
}

impl ChildConfig for NamedConfig {
    type Names<'a> = &'a dyn Catalogue;

    fn read(text: &str, names: &dyn Catalogue) -> Result<Self, ConfigError> {
        Self::parse_with(text, names)
    }
    fn spelling(&self) -> String {
        self.spelling()
    }
    fn algorithm_name(&self) -> &'static str {
        self.algorithm().name
    }
    fn queues(&self) -> QueueLayout {
        self.algorithm().queues
    }
    fn duplicates(&self) -> bool {
        self.config.effects().duplicates
    }
    fn build<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
        self.config.build(limits, host)
    }
}

/// Splits off the contents of the braces. A library's words are opaque, braces included, and an unknown name may be a
/// file name with braces in it.
fn braces<'a>(text: &'a str, own: &dyn Catalogue) -> Result<(&'a str, Option<&'a str>), ConfigError> {
    let head = text.trim().split(|c: char| c.is_whitespace() || "(@{".contains(c)).next().unwrap_or("");
    match Algorithm::find_with(head, own) {
        Ok(algorithm) if !algorithm.is_foreign() => text::split(text),
        _ => Ok((text, None)),
    }
}

/// Parses the parameters in `words`, the text after the name.
fn params(name: &str, algorithm: &Algorithm, words: &str) -> Result<Vec<(String, String)>, ConfigError> {
    if algorithm.is_foreign() {
        let has_words = !words.trim().is_empty();
        return Ok(has_words.then(|| (algorithm.params[0].name.to_string(), words.to_string())).into_iter().collect());
    }
    let syntax = param_list::Syntax { params: algorithm.params, common: &[EXCLUDE_CE], special: algorithm.words };
    param_list::parse(name, &syntax, words)
}

/// Looks up a name, which may include a manager in brackets; `fq` without brackets is Linux's pacing scheduler.
fn algorithm(name: &str, own: &dyn Catalogue) -> Result<&'static Algorithm, ConfigError> {
    if name.trim().eq_ignore_ascii_case("fq") {
        return Algorithm::find("sch_fq");
    }
    Algorithm::find_with(name.split('(').next().unwrap_or(name).trim(), own)
}

/// Text in the brackets of a name.
fn brackets(name: &str) -> Option<&str> {
    let (_, inner) = name.split_once('(')?;
    Some(inner.trim_end().strip_suffix(')').unwrap_or(inner))
}

/// Splits the name, with brackets and profile, from the words after it.
pub(crate) fn split_name(text: &str) -> Result<(&str, &str), ConfigError> {
    let text = text.trim();
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Err(ConfigError::UnmatchedBracket(text.into())),
            ')' => depth -= 1,
            c if c.is_whitespace() && depth == 0 && !text[i..].trim_start().starts_with('(') => {
                return Ok(text.split_at(i));
            }
            _ => {}
        }
    }
    match (text, depth) {
        ("", _) => Err(ConfigError::MissingName),
        (_, 0) => Ok((text, "")),
        _ => Err(ConfigError::UnclosedBracket(text.into())),
    }
}

fn is_on(text: &str) -> Option<bool> {
    let i = param_list::SWITCHES.iter().position(|&word| word == text)?;
    Some(i % 2 == 0)
}

/// Improves the error if the first unknown parameter belongs to a discipline in the braces.
fn explain_unknown_param(
    error: ConfigError,
    algorithm: &Algorithm,
    params: &[(String, String)],
    braces: Option<&str>,
    own: &dyn Catalogue,
) -> ConfigError {
    let has = |algorithm: &Algorithm, name: &str| algorithm.params.iter().any(|param| param.name == name);
    let unknown = params.iter().find(|(name, _)| !has(algorithm, name));
    let (Some((name, value)), ConfigError::Unknown(_)) = (unknown, &error) else { return error };
    let words = braces.unwrap_or("").split(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ';' | '@'));
    let owner = words.filter_map(|word| Algorithm::find_with(word, own).ok()).find(|child| has(child, name));
    let Some(child) = owner.map(|child| child.name) else { return error };
    let parent = algorithm.name;
    format!("{parent} has no parameter {name}; it belongs to {child} in the braces: {{ {child} {name} {value} }}")
        .into()
}
