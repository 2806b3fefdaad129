//! What agents of connections see and do, and the scenarios in which they can.

use super::action::ActionKind;
use super::control::AgentControl;
use super::observer::Feature;
use super::reward::Reward;
use super::shared_state::SharedState;
use crate::setup::{MAX_STEP, MIN_STEP, SetupError, place, read_entries};
use sojourn_aqm::params::unknown;
use sojourn_aqm::{Duration, units};
use sojourn_sim::scenario::{FileSpec, FlowSpec, Scenario, Traffic};
use sojourn_tcp::cc::{AnyCc, NAMES};
use sojourn_tcp::stack::Stack;
use std::sync::Arc;

/// How long a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLength {
    /// So long, for every connection at the same instants.
    Fixed(Duration),
    /// The smoothed round-trip time of the connection, 10 ms at least: connections act at instants of their own.
    Rtt,
}

/// What is the same in every episode.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How long a step is.
    pub step: StepLength,
    /// How long after its step has begun an action is put in force.
    pub delay: Duration,
    /// What an action means.
    pub action: ActionKind,
    /// What [`ActionKind::RateScale`] takes for g.
    pub gain: f64,
    /// Whether a time-out leaves the window to the agent.
    pub keeps_cwnd_on_rto: bool,
    /// What is observed.
    pub entries: Vec<Feature>,
    /// Of how many steps.
    pub stack: usize,
    /// What a step is worth; nothing where somebody else judges.
    pub reward: Option<Reward>,
    /// The group whose flows have agents.
    pub group: usize,
    /// At most so many of them.
    pub max_agents: usize,
    /// Under [`ActionKind::Native`]: the control that runs, instead of the group's.
    pub native: Option<String>,
}

/// The shortest step of a round trip.
pub(super) const MIN_RTT_STEP: Duration = Duration::from_millis(10);
/// The longest delay of an action.
const MAX_DELAY: Duration = Duration::from_secs(1);

impl Setup {
    /// Reads names as a user writes them; an empty `observe` is the default.
    pub fn read(step: &str, delay: &str, action: &str, observe: &[String], stack: usize) -> Result<Self, SetupError> {
        let time = |at, text: &str| units::duration(text).map_err(|error| place(at, error.to_string()));
        let step = match step {
            "rtt" => StepLength::Rtt,
            text => StepLength::Fixed(time("step", text)?),
        };
        if let StepLength::Fixed(step) = step {
            if step < MIN_STEP || step > MAX_STEP {
                let text = format!("{step} is out of range; from {MIN_STEP} to {MAX_STEP}, or \"rtt\"");
                return Err(place("step", text));
            }
        }
        let delay = time("delay", delay)?;
        if delay < Duration::ZERO || delay > MAX_DELAY {
            return Err(place("delay", format!("{delay} is out of range; from 0 s to {MAX_DELAY}")));
        }
        let law = ActionKind::find(action).ok_or_else(|| {
            place("action", unknown("action", action, ActionKind::ALL.map(|(name, _)| name).into_iter()))
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

    /// Lets a control by name run as it is, instead of an agent.
    pub fn run_natively(&mut self, name: &str) -> Result<(), SetupError> {
        let names = NAMES.iter().map(|&(name, _)| name);
        AnyCc::new(name).ok_or_else(|| place("cc", unknown("congestion control", name, names)))?;
        (self.action, self.native) = (ActionKind::Native, Some(name.into()));
        Ok(())
    }

    /// Numbers of an observation.
    pub fn width(&self) -> usize {
        self.entries.len() * self.stack
    }

    /// The flows of a scenario that have agents.
    pub(super) fn agent_flows<'a>(&self, scenario: &'a Scenario) -> Result<&'a FlowSpec, SetupError> {
        let spec = scenario.flows.get(self.group).ok_or_else(|| {
            place(
                "group",
                format!("there is no group {}; the scenario has {} groups", self.group, scenario.flows.len()),
            )
        })?;
        let Traffic::Tcp(FileSpec { tcp, pause: None, .. }) = &spec.traffic else {
            return Err(place("group", "its flows are not TCP for the whole run; choose one of kind \"tcp\"".into()));
        };
        let stack = Stack::find(&tcp.stack).expect("a scenario names a stack that exists");
        let base = self.base(tcp.cc.as_str());
        if self.action == ActionKind::CwndScale && base.needs().steers {
            let text =
                format!("{} sets its window itself; let the group's cc be e.g. cubic, or set the window", tcp.cc);
            return Err(place("action", text));
        }
        if !self.control(&Arc::new(SharedState::default()), base).needs().is_met_by(stack) {
            let text = format!(
                "an agent needs a stack that decides on recovery before the window, which {} does not; choose linux-3.13 or linux-6.1",
                tcp.stack
            );
            return Err(place("stack", text));
        }
        Ok(spec)
    }

    /// The control below.
    pub(super) fn base(&self, of_group: &str) -> AnyCc {
        let name = self.native.as_deref().unwrap_or(of_group);
        AnyCc::new(name).expect("a scenario names a congestion control that exists")
    }

    /// The control of a connection under an agent.
    pub(super) fn control(&self, board: &Arc<SharedState>, base: AnyCc) -> AnyCc {
        AnyCc::custom(AgentControl::new(Arc::clone(board), self.action, base, self.gain, self.keeps_cwnd_on_rto))
    }
}

/// As the paper that [`ActionKind::RateScale`] follows.
const GAIN: f64 = 0.025;
