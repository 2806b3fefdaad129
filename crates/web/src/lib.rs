//! The simulator for web pages: takes scenario text, and returns views of a run as JSON and columns of numbers.
//!
//! The module imports nothing: no clock, files or randomness. `make web` builds it; `web/src/core` has the JavaScript
//! interface, which documents each response.
//!
//! | module | contents |
//! |---|---|
//! | `boundary` | exported functions, and the memory shared with the caller |
//! | [`session`] | requests and responses |
//! | `request` | fields of a request |
//! | `rows` | a table of queue events, by row |
//! | `run` | a run of the simulator that can be paused and viewed |
//! | `arrivals` | replay of recorded arrivals through a queue ("same arrivals") |
//! | `difference` | first packet that two queues treat differently |
//! | `edit` | edits of a scenario's text |
//! | `flows_edit` | edits of the number of flows from a given time |
//! | `toml` | TOML values and times |
//! | `files` | files of a scenario, in memory |
//! | [`reply`] | a response: JSON and columns |

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
