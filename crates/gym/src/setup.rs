//! Observation, action and step of an environment, and the scenarios that it supports.

use crate::coupled;
use crate::reward::Reward;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::params::{Value, unknown};
use sojourn_aqm::policy::{ActionKind, Feature, ObservationSpec, Policy, SharedState};
use sojourn_aqm::registry::{Algorithm, AnyConfig, CustomAqm, CustomConfig, NamedConfig, QueueLayout};
use sojourn_aqm::{Aqm, Duration, Instant, SingleQueue};
use sojourn_sim::scenario::{Error, Probes, Scenario, Warmup};
use std::sync::Arc;
use thiserror::Error;

/// Settings common to all episodes.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Length of a step, from [`MIN_STEP`] to [`MAX_STEP`].
    pub step: Duration,
    /// Observation, and meaning of the action.
    pub spec: ObservationSpec,
    /// Reward function; `None` if rewards are computed outside.
    pub reward: Option<Reward>,
    /// AQM that runs during the scenario's warm-up; without one, the first step starts at time 0.
    pub start: Option<NamedConfig>,
    /// Whether `start` runs to the end, so that a conventional AQM can be scored like a policy.
    pub native: bool,
}

/// Minimum step.
pub const MIN_STEP: Duration = Duration::from_millis(1);
/// Maximum step.
pub const MAX_STEP: Duration = Duration::from_secs(1);

/// Errors of an environment's settings or scenario.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] Error),
    /// An AQM's configuration is invalid.
    #[error("{0}: {1}")]
    Aqm(&'static str, ConfigError),
    /// A setting is invalid, or the scenario does not fit: location and remedy.
    #[error("{0}: {1}")]
    Invalid(&'static str, String),
}

impl Setup {
    /// Parses settings as a user writes them. An empty `observe` selects the default, an empty `start` none. If `start`
    /// is `native`, its queue layout determines the action, and `action` is only checked.
    ///
    /// # Errors
    /// If a name is unknown, a number is out of range, or `start` does not fit the action.
    pub fn read(
        step: Duration,
        (action, observe, stack): (&str, &[String], usize),
        start: &str,
        native: bool,
    ) -> Result<Self, SetupError> {
        if step < MIN_STEP || step > MAX_STEP {
            return Err(invalid("step", format!("{step} is out of range; from {MIN_STEP} to {MAX_STEP}")));
        }
        let start = match start {
            "" => None,
            text => Some(NamedConfig::parse(text).map_err(|refusal| SetupError::Aqm("start", refusal))?),
        };
        let mut spec = read_spec(action, observe, stack)?;
        if let Some(named) = start.as_ref().filter(|_| native) {
            spec.action = if matches!(named.config, AnyConfig::DualPi2(_)) {
                ActionKind::Coupled
            } else {
                ActionKind::Probability
            };
        }
        match (&start, spec.action) {
            (Some(named), ActionKind::Coupled) if !matches!(named.config, AnyConfig::DualPi2(_)) => {
                return Err(invalid(
                    "start",
                    r#"does not have the two queues of the action "coupled"; write "dualpi2""#.into(),
                ));
            }
            (Some(named), law) if law != ActionKind::Coupled && named.config.manager().is_none() => {
                return Err(invalid("start", r#"does not manage a single queue; write e.g. "codel""#.into()));
            }
            _ => {}
        }
        Ok(Self { step, spec, reward: None, start, native })
    }

    /// Start of the first step: the end of the warm-up with a `start`, otherwise time 0.
    pub(crate) fn begin(&self, scenario: &Scenario) -> Result<Instant, SetupError> {
        match (&self.start, scenario.warmup) {
            (None, _) => Ok(Instant::ZERO),
            (Some(_), Warmup::Fixed(span)) => Ok(Instant::ZERO + span),
            (Some(_), Warmup::Auto) => Err(invalid(
                "warmup",
                r#"is known only after a run; write e.g. "2 s", or begin at 0 with start=None"#.into(),
            )),
        }
    }

    /// The scenario with an agent-controlled queue at its bottleneck, without probes.
    pub(crate) fn with_agent(&self, mut scenario: Scenario, state: &Arc<SharedState>) -> Result<Scenario, SetupError> {
        if scenario.wlan.is_some() {
            let text = "the bottleneck is a wireless LAN, which has a queue for each station; use a link";
            return Err(invalid("link", text.into()));
        }
        let until = self.begin(&scenario)?;
        let others = scenario.hops().flat_map(|(_, link, reverse)| link.configs().chain(reverse.configs())).skip(1);
        let code = |config: &&AnyConfig| matches!(config, AnyConfig::Custom(_) | AnyConfig::Foreign(_));
        if let Some(config) = others.flat_map(AnyConfig::each).find(code) {
            let text = format!("{} is not built in; all queues but the policy's must be", config.name());
            return Err(invalid("aqm", text));
        }
        let until = if self.native { Instant::NEVER } else { until };
        let state = Arc::clone(state);
        scenario.link.aqm.config = if self.spec.action == ActionKind::Coupled {
            AnyConfig::Foreign(coupled::agent_controlled(state, self.start.as_ref(), until))
        } else {
            let start = self.start.clone().map(|named| (named, until));
            AnyConfig::Custom(CustomAqm::new(
                &AGENT_CONTROLLED,
                Box::new(AgentQueue { state, law: self.spec.action, start }),
            ))
        };
        scenario.probes = Probes::default();
        Ok(scenario)
    }
}

/// Parses the observation and the action of a policy.
pub(crate) fn read_spec(action: &str, observe: &[String], stack: usize) -> Result<ObservationSpec, SetupError> {
    let laws = ActionKind::ALL.map(|(name, _)| name).join(", ");
    let law = match action {
        "weights" => Err("weights needs classes, and a policy's queues have none".to_string()),
        name => ActionKind::find(name).ok_or_else(|| format!("unknown action {name:?}")),
    };
    let law = law.map_err(|text| invalid("action", format!("{text}; expected one of {laws}")))?;
    let entries = read_entries(observe, stack, Feature::ALL, &Feature::DEFAULT)?;
    Ok(ObservationSpec { entries, stack, action: law })
}

/// Parses the entries of an observation from `all` (name, entry, description), and checks `stack`, the number of steps.
/// Without names the entries are `default`.
pub(crate) fn read_entries<E: Copy + PartialEq>(
    observe: &[String],
    stack: usize,
    all: &[(&'static str, E, &'static str)],
    default: &[E],
) -> Result<Vec<E>, SetupError> {
    let mut entries = Vec::new();
    for name in observe {
        let found = all.iter().find(|(known, ..)| known == name);
        let names = || all.iter().map(|&(name, ..)| name);
        let &(_, entry, _) = found.ok_or_else(|| invalid("observe", unknown("entry", name, names())))?;
        if entries.contains(&entry) {
            return Err(invalid("observe", format!("{name:?} is listed twice; leave one out")));
        }
        entries.push(entry);
    }
    if stack == 0 || stack > MAX_STACK {
        return Err(invalid("stack", format!("{stack} is out of range; from 1 to {MAX_STACK}")));
    }
    Ok(if entries.is_empty() { default.to_vec() } else { entries })
}

pub(crate) fn invalid(at: &'static str, text: String) -> SetupError {
    SetupError::Invalid(at, text)
}

/// Maximum number of steps in an observation.
const MAX_STACK: usize = 64;

/// The agent-controlled queue of an episode.
#[derive(Clone, Debug)]
struct AgentQueue {
    state: Arc<SharedState>,
    law: ActionKind,
    start: Option<(NamedConfig, Instant)>,
}

impl CustomConfig for AgentQueue {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }
    fn manager(&self) -> Box<dyn Aqm + Send> {
        let manager = |named: &NamedConfig| named.config.manager().expect("checked at set-up");
        let start = self.start.as_ref().map(|(named, until)| (manager(named), *until));
        Box::new(Policy::controlled(Arc::clone(&self.state), self.law, start))
    }
    fn clone_box(&self) -> Box<dyn CustomConfig> {
        Box::new(self.clone())
    }
}

static AGENT_CONTROLLED: Algorithm = Algorithm {
    name: "steered",
    summary: "Applies an agent's actions",
    source: "this crate",
    params: &[],
    profiles: &[("plain", "steered by an agent")],
    queues: QueueLayout::One,
    state_bytes: size_of::<Policy>(),
    queue_bytes: size_of::<SingleQueue<Policy, u32>>(),
    words: None,
    configure: &|algorithm, _, _, _| {
        let idle = AgentQueue { state: Arc::new(SharedState::new(false)), law: ActionKind::Probability, start: None };
        Ok(AnyConfig::Custom(CustomAqm::new(algorithm, Box::new(idle))))
    },
};
