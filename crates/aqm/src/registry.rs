//! The one place where a queue discipline is made known: a line here gives it a name everywhere.

use crate::aqm::Aqm;
use crate::limits::Limits;
use crate::params::{Config as _, Param, Value, unknown};
use crate::qdisc::{Host, Qdisc};
use crate::single::SingleQueue;
use crate::{codel, droptail, pie};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Declares the algorithms: name, module, type, one sentence, sources.
macro_rules! algorithms {
    ($( $name:literal => $module:ident :: $type:ident, $summary:literal, $source:literal; )+) => {
        /// A validated configuration of any registered algorithm.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyConfig { $( $type($module::Config), )+ }

        /// Every registered algorithm.
        pub static ALGORITHMS: &[Algorithm] = &[ $( Algorithm {
            name: $name,
            summary: $summary,
            source: $source,
            params: <$module::Config as crate::params::Config>::PARAMS,
            profiles: <$module::Config as crate::params::Config>::PROFILES,
            state_bytes: core::mem::size_of::<$module::$type>(),
            configure: |profile, params| configure::<$module::Config>(profile, params).map(AnyConfig::$type),
        }, )+ ];

        impl AnyConfig {
            /// The algorithm's name.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$type(_) => $name, )+ }
            }

            /// The value of a parameter.
            pub fn value(&self, param: &str) -> Option<Value> {
                match self { $( Self::$type(config) => config.value(param), )+ }
            }

            /// A queue of packets `P` under this algorithm.
            pub fn build<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
                match self { $( Self::$type(config) => single($module::$type::new(config), limits, host), )+ }
            }
        }
    };
}

algorithms! {
    "droptail" => droptail::DropTail, "Tail drop: no manager, only limits", "common practice";
    "codel" => codel::Codel, "Controlled Delay: drops at the head while the sojourn time stays above a target", "RFC 8289; K. Nichols, V. Jacobson, ACM Queue 10(5), 2012";
    "pie" => pie::Pie, "Proportional Integral controller Enhanced: drops arrivals with a probability steered by the delay", "RFC 8033; RFC 8034 (DOCSIS-PIE); draft-ietf-aqm-pie-00; R. Pan et al., HPSR 2013; Linux sch_pie.c";
}

/// A registered algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name in files, on the command line and in Python.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its profiles: name and what it is; the first is the plain name's.
    pub profiles: &'static [(&'static str, &'static str)],
    /// Bytes of state per queue, packets not counted.
    pub state_bytes: usize,
    configure: Configure,
}

/// Makes a configuration from a profile's name and parameters by name.
type Configure = fn(&str, &[(String, String)]) -> Result<AnyConfig, String>;

impl Algorithm {
    /// The algorithm called `name`.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        ALGORITHMS
            .iter()
            .find(|a| a.name == name)
            .ok_or_else(|| unknown("AQM", name, ALGORITHMS.iter().map(|a| a.name)))
    }

    /// A configuration of `profile` (empty: the plain one) with `params` set by name.
    pub fn configure(&self, profile: &str, params: &[(String, String)]) -> Result<AnyConfig, String> {
        (self.configure)(profile, params)
    }

    fn has_flag(&self, name: &str) -> bool {
        self.params.iter().any(|p| p.name == name && matches!(p.range.0, Value::Flag(_)))
    }

    /// The profiles' names as a user writes them: `codel`, `codel@act`, ….
    pub fn spellings(&self) -> impl Iterator<Item = String> + '_ {
        core::iter::once(self.name.to_string())
            .chain(self.profiles.iter().skip(1).map(|(p, _)| format!("{}@{p}", self.name)))
    }
}

/// Reads `NAME[@PROFILE] [PARAM VALUE]… [FLAG [on|off]]… [noFLAG]…`, tc's way: `codel@act target 5ms ecn`.
pub fn parse(text: &str) -> Result<AnyConfig, String> {
    let mut words = text.split_whitespace().peekable();
    let head = words.next().ok_or("an AQM needs a name, e.g. \"codel\"")?;
    let (name, profile) = head.split_once('@').unwrap_or((head, ""));
    let algorithm = Algorithm::find(name)?;
    let mut params = Vec::new();
    while let Some(param) = words.next() {
        let (param, value) = if algorithm.has_flag(param) {
            (param, words.next_if(|word| SWITCHES.contains(word)).unwrap_or("on"))
        } else if let Some(flag) = param.strip_prefix("no").filter(|flag| algorithm.has_flag(flag)) {
            (flag, "off")
        } else {
            (param, words.next().ok_or_else(|| format!("{param} of {name} lacks its value"))?)
        };
        params.push((param.to_string(), value.to_string()));
    }
    algorithm.configure(profile, &params)
}

/// What may follow a flag.
const SWITCHES: [&str; 4] = ["on", "off", "true", "false"];

fn configure<C: crate::params::Config>(profile: &str, params: &[(String, String)]) -> Result<C, String> {
    let profile = if profile.is_empty() { C::PROFILES[0].0 } else { profile };
    let mut config =
        C::profile(profile).ok_or_else(|| unknown("profile", profile, C::PROFILES.iter().map(|&(p, _)| p)))?;
    for (name, text) in params {
        config.set(name, text)?;
    }
    config.validate()?;
    Ok(config)
}

fn single<A: Aqm + Send + 'static, P: Send + 'static>(aqm: A, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
    Box::new(SingleQueue::new(aqm, limits, host))
}
