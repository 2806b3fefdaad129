//! Disciplines composed of flow queueing and a queue manager: one configuration with the parameters of both.

use super::FlowQueue;
use super::config::Config;
use super::table::Flow;
use crate::aqm::Aqm;
use crate::limits::Limits;
use crate::params::{self, Param};
use crate::qdisc::{Host, Qdisc};
use alloc::boxed::Box;

/// Configuration of such a discipline.
pub trait FlowQueueConfig: params::Config {
    /// Manager of each flow's queue.
    type Aqm: Aqm + Send + 'static;
    /// Flow queueing.
    fn queue(&self) -> &Config;
    /// Creates the manager of a new flow.
    fn aqm(&self) -> Self::Aqm;
}

/// Builds the discipline of `config`.
pub fn build<C: FlowQueueConfig + 'static, P: Send + 'static>(
    config: &C,
    limits: Limits,
    host: Host,
) -> Box<dyn Qdisc<P> + Send> {
    Box::new(flow_queue(config, limits, host))
}

/// The same with a concrete type, for hosts that know it.
pub fn flow_queue<C: FlowQueueConfig + 'static, P>(config: &C, limits: Limits, host: Host) -> FlowQueue<C::Aqm, P> {
    let each = config.clone();
    FlowQueue::new(config.queue(), move || each.aqm(), limits, host)
}

/// Bytes of state per flow under `A`, packets not counted.
pub const fn flow_bytes<A>() -> usize {
    size_of::<Flow<A>>()
}

/// Bytes of a discipline of flows under `A`, without its packets, flows and hash table.
pub const fn queue_bytes<A>() -> usize {
    size_of::<FlowQueue<A, u32>>()
}

/// Concatenates the parameters `a` and `b`; `N` is their total.
pub const fn join<const N: usize>(a: &[Param], b: &[Param]) -> [Param; N] {
    let mut both = [a[0]; N];
    let mut i = 0;
    while i < N {
        both[i] = if i < a.len() { a[i] } else { b[i - a.len()] };
        i += 1;
    }
    both
}

/// Declares a configuration that combines two, with the parameters of both; a profile sets parameters of either.
#[macro_export]
macro_rules! joined_config {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(#[$about_a:meta])* $a:ident : $A:ty,
            $(#[$about_b:meta])* $b:ident : $B:ty,
        }
        profiles { $( $profile:literal, $summary:literal => $adjust:expr; )+ }
        validate $validate:expr
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[$about_a])*
            pub $a: $A,
            $(#[$about_b])*
            pub $b: $B,
        }

        impl Default for $name {
            fn default() -> Self {
                let plain = <Self as $crate::params::Config>::PROFILES[0].0;
                $crate::params::Config::profile(plain).expect("the first profile is one")
            }
        }

        impl $crate::params::Config for $name {
            const PARAMS: &'static [$crate::params::Param] = {
                const A: &[$crate::params::Param] = <$A as $crate::params::Config>::PARAMS;
                const B: &[$crate::params::Param] = <$B as $crate::params::Config>::PARAMS;
                &$crate::flow::join::<{ A.len() + B.len() }>(A, B)
            };
            const PROFILES: &'static [(&'static str, &'static str)] = &[ $( ($profile, $summary), )+ ];

            fn profile(name: &str) -> Option<Self> {
                let mut config = Self { $a: Default::default(), $b: Default::default() };
                match name {
                    $( $profile => { let adjust: fn(&mut Self) = $adjust; adjust(&mut config); } )+
                    _ => return None,
                }
                Some(config)
            }

            fn value(&self, name: &str) -> Option<$crate::params::Value> {
                self.$a.value(name).or_else(|| self.$b.value(name))
            }

            fn set_value(&mut self, name: &str, value: $crate::params::Value) {
                if self.$a.value(name).is_some() {
                    self.$a.set_value(name, value);
                } else {
                    self.$b.set_value(name, value);
                }
            }

            fn validate(&self) -> Result<(), $crate::params::ConfigError> {
                self.$a.validate()?;
                self.$b.validate()?;
                let validate: fn(&Self) -> Result<(), $crate::params::ConfigError> = $validate;
                validate(self)
            }
        }
    };
}

/// Declares such a configuration; a profile sets parameters of `queue` (the flows) and of `aqm` (the manager).
///
/// ```text
/// flow_queue! {
///     /// The discipline's configuration.
///     pub struct Config: flows under codel::Codel;
///     profiles { "rfc8290", "RFC 8290 (2018)" => |c| c.aqm.ecn = true; }
/// }
/// ```
#[macro_export]
macro_rules! flow_queue {
    (
        $(#[$meta:meta])*
        pub struct $name:ident: flows under $module:ident :: $type:ident;
        profiles { $( $profile:literal, $summary:literal => $adjust:expr; )+ }
    ) => {
        $crate::joined_config! {
            $(#[$meta])*
            pub struct $name {
                /// Flow queueing.
                queue: $crate::flow::Config,
                /// Manager of each flow's queue.
                aqm: $module::Config,
            }
            profiles { $( $profile, $summary => $adjust; )+ }
            validate |_: &$name| Ok(())
        }

        impl $crate::flow::FlowQueueConfig for $name {
            type Aqm = $module::$type;

            fn queue(&self) -> &$crate::flow::Config {
                &self.queue
            }

            fn aqm(&self) -> Self::Aqm {
                $module::$type::new(&self.aqm)
            }
        }
    };
}
