//! Queue disciplines that hold other queue disciplines, as Linux's classful ones do: in braces behind their own words,
//! `tbf rate 10mbit burst 5kB latency 50ms { fq_codel }`.
//!
//! A parent is a `Settings` with parameters as any other discipline has, and an [`ChildrenConfig`], what is in the braces. Both
//! make a [`ParentConfig`], the configuration in the registry. The queue itself owns `Leaf`s and keeps
//! `Books` of all of them.

pub(crate) mod children;
pub(crate) mod class;
pub(crate) mod leaf;
pub(crate) mod statistics;
pub(crate) mod text;

use crate::error::ConfigError;
use crate::limits::Limits;
use crate::params::{Config, Param, Value};
use crate::qdisc::{Host, Qdisc};
use crate::queue_layout::QueueLayout;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A configured discipline that a parent can hold. The registry hands in its own, since it knows the parents.
pub trait ChildConfig: Clone + PartialEq + fmt::Debug + Send + Sync {
    /// The names that can be read.
    type Names<'a>: Copy;

    /// Reads a discipline, parameters included.
    fn read(text: &str, names: Self::Names<'_>) -> Result<Self, ConfigError>;

    /// The shortest text that [`ChildConfig::read`] reads as this.
    fn spelling(&self) -> String;

    /// The name of its algorithm.
    fn algorithm_name(&self) -> &'static str;

    /// How it queues.
    fn queues(&self) -> QueueLayout;

    /// Whether a packet may come with a copy.
    fn duplicates(&self) -> bool;

    /// A queue of packets `P`.
    fn build<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send>;
}

/// What a parent with the parameters `S` has in its braces.
pub trait ChildrenConfig<S>: Clone + Default + PartialEq + fmt::Debug + Send + Sync {
    /// The disciplines in them.
    type Child: ChildConfig;

    /// What stands in the braces, to be written in a message.
    const EXAMPLE: &'static str;

    /// Reads it.
    fn read(text: &str, settings: &S, names: <Self::Child as ChildConfig>::Names<'_>) -> Result<Self, ConfigError>;

    /// Refuses what does not go with the parameters.
    fn check(&self, settings: &S) -> Result<(), ConfigError>;

    /// The shortest text that [`ChildrenConfig::read`] reads as this; none where the braces can be left out.
    fn spelling(&self) -> Option<String>;

    /// The disciplines that it names.
    fn children(&self) -> Vec<&Self::Child>;
}

/// A parent's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParentConfig<S, I> {
    /// Its own parameters.
    pub settings: S,
    /// What it holds.
    pub children: I,
}

impl<S: Config, I: ChildrenConfig<S>> ParentConfig<S, I> {
    /// The same parameters with the braces `text`, or without braces.
    pub(crate) fn with_children(
        self,
        text: Option<&str>,
        names: <I::Child as ChildConfig>::Names<'_>,
    ) -> Result<Self, ConfigError> {
        let Self { settings, .. } = self;
        let inside = text.map_or(Ok(I::default()), |text| I::read(text, &settings, names))?;
        if inside.children().iter().any(|child| child.algorithm_name() == "cake_mq") {
            return Err("cake_mq shapes for all hardware queues of a card, so no class can hold it; write cake".into());
        }
        inside.check(&settings)?;
        Ok(Self { settings, children: inside })
    }
}

impl<S: Config, I: ChildrenConfig<S>> Config for ParentConfig<S, I> {
    const PARAMS: &'static [Param] = S::PARAMS;
    const PROFILES: &'static [(&'static str, &'static str)] = S::PROFILES;

    fn profile(name: &str) -> Option<Self> {
        S::profile(name).map(|settings| Self { settings, children: I::default() })
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.settings.value(name)
    }

    fn set_value(&mut self, name: &str, value: Value) {
        self.settings.set_value(name, value);
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.settings.validate()
    }
}
