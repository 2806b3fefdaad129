//! Queue disciplines with children, like Linux's classful ones: children are in braces after the parent's own words,
//! `tbf rate 10mbit burst 5kB latency 50ms { fq_codel }`.
//!
//! A parent consists of `Settings`, the parameters that any discipline has, and of a [`ChildrenConfig`], the contents
//! of the braces. Together they are a [`ParentConfig`], the configuration in the registry. The queue itself owns
//! `Leaf`s and one `Accounting` of all of them. Marks are the difference of the children's counters; drops come through
//! a sink of the parent. The random streams of several children derive from the parent's; an only child gets the
//! parent's own.

pub(crate) mod buckets;
pub(crate) mod children;
pub(crate) mod class;
pub(crate) mod leaf;
pub(crate) mod only_child;
pub(crate) mod statistics;
pub(crate) mod text;

pub use only_child::{OnlyChild, SingleParent};

use crate::error::ConfigError;
use crate::limits::Limits;
use crate::params::{Config, Param, Value};
use crate::qdisc::{Host, Qdisc};
use crate::queue_layout::QueueLayout;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Configuration of a possible child. The registry passes its own type, because it contains the parents.
pub trait ChildConfig: Clone + PartialEq + fmt::Debug + Send + Sync {
    /// Catalogue of names.
    type Names<'a>: Copy;

    /// Parses a discipline, parameters included.
    fn read(text: &str, names: Self::Names<'_>) -> Result<Self, ConfigError>;

    /// The shortest text that [`ChildConfig::read`] parses to this value.
    fn spelling(&self) -> String;

    /// Name of its algorithm.
    fn algorithm_name(&self) -> &'static str;

    /// Its queues.
    fn queues(&self) -> QueueLayout;

    /// Whether it may duplicate packets.
    fn duplicates(&self) -> bool;

    /// Builds a queue of packets `P`.
    fn build<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send>;
}

/// Contents of the braces of a parent with settings `S`.
pub trait ChildrenConfig<S>: Clone + Default + PartialEq + fmt::Debug + Send + Sync {
    /// Type of the children.
    type Child: ChildConfig;

    /// Example of the contents, for errors.
    const EXAMPLE: &'static str;

    /// Parses the contents.
    fn read(text: &str, settings: &S, names: <Self::Child as ChildConfig>::Names<'_>) -> Result<Self, ConfigError>;

    /// Rejects contents that are incompatible with the settings.
    fn check(&self, settings: &S) -> Result<(), ConfigError>;

    /// The shortest text that [`ChildrenConfig::read`] parses to this value; `None` if the braces can be omitted.
    fn spelling(&self) -> Option<String>;

    /// The configured children.
    fn children(&self) -> Vec<&Self::Child>;
}

/// A parent's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParentConfig<S, I> {
    /// Its own parameters.
    pub settings: S,
    /// Its children.
    pub children: I,
}

impl<S: Config, I: ChildrenConfig<S>> ParentConfig<S, I> {
    /// The same settings with the braces `text`, or without braces.
    pub(crate) fn with_children(
        self,
        text: Option<&str>,
        names: <I::Child as ChildConfig>::Names<'_>,
    ) -> Result<Self, ConfigError> {
        let Self { settings, .. } = self;
        let children = text.map_or(Ok(I::default()), |text| I::read(text, &settings, names))?;
        if children.children().iter().any(|child| child.algorithm_name() == "cake_mq") {
            return Err(
                "cake_mq shapes all hardware queues of a card and cannot be attached to a class; use cake".into()
            );
        }
        children.check(&settings)?;
        Ok(Self { settings, children })
    }

    /// Contents of its braces; `None` if they can be omitted.
    pub(crate) fn braces(&self) -> Option<String> {
        self.children.spelling()
    }

    /// The configured children.
    pub(crate) fn child_configs(&self) -> Vec<&I::Child> {
        self.children.children()
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
