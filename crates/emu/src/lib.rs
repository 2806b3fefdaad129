//! Links emulated in real time for real programs.
//!
//! A shell is a pair of network namespaces joined by two TUN devices and one process between them: it reads what one
//! kernel sends, holds it in virtual time as the [`path::Direction`] says (a link with a queue discipline of
//! `sojourn-aqm`, a delay, a loss), and writes it to the other. Linux only; elsewhere the crate is empty.
//!
//! # Map
//!
//! | module | what it is for |
//! |---|---|
//! | [`cli`] | the commands `link`, `delay`, `loss`, and Mahimahi's names for them |
//! | [`shell`] | a command in its own network namespace: addresses, routes, gateway |
//! | [`topology`] | all links and nodes of a scenario in one process, a namespace for each node |
//! | [`path`] | one direction of a shell in virtual time: splitting, queue or delay or loss, joining |
//! | [`log`] | every packet's fate: records, results, captures, Mahimahi's logs |
//! | [`doctor`] | what this machine can emulate faithfully |
//! | `sys` | safe wrappers of system calls; the unsafe code of the crate is in it |
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "emulates in real time")]

mod atomic_file;
pub mod cli;
pub mod doctor;
mod error;
mod event_loop;
pub mod log;
pub mod path;
pub mod shell;
mod sys;
pub mod topology;

pub use error::Error;
pub use path::tcp_flow;
