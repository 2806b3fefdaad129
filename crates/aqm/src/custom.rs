//! Algorithms that no line of the registry names: those of other crates and of users, next to the registered ones.
//!
//! A crate describes its algorithm with [`Algorithm::own`] and hands it, in a [`Catalogue`], to whatever reads names:
//! [`Named::parse_with`](crate::registry::Named::parse_with), the simulator's scenarios. From there on it is like a
//! registered one: parameters, profiles, limits, ECN and counters of the same queue, `fq(NAME)`.
//!
//! ```
//! use sojourn_aqm::registry::{Algorithm, Catalogue, Named};
//! use sojourn_aqm::{Aqm, Cx, Fifo, Meta, Verdict, config, params::Value};
//!
//! config! {
//!     /// Keeps short queues.
//!     pub struct Config {
//!         /// Most packets that may wait.
//!         depth: u64 = 10, in Value::Count(1) => Value::Count(1_000_000);
//!     }
//!     profiles { "plain", "ten packets" => |_| {}; }
//!     validate |_| Ok(())
//! }
//!
//! /// Drops what finds `depth` packets waiting.
//! pub struct Shallow(u64);
//!
//! impl Aqm for Shallow {
//!     fn enqueue(&mut self, _: &mut Cx, _: &Meta, queue: &mut dyn Fifo) -> Verdict {
//!         if (queue.len() as u64) < self.0 { Verdict::Accept } else { Verdict::Drop }
//!     }
//! }
//!
//! static SHALLOW: Algorithm = Algorithm::own::<Config>("shallow", "Keeps short queues", "this example");
//!
//! impl sojourn_aqm::registry::Managed for Config {
//!     type Aqm = Shallow;
//!     fn aqm(&self) -> Shallow {
//!         Shallow(self.depth)
//!     }
//! }
//!
//! let own = [&SHALLOW];
//! assert_eq!(Named::parse_with("fq(shallow depth 3)", &own).unwrap().spelling(), "fq(shallow depth 3)");
//! assert!(Named::parse("shallow").is_err(), "nobody else knows it");
//! ```

use crate::aqm::Aqm;
use crate::error::ConfigError;
use crate::netem::Table;
use crate::params::{Config, Value};
use crate::registry::{Algorithm, AnyConfig, QueueLayout, configure};
use crate::single::SingleQueue;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What a program knows beyond the registered algorithms. Registered names go first.
pub trait Catalogue {
    /// The algorithm called `name`, or why it cannot be used; `None` for a name that is not known here.
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>>;

    /// Its names, for the hint about a misspelt one.
    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The table in the file called `name`, or why it cannot be read; `None` where no files are read.
    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        let _ = name;
        None
    }
}

impl<const N: usize> Catalogue for [&'static Algorithm; N] {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        self.iter().find(|algorithm| algorithm.name == name).copied().map(Ok)
    }

    fn names(&self) -> Vec<&'static str> {
        self.iter().map(|algorithm| algorithm.name).collect()
    }
}

/// Nothing but the registered algorithms.
pub const REGISTERED: &dyn Catalogue = &[] as &[&'static Algorithm; 0];

/// A configuration declared with [`config!`](crate::config), and the manager of one queue that it describes.
pub trait AqmConfig: Config + 'static {
    /// The queue manager.
    type Aqm: Aqm + Send + 'static;
    /// A new one; of the values only what [`Config::validate`] accepts comes here.
    fn aqm(&self) -> Self::Aqm;
}

/// What is to be known of an own algorithm's configuration; every [`AqmConfig`] is one.
pub trait CustomConfig: fmt::Debug + Send + Sync {
    /// The value of a parameter.
    fn value(&self, param: &str) -> Option<Value>;
    /// Judges values that are in range each, before any queue has them; the error is a sentence. The profile by itself
    /// is not judged: what a manager refuses may be its own defaults.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
    /// A new manager of one queue.
    fn manager(&self) -> Box<dyn Aqm + Send>;
    /// The same once more.
    fn clone_box(&self) -> Box<dyn CustomConfig>;
}

impl<C: AqmConfig> CustomConfig for C {
    fn value(&self, param: &str) -> Option<Value> {
        Config::value(self, param)
    }
    fn manager(&self) -> Box<dyn Aqm + Send> {
        Box::new(self.aqm())
    }
    fn clone_box(&self) -> Box<dyn CustomConfig> {
        Box::new(self.clone())
    }
}

/// A validated configuration of an own algorithm.
pub struct CustomAqm {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) config: Box<dyn CustomConfig>,
}

impl CustomAqm {
    /// `config` of `algorithm`, which made it.
    pub fn new(algorithm: &'static Algorithm, config: Box<dyn CustomConfig>) -> Self {
        Self { algorithm, config }
    }
}

impl Clone for CustomAqm {
    fn clone(&self) -> Self {
        Self { algorithm: self.algorithm, config: self.config.clone_box() }
    }
}

impl fmt::Debug for CustomAqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.algorithm.name).field(&self.config).finish()
    }
}

impl PartialEq for CustomAqm {
    fn eq(&self, other: &Self) -> bool {
        let mut names = self.algorithm.params.iter().map(|param| param.name);
        core::ptr::eq(self.algorithm, other.algorithm)
            && names.all(|name| self.config.value(name) == other.config.value(name))
    }
}

impl Algorithm {
    /// The algorithm of a crate of one's own, for a `static`.
    pub const fn custom<C: AqmConfig>(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self {
            name,
            summary,
            source,
            params: C::PARAMS,
            profiles: C::PROFILES,
            queues: QueueLayout::One,
            state_bytes: size_of::<C::Aqm>(),
            queue_bytes: size_of::<SingleQueue<C::Aqm, u32>>(),
            words: None,
            configure: &configure_custom::<C>,
        }
    }
}

fn configure_custom<C: AqmConfig>(
    algorithm: &'static Algorithm,
    profile: &str,
    params: &[(String, String)],
    own: &dyn Catalogue,
) -> Result<AnyConfig, ConfigError> {
    let config = configure::<C>(profile, params, own)?;
    Ok(AnyConfig::Custom(CustomAqm::new(algorithm, Box::new(config))))
}
