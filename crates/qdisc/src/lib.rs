//! Queue disciplines for an operating system's kernel.
//!
//! An object file with the functions of [`border`]: they take and return integers and pointers, and import five
//! functions from the kernel. The kernel keeps its packets; a discipline knows each by a handle.
//! `packages/kernel` holds the Linux side.
//!
//! | module | contents |
//! |---|---|
//! | [`queue`] | a discipline made from a text, its calls, refusals and state as text |
//! | [`border`] | the functions in C |
//! | `own` | queue managers of users' crates (feature `own`) |
//! | `freestanding` | memory and panics in a kernel (feature `freestanding`) |
#![cfg_attr(not(test), no_std)]
extern crate alloc;

pub mod border;
#[cfg(all(feature = "freestanding", not(test)))]
mod freestanding;
mod own;
pub mod queue;
#[cfg(test)]
mod tests;
