//! Queue disciplines across the border of a shared library: what `sojourn_aqm.h` says, in Rust.
//!
//! # Map
//!
//! | module | what it is for |
//! |---|---|
//! | [`abi`] | structs and numbers of the header |
//! | [`queue`] | a queue of ours as a host in C sees it: packets by opaque pointers, time from a start |
//! | [`border`] | calls from C: pointers checked and followed, no panic gets out, texts of errors |
//!
//! The functions that C calls by name are in the crate `sojourn-capi`, which makes `libsojourn_aqm` of them.

pub mod abi;
pub mod border;
pub mod queue;

pub use sojourn_aqm::registry::REGISTERED;
