//! Links emulated in real time for real programs.
//!
//! A shell is a pair of network namespaces joined by two TUN devices and one process between them: it reads what one
//! kernel sends, holds it in virtual time as the [`path::Direction`] says (a link with a queue discipline of
//! `sojourn-aqm`, a delay, a loss), and writes it to the other. Linux only; elsewhere the crate is empty.
#![cfg(target_os = "linux")]

pub mod cli;
pub mod doctor;
mod error;
pub mod log;
pub mod path;
pub mod shell;
mod sys;

pub use error::Error;
pub use path::tcp_flow;
