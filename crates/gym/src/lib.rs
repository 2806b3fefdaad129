//! Episodes to learn in: runs of the simulator whose bottleneck has a queue under a policy, which an agent steers step by
//! step.
//!
//! # Map
//!
//! | module | what it is for |
//! |---|---|
//! | `setup` | what an agent sees and does in which scenario; what is refused |
//! | `episode` | a run in steps: observation, reward, counters of each |
//! | `packets` | a run packet by packet |
//! | `coupled` | the two queues of DualPI2 with a policy in place of its controller |
//! | `reward` | what a step is worth |
//! | `batch` | many episodes at once, on one thread or several, with the same numbers |
//! | `cc` | connections that an agent steers: congestion control in steps |
//! | `shares` | what each flow was delivered in the last second |
//! | `file` | policies in files, as queue managers by name: `policy:FILE` |

mod batch;
pub mod cc;
mod coupled;
mod episode;
mod file;
mod packets;
mod reward;
mod setup;
mod shares;

pub use batch::{Batch, Outcomes};
pub use episode::Episode;
pub use file::{PREFIX, Policies, PolicyFile};
pub use packets::{OF_PACKET, PacketEpisode};
pub use reward::{Reward, RewardInput};
pub use setup::{MAX_STEP, MIN_STEP, Setup, SetupError};
