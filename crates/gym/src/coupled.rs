//! The two queues of DualPI2 with a policy in place of its controller, as queue disciplines of a scenario.

use sojourn_aqm::dualpi2::Config;
use sojourn_aqm::foreign::{self, Ticket};
use sojourn_aqm::policy::{Board, Coupled, Pilot};
use sojourn_aqm::refusal::Refusal;
use sojourn_aqm::registry::{Algorithm, AnyConfig, Foreign, ForeignConfig, Named, Queues};
use sojourn_aqm::{Host, Instant, Limits, Qdisc};
use std::sync::Arc;

/// Queues that an agent steers through `board`; those of `start`, or of the RFC, whose own controller rules until an
/// instant, that included, if there is a `start`.
pub fn steered(board: Arc<Board>, start: Option<&Named>, until: Instant) -> Foreign {
    let config = match start.map(|named| &named.config) {
        Some(AnyConfig::DualPi2(config)) => config.clone(),
        _ => Config::default(),
    };
    let pair = Pair { config, policy: By::Agent(board, start.map(|_| until)) };
    Foreign::new(&STEERED, "", Box::new(pair))
}

/// Queues of the RFC under a policy of a file, which is `algorithm`.
pub fn piloted(algorithm: &'static Algorithm, pilot: Pilot) -> Foreign {
    let pair = Pair { config: Config::default(), policy: By::Itself(Box::new(pilot)) };
    Foreign::new(algorithm, "", Box::new(pair))
}

#[derive(Clone, Debug)]
struct Pair {
    config: Config,
    policy: By,
}

/// Who steers.
#[derive(Clone, Debug)]
enum By {
    Agent(Arc<Board>, Option<Instant>),
    Itself(Box<Pilot>),
}

impl ForeignConfig for Pair {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
    fn queue(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<Ticket> + Send> {
        let coupled = match &self.policy {
            By::Agent(board, until) => Coupled::steered(Arc::clone(board), &self.config, *until),
            By::Itself(pilot) => Coupled::piloted(Pilot::clone(pilot), &self.config),
        };
        Box::new(coupled.queue(&self.config, limits, host))
    }
    fn fault(&self) -> Option<String> {
        None
    }
    fn boxed(&self) -> Box<dyn ForeignConfig> {
        Box::new(self.clone())
    }
}

static STEERED: Algorithm = Algorithm {
    name: "steered pair",
    summary: "DualPI2's queues, whose p' an agent says",
    source: "this crate",
    params: &[],
    profiles: foreign::PROFILES,
    queues: Queues::Two,
    state_bytes: size_of::<Coupled>(),
    queue_bytes: size_of::<sojourn_aqm::DualQueue<Coupled, u32>>(),
    words: None,
    configure: &|_, _, _, _| Ok(AnyConfig::Foreign(steered(Arc::new(Board::new(false)), None, Instant::ZERO))),
};
