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

mod board;
mod control;
mod episode;
mod law;
mod observer;
mod reward;
mod setup;

pub use episode::Connections;
pub use law::{Law, RANGE_CWND, RANGE_MBIT};
pub use observer::{Entry, Interval};
pub use reward::{Measured, Reward};
pub use setup::{Length, Setup};
