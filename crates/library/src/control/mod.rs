//! Congestion controls of shared libraries, in both directions: the Rust side of `sojourn_cc.h`.
//!
//! [`Controls`] finds a library by its name in a scenario and makes it a
//! [`ControlDefinition`](sojourn_tcp::cc::foreign::ControlDefinition); `sojourn-tcp` checks what its calls change.
//! [`export`] makes a library of a control in Rust.

pub mod abi;
pub mod export;
mod instance;
mod library;

pub use library::Controls;
