//! The two queues of DualPI2 with a policy in place of its controller, as queue disciplines of a scenario.

use sojourn_aqm::dualpi2::Config;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::foreign::{self, Ticket};
use sojourn_aqm::policy::{CoupledPolicy, NetworkAgent, SharedState};
use sojourn_aqm::registry::{Algorithm, AnyConfig, ForeignConfig, ForeignDiscipline, NamedConfig, QueueLayout};
use sojourn_aqm::{Host, Instant, Limits, Qdisc};
use std::sync::Arc;

/// Queues that an agent steers through `board`; those of `start`, or of the RFC, whose own controller rules until an
/// instant, that included, if there is a `start`.
pub fn agent_controlled(board: Arc<SharedState>, start: Option<&NamedConfig>, until: Instant) -> ForeignDiscipline {
    let config = match start.map(|named| &named.config) {
        Some(AnyConfig::DualPi2(config)) => config.clone(),
        _ => Config::default(),
    };
    let pair = CoupledQueues { config, policy: Actor::Agent(board, start.map(|_| until)) };
    ForeignDiscipline::new(&STEERED, "", Box::new(pair))
}

/// Queues of the RFC under a policy of a file, which is `algorithm`.
pub fn policy_controlled(algorithm: &'static Algorithm, pilot: NetworkAgent) -> ForeignDiscipline {
    let pair = CoupledQueues { config: Config::default(), policy: Actor::Network(Box::new(pilot)) };
    ForeignDiscipline::new(algorithm, "", Box::new(pair))
}

#[derive(Clone, Debug)]
struct CoupledQueues {
    config: Config,
    policy: Actor,
}

/// Who steers.
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
            Actor::Agent(board, until) => CoupledPolicy::controlled(Arc::clone(board), &self.config, *until),
            Actor::Network(pilot) => CoupledPolicy::autonomous(NetworkAgent::clone(pilot), &self.config),
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

static STEERED: Algorithm = Algorithm {
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
