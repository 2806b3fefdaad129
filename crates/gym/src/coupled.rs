//! DualPI2's two queues with a policy instead of its PI controller, as a qdisc of a scenario.

use sojourn_aqm::dualpi2::Config;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::foreign::{self, Ticket};
use sojourn_aqm::policy::{CoupledPolicy, NetworkAgent, SharedState};
use sojourn_aqm::registry::{Algorithm, AnyConfig, ForeignConfig, ForeignDiscipline, NamedConfig, QueueLayout};
use sojourn_aqm::{Host, Instant, Limits, Qdisc};
use std::sync::Arc;

/// Queues that an agent controls through `state`. They are configured as `start`, or else by RFC 9332's defaults; with
/// a `start`, DualPI2's own controller runs until `until`, inclusive.
pub fn agent_controlled(state: Arc<SharedState>, start: Option<&NamedConfig>, until: Instant) -> ForeignDiscipline {
    let config = match start.map(|named| &named.config) {
        Some(AnyConfig::DualPi2(config)) => config.clone(),
        _ => Config::default(),
    };
    let pair = CoupledQueues { config, policy: Actor::Agent(state, start.map(|_| until)) };
    ForeignDiscipline::new(&AGENT_CONTROLLED, "", Box::new(pair))
}

/// Queues with RFC 9332's defaults, controlled by the network of the policy file `algorithm`.
pub fn policy_controlled(algorithm: &'static Algorithm, agent: NetworkAgent) -> ForeignDiscipline {
    let pair = CoupledQueues { config: Config::default(), policy: Actor::Network(Box::new(agent)) };
    ForeignDiscipline::new(algorithm, "", Box::new(pair))
}

#[derive(Clone, Debug)]
struct CoupledQueues {
    config: Config,
    policy: Actor,
}

/// Source of the coupled probability p'.
#[derive(Clone, Debug)]
enum Actor {
    Agent(Arc<SharedState>, Option<Instant>),
    Network(Box<NetworkAgent>),
}

impl ForeignConfig for CoupledQueues {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
    fn queue(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<Ticket> + Send> {
        let coupled = match &self.policy {
            Actor::Agent(state, until) => CoupledPolicy::controlled(Arc::clone(state), &self.config, *until),
            Actor::Network(agent) => CoupledPolicy::autonomous(NetworkAgent::clone(agent), &self.config),
        };
        Box::new(coupled.queue(&self.config, limits, host))
    }
    fn fault(&self) -> Option<String> {
        None
    }
    fn clone_box(&self) -> Box<dyn ForeignConfig> {
        Box::new(self.clone())
    }
}

static AGENT_CONTROLLED: Algorithm = Algorithm {
    name: "steered pair",
    summary: "DualPI2's queues with p' set by an agent",
    source: "this crate",
    params: &[],
    profiles: foreign::PROFILES,
    queues: QueueLayout::Two,
    state_bytes: size_of::<CoupledPolicy>(),
    queue_bytes: size_of::<sojourn_aqm::DualQueue<CoupledPolicy, u32>>(),
    words: None,
    configure: &|_, _, _, _| {
        Ok(AnyConfig::Foreign(agent_controlled(Arc::new(SharedState::new(false)), None, Instant::ZERO)))
    },
};
