//! Links emulated in real time for real programs.
//!
//! A shell is a pair of network namespaces joined by two TUN devices and one process between them: it reads packets
//! that one kernel sends, queues, delays or drops them in virtual time as configured for the [`path::Direction`] (a
//! link with a queue discipline of `sojourn-aqm`, a delay, a loss), and writes them to the other kernel. Linux only;
//! elsewhere the crate is empty.
//!
//! # Map
//!
//! | module | purpose |
//! |---|---|
//! | [`cli`] | the commands `link`, `delay`, `loss`, and Mahimahi's names for them |
//! | [`shell`] | a command in its own network namespace: addresses, routes, gateway |
//! | [`topology`] | all links and nodes of a scenario in one process, a namespace for each node |
//! | [`path`] | one direction of a shell in virtual time: segmentation, queue, delay or loss, coalescing |
//! | [`log`] | every packet's fate: records, results, captures, Mahimahi's logs |
//! | [`doctor`] | checks of this machine, and the highest rate that it emulates faithfully |
//! | `sys` | safe wrappers of system calls, with all unsafe code of the crate |
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "emulates in real time")]

mod atomic_file;
pub mod cli;
pub mod doctor;
mod error;
mod event_loop;
pub mod log;
pub mod path;
mod remedy;
pub mod shell;
mod sys;
pub mod topology;

pub use error::Error;
pub use path::tcp_flow;
