//! `fq(NAME…)`: FQ-CoDel's flows and DRR++ with any registered manager of a single queue for each flow.
//!
//! # When to use
//!
//! To study a manager in a queue per flow, `fq(codel@act)`, `fq(ared)`, `fq(droptail)`: khademi2013 lists such
//! combinations as future work. For FQ-CoDel and FQ-PIE as deployed use [fq_codel](crate::fq_codel) and
//! [fq_pie](crate::fq_pie).

use crate::aqm::Aqm;
use crate::error::ConfigError;
use crate::flow::{self, FlowQueueConfig};
use crate::params::{self, Param, Value};
use alloc::boxed::Box;
use core::fmt;

/// Configuration of the flows and of each flow's manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<M> {
    /// Flow queueing.
    pub queue: flow::Config,
    /// Manager of each flow's queue.
    aqm: Box<M>,
}

/// A single-queue manager with its parameters. The registry passes its own type, because it contains this discipline.
pub trait ManagerConfig: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Tail drop.
    fn plain() -> Self;
    /// Creates a manager.
    fn manager(&self) -> Box<dyn Aqm + Send>;
}

impl<M> Config<M> {
    /// The same flows under another manager.
    pub fn with_aqm(self, aqm: M) -> Self {
        Self { aqm: Box::new(aqm), ..self }
    }

    /// The manager of each flow.
    pub fn aqm(&self) -> &M {
        &self.aqm
    }
}

impl<M: ManagerConfig> Default for Config<M> {
    fn default() -> Self {
        Self { queue: flow::Config::default(), aqm: Box::new(M::plain()) }
    }
}

impl<M: ManagerConfig> params::Config for Config<M> {
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

    fn validate(&self) -> Result<(), ConfigError> {
        self.queue.validate()
    }
}

impl<M: ManagerConfig> FlowQueueConfig for Config<M> {
    type Aqm = Box<dyn Aqm + Send>;

    fn queue(&self) -> &flow::Config {
        &self.queue
    }

    fn aqm(&self) -> Self::Aqm {
        self.aqm.manager()
    }
}
