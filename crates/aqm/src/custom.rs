//! Algorithms that the registry does not list: those of other crates and of users.
//!
//! A crate describes its algorithm with [`Algorithm::custom`] and passes it, in a [`Catalogue`], to functions that
//! parse names: [`NamedConfig::parse_with`](crate::registry::NamedConfig::parse_with), the simulator's scenarios. It
//! then works like a registered one: parameters, profiles, limits, ECN and counters of the same queue, `fq(NAME)`.
//!
//! ```
//! use sojourn_aqm::registry::{Algorithm, Catalogue, NamedConfig};
//! use sojourn_aqm::{Aqm, Cx, Fifo, Meta, Verdict, config, params::Value};
//!
//! config! {
//!     /// Keeps short queues.
//!     pub struct Config {
//!         /// Maximum number of queued packets.
//!         depth: u64 = 10, in Value::Count(1) => Value::Count(1_000_000);
//!     }
//!     profiles { "plain", "ten packets" => |_| {}; }
//!     validate |_| Ok(())
//! }
//!
//! /// Drops packets that find `depth` packets queued.
//! pub struct Shallow(u64);
//!
//! impl Aqm for Shallow {
//!     fn enqueue(&mut self, _: &mut Cx, _: &Meta, queue: &mut dyn Fifo) -> Verdict {
//!         if (queue.len() as u64) < self.0 { Verdict::Accept } else { Verdict::Drop }
//!     }
//! }
//!
//! static SHALLOW: Algorithm = Algorithm::custom::<Config>("shallow", "Keeps short queues", "this example");
//!
//! impl sojourn_aqm::registry::AqmConfig for Config {
//!     type Aqm = Shallow;
//!     fn aqm(&self) -> Shallow {
//!         Shallow(self.depth)
//!     }
//! }
//!
//! let own = [&SHALLOW];
//! assert_eq!(NamedConfig::parse_with("fq(shallow depth 3)", &own).unwrap().spelling(), "fq(shallow depth 3)");
//! assert!(NamedConfig::parse("shallow").is_err(), "only this catalogue has it");
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

/// Algorithms that a program has besides the registered ones. Registered names take precedence.
pub trait Catalogue {
    /// The algorithm called `name`, or why it is unusable; `None` if the catalogue does not have it.
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>>;

    /// Its names, to suggest one for an unknown name.
    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The table in the file `name`, or why it cannot be read; `None` if files are not read.
    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        let _ = name;
        None
    }

    /// Whether names of files that are compiled into a kernel (`kernel:NAME`) are read. Do not run a queue that was
    /// built from one.
    fn has_kernel_names(&self) -> bool {
        false
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

/// The registered algorithms alone.
pub const REGISTERED: &dyn Catalogue = &[] as &[&'static Algorithm; 0];

/// A configuration declared with [`config!`](crate::config), and the manager of one queue that it creates.
pub trait AqmConfig: Config + 'static {
    /// The queue manager.
    type Aqm: Aqm + Send + 'static;
    /// Creates a manager; the values have passed [`Config::validate`].
    fn aqm(&self) -> Self::Aqm;
}

/// Configuration of a custom algorithm; every [`AqmConfig`] implements it.
pub trait CustomConfig: fmt::Debug + Send + Sync {
    /// The value of a parameter.
    fn value(&self, param: &str) -> Option<Value>;
    /// Checks values, each of them in range, before a queue uses them; the error is a sentence. The unmodified profile
    /// is not checked: a manager may reject its own defaults.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
    /// Creates a manager of one queue.
    fn manager(&self) -> Box<dyn Aqm + Send>;
    /// Clones into a box.
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

/// A validated configuration of a custom algorithm.
pub struct CustomAqm {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) config: Box<dyn CustomConfig>,
}

impl CustomAqm {
    /// Wraps `config`, which `algorithm` created.
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
    /// An algorithm of another crate, for a `static`.
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
