//! The simulator for pages: scenario text in, views of a run out, as JSON and columns of numbers.
//!
//! The module asks for nothing: no clock, no files, no randomness from outside. It is built by `make web`;
//! `web/src/core` has the interface in JavaScript, which is where each answer is described.
//!
//! | module | what it is for |
//! |---|---|
//! | `border` | the functions that the module exports, and the memory that they share with their caller |
//! | [`session`] | requests and their answers |
//! | `request` | what is read out of a request |
//! | `rows` | a table of what happened at the queues, row by row |
//! | `run` | a run of the simulator at an instant |
//! | `arrivals` | recorded arrivals through a queue: "same arrivals" |
//! | `difference` | the first packet that two queues treat differently |
//! | `edit` | a scenario's text with some keys changed |
//! | `flows_edit` | more or fewer flows from an instant on, in a scenario's text |
//! | `toml` | values of that text, and the times of its entries |
//! | `files` | the files that a scenario names, in memory |
//! | [`reply`] | an answer: JSON and columns |

mod arrivals;
mod boundary;
mod difference;
mod edit;
mod files;
mod flows_edit;
pub mod reply;
mod request;
mod rows;
mod run;
pub mod session;
mod toml;
