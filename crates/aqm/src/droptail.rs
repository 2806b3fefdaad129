//! Tail drop: a queue without a manager. All it does is its limits' doing.

use crate::aqm::Aqm;
use crate::config;

config! {
    /// Tail drop has no parameters beyond the queue's limits.
    pub struct Config {}
    profiles { "plain", "a first-in-first-out queue that drops what does not fit" => |_| {}; }
    validate |_| Ok(())
}

/// Tail drop.
#[derive(Clone, Debug, Default)]
pub struct DropTail;

impl DropTail {
    /// What there is to configure: nothing.
    pub fn new(_: &Config) -> Self {
        Self
    }
}

impl Aqm for DropTail {
    const LETS_PASS: bool = true;
}
