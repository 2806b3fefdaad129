//! Connections that an agent steers: congestion control in steps.
//!
//! | module | what it is for |
//! |---|---|
//! | `board` | what a connection has told since the last look, and what it is told |
//! | `law` | what an action means |
//! | `control` | the congestion control of such a connection |
//! | `observer` | the numbers of a step, from the board |
//! | `reward` | what a step is worth |
//! | `setup` | what agents see and do, in which scenario; what is refused |
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
