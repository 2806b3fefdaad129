//! What 802.11 says of a frame on the air: its time at each rate, and how likely it is to be lost.

mod error;
pub(crate) mod phy;

pub use error::ErrorModel;
pub(crate) use error::Signal;
pub use phy::Bitrate;
