//! Tail drop: a queue with limits and no manager.
//!
//! # When to use
//!
//! As the reference for all managers, and if the buffer is known to be about as small as the acceptable delay. A
//! tail-drop buffer is full whenever a loss-based sender keeps the link busy, so its size is its delay; give limits in
//! time (`limit = "50 ms"`) to state that delay.

use crate::aqm::{Aqm, Bypass, ExcessPolicy, FastDequeue, Lifecycle, predecessor};
use crate::config;
use crate::error::ConfigError;
use crate::time::Instant;
use core::any::Any;

config! {
    /// Tail drop has no parameters beyond the queue's limits.
    pub struct Config {}
    profiles { "plain", "a FIFO that drops arrivals that do not fit" => |_| {}; }
    validate |_| Ok(())
}

/// Tail drop.
#[derive(Clone, Debug, Default)]
pub struct DropTail;

impl DropTail {
    /// There is nothing to configure.
    pub fn new(_: &Config) -> Self {
        Self
    }
}

impl Aqm for DropTail {
    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        Some(self)
    }

    #[inline(always)]
    fn fast_dequeue(&mut self) -> Option<&mut dyn FastDequeue> {
        Some(self)
    }
}

impl Lifecycle for DropTail {
    fn inherit(&mut self, old: &dyn Any, _: Instant) -> Result<ExcessPolicy, ConfigError> {
        predecessor::<Self>(old)?;
        Ok(ExcessPolicy::Keep)
    }
}

impl Bypass for DropTail {}

impl FastDequeue for DropTail {}
