//! What an agent sees and does, and the scenarios in which it can.

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

/// What is the same in every episode.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Length of a step; from [`MIN_STEP`] to [`MAX_STEP`].
    pub step: Duration,
    /// What is observed, and what an action means.
    pub spec: ObservationSpec,
    /// What a step is worth; nothing where somebody else judges.
    pub reward: Option<Reward>,
    /// The queue manager that rules until the scenario's warm-up is over; without one the first step begins at 0.
    pub start: Option<NamedConfig>,
    /// Whether that one rules to the end, so that its steps are judged as a policy's.
    pub native: bool,
}

/// The shortest step.
pub const MIN_STEP: Duration = Duration::from_millis(1);
/// The longest step.
pub const MAX_STEP: Duration = Duration::from_secs(1);

/// Why there is no environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The scenario itself.
    #[error(transparent)]
    Scenario(#[from] Error),
    /// A queue manager.
    #[error("{0}: {1}")]
    Aqm(&'static str, ConfigError),
    /// Something of the set-up, or what the scenario lacks: place and remedy.
    #[error("{0}: {1}")]
    Place(&'static str, String),
}

impl Setup {
    /// Reads names as a user writes them; an empty `observe` is the default, an empty `start` none. Where that is `native`,
    /// the action is one of its queues, whatever is said.
    pub fn read(
        step: Duration,
        (action, observe, stack): (&str, &[String], usize),
        start: &str,
        native: bool,
    ) -> Result<Self, SetupError> {
        if step < MIN_STEP || step > MAX_STEP {
            return Err(place("step", format!("{step} is out of range; from {MIN_STEP} to {MAX_STEP}")));
        }
        let start = match start {
            "" => None,
            text => Some(NamedConfig::parse(text).map_err(|refusal| SetupError::Aqm("start", refusal))?),
        };
        let mut sight = read_sight(action, observe, stack)?;
        if let Some(named) = start.as_ref().filter(|_| native) {
            sight.law = if matches!(named.config, AnyConfig::DualPi2(_)) {
                ActionKind::Coupled
            } else {
                ActionKind::Probability
            };
        }
        match (&start, sight.law) {
            (Some(named), ActionKind::Coupled) if !matches!(named.config, AnyConfig::DualPi2(_)) => {
                return Err(place(
                    "start",
                    r#"does not have the two queues of the action "coupled"; write "dualpi2""#.into(),
                ));
            }
            (Some(named), law) if law != ActionKind::Coupled && named.config.manager().is_none() => {
                return Err(place("start", r#"does not manage a single queue; write e.g. "codel""#.into()));
            }
            _ => {}
        }
        Ok(Self { step, spec: sight, reward: None, start, native })
    }

    /// When the first step begins: after the warm-up, or at once.
    pub(crate) fn begin(&self, scenario: &Scenario) -> Result<Instant, SetupError> {
        match (&self.start, scenario.warmup) {
            (None, _) => Ok(Instant::ZERO),
            (Some(_), Warmup::Fixed(span)) => Ok(Instant::ZERO + span),
            (Some(_), Warmup::Auto) => Err(place(
                "warmup",
                r#"is known only after a run; write e.g. "2 s", or begin at 0 with start=None"#.into(),
            )),
        }
    }

    /// The scenario with a queue under a policy at its bottleneck, and without probes.
    pub(crate) fn with_agent(&self, mut scenario: Scenario, board: &Arc<SharedState>) -> Result<Scenario, SetupError> {
        if scenario.wlan.is_some() {
            let text = "the bottleneck is a wireless LAN, which has a queue for each station; use a link";
            return Err(place("link", text.into()));
        }
        let until = self.begin(&scenario)?;
        let others = scenario.hops().flat_map(|(_, link, reverse)| link.configs().chain(reverse.configs())).skip(1);
        let code = |config: &&AnyConfig| matches!(config, AnyConfig::Custom(_) | AnyConfig::Foreign(_));
        if let Some(config) = others.flat_map(AnyConfig::each).find(code) {
            let text = format!("{} is not built in; all queues but the policy's must be", config.name());
            return Err(place("aqm", text));
        }
        let until = if self.native { Instant::NEVER } else { until };
        let board = Arc::clone(board);
        scenario.link.aqm.config = if self.spec.law == ActionKind::Coupled {
            AnyConfig::Foreign(coupled::agent_controlled(board, self.start.as_ref(), until))
        } else {
            let start = self.start.clone().map(|named| (named, until));
            AnyConfig::Custom(CustomAqm::new(
                &STEERED,
                Box::new(AgentQueue { state: board, law: self.spec.law, start }),
            ))
        };
        scenario.probes = Probes::default();
        Ok(scenario)
    }
}

/// Reads what a policy sees and does.
pub(crate) fn read_sight(action: &str, observe: &[String], stack: usize) -> Result<ObservationSpec, SetupError> {
    let laws = ActionKind::ALL.map(|(name, _)| name).join(", ");
    let law = match action {
        "weights" => Err("weights needs classes, and a policy's queues have none".to_string()),
        name => ActionKind::find(name).ok_or_else(|| format!("unknown action {name:?}")),
    };
    let law = law.map_err(|text| place("action", format!("{text}; expected one of {laws}")))?;
    let entries = read_entries(observe, stack, Feature::ALL, &Feature::DEFAULT)?;
    Ok(ObservationSpec { entries, stack, law })
}

/// Reads the entries of an observation, of `all` with names and meanings, and checks of how many steps they are; without
/// names they are the `default` ones.
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
        let &(_, entry, _) = found.ok_or_else(|| place("observe", unknown("entry", name, names())))?;
        if entries.contains(&entry) {
            return Err(place("observe", format!("{name:?} is listed twice; leave one out")));
        }
        entries.push(entry);
    }
    if stack == 0 || stack > MAX_STACK {
        return Err(place("stack", format!("{stack} is out of range; from 1 to {MAX_STACK}")));
    }
    Ok(if entries.is_empty() { default.to_vec() } else { entries })
}

pub(crate) fn place(at: &'static str, text: String) -> SetupError {
    SetupError::Place(at, text)
}

/// Most steps of an observation.
const MAX_STACK: usize = 64;

/// A queue of an episode.
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

static STEERED: Algorithm = Algorithm {
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
