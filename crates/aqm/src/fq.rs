//! `fq(NAME…)`: FQ-CoDel's flows and DRR++ with any registered manager of a single queue for each flow.
//!
//! # When to use
//!
//! To ask what a manager becomes with a queue for each flow, `fq(codel@act)`, `fq(ared)`, `fq(droptail)`: khademi2013
//! names such combinations as future work. For FQ-CoDel and FQ-PIE as they are deployed take
//! [fq_codel](crate::fq_codel) and [fq_pie](crate::fq_pie).

use crate::aqm::Aqm;
use crate::flow::{self, Composed};
use crate::params::{self, Param, Value};
use crate::queues::Queues;
use crate::refusal::Refusal;
use crate::registry::{AnyConfig, Named};
use alloc::boxed::Box;

/// The flows' configuration and each flow's manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How flows are queued.
    pub queue: flow::Config,
    /// How each flow's queue is managed.
    aqm: Box<Named>,
}

impl Config {
    /// The same flows under another manager; the error says why it cannot be one.
    pub fn with_aqm(mut self, aqm: Named) -> Result<Self, Refusal> {
        if matches!(aqm.config, AnyConfig::ExcludingCe(_)) {
            return Err(Refusal::ExcludedInside);
        }
        if aqm.config.manager().is_none() {
            let name = aqm.config.name();
            let does = match (&aqm.config, aqm.algorithm().queues) {
                (AnyConfig::Foreign(_), _) => "holds packets itself",
                (_, Queues::Two) => "has two queues itself",
                (_, Queues::Tree) => "holds other disciplines itself",
                _ => "queues flows itself",
            };
            return Err(Refusal::NotSingle { name, does });
        }
        self.aqm = Box::new(aqm);
        Ok(self)
    }

    /// The manager of each flow.
    pub fn aqm(&self) -> &Named {
        &self.aqm
    }
}

impl Default for Config {
    fn default() -> Self {
        let aqm = Named::parse("droptail").expect("tail drop is registered");
        Self { queue: flow::Config::default(), aqm: Box::new(aqm) }
    }
}

impl params::Config for Config {
    const PARAMS: &'static [Param] = flow::Config::PARAMS;
    const PROFILES: &'static [(&'static str, &'static str)] = &[(
        "plain",
        "each flow's queue under the AQM in brackets: fq(codel@act), fq(pie target 5ms) quantum 300B; else tail drop",
    )];

    fn profile(name: &str) -> Option<Self> {
        (name == Self::PROFILES[0].0).then(Self::default)
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.queue.value(name)
    }

    fn set_value(&mut self, name: &str, value: Value) {
        self.queue.set_value(name, value);
    }

    fn validate(&self) -> Result<(), Refusal> {
        self.queue.validate()
    }
}

impl Composed for Config {
    type Aqm = Box<dyn Aqm + Send>;

    fn queue(&self) -> &flow::Config {
        &self.queue
    }

    fn aqm(&self) -> Self::Aqm {
        self.aqm.config.manager().expect("with_aqm took a manager of a single queue")
    }
}
