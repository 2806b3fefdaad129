//! A closed loop between a sender and its receiver.

mod disturbance;
pub(crate) mod ends;
mod path;
pub(crate) mod world;
