//! Adaptive RED: [RED](crate::red) that adapts its maximum probability so that the average backlog stays midway between
//! the thresholds (S. Floyd, R. Gummadi, S. Shenker, 2001). The name means red with `adaptive` on.
//!
//! # When to use
//!
//! On a link of a fixed and known rate: of the classic managers it holds its target most tightly with many competing
//! flows, and needs only the target delay. It loses goodput with few flows and reacts in seconds, so it suits neither
//! variable rates nor intermittent traffic. With ECN it marks far more packets than it would drop.

use crate::error::ConfigError;
use crate::params::{Param, Value};
use crate::red::{self, AdaptiveMode};
use core::ops::Deref;

pub use crate::red::Red as Ared;

/// RED's configuration with its own profiles; the default is that of 2001.
#[derive(Clone, Debug, PartialEq)]
pub struct Config(red::Config);

impl Default for Config {
    fn default() -> Self {
        Self(red::Config { adaptive: AdaptiveMode::Aimd, ..red::Config::default() })
    }
}

impl Deref for Config {
    type Target = red::Config;
    fn deref(&self) -> &red::Config {
        &self.0
    }
}

impl crate::params::Config for Config {
    const PARAMS: &'static [Param] = red::Config::PARAMS;
    const PROFILES: &'static [(&'static str, &'static str)] = &[
        (
            "2001",
            "Floyd, Gummadi, Shenker 2001 in ns-2: additive increase, multiplicative decrease, all parameters automatic",
        ),
        ("linux", "Linux 6.1's red with the flag adaptative: a step every 500 ms"),
        ("linux-5.7", "Linux and tc since 5.7: the flag is set but its timer is never armed, so nothing adapts"),
        ("1999", "Feng et al. 1999 in ns-2: a step whenever the average leaves the thresholds"),
    ];

    fn profile(name: &str) -> Option<Self> {
        let (base, adaptive) = match name {
            "2001" => ("ns2", AdaptiveMode::Aimd),
            "linux" => ("linux", AdaptiveMode::Aimd),
            // red_change starts the timer by the old flags, and tc sends new ones (TCA_RED_FLAGS) only.
            "linux-5.7" => ("linux", AdaptiveMode::Off),
            "1999" => ("ns2", AdaptiveMode::Mimd),
            _ => return None,
        };
        let mut config = red::Config { adaptive, ..red::Config::profile(base)? };
        if adaptive == AdaptiveMode::Mimd {
            (config.alpha, config.beta) = (3.0, 2.0);
        }
        Some(Self(config))
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.0.value(name)
    }

    fn set_value(&mut self, name: &str, value: Value) {
        self.0.set_value(name, value);
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.0.validate()
    }
}
