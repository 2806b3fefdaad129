//! Observation, action and step of congestion-control agents, and the scenarios that they support.

use super::action::ActionKind;
use super::control::AgentControl;
use super::observer::Feature;
use super::reward::Reward;
use super::shared_state::SharedState;
use crate::setup::{MAX_STEP, MIN_STEP, SetupError, invalid, read_entries};
use sojourn_aqm::params::unknown;
use sojourn_aqm::{Duration, units};
use sojourn_sim::scenario::{FileSpec, FlowSpec, Scenario, Traffic};
use sojourn_tcp::cc::{AnyCc, NAMES};
use sojourn_tcp::stack::Stack;
use std::sync::Arc;

/// Length of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLength {
    /// Fixed, at the same instants for every connection.
    Fixed(Duration),
    /// The connection's smoothed RTT, at least 10 ms; each connection acts at its own instants.
    Rtt,
}

/// Settings common to all episodes.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Length of a step.
    pub step: StepLength,
    /// Delay from the start of a step until its action takes effect.
    pub delay: Duration,
    /// Meaning of an action.
    pub action: ActionKind,
    /// Gain g of [`ActionKind::RateScale`].
    pub gain: f64,
    /// Whether an RTO leaves the window to the agent.
    pub keeps_cwnd_on_rto: bool,
    /// Entries of the observation.
    pub entries: Vec<Feature>,
    /// Number of steps in an observation.
    pub stack: usize,
    /// Reward function; `None` if rewards are computed outside.
    pub reward: Option<Reward>,
    /// Index of the flow group that agents control.
    pub group: usize,
    /// Maximum number of agents.
    pub max_agents: usize,
    /// With [`ActionKind::Native`]: congestion control that replaces the group's own.
    pub native: Option<AnyCc>,
}

/// Minimum step of [`StepLength::Rtt`].
pub(super) const MIN_RTT_STEP: Duration = Duration::from_millis(10);
/// Maximum delay of an action.
const MAX_DELAY: Duration = Duration::from_secs(1);

impl Setup {
    /// Parses settings as a user writes them; an empty `observe` selects the default.
    ///
    /// # Errors
    /// If a name is unknown or a number is out of range.
    pub fn read(step: &str, delay: &str, action: &str, observe: &[String], stack: usize) -> Result<Self, SetupError> {
        let time = |at, text: &str| units::duration(text).map_err(|error| invalid(at, error.to_string()));
        let step = match step {
            "rtt" => StepLength::Rtt,
            text => StepLength::Fixed(time("step", text)?),
        };
        if let StepLength::Fixed(step) = step {
            if step < MIN_STEP || step > MAX_STEP {
                let text = format!("{step} is out of range; from {MIN_STEP} to {MAX_STEP}, or \"rtt\"");
                return Err(invalid("step", text));
            }
        }
        let delay = time("delay", delay)?;
        if delay < Duration::ZERO || delay > MAX_DELAY {
            return Err(invalid("delay", format!("{delay} is out of range; from 0 s to {MAX_DELAY}")));
        }
        let law = ActionKind::find(action).ok_or_else(|| {
            invalid("action", unknown("action", action, ActionKind::ALL.map(|(name, _)| name).into_iter()))
        })?;
        let entries = read_entries(observe, stack, Feature::ALL, &Feature::DEFAULT)?;
        Ok(Self {
            step,
            delay,
            action: law,
            gain: GAIN,
            keeps_cwnd_on_rto: false,
            entries,
            stack,
            reward: None,
            group: 0,
            max_agents: 1,
            native: None,
        })
    }

    /// Runs the congestion control `name` unchanged, instead of an agent.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn run_natively(&mut self, name: &str) -> Result<(), SetupError> {
        let names = NAMES.iter().map(|&(name, _)| name);
        let native = AnyCc::new(name).ok_or_else(|| invalid("cc", unknown("congestion control", name, names)))?;
        (self.action, self.native) = (ActionKind::Native, Some(native));
        Ok(())
    }

    /// Length of an observation.
    pub fn width(&self) -> usize {
        self.entries.len() * self.stack
    }

    /// The flow group that agents control, checked.
    pub(super) fn agent_flows<'a>(&self, scenario: &'a Scenario) -> Result<&'a FlowSpec, SetupError> {
        let spec = scenario.flows.get(self.group).ok_or_else(|| {
            invalid(
                "group",
                format!("there is no group {}; the scenario has {} groups", self.group, scenario.flows.len()),
            )
        })?;
        let Traffic::Tcp(FileSpec { tcp, pause: None, .. }) = &spec.traffic else {
            return Err(invalid("group", "its flows are not TCP for the whole run; choose one of kind \"tcp\"".into()));
        };
        let stack = Stack::find(&tcp.stack).expect("a scenario names a stack that exists");
        let base = self.base(&tcp.cc.control);
        if self.action == ActionKind::CwndScale && base.needs().steers {
            let text =
                format!("{} sets its window itself; let the group's cc be e.g. cubic, or set the window", tcp.cc.text);
            return Err(invalid("action", text));
        }
        if !self.control(&Arc::new(SharedState::default()), base).needs().is_met_by(stack) {
            let text = format!(
                "an agent needs a stack that decides on recovery before the window, which {} does not; choose linux-3.13 or linux-6.1",
                tcp.stack
            );
            return Err(invalid("stack", text));
        }
        Ok(spec)
    }

    /// The congestion control below the agent.
    pub(super) fn base(&self, of_group: &AnyCc) -> AnyCc {
        self.native.as_ref().unwrap_or(of_group).clone()
    }

    /// The congestion control of a connection that an agent controls.
    pub(super) fn control(&self, state: &Arc<SharedState>, base: AnyCc) -> AnyCc {
        AnyCc::custom(AgentControl::new(Arc::clone(state), self.action, base, self.gain, self.keeps_cwnd_on_rto))
    }
}

/// Gain of the paper that [`ActionKind::RateScale`] implements.
const GAIN: f64 = 0.025;
