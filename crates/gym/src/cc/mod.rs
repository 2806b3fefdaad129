//! Congestion control by an agent, in steps.
//!
//! | module | contents |
//! |---|---|
//! | `shared_state` | measurements and actions, shared by a connection and its agent |
//! | `action` | meaning of an action |
//! | `control` | the congestion control of such a connection |
//! | `observer` | measurements and observation of a step |
//! | `reward` | reward functions |
//! | `setup` | observation, action and step of an environment; checks of the scenario |
//! | `episode` | a run in steps |

mod action;
mod control;
mod episode;
mod observer;
mod reward;
mod setup;
mod shared_state;

pub use action::{ActionKind, RANGE_CWND, RANGE_MBIT};
pub use episode::FlowEpisode;
pub use observer::{Feature, Interval};
pub use reward::{Reward, RewardInput};
pub use setup::{Setup, StepLength};
