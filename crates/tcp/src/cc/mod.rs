//! Congestion controls: growth and reduction of the window.

mod ack;
mod any;
mod bbr;
mod bbr3;
mod bbr3_draft;
mod bic;
#[cfg(test)]
mod call_table;
mod congestion_control;
pub mod cubic;
mod cubic_rfc9438;
mod custom;
mod dctcp;
mod dctcp_rfc8257;
mod delays;
mod description;
pub mod foreign;
mod highspeed;
mod htcp;
pub mod hystart;
mod hystart_pp;
mod illinois;
mod ledbat;
mod ledbat_pp;
mod newreno;
mod params;
mod prague;
pub(crate) mod reno;
mod rounds;
mod scalable;
mod steering;
mod vegas;
mod westwood;
mod window;
mod yeah;

pub use crate::stack::GrowthCounting;
pub use ack::Ack;
pub use congestion_control::{
    BurstSize, CloneBox, CongestionControl, CongestionEvent, DeliveryControl, SteeringControl, WindowControl,
    WindowEvent,
};
pub use custom::CustomControl;
pub use description::{Constant, ControlDocs, Description};
pub use params::Params;
pub use steering::{Flight, LostSegment, Needs};
pub use window::Window;

use super::rate_sample::RateSample;
use sojourn_aqm::param_list;
use sojourn_aqm::params::{ConfigError, Param, unknown};
use std::borrow::{Borrow, BorrowMut};

/// Default control: Linux's own default since 2.6.19, in the version of the stack.
pub const DEFAULT: &str = "cubic";

/// Storage of a control in [`AnyCc`]: inline or boxed.
macro_rules! held {
    (Box $type:ty) => { Box<$type> };
    ($type:ty) => { $type };
}

// Controls larger than 40 bytes are boxed: every flow reserves space for the largest inline variant.
macro_rules! congestion_controls {
    ($( $name:literal $( | $alias:literal )? => $([$boxed:ident])? $module:ident :: $type:ident, $summary:literal; )+) => {
        /// Name and summary of every congestion control.
        pub const NAMES: &[(&str, &str)] = &[ $( ($name, $summary), )+ ];

        /// Short names and the names that they stand for.
        pub const ALIASES: &[(&str, &str)] = &[ $( $( ($alias, $name), )? )+ ];
        /// Every congestion control.
        pub const DESCRIPTIONS: &[Description] = &[ $( Description {
            name: $name,
            summary: $summary,
            source: <$module::$type as ControlDocs>::SOURCE,
            constants: <$module::$type as ControlDocs>::CONSTANTS,
            params: <$module::$type as ControlDocs>::PARAMS.list,
            defaults: <$module::$type as ControlDocs>::PARAMS.default,
            state_bytes: size_of::<$module::$type>(),
        }, )+ ];

        /// Any registered congestion control.
        // Explicit tag: reading one hidden in a niche of the fields takes a dozen instructions.
        #[repr(u8)]
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyCc {
            $( $type(held!($($boxed)? $module::$type)), )+
            /// A control outside the registry; see [`AnyCc::custom`].
            Custom(CustomControl),
        }

        impl AnyCc {
            /// Wraps a control outside the registry.
            #[doc = include_str!("custom.md")]
            ///
            /// # Panics
            ///
            /// If the control does not implement exactly the interface that its [`Needs::steers`] selects.
            pub fn custom(control: impl CongestionControl + 'static) -> Self {
                Self::Custom(CustomControl::new(Box::new(control)))
            }

            /// The congestion control called `name`, in its initial state.
            pub fn new(name: &str) -> Option<Self> {
                match name {
                    $( $name $( | $alias )? => Some(Self::$type(Default::default())), )+
                    _ => None,
                }
            }

            /// The congestion control called `name`, in its initial state, with `params` set by name; values are text
            /// with units: `("target", "5ms")`.
            pub fn configured(name: &str, params: &[(String, String)]) -> Result<Self, ConfigError> {
                match name {
                    $( $name $( | $alias )? => {
                        let control = <$module::$type as ControlDocs>::PARAMS.control(params)?;
                        Ok(Self::$type(control.into()))
                    } )+
                    _ => Err(unknown_control(name)),
                }
            }

            /// Shortest text of a control with `params`: its name, and the parameters that differ from their defaults,
            /// as in `ledbat target 5ms gain 10`.
            pub fn spelling(name: &str, params: &[(String, String)]) -> Result<String, ConfigError> {
                match name {
                    $( $name $( | $alias )? => {
                        let changed = <$module::$type as ControlDocs>::PARAMS.changed(params)?;
                        Ok(param_list::spell($name, changed))
                    } )+
                    _ => Err(unknown_control(name)),
                }
            }

            /// The control as a trait object.
            fn control(&self) -> &dyn CongestionControl {
                match self {
                    $( Self::$type(cc) => Borrow::<$module::$type>::borrow(cc), )+
                    Self::Custom(cc) => cc.control(),
                }
            }

            fn control_mut(&mut self) -> &mut dyn CongestionControl {
                match self {
                    $( Self::$type(cc) => BorrowMut::<$module::$type>::borrow_mut(cc), )+
                    Self::Custom(cc) => cc.control_mut(),
                }
            }

            /// Interface of a control that grows and reduces the window.
            fn window_control(&mut self) -> Option<&mut dyn WindowControl> {
                match self {
                    $( Self::$type(cc) => cc.window(), )+
                    Self::Custom(cc) => cc.control_mut().window(),
                }
            }

            // Called for each acknowledgment: statically dispatched, so a control pays only for the fields of `ack`
            // that it reads.

            /// Handles an acknowledgment of new data. With [reports](Needs::reports) the window's part follows in
            /// [`Self::on_report`].
            #[inline(always)]
            pub fn on_ack(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
                match self {
                    $( Self::$type(cc) => {
                        if let Some(cc) = cc.deliveries() {
                            cc.on_ack(window, &ack());
                        }
                        let reports = cc.needs().reports;
                        if let Some(cc) = cc.window().filter(|_| !reports) {
                            cc.on_ack(window, &ack());
                        }
                    } )+
                    Self::Custom(cc) => cc.acked(window, ack),
                }
            }

            /// Grows the window on an acknowledgment.
            #[inline(always)]
            pub fn grow(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
                match self {
                    $( Self::$type(cc) => if let Some(cc) = cc.window() { cc.grow(window, &ack(), true) }, )+
                    Self::Custom(cc) => cc.grow(window, ack),
                }
            }

            /// Lower bound of the window during rate halving in recovery.
            #[inline(always)]
            pub fn min_cwnd(&mut self, window: &Window) -> u32 {
                match self {
                    $( Self::$type(cc) => cc.window().map_or(window.cwnd, |cc| cc.min_cwnd(window)), )+
                    Self::Custom(cc) => cc.control_mut().window().map_or(window.cwnd, |cc| cc.min_cwnd(window)),
                }
            }

            /// Sets window and pacing rate; see [`SteeringControl::steer`].
            #[inline(always)]
            pub fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
                match self {
                    $( Self::$type(cc) => if let Some(cc) = cc.steering() { cc.steer(flight, sample) }, )+
                    Self::Custom(cc) => if let Some(cc) = cc.control_mut().steering() { cc.steer(flight, sample) },
                }
            }
        }
    };
}

fn unknown_control(name: &str) -> ConfigError {
    let names = NAMES.iter().chain(ALIASES).map(|&(name, _)| name);
    ConfigError::Unknown(unknown("congestion control", name, names))
}

congestion_controls! {
    "reno" => reno::Reno, "Reno (RFC 5681) as in Linux; without SACK a partial acknowledgment ends recovery";
    "newreno" => newreno::NewReno, "NewReno (RFC 6582): Reno, but without SACK partial acknowledgments do not end recovery";
    "cubic" => [Box] cubic::Cubic, "CUBIC with HyStart as in the Linux of the stack, in its integer arithmetic";
    "cubic@rfc9438" => [Box] cubic_rfc9438::CubicRfc9438, "CUBIC as in RFC 9438, with HyStart++ (RFC 9406)";
    "dctcp@linux" | "dctcp" => dctcp::Dctcp, "DCTCP as in Linux 6.1, in its integers: Reno that reduces in proportion to the share of marks";
    "bbr@linux-6.1" | "bbr" => [Box] bbr::Bbr, "BBR, version 1, as in Linux 6.1: paced at the rate delivered, twice its bandwidth-delay product in flight";
    "bbr3@google" | "bbr3" => [Box] bbr3::Bbr3, "BBR, version 3, as in Google's Linux: rate and data in flight are bounded by losses";
    "bbr3@draft" => [Box] bbr3_draft::Bbr3Draft, "BBR, version 3, as in draft-ietf-ccwg-bbr-06, in real numbers";
    "prague@0.7" | "prague" => [Box] prague::Prague, "TCP Prague 0.7: scalable, with accurate ECN and ECT(1), paced, RTT-independent below 25 ms";
    "prague@0.6" => [Box] prague::Prague06, "TCP Prague 0.6: the same with a fractional window only";
    "dctcp@rfc8257" => [Box] dctcp_rfc8257::DctcpRfc8257, "DCTCP as in RFC 8257, in real numbers";
    "vegas" => vegas::Vegas, "Vegas as in Linux 6.1: two to four packets in the queue, by the RTT";
    "westwood" => [Box] westwood::Westwood, "Westwood+ as in Linux 6.1: after a loss the window is the measured rate times the minimum RTT";
    "highspeed" => highspeed::HighSpeed, "HighSpeed TCP (RFC 3649) as in Linux 6.1: increase and decrease from a table by window";
    "scalable" => scalable::Scalable, "Scalable TCP as in Linux 6.1: 1 % more per round trip, an eighth less after a loss";
    "htcp" => [Box] htcp::Htcp, "H-TCP as in Linux 6.1: increase by the time since the last loss";
    "illinois" => [Box] illinois::Illinois, "Illinois as in Linux 6.1: increase and decrease by the queueing delay";
    "bic" => [Box] bic::Bic, "BIC as in Linux 6.1: binary search towards the window of the last loss";
    "yeah" => yeah::Yeah, "YeAH as in Linux 6.1: Scalable TCP while the queue is short, else Reno";
    "ledbat" => [Box] ledbat::Ledbat, "LEDBAT (RFC 6817): yields to others by the one-way delay, at most 100 ms";
    "ledbat++" => [Box] ledbat_pp::LedbatPp, "LEDBAT++: LEDBAT by the RTT, at most 60 ms, with slowdowns that make it fair";
}

/// Parameters of the control called `name`; none if it is unknown.
pub fn params_of(name: &str) -> &'static [Param] {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, long)| long);
    DESCRIPTIONS.iter().find(|control| control.name == name).map_or(&[], |control| control.params)
}
