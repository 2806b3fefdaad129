//! Reinforcement-learning environments: runs of the simulator in which an agent controls the bottleneck's queue, or the
//! congestion control of some connections, step by step.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | `setup` | observation, action and step of an environment; checks of the scenario |
//! | `episode` | a run in steps: observation, reward and counters of each step |
//! | `packets` | a run with one step per packet |
//! | `coupled` | DualPI2's two queues with a policy instead of its PI controller |
//! | `reward` | reward functions |
//! | `batch` | many episodes at once; results do not depend on the number of threads |
//! | `cc` | congestion control by an agent, in steps |
//! | `shares` | bytes delivered to each flow in the last second |
//! | `file` | trained policies in files, as AQMs: `policy:FILE` |

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
pub use packets::{PACKET_FEATURES, PacketEpisode};
pub use reward::{Reward, RewardInput};
pub use setup::{MAX_STEP, MIN_STEP, Setup, SetupError};
