//! 802.11 frames: their airtime at each rate, and their loss probability.

mod error;
pub(crate) mod phy;

pub use error::ErrorModel;
pub(crate) use error::Signal;
pub use phy::Bitrate;
